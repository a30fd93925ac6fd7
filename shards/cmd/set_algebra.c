/*
 * set_algebra: intersections, unions and differences of sets, which may live on several shards.
 *
 * All keys are looked at before anything is written, in the order of the words. An absent key is an
 * empty set.
 */
#include <stdlib.h>

#include "core/type/set.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

/* Members that SINTERCARD looks at between two looks at its LIMIT. */
#define CARD_STEP 64u

struct operands {
    const struct set **sets; /* NULL: an empty one */
    uint32_t count;
};

static enum status find_operands(struct call *call, uint32_t first, uint32_t count,
                                 struct operands *out)
{
    struct operands found = {.sets = arena_alloc(call->arena, count * sizeof(struct set *)),
                             .count = count};
    for (uint32_t i = 0; i < count; i++) {
        const struct value *value;
        TRY(db_find(call_db(call, first + i), call_key(call, first + i), TYPE_SET, &value));
        found.sets[i] = value ? value_root(value) : NULL;
    }
    *out = found;
    return OK;
}

static size_t count_of(const struct set *set)
{
    return set ? set_count(set) : 0;
}

static int by_rising_count(const void *a, const void *b)
{
    size_t left = count_of(*(const struct set *const *)a);
    size_t right = count_of(*(const struct set *const *)b);
    return (left > right) - (left < right);
}

static int by_falling_count(const void *a, const void *b)
{
    return by_rising_count(b, a);
}

/* Where the members of a result go: into a reply, or into a set. */
struct result {
    struct reply *reply; /* or NULL */
    struct set *set;     /* or NULL */
    struct heap *heap;   /* of the set */
    const struct set_limits *limits;
    uint64_t count;
};

static void result_add(struct result *result, struct bytes member)
{
    if (result->set)
        result->count += set_add(result->set, result->heap, result->limits, member);
    else
        result->count++;
    if (result->reply)
        reply_bulk(result->reply, member);
}

static struct result result_in_set(struct call *call, struct heap *heap)
{
    return (struct result){
        .set = set_create(heap), .heap = heap, .limits = &call->config->set_limits};
}

static void result_drop_set(struct result *result)
{
    bool is_gone = set_ops.free_some(result->set, result->heap, SIZE_MAX);
    ASSERT(is_gone);
}

/* Puts the result where the command's first key says, and says how many members it has. */
static void store(struct call *call, struct result *result)
{
    if (result->count > 0) {
        (void)db_put_root(call->db, &call->key, TYPE_SET, result->set, DB_NO_EXPIRE);
    } else {
        result_drop_set(result);
        (void)db_delete(call->db, &call->key);
    }
    reply_int(call->reply, (int64_t)result->count);
}

static void write_member(void *context, struct bytes member)
{
    reply_bulk(context, member);
}

/* Answers with the members of a result that had to be collected. */
static void reply_members(struct call *call, struct result *result)
{
    reply_set(call->reply, result->count);
    set_each(result->set, write_member, call->reply);
    result_drop_set(result);
}

/* ---- Intersections ------------------------------------------------------------------------- */

struct intersection {
    struct operands operands; /* the smallest first */
    struct result result;
    uint64_t limit; /* members to find at most */
};

static void intersect_member(void *context, struct bytes member)
{
    struct intersection *intersection = context;
    const struct operands *operands = &intersection->operands;
    if (intersection->result.count >= intersection->limit)
        return;
    for (uint32_t i = 1; i < operands->count; i++) {
        if (operands->sets[i] != operands->sets[0] && !set_has(operands->sets[i], member))
            return;
    }
    result_add(&intersection->result, member);
}

static void intersect(struct intersection *intersection)
{
    const struct operands *operands = &intersection->operands;
    qsort(operands->sets, operands->count, sizeof operands->sets[0], by_rising_count);
    const struct set *smallest = operands->sets[0];
    if (!smallest)
        return;
    uint64_t cursor = 0;
    do {
        cursor = set_scan(smallest, cursor, CARD_STEP, intersect_member, intersection);
    } while (cursor != 0 && intersection->result.count < intersection->limit);
}

static enum status cmd_sinter(struct call *call)
{
    struct intersection intersection = {.result = {.reply = call->reply}, .limit = UINT64_MAX};
    TRY(find_operands(call, 1, call->arg_count - 1, &intersection.operands));
    size_t mark = reply_mark(call->reply);
    intersect(&intersection);
    reply_set_at(call->reply, mark, intersection.result.count);
    return OK;
}

static enum status cmd_sinterstore(struct call *call)
{
    struct intersection intersection = {.limit = UINT64_MAX};
    TRY(find_operands(call, 2, call->arg_count - 2, &intersection.operands));
    intersection.result = result_in_set(call, db_heap(call->db));
    intersect(&intersection);
    store(call, &intersection.result);
    return OK;
}

static enum status parse_sintercard(struct call *call, uint32_t *out_key_count, uint64_t *out_limit)
{
    int64_t key_count, limit = 0;
    if (call_arg_int(call, 1, &key_count) != OK || key_count < 1)
        return call_fail_text(call, "ERR numkeys should be greater than 0");
    if (key_count > call->arg_count - 2)
        return call_fail_text(call, "ERR Number of keys can't be greater than number of args");
    for (uint32_t i = 2 + (uint32_t)key_count; i < call->arg_count; i += 2) {
        if (!call_arg_is(call, i, "LIMIT") || i + 1 == call->arg_count)
            return ERR_SYNTAX;
        if (call_arg_int(call, i + 1, &limit) != OK || limit < 0)
            return call_fail_text(call, "ERR LIMIT can't be negative");
    }
    *out_key_count = (uint32_t)key_count;
    *out_limit = limit == 0 ? UINT64_MAX : (uint64_t)limit;
    return OK;
}

static enum status check_sintercard(struct call *call)
{
    uint32_t key_count;
    uint64_t limit;
    return parse_sintercard(call, &key_count, &limit);
}

static enum status cmd_sintercard(struct call *call)
{
    struct intersection intersection = {0};
    uint32_t key_count;
    TRY(parse_sintercard(call, &key_count, &intersection.limit));
    TRY(find_operands(call, 2, key_count, &intersection.operands));
    intersect(&intersection);
    reply_int(call->reply, (int64_t)intersection.result.count);
    return OK;
}

/* ---- Unions -------------------------------------------------------------------------------- */

static void add_member(void *context, struct bytes member)
{
    result_add(context, member);
}

static void unite(const struct operands *operands, struct result *result)
{
    for (uint32_t i = 0; i < operands->count; i++) {
        if (operands->sets[i])
            set_each(operands->sets[i], add_member, result);
    }
}

static enum status cmd_sunion(struct call *call)
{
    struct operands operands;
    TRY(find_operands(call, 1, call->arg_count - 1, &operands));
    struct result result = result_in_set(call, db_heap(call->db));
    unite(&operands, &result);
    reply_members(call, &result);
    return OK;
}

static enum status cmd_sunionstore(struct call *call)
{
    struct operands operands;
    TRY(find_operands(call, 2, call->arg_count - 2, &operands));
    struct result result = result_in_set(call, db_heap(call->db));
    unite(&operands, &result);
    store(call, &result);
    return OK;
}

/* ---- Differences --------------------------------------------------------------------------- */

struct difference {
    struct operands operands;
    struct result *result;
};

static void subtract_from_member(void *context, struct bytes member)
{
    struct difference *difference = context;
    for (uint32_t i = 1; i < difference->operands.count; i++) {
        const struct set *set = difference->operands.sets[i];
        if (set && set_has(set, member))
            return;
    }
    result_add(difference->result, member);
}

static void remove_member(void *context, struct bytes member)
{
    struct result *result = context;
    result->count -= set_remove(result->set, result->heap, member);
}

/* Is it less work to look each member of the first set up in all others than to copy the first and
 * remove the members of all others? Looking up stops at the first find and copies less: half. */
static bool should_look_up(const struct operands *operands)
{
    uint64_t first_count = count_of(operands->sets[0]);
    uint64_t look_ups = 0, members = 0;
    for (uint32_t i = 0; i < operands->count; i++) {
        look_ups += operands->sets[i] ? first_count : 0;
        members += count_of(operands->sets[i]);
    }
    return look_ups / 2 <= members;
}

/* Does the first set occur again among the others? Then nothing is left of it. */
static bool is_subtracted_from_itself(const struct operands *operands)
{
    for (uint32_t i = 1; i < operands->count; i++) {
        if (operands->sets[i] == operands->sets[0])
            return true;
    }
    return false;
}

/* `result` holds a set. */
static void subtract(const struct operands *operands, struct result *result)
{
    const struct set *first = operands->sets[0];
    if (!first || is_subtracted_from_itself(operands))
        return;
    if (should_look_up(operands)) {
        /* Members are found soonest in the largest set. */
        qsort(operands->sets + 1, operands->count - 1, sizeof operands->sets[0], by_falling_count);
        struct difference difference = {.operands = *operands, .result = result};
        set_each(first, subtract_from_member, &difference);
        return;
    }
    set_each(first, add_member, result);
    for (uint32_t i = 1; i < operands->count && result->count > 0; i++) {
        if (operands->sets[i])
            set_each(operands->sets[i], remove_member, result);
    }
}

static enum status cmd_sdiff(struct call *call)
{
    struct operands operands;
    TRY(find_operands(call, 1, call->arg_count - 1, &operands));
    struct result result = result_in_set(call, db_heap(call->db));
    subtract(&operands, &result);
    reply_members(call, &result);
    return OK;
}

static enum status cmd_sdiffstore(struct call *call)
{
    struct operands operands;
    TRY(find_operands(call, 2, call->arg_count - 2, &operands));
    struct result result = result_in_set(call, db_heap(call->db));
    subtract(&operands, &result);
    store(call, &result);
    return OK;
}

/* clang-format off */

/* The keys of the commands that store a result: where to, and what of. */
#define KEYS_TO_STORE(destination_flags)                                    \
    {{.flags = (destination_flags) | KEY_UPDATE, .index = 1, .step = 1},    \
     {.flags = KEY_RO | KEY_ACCESS, .index = 2, .last = -1, .step = 1}}

const struct command set_algebra_commands[] = {
    {.name = "sinter", .arity = -2, .run = cmd_sinter, .plan = PLAN_TOGETHER,
     .keys = KEYS_ALL(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key [key ...]", .since = "1.0.0",
     .cost = "O(N*M) where N is the size of the smallest set and M the number of sets.",
     .brief = "Lists what several sets have in common.",
     .tips = "nondeterministic_output_order"},

    {.name = "sintercard", .arity = -3, .run = cmd_sintercard, .plan = PLAN_TOGETHER,
     .check = check_sintercard,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .counted = true, .first = 1, .step = 1}},
     .flags = CMD_READONLY | CMD_MOVABLE_KEYS, .acl = ACL_SET,
     .syntax = "numkeys key [key ...] [LIMIT limit]", .since = "7.0.0",
     .cost = "O(N*M) where N is the size of the smallest set and M the number of sets.",
     .brief = "Counts what several sets have in common, up to a limit."},

    {.name = "sinterstore", .arity = -3, .run = cmd_sinterstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_TO_STORE(KEY_RW),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_SET,
     .syntax = "destination key [key ...]", .since = "1.0.0",
     .cost = "O(N*M) where N is the size of the smallest set and M the number of sets.",
     .brief = "Stores what several sets have in common."},

    {.name = "sunion", .arity = -2, .run = cmd_sunion, .plan = PLAN_TOGETHER,
     .keys = KEYS_ALL(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members of all sets.",
     .brief = "Lists what is in any of several sets.",
     .tips = "nondeterministic_output_order"},

    {.name = "sunionstore", .arity = -3, .run = cmd_sunionstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_TO_STORE(KEY_OW),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_SET,
     .syntax = "destination key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members of all sets.",
     .brief = "Stores what is in any of several sets."},

    {.name = "sdiff", .arity = -2, .run = cmd_sdiff, .plan = PLAN_TOGETHER,
     .keys = KEYS_ALL(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members of all sets.",
     .brief = "Lists what is in the first of several sets and in no other.",
     .tips = "nondeterministic_output_order"},

    {.name = "sdiffstore", .arity = -3, .run = cmd_sdiffstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_TO_STORE(KEY_OW),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_SET,
     .syntax = "destination key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members of all sets.",
     .brief = "Stores what is in the first of several sets and in no other."},
    {0},
};
/* clang-format on */
