/*
 * zset: ZADD, ZSCORE, ZRANK and their kin, which read or change single members of the sorted set at
 * one key. Ranges are in zset_range.c, what takes members by their place or by chance in
 * zset_pick.c, what combines sorted sets in zset_algebra.c.
 */
#include "core/type/zset.h"

#include <math.h>

#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/zset_key.h"

#define ZADD_NX (1u << 0)
#define ZADD_XX (1u << 1)
#define ZADD_GT (1u << 2)
#define ZADD_LT (1u << 3)
#define ZADD_CH (1u << 4)
#define ZADD_INCR (1u << 5)

/* ---- Adding -------------------------------------------------------------------------------- */

struct add {
    uint32_t flags;
    uint32_t first; /* the word that is the first score */
    uint32_t count; /* pairs of score and member */
    double *scores;
    int64_t added_count, changed_count;
    bool was_processed; /* INCR: not held back by NX, XX, GT or LT */
    double new_score;
};

static uint32_t add_flag(const struct call *call, uint32_t index)
{
    static const struct {
        const char *word;
        uint32_t flag;
    } words[] = {{"NX", ZADD_NX}, {"XX", ZADD_XX}, {"GT", ZADD_GT},
                 {"LT", ZADD_LT}, {"CH", ZADD_CH}, {"INCR", ZADD_INCR}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (call_arg_is(call, index, words[i].word))
            return words[i].flag;
    }
    return 0;
}

static enum status read_add_words(struct call *call, struct add *add)
{
    uint32_t flag;
    for (add->first = 2; (flag = add_flag(call, add->first)) != 0; add->first++)
        add->flags |= flag;
    uint32_t left = call->arg_count - add->first;
    if (left == 0 || left % 2 != 0)
        return ERR_SYNTAX;
    add->count = left / 2;

    bool nx = add->flags & ZADD_NX, gt = add->flags & ZADD_GT, lt = add->flags & ZADD_LT;
    if (nx && (add->flags & ZADD_XX))
        return call_fail_text(call, "ERR XX and NX options at the same time are not compatible");
    if ((gt && nx) || (lt && nx) || (gt && lt))
        return call_fail_text(call,
                              "ERR GT, LT, and/or NX options at the same time are not compatible");
    if ((add->flags & ZADD_INCR) && add->count > 1)
        return call_fail_text(call, "ERR INCR option supports a single increment-element pair");

    add->scores = arena_alloc(call->arena, add->count * sizeof *add->scores);
    for (uint32_t i = 0; i < add->count; i++)
        TRY(call_arg_double(call, add->first + 2 * i, &add->scores[i]));
    return OK;
}

/* Whether the flags let the pair at `index` through, and with which score. */
static enum status decide(struct call *call, struct add *add, const struct zset *zset,
                          uint32_t index, bool *out_passes, bool *out_changes)
{
    double old, score = add->scores[index];
    *out_passes = *out_changes = false;
    if (!zset || !zset_find(zset, call_arg(call, add->first + 2 * index + 1), &old)) {
        *out_passes = *out_changes = !(add->flags & ZADD_XX);
        add->new_score = score;
        return OK;
    }
    if (add->flags & ZADD_NX)
        return OK;
    if (add->flags & ZADD_INCR)
        score += old;
    if (isnan(score))
        return call_fail_text(call, "ERR resulting score is not a number (NaN)");
    if (((add->flags & ZADD_LT) && score >= old) || ((add->flags & ZADD_GT) && score <= old))
        return OK;
    *out_passes = true;
    *out_changes = score != old;
    add->new_score = score;
    return OK;
}

/* A sorted set that nothing is changed in is not edited, or made. */
static enum status add_all(struct call *call, struct add *add)
{
    const struct zset *found;
    TRY(zset_key_find_to_write(call, 1, &found));
    struct heap *heap = zset_key_heap(call, 1);
    const struct zset_limits *limits = &call->config->zset_limits;
    struct zset *zset = NULL;
    for (uint32_t i = 0; i < add->count; i++) {
        bool passes, changes;
        TRY(decide(call, add, found, i, &passes, &changes));
        add->was_processed |= passes;
        if (!changes)
            continue;
        if (!zset) {
            zset = zset_key_edit(call, 1, found);
            zset_expect(zset, heap, limits, add->count);
            found = zset;
        }
        struct bytes member = call_arg(call, add->first + 2 * i + 1);
        bool is_new = zset_put(zset, heap, limits, member, add->new_score);
        add->added_count += is_new;
        add->changed_count++;
    }
    return OK;
}

static enum status run_add(struct call *call, uint32_t flags)
{
    struct add add = {.flags = flags};
    TRY(read_add_words(call, &add));
    TRY(add_all(call, &add));
    if (!(add.flags & ZADD_INCR))
        reply_int(call->reply, add.flags & ZADD_CH ? add.changed_count : add.added_count);
    else if (add.was_processed)
        reply_double(call->reply, add.new_score);
    else
        reply_null(call->reply);
    return OK;
}

static enum status cmd_zadd(struct call *call)
{
    return run_add(call, 0);
}

static enum status cmd_zincrby(struct call *call)
{
    return run_add(call, ZADD_INCR);
}

static enum status cmd_zrem(struct call *call)
{
    const struct zset *found;
    TRY(zset_key_find_to_write(call, 1, &found));
    struct heap *heap = zset_key_heap(call, 1);
    struct zset *zset = NULL; /* a sorted set that has none of the members is not changed */
    int64_t deleted_count = 0;
    double score;
    for (uint32_t i = 2; found && i < call->arg_count; i++) {
        if (!zset && !zset_find(found, call_arg(call, i), &score))
            continue;
        if (!zset)
            zset = zset_key_edit(call, 1, found);
        deleted_count += zset_delete(zset, heap, call_arg(call, i));
    }
    if (zset)
        zset_key_trim(call, 1, zset);
    reply_int(call->reply, deleted_count);
    return OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static enum status cmd_zcard(struct call *call)
{
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    reply_int(call->reply, zset ? (int64_t)zset_count(zset) : 0);
    return OK;
}

static void reply_score(struct call *call, const struct zset *zset, struct bytes member)
{
    double score;
    if (zset && zset_find(zset, member, &score))
        reply_double(call->reply, score);
    else
        reply_null(call->reply);
}

static enum status cmd_zscore(struct call *call)
{
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    reply_score(call, zset, call_arg(call, 2));
    return OK;
}

static enum status cmd_zmscore(struct call *call)
{
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++)
        reply_score(call, zset, call_arg(call, i));
    return OK;
}

static enum status reply_rank(struct call *call, bool is_reverse)
{
    if (call->arg_count > 4)
        return ERR_WRONG_ARITY;
    bool with_score = call->arg_count == 4;
    if (with_score && !call_arg_is(call, 3, "WITHSCORE"))
        return ERR_SYNTAX;
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    uint64_t rank;
    double score;
    if (!zset || !zset_find_rank(zset, call_arg(call, 2), &rank, &score)) {
        if (with_score)
            reply_null_array(call->reply);
        else
            reply_null(call->reply);
        return OK;
    }
    if (is_reverse)
        rank = zset_count(zset) - 1 - rank;
    if (with_score)
        reply_array(call->reply, 2);
    reply_int(call->reply, (int64_t)rank);
    if (with_score)
        reply_double(call->reply, score);
    return OK;
}

static enum status cmd_zrank(struct call *call)
{
    return reply_rank(call, false);
}

static enum status cmd_zrevrank(struct call *call)
{
    return reply_rank(call, true);
}

/* clang-format off */
const struct command zset_commands[] = {
    {.name = "zadd", .arity = -4, .run = cmd_zadd, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key condition=[NX | XX]@3.0.2 comparison=[GT | LT]@6.2.0 "
               "[change=CH]@3.0.2 [increment=INCR]@3.0.2 score member [score member ...]",
     .since = "1.2.0", .cost = "O(log(N)) for each member given.",
     .history = "2.4.0 Takes several members.; 3.0.2 Takes XX, NX, CH and INCR.; "
                "6.2.0 Takes GT and LT.",
     .brief = "Gives members of a sorted set their scores."},

    {.name = "zincrby", .arity = 4, .run = cmd_zincrby, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key increment member", .since = "1.2.0", .cost = "O(log(N))",
     .brief = "Adds to the score of a member."},

    {.name = "zrem", .arity = -3, .run = cmd_zrem, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key member [member ...]", .since = "1.2.0",
     .cost = "O(log(N)) for each member given.",
     .history = "2.4.0 Takes several members.",
     .brief = "Removes members of a sorted set; without members the key goes too."},

    {.name = "zcard", .arity = 2, .run = cmd_zcard, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key", .since = "1.2.0", .cost = "O(1)",
     .brief = "Counts the members of a sorted set."},

    {.name = "zscore", .arity = 3, .run = cmd_zscore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key member", .since = "1.2.0", .cost = "O(1)",
     .brief = "Reads the score of a member."},

    {.name = "zmscore", .arity = -3, .run = cmd_zmscore, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key member [member ...]", .since = "6.2.0",
     .cost = "O(N) where N is the number of members asked for.",
     .brief = "Reads the scores of several members."},

    {.name = "zrank", .arity = -3, .run = cmd_zrank, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key member [WITHSCORE]", .since = "2.0.0", .cost = "O(log(N))",
     .history = "7.2.0 Takes WITHSCORE.",
     .brief = "Tells how many members come before one."},

    {.name = "zrevrank", .arity = -3, .run = cmd_zrevrank, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key member [WITHSCORE]", .since = "2.0.0", .cost = "O(log(N))",
     .history = "7.2.0 Takes WITHSCORE.",
     .brief = "Tells how many members come after one."},
    {0},
};
/* clang-format on */
