/*
 * zset_range: ZRANGE, ZCOUNT, ZREMRANGEBYSCORE and their kin. Whatever a range is told by, ranks,
 * scores or members, it becomes a run of ranks: two searches, and then a walk, a difference or a
 * deletion.
 */
#include <math.h>
#include <stdlib.h>

#include "core/type/zset.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/zset_key.h"

enum range_kind { RANGE_RANK, RANGE_SCORE, RANGE_LEX, RANGE_ANY };

/* One end of a range. */
struct bound {
    bool is_open; /* the bound itself is outside */
    double score;
    struct bytes member;
    int end; /* of RANGE_LEX: -1 before all members, 1 behind all, 0: `member` */
};

struct range {
    enum range_kind kind;
    int64_t start, stop; /* RANGE_RANK */
    struct bound low, high;
};

/* Ranks from `from` up to but not including `to`. */
struct run {
    uint64_t from, to;
};

/* ---- Reading the words --------------------------------------------------------------------- */

/* As strtod() reads a terminated word, which is how Redis reads a bound: space before it, and no
 * digits at all, are allowed. */
static bool read_score_bound(struct call *call, uint32_t index, struct bound *out)
{
    struct bytes word = call_arg(call, index);
    const char *text = arena_format(call->arena, "%.*s", (int)word.len, word.ptr);
    out->is_open = *text == '(';
    char *end;
    out->score = strtod(text + out->is_open, &end);
    return *end == '\0' && !isnan(out->score);
}

static bool read_lex_bound(struct call *call, uint32_t index, struct bound *out)
{
    struct bytes word = call_arg(call, index);
    if (word.len == 0)
        return false;
    switch (word.ptr[0]) {
    case '-':
    case '+':
        out->end = word.ptr[0] == '-' ? -1 : 1;
        return word.len == 1 || word.ptr[1] == '\0'; /* Redis looks no further */
    case '(':
    case '[':
        out->is_open = word.ptr[0] == '(';
        out->member = bytes_of(word.ptr + 1, word.len - 1);
        return true;
    default:
        return false;
    }
}

/* The bounds at `low` and `high`, words in the order that the kind of range has them. */
static enum status read_bounds(struct call *call, uint32_t low, uint32_t high, struct range *range)
{
    switch (range->kind) {
    case RANGE_SCORE:
        if (!read_score_bound(call, low, &range->low) ||
            !read_score_bound(call, high, &range->high))
            return call_fail_text(call, "ERR min or max is not a float");
        return OK;
    case RANGE_LEX:
        if (!read_lex_bound(call, low, &range->low) || !read_lex_bound(call, high, &range->high))
            return call_fail_text(call, "ERR min or max not valid string range item");
        return OK;
    default:
        TRY(call_arg_int(call, low, &range->start));
        return call_arg_int(call, high, &range->stop);
    }
}

/* ---- From bounds to ranks ------------------------------------------------------------------ */

static struct run run_of_ranks(const struct zset *zset, int64_t start, int64_t stop)
{
    int64_t count = (int64_t)zset_count(zset);
    if (start < 0)
        start = start + count < 0 ? 0 : start + count;
    if (stop < 0)
        stop += count;
    if (stop >= count)
        stop = count - 1;
    if (start > stop)
        return (struct run){0};
    return (struct run){(uint64_t)start, (uint64_t)stop + 1};
}

/* The rank where a bound of members is; `after`: behind the bound itself. */
static uint64_t lex_rank(const struct zset *zset, const struct bound *bound, bool after)
{
    if (bound->end != 0)
        return bound->end < 0 ? 0 : zset_count(zset);
    return zset_rank_of_member(zset, bound->member, after);
}

/* `is_reverse` matters to ranks only: the others have low and high. */
static struct run range_run(const struct zset *zset, const struct range *range, bool is_reverse)
{
    struct run run;
    switch (range->kind) {
    case RANGE_SCORE:
        run.from = zset_rank_of_score(zset, range->low.score, range->low.is_open);
        run.to = zset_rank_of_score(zset, range->high.score, !range->high.is_open);
        break;
    case RANGE_LEX:
        run.from = lex_rank(zset, &range->low, range->low.is_open);
        run.to = lex_rank(zset, &range->high, !range->high.is_open);
        break;
    default:
        run = run_of_ranks(zset, range->start, range->stop);
        if (is_reverse)
            run = (struct run){zset_count(zset) - run.to, zset_count(zset) - run.from};
    }
    return run.from < run.to ? run : (struct run){0};
}

/* ---- ZRANGE and its kin -------------------------------------------------------------------- */

struct query {
    struct range range;
    bool is_reverse, with_scores;
    int64_t offset, limit; /* a negative limit is none, a negative offset skips all */
};

/* What a command's name already says. */
struct query_form {
    enum range_kind kind; /* RANGE_ANY: words say it, and the direction too */
    bool is_reverse;
    bool is_store; /* source and bounds are a word later, and no scores are asked for */
};

static enum status read_query_words(struct call *call, struct query_form form, struct query *query)
{
    query->range.kind = form.kind;
    query->is_reverse = form.is_reverse;
    query->limit = -1;
    bool is_free = form.kind == RANGE_ANY;
    for (uint32_t i = form.is_store ? 5 : 4; i < call->arg_count; i++) {
        if (!form.is_store && call_arg_is(call, i, "WITHSCORES")) {
            query->with_scores = true;
        } else if (call_arg_is(call, i, "LIMIT") && i + 2 < call->arg_count) {
            TRY(call_arg_int(call, i + 1, &query->offset));
            TRY(call_arg_int(call, i + 2, &query->limit));
            i += 2;
        } else if (is_free && !query->is_reverse && call_arg_is(call, i, "REV")) {
            query->is_reverse = true;
        } else if (query->range.kind == RANGE_ANY && call_arg_is(call, i, "BYLEX")) {
            query->range.kind = RANGE_LEX;
        } else if (query->range.kind == RANGE_ANY && call_arg_is(call, i, "BYSCORE")) {
            query->range.kind = RANGE_SCORE;
        } else {
            return ERR_SYNTAX;
        }
    }
    if (query->range.kind == RANGE_ANY)
        query->range.kind = RANGE_RANK;
    return OK;
}

static enum status read_query(struct call *call, struct query_form form, struct query *query)
{
    TRY(read_query_words(call, form, query));
    bool is_by_rank = query->range.kind == RANGE_RANK;
    if (query->limit != -1 && is_by_rank)
        return call_fail_text(call, "ERR syntax error, LIMIT is only supported in combination with "
                                    "either BYSCORE or BYLEX");
    if (query->with_scores && query->range.kind == RANGE_LEX)
        return call_fail_text(
            call, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    uint32_t low = form.is_store ? 3 : 2, high = low + 1;
    if (query->is_reverse && !is_by_rank) /* given as high, low */
        return read_bounds(call, high, low, &query->range);
    return read_bounds(call, low, high, &query->range);
}

/* The ranks that the answer has, LIMIT considered. */
static struct run query_run(const struct zset *zset, const struct query *query)
{
    struct run run = range_run(zset, &query->range, query->is_reverse);
    uint64_t len = run.to - run.from;
    if (query->range.kind == RANGE_RANK)
        return run;
    if (query->offset < 0 || (uint64_t)query->offset >= len)
        return (struct run){0};
    len -= (uint64_t)query->offset;
    if (query->limit >= 0 && (uint64_t)query->limit < len)
        len = (uint64_t)query->limit;
    if (query->is_reverse)
        return (struct run){run.to - (uint64_t)query->offset - len,
                            run.to - (uint64_t)query->offset};
    return (struct run){run.from + (uint64_t)query->offset,
                        run.from + (uint64_t)query->offset + len};
}

static enum status run_query(struct call *call, struct query_form form)
{
    struct query query = {0};
    TRY(read_query(call, form, &query));
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    struct run run = zset ? query_run(zset, &query) : (struct run){0};
    uint64_t left = run.to - run.from;
    zset_reply_begin(call, left, query.with_scores);
    if (left == 0)
        return OK;
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, query.is_reverse ? run.to - 1 : run.from, query.is_reverse, &cursor);
    for (; left > 0 && zset_step(&cursor, &entry); left--)
        zset_reply_entry(call, entry, query.with_scores);
    return OK;
}

static enum status cmd_zrange(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_ANY});
}

static enum status cmd_zrevrange(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_RANK, .is_reverse = true});
}

static enum status cmd_zrangebyscore(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_SCORE});
}

static enum status cmd_zrevrangebyscore(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_SCORE, .is_reverse = true});
}

static enum status cmd_zrangebylex(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_LEX});
}

static enum status cmd_zrevrangebylex(struct call *call)
{
    return run_query(call, (struct query_form){.kind = RANGE_LEX, .is_reverse = true});
}

static enum status cmd_zrangestore(struct call *call)
{
    struct query query = {0};
    TRY(read_query(call, (struct query_form){.kind = RANGE_ANY, .is_store = true}, &query));
    const struct zset *source;
    TRY(zset_key_find(call, 2, &source));
    struct run run = source ? query_run(source, &query) : (struct run){0};
    uint64_t count = run.to - run.from, left = count;

    struct heap *heap = zset_key_heap(call, 1);
    const struct zset_limits *limits = &call->config->zset_limits;
    struct zset *result = zset_create(heap);
    zset_expect(result, heap, limits, count);
    struct zset_cursor cursor;
    struct zset_entry entry;
    if (left > 0)
        zset_seek(source, run.from, false, &cursor);
    for (; left > 0 && zset_step(&cursor, &entry); left--)
        (void)zset_put(result, heap, limits, entry.member, entry.score);
    zset_key_replace(call, 1, result); /* the last use of `source`, which it may free */
    reply_int(call->reply, (int64_t)count);
    return OK;
}

/* ---- Counting and deleting ----------------------------------------------------------------- */

static enum status count_range(struct call *call, enum range_kind kind)
{
    struct range range = {.kind = kind};
    TRY(read_bounds(call, 2, 3, &range));
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    struct run run = zset ? range_run(zset, &range, false) : (struct run){0};
    reply_int(call->reply, (int64_t)(run.to - run.from));
    return OK;
}

static enum status cmd_zcount(struct call *call)
{
    return count_range(call, RANGE_SCORE);
}

static enum status cmd_zlexcount(struct call *call)
{
    return count_range(call, RANGE_LEX);
}

static enum status delete_range(struct call *call, enum range_kind kind)
{
    struct range range = {.kind = kind};
    TRY(read_bounds(call, 2, 3, &range));
    const struct zset *found;
    TRY(zset_key_find_to_write(call, 1, &found));
    struct run run = found ? range_run(found, &range, false) : (struct run){0};
    uint64_t count = run.to - run.from;
    if (count > 0) {
        struct zset *zset = zset_key_edit(call, 1, found);
        zset_delete_range(zset, zset_key_heap(call, 1), run.from, count);
        zset_key_trim(call, 1, zset);
    }
    reply_int(call->reply, (int64_t)count);
    return OK;
}

static enum status cmd_zremrangebyrank(struct call *call)
{
    return delete_range(call, RANGE_RANK);
}

static enum status cmd_zremrangebyscore(struct call *call)
{
    return delete_range(call, RANGE_SCORE);
}

static enum status cmd_zremrangebylex(struct call *call)
{
    return delete_range(call, RANGE_LEX);
}

#define COST_RANGE "O(log(N)+M) where M is the number of members given."
#define COST_DELETE "O(M*log(N)) where M is the number of members removed."

/* clang-format off */
const struct command zset_range_commands[] = {
    {.name = "zrange", .arity = -4, .run = cmd_zrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key start/string stop/string sortby=[BYSCORE | BYLEX]@6.2.0 [REV]@6.2.0 "
               "[LIMIT offset count]@6.2.0 [WITHSCORES]",
     .since = "1.2.0", .cost = COST_RANGE,
     .history = "6.2.0 Takes REV, BYSCORE, BYLEX and LIMIT.",
     .brief = "Lists members of a sorted set by rank, score or name."},

    {.name = "zrangestore", .arity = -5, .run = cmd_zrangestore, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_OW | KEY_UPDATE, .index = 1, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .index = 2, .step = 1}},
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_SORTEDSET,
     .syntax = "dst src min/string max/string sortby=[BYSCORE | BYLEX] [REV] "
               "[LIMIT offset count]",
     .since = "6.2.0", .cost = COST_RANGE,
     .brief = "Keeps a range of members of a sorted set at another key."},

    {.name = "zrevrange", .arity = -4, .run = cmd_zrevrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key start stop [WITHSCORES]", .since = "1.2.0", .cost = COST_RANGE,
     .brief = "Lists members of a sorted set by rank, from the last on.",
     .deprecated_since = "6.2.0", .replaced_by = "`ZRANGE` with the `REV` argument"},

    {.name = "zrangebyscore", .arity = -4, .run = cmd_zrangebyscore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key min max [WITHSCORES]@2.0.0 [LIMIT offset count]",
     .since = "1.0.5", .cost = COST_RANGE,
     .history = "2.0.0 Takes WITHSCORES.",
     .brief = "Lists members of a sorted set by score.",
     .deprecated_since = "6.2.0", .replaced_by = "`ZRANGE` with the `BYSCORE` argument"},

    {.name = "zrevrangebyscore", .arity = -4, .run = cmd_zrevrangebyscore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key max min [WITHSCORES] [LIMIT offset count]",
     .since = "2.2.0", .cost = COST_RANGE,
     .history = "2.1.6 Takes bounds that do not belong to the range.",
     .brief = "Lists members of a sorted set by score, from the highest on.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `REV` and `BYSCORE` arguments"},

    {.name = "zrangebylex", .arity = -4, .run = cmd_zrangebylex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key min/string max/string [LIMIT offset count]",
     .since = "2.8.9", .cost = COST_RANGE,
     .brief = "Lists members of a sorted set by name.",
     .deprecated_since = "6.2.0", .replaced_by = "`ZRANGE` with the `BYLEX` argument"},

    {.name = "zrevrangebylex", .arity = -4, .run = cmd_zrevrangebylex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key max/string min/string [LIMIT offset count]",
     .since = "2.8.9", .cost = COST_RANGE,
     .brief = "Lists members of a sorted set by name, from the last on.",
     .deprecated_since = "6.2.0",
     .replaced_by = "`ZRANGE` with the `REV` and `BYLEX` arguments"},

    {.name = "zcount", .arity = 4, .run = cmd_zcount, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key min max", .since = "2.0.0", .cost = "O(log(N))",
     .brief = "Counts members of a sorted set by score."},

    {.name = "zlexcount", .arity = 4, .run = cmd_zlexcount, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key min/string max/string", .since = "2.8.9", .cost = "O(log(N))",
     .brief = "Counts members of a sorted set by name."},

    {.name = "zremrangebyrank", .arity = 4, .run = cmd_zremrangebyrank, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE, .acl = ACL_SORTEDSET,
     .syntax = "key start stop", .since = "2.0.0", .cost = COST_DELETE,
     .brief = "Removes members of a sorted set by rank."},

    {.name = "zremrangebyscore", .arity = 4, .run = cmd_zremrangebyscore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE, .acl = ACL_SORTEDSET,
     .syntax = "key min max", .since = "1.2.0", .cost = COST_DELETE,
     .brief = "Removes members of a sorted set by score."},

    {.name = "zremrangebylex", .arity = 4, .run = cmd_zremrangebylex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE, .acl = ACL_SORTEDSET,
     .syntax = "key min/string max/string", .since = "2.8.9", .cost = COST_DELETE,
     .brief = "Removes members of a sorted set by name."},
    {0},
};
/* clang-format on */
