/*
 * hll: PFADD, PFCOUNT and PFMERGE.
 *
 * Adding what was seen before changes nothing, and is found out by reading alone; a dense value is
 * then written in place, a sparse one by way of a draft, since it moves its bytes about. PFCOUNT of
 * one key keeps the count in the value, though it only reads: it is the value's cache.
 */
#include "core/type/hll.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/hll_arg.h"
#include "shards/local/db.h"

/* Is there anything new among the elements from word `index` on? Moves `index` to the first. */
static enum status find_news(struct call *call, struct bytes text, uint32_t *index, bool *out)
{
    *out = false;
    for (; *index < call->arg_count; ++*index) {
        struct hll_mark mark = hll_mark(call_arg(call, *index));
        int value = hll_get(text, mark.index);
        if (value < 0)
            return hll_arg_damaged(call);
        if (value < mark.rank) {
            *out = true;
            return OK;
        }
    }
    return OK;
}

static void add_from(const struct call *call, uint32_t index, struct hll_draft *draft)
{
    size_t sparse_max_len = (size_t)call->config->hll_sparse_max_bytes;
    for (; index < call->arg_count; index++)
        (void)hll_draft_raise(draft, hll_mark(call_arg(call, index)), sparse_max_len);
    hll_drop_cached((char *)draft->bytes);
}

static enum status cmd_pfadd(struct call *call)
{
    struct bytes text;
    TRY(hll_arg_find_to_write(call, 1, &text));
    uint32_t index = 2;
    bool has_news = !text.len;
    if (text.len)
        TRY(find_news(call, text, &index, &has_news));

    if (has_news && text.len && hll_is_dense(text)) {
        char *bytes = db_resize_string(call->db, &call->key, HLL_DENSE_LEN);
        if (!bytes)
            return ERR_OOM;
        struct hll_draft in_place = {
            .bytes = (uint8_t *)bytes, .len = HLL_DENSE_LEN, .cap = HLL_DENSE_LEN};
        add_from(call, index, &in_place);
    } else if (has_news) {
        struct hll_draft draft;
        TRY(hll_arg_draft(call, text, &draft));
        add_from(call, index, &draft);
        TRY(hll_arg_store(call, &draft));
    }
    reply_int(call->reply, has_news);
    return OK;
}

/* Raises `registers` to those of all keys from word `first` on. */
static enum status merge_keys(struct call *call, uint32_t first, uint8_t *registers,
                              bool *out_has_dense)
{
    *out_has_dense = false;
    for (uint32_t i = first; i < call->arg_count; i++) {
        struct bytes text;
        TRY(hll_arg_find(call, i, &text));
        if (!text.len)
            continue;
        *out_has_dense |= hll_is_dense(text);
        if (!hll_merge(text, registers))
            return hll_arg_damaged(call);
    }
    return OK;
}

static enum status count_one(struct call *call, uint64_t *out)
{
    struct bytes text;
    TRY(hll_arg_find(call, 1, &text));
    *out = 0;
    if (!text.len || hll_find_cached(text, out))
        return OK;
    if (!hll_count(text, out))
        return hll_arg_damaged(call);
    char *bytes = db_resize_string(call->db, &call->key, text.len);
    if (bytes)
        hll_put_cached(bytes, *out);
    return OK;
}

static enum status cmd_pfcount(struct call *call)
{
    uint64_t count;
    if (call->arg_count == 2) {
        TRY(count_one(call, &count));
    } else {
        uint8_t *registers = arena_zalloc(call->arena, HLL_REGISTERS);
        bool has_dense;
        TRY(merge_keys(call, 1, registers, &has_dense));
        count = hll_count_registers(registers);
    }
    reply_int(call->reply, (int64_t)count);
    return OK;
}

/* The target is one of the sources, if it exists. */
static enum status cmd_pfmerge(struct call *call)
{
    uint8_t *registers = arena_zalloc(call->arena, HLL_REGISTERS);
    bool has_dense;
    TRY(merge_keys(call, 1, registers, &has_dense));

    struct bytes text;
    struct hll_draft draft;
    TRY(hll_arg_find_to_write(call, 1, &text));
    TRY(hll_arg_draft(call, text, &draft));
    if (has_dense)
        hll_draft_make_dense(&draft);
    size_t sparse_max_len = (size_t)call->config->hll_sparse_max_bytes;
    for (uint32_t i = 0; i < HLL_REGISTERS; i++) {
        struct hll_mark mark = {.index = (uint16_t)i, .rank = registers[i]};
        if (mark.rank)
            (void)hll_draft_raise(&draft, mark, sparse_max_len);
    }
    hll_drop_cached((char *)draft.bytes);
    TRY(hll_arg_store(call, &draft));
    reply_ok(call->reply);
    return OK;
}

/* The specifications ask for a source; the target may be alone. */
static int pfmerge_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                             uint16_t *out_flags)
{
    (void)args;
    for (uint32_t i = 1; i < arg_count; i++) {
        out_index[i - 1] = i;
        out_flags[i - 1] = i == 1 ? KEY_RW | KEY_ACCESS | KEY_INSERT : KEY_RO | KEY_ACCESS;
    }
    return (int)arg_count - 1;
}

/* clang-format off */
const struct command hll_commands[] = {
    {.name = "pfadd", .arity = -2, .run = cmd_pfadd, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HYPERLOGLOG,
     .syntax = "key [element [element ...]]", .since = "2.8.9", .cost = "O(1) for each element.",
     .brief = "Shows elements to the HyperLogLog at a key."},

    {.name = "pfcount", .arity = -2, .run = cmd_pfcount, .plan = PLAN_TOGETHER,
     .keys = KEYS_ALL(KEY_RW | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_MAY_REPLICATE, .acl = ACL_HYPERLOGLOG,
     .syntax = "key [key ...]", .since = "2.8.9",
     .cost = "O(1) for one key whose count is known, else O(N) with N being the number of keys.",
     .brief = "Estimates how many different elements the HyperLogLogs at several keys have seen."},

    {.name = "pfmerge", .arity = -2, .run = cmd_pfmerge, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_INSERT, .index = 1, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .index = 2, .last = -1, .step = 1}},
     .find_keys = pfmerge_find_keys, .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_HYPERLOGLOG,
     .syntax = "destkey [sourcekey [sourcekey ...]]", .since = "2.8.9",
     .cost = "O(N) to merge N of them.",
     .brief = "Adds what the HyperLogLogs at several keys have seen to that at another."},
    {0},
};
/* clang-format on */
