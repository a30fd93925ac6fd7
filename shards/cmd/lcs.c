/*
 * lcs: LCS, the longest common subsequence of two strings.
 *
 * The textbook table: cell (i, j) is the length for the first i bytes of one string and the first
 * j of the other. Its last cell answers LEN; walking back from it finds the bytes themselves and
 * the runs in which they match, last run first. Of two ways back that are equally long, the one
 * that gives up a byte of the second string is taken, as Redis does: it decides which of several
 * subsequences is answered.
 */
#include "core/base/mem.h"
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

#define LCS_LEN_MAX (UINT32_MAX - 2) /* bytes of one string */

struct options {
    bool len, idx, with_match_len;
    int64_t min_match_len;
};

struct table {
    struct bytes a, b;
    uint32_t *cells; /* [a.len + 1][b.len + 1] */
};

/* A run of matching bytes: a[a_start ..] equals b[b_start ..] for `len` bytes. */
struct run {
    size_t a_start, b_start, len;
};

static enum status parse_options(struct call *call, struct options *options)
{
    for (uint32_t i = 3; i < call->arg_count; i++) {
        if (call_arg_is(call, i, "IDX"))
            options->idx = true;
        else if (call_arg_is(call, i, "LEN"))
            options->len = true;
        else if (call_arg_is(call, i, "WITHMATCHLEN"))
            options->with_match_len = true;
        else if (call_arg_is(call, i, "MINMATCHLEN") && i + 1 < call->arg_count)
            TRY(call_arg_int(call, ++i, &options->min_match_len));
        else
            return ERR_SYNTAX;
    }
    if (options->len && options->idx)
        return call_fail_text(call,
                              "ERR If you want both the length and indexes, please just use IDX.");
    return OK;
}

static uint32_t *cell(const struct table *table, size_t i, size_t j)
{
    return &table->cells[i * (table->b.len + 1) + j];
}

static enum status table_fill(struct call *call, struct table *table)
{
    struct bytes a = table->a, b = table->b;
    if (a.len > LCS_LEN_MAX || b.len > LCS_LEN_MAX)
        return call_fail_text(call, "ERR String too long for LCS");
    size_t size;
    if (__builtin_mul_overflow((a.len + 1) * (b.len + 1), sizeof(uint32_t), &size) ||
        size > call->config->conn.bulk_max)
        return call_fail_text(call, "ERR Insufficient memory, transient memory for LCS exceeds "
                                    "proto-max-bulk-len");
    table->cells = mem_try_alloc(size);
    if (!table->cells)
        return call_fail_text(
            call, "ERR Insufficient memory, failed allocating transient memory for LCS");

    memset(table->cells, 0, (b.len + 1) * sizeof(uint32_t));
    for (size_t i = 1; i <= a.len; i++) {
        const uint32_t *above = cell(table, i - 1, 0);
        uint32_t *row = cell(table, i, 0);
        row[0] = 0;
        for (size_t j = 1; j <= b.len; j++) {
            if (a.ptr[i - 1] == b.ptr[j - 1])
                row[j] = above[j - 1] + 1;
            else
                row[j] = above[j] > row[j - 1] ? above[j] : row[j - 1];
        }
    }
    return OK;
}

/* Finds the last run of matches before (*i, *j) and moves them to its start. False when there is
 * no further one. */
static bool run_before(const struct table *table, size_t *i, size_t *j, struct run *out)
{
    struct bytes a = table->a, b = table->b;
    while (*i && *j && a.ptr[*i - 1] != b.ptr[*j - 1]) {
        if (*cell(table, *i - 1, *j) > *cell(table, *i, *j - 1))
            --*i;
        else
            --*j;
    }
    size_t len = 0;
    while (*i && *j && a.ptr[*i - 1] == b.ptr[*j - 1]) {
        --*i;
        --*j;
        len++;
    }
    *out = (struct run){.a_start = *i, .b_start = *j, .len = len};
    return len > 0;
}

static void reply_subsequence(struct call *call, const struct table *table)
{
    size_t i = table->a.len, j = table->b.len;
    size_t len = *cell(table, i, j), left = len;
    char *text = arena_alloc(call->arena, len);
    for (struct run run; run_before(table, &i, &j, &run);) {
        left -= run.len;
        memcpy(text + left, table->a.ptr + run.a_start, run.len);
    }
    reply_bulk(call->reply, bytes_of(text, len));
}

static void reply_range(struct reply *reply, size_t start, size_t len)
{
    reply_array(reply, 2);
    reply_int(reply, (int64_t)start);
    reply_int(reply, (int64_t)(start + len - 1));
}

static void reply_runs(struct call *call, const struct table *table, const struct options *options)
{
    struct reply *reply = call->reply;
    size_t i = table->a.len, j = table->b.len, count = 0;
    reply_map(reply, 2);
    reply_bulk_text(reply, "matches");
    size_t mark = reply_mark(reply);
    for (struct run run; run_before(table, &i, &j, &run);) {
        if ((int64_t)run.len < options->min_match_len)
            continue;
        reply_array(reply, options->with_match_len ? 3 : 2);
        reply_range(reply, run.a_start, run.len);
        reply_range(reply, run.b_start, run.len);
        if (options->with_match_len)
            reply_int(reply, (int64_t)run.len);
        count++;
    }
    reply_array_at(reply, mark, count);
    reply_bulk_text(reply, "len");
    reply_int(reply, *cell(table, table->a.len, table->b.len));
}

static enum status cmd_lcs(struct call *call)
{
    struct table table = {.a = BYTES(""), .b = BYTES("")};
    char scratch_a[STR_SCRATCH], scratch_b[STR_SCRATCH];
    const struct value *a = db_lookup(call_db(call, 1), call_key(call, 1));
    if (a && value_type(a) == TYPE_STRING)
        table.a = str_view(a, scratch_a);
    const struct value *b = db_lookup(call_db(call, 2), call_key(call, 2));
    if (b && value_type(b) == TYPE_STRING)
        table.b = str_view(b, scratch_b);
    if ((a && value_type(a) != TYPE_STRING) || (b && value_type(b) != TYPE_STRING))
        return call_fail_text(call, "ERR The specified keys must contain string values");

    struct options options = {0};
    TRY(parse_options(call, &options));
    TRY(table_fill(call, &table));
    if (options.idx)
        reply_runs(call, &table, &options);
    else if (options.len)
        reply_int(call->reply, *cell(&table, table.a.len, table.b.len));
    else
        reply_subsequence(call, &table);
    mem_free(table.cells);
    return OK;
}

/* clang-format off */
const struct command lcs_commands[] = {
    {.name = "lcs", .arity = -3, .run = cmd_lcs, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .last = 1, .step = 1}},
     .flags = CMD_READONLY, .acl = ACL_STRING,
     .syntax = "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
     .since = "7.0.0", .cost = "O(N*M) where N and M are the lengths of the two strings.",
     .brief = "Finds the longest common subsequence of two strings.", .group = "string"},
    {0},
};
/* clang-format on */
