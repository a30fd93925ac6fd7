/*
 * hll_debug: PFDEBUG and PFSELFTEST, for those who work on HyperLogLogs, and for test suites.
 */
#include <math.h>
#include <stdio.h>

#include "core/base/rng.h"
#include "core/type/hll.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/hll_arg.h"
#include "shards/local/db.h"

/* ---- PFDEBUG ------------------------------------------------------------------------------- */

/* Stores the value as a dense one, and says whether it was sparse. */
static enum status make_dense(struct call *call, struct bytes *text, bool *out_changed)
{
    *out_changed = !hll_is_dense(*text);
    if (!*out_changed)
        return OK;
    struct hll_draft draft;
    TRY(hll_arg_draft(call, *text, &draft));
    hll_draft_make_dense(&draft);
    TRY(hll_arg_store(call, &draft));
    *text = bytes_of(draft.bytes, draft.len);
    return OK;
}

static enum status debug_getreg(struct call *call, struct bytes text)
{
    bool changed;
    TRY(make_dense(call, &text, &changed));
    reply_array(call->reply, HLL_REGISTERS);
    for (uint32_t i = 0; i < HLL_REGISTERS; i++)
        reply_int(call->reply, hll_get(text, i));
    return OK;
}

static enum status debug_todense(struct call *call, struct bytes text)
{
    bool changed;
    TRY(make_dense(call, &text, &changed));
    reply_int(call->reply, changed);
    return OK;
}

static enum status debug_encoding(struct call *call, struct bytes text)
{
    reply_simple(call->reply, hll_is_dense(text) ? "dense" : "sparse");
    return OK;
}

/* "Z:1000 v:3,2 z:10": zeros, long and short, and values with how often they stand there. */
#define RUN_TEXT_CAP 16u

static enum status debug_decode(struct call *call, struct bytes text)
{
    if (hll_is_dense(text))
        return call_fail_text(call, "ERR HLL encoding is not sparse");
    char *decoded = arena_alloc(call->arena, (text.len - HLL_HEADER_LEN + 1) * RUN_TEXT_CAP);
    size_t len = 0;
    struct hll_run run;
    for (size_t at = HLL_HEADER_LEN; at < text.len; at += run.len) {
        if (!hll_run_at(text, at, &run))
            return hll_arg_damaged(call);
        int count = run.count;
        len += (size_t)(run.value
                            ? snprintf(decoded + len, RUN_TEXT_CAP, "v:%d,%d ", run.value, count)
                        : run.len == 1 ? snprintf(decoded + len, RUN_TEXT_CAP, "z:%d ", count)
                                       : snprintf(decoded + len, RUN_TEXT_CAP, "Z:%d ", count));
    }
    reply_bulk(call->reply, bytes_of(decoded, len ? len - 1 : 0));
    return OK;
}

static enum status cmd_pfdebug(struct call *call)
{
    static const struct {
        const char *word;
        enum status (*run)(struct call *call, struct bytes text);
    } actions[] = {{"GETREG", debug_getreg},
                   {"DECODE", debug_decode},
                   {"ENCODING", debug_encoding},
                   {"TODENSE", debug_todense}};

    struct bytes text;
    TRY(hll_arg_find_to_write(call, 2, &text));
    if (!text.len)
        return call_fail_text(call, "ERR The specified key does not exist");
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (call_arg_is(call, 1, actions[i].word))
            return actions[i].run(call, text);
    }
    struct bytes word = call_arg(call, 1);
    return call_fail_text(call, "ERR Unknown PFDEBUG subcommand '%.*s'", (int)word.len, word.ptr);
}

/* ---- PFSELFTEST ---------------------------------------------------------------------------- */

#define TEST_ELEMENTS 100000u
#define TEST_SPARSE_LEN 3000u
#define TEST_SEED 1u

/* How far an estimate may be off: six times the standard error, which no run with a good hash
 * comes near; of ten elements, one. */
static uint64_t error_max(uint64_t count)
{
    return count == 10 ? 1 : (uint64_t)ceil(6 * 1.04 / sqrt(HLL_REGISTERS) * (double)count);
}

/* Shows the same elements to a sparse one and to a dense one. At each power of ten they must agree,
 * and be near the truth. */
static enum status cmd_pfselftest(struct call *call)
{
    struct hll_draft sparse, dense;
    TRY(hll_arg_draft(call, BYTES(""), &sparse));
    TRY(hll_arg_draft(call, BYTES(""), &dense));
    hll_draft_make_dense(&dense);

    struct rng rng;
    rng_init(&rng, TEST_SEED);
    uint64_t checkpoint = 1;
    for (uint64_t count = 1; count <= TEST_ELEMENTS; count++) {
        uint64_t element = rng_next(&rng);
        struct hll_mark mark = hll_mark(bytes_of(&element, sizeof element));
        bool changed = hll_draft_raise(&dense, mark, 0);
        if (hll_draft_raise(&sparse, mark, TEST_SPARSE_LEN) != changed)
            return call_fail_text(call, "ERR TESTFAILED dense/sparse disagree");
        if (count != checkpoint)
            continue;
        checkpoint *= 10;
        uint64_t of_sparse, of_dense;
        if (!hll_count(bytes_of(sparse.bytes, sparse.len), &of_sparse) ||
            !hll_count(bytes_of(dense.bytes, dense.len), &of_dense) || of_sparse != of_dense)
            return call_fail_text(call, "ERR TESTFAILED dense/sparse disagree");
        uint64_t error = of_dense > count ? of_dense - count : count - of_dense;
        if (error > error_max(count))
            return call_fail_text(call, "ERR TESTFAILED Too big error. card:%llu abserr:%llu",
                                  (unsigned long long)count, (unsigned long long)error);
    }
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
const struct command hll_debug_commands[] = {
    {.name = "pfdebug", .arity = 3, .run = cmd_pfdebug, .plan = PLAN_ONE,
     .keys = {{.flags = KEY_RW | KEY_ACCESS, .index = 2, .step = 1}},
     .flags = CMD_SYSCMD | CMD_WRITE | CMD_GROWS | CMD_ADMIN, .acl = ACL_HYPERLOGLOG,
     .syntax = "subcommand key", .since = "2.8.9", .cost = "N/A",
     .brief = "Shows the registers or the encoding of the HyperLogLog at a key."},

    {.name = "pfselftest", .arity = 1, .run = cmd_pfselftest, .plan = PLAN_HERE,
     .flags = CMD_SYSCMD | CMD_ADMIN, .acl = ACL_HYPERLOGLOG,
     .syntax = "", .since = "2.8.9", .cost = "N/A",
     .brief = "Checks that HyperLogLogs work on this machine."},
    {0},
};
/* clang-format on */
