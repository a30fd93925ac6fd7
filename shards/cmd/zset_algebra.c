/*
 * zset_algebra: ZUNION, ZINTER, ZDIFF and their kin. Inputs are sorted sets, or sets, whose members
 * all score 1.
 *
 * Redis adds scores up from the smallest input to the largest, whatever order they are named in.
 * Sums of doubles depend on it, so it is done here too. A result is built as a tree, in which -0 is
 * not 0, and kept as a pack if it fits one.
 */
#include <math.h>
#include <stdlib.h>

#include "core/type/set.h"
#include "core/type/zset.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/zset_key.h"

#define SET_SCORE 1.0 /* of each member of a set */

enum operation { OPERATION_UNION, OPERATION_INTER, OPERATION_DIFF };
enum aggregate { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX };

/* ---- Inputs: sets and sorted sets ---------------------------------------------------------- */

struct input {
    const struct zset *zset; /* one of the two, or none: an absent key is empty */
    const struct set *set;
    double weight;
    uint64_t count;
    uint32_t index; /* the word that is its key */
};

static enum status open_input(struct call *call, uint32_t index, struct input *out)
{
    struct input input = {.weight = 1, .index = index};
    const struct value *value = db_lookup(call_db(call, index), call_key(call, index));
    if (value && value_type(value) == TYPE_ZSET) {
        input.zset = value_root(value);
        input.count = zset_count(input.zset);
    } else if (value && value_type(value) == TYPE_SET) {
        input.set = value_root(value);
        input.count = set_count(input.set);
    } else if (value) {
        return ERR_WRONG_TYPE;
    }
    *out = input;
    return OK;
}

static bool input_find(const struct input *input, struct bytes member, double *out_score)
{
    if (input->zset)
        return zset_find(input->zset, member, out_score);
    if (!input->set || !set_has(input->set, member))
        return false;
    *out_score = SET_SCORE;
    return true;
}

struct visitor {
    zset_visit_fn visit;
    void *context;
};

static void visit_member(void *context, struct bytes member)
{
    const struct visitor *visitor = context;
    visitor->visit(visitor->context, (struct zset_entry){member, SET_SCORE});
}

static void input_each(const struct input *input, zset_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    if (input->set)
        set_each(input->set, visit_member, &visitor);
    if (!input->zset)
        return;
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(input->zset, 0, false, &cursor);
    while (zset_step(&cursor, &entry))
        visit(context, entry);
}

/* Equal ones stay in the order of their words. */
static int compare_inputs(const void *a, const void *b)
{
    const struct input *left = a, *right = b;
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    return left->index < right->index ? -1 : 1;
}

/* ---- Reading the words --------------------------------------------------------------------- */

struct algebra {
    enum operation operation;
    bool is_store;       /* word 1 is where the result goes */
    bool is_cardinality; /* only the count is asked for */
    bool with_scores;
    enum aggregate aggregate;
    uint64_t limit; /* of a cardinality; 0: none */
    struct input *inputs;
    uint32_t input_count;
};

static enum status read_weights(struct call *call, uint32_t first, struct algebra *algebra)
{
    for (uint32_t i = 0; i < algebra->input_count; i++) {
        if (call_arg_double(call, first + i, &algebra->inputs[i].weight) != OK)
            return call_fail_text(call, "ERR weight value is not a float");
    }
    return OK;
}

static enum status read_aggregate(struct call *call, uint32_t index, struct algebra *algebra)
{
    if (call_arg_is(call, index, "SUM"))
        algebra->aggregate = AGGREGATE_SUM;
    else if (call_arg_is(call, index, "MIN"))
        algebra->aggregate = AGGREGATE_MIN;
    else if (call_arg_is(call, index, "MAX"))
        algebra->aggregate = AGGREGATE_MAX;
    else
        return ERR_SYNTAX;
    return OK;
}

static enum status read_limit(struct call *call, uint32_t index, struct algebra *algebra)
{
    int64_t limit;
    if (call_arg_int(call, index, &limit) != OK || limit < 0)
        return call_fail_text(call, "ERR LIMIT can't be negative");
    algebra->limit = (uint64_t)limit;
    return OK;
}

static enum status read_options(struct call *call, uint32_t first, struct algebra *algebra)
{
    bool combines = algebra->operation != OPERATION_DIFF && !algebra->is_cardinality;
    for (uint32_t i = first; i < call->arg_count;) {
        uint32_t left = call->arg_count - i; /* words, this one included */
        if (combines && left > algebra->input_count && call_arg_is(call, i, "WEIGHTS")) {
            TRY(read_weights(call, i + 1, algebra));
            i += 1 + algebra->input_count;
        } else if (combines && left >= 2 && call_arg_is(call, i, "AGGREGATE")) {
            TRY(read_aggregate(call, i + 1, algebra));
            i += 2;
        } else if (!algebra->is_store && !algebra->is_cardinality &&
                   call_arg_is(call, i, "WITHSCORES")) {
            algebra->with_scores = true;
            i++;
        } else if (algebra->is_cardinality && left >= 2 && call_arg_is(call, i, "LIMIT")) {
            TRY(read_limit(call, i + 1, algebra));
            i += 2;
        } else {
            return ERR_SYNTAX;
        }
    }
    return OK;
}

static enum status read_algebra(struct call *call, struct algebra *algebra)
{
    uint32_t at = algebra->is_store ? 2 : 1; /* the number of keys, then the keys */
    int64_t input_count;
    TRY(call_arg_int(call, at, &input_count));
    if (input_count < 1)
        return call_fail_text(call, "ERR at least 1 input key is needed for '%s' command",
                              call->command->name);
    if (input_count > call->arg_count - at - 1)
        return ERR_SYNTAX;
    algebra->input_count = (uint32_t)input_count;
    algebra->inputs = arena_alloc(call->arena, algebra->input_count * sizeof *algebra->inputs);
    for (uint32_t i = 0; i < algebra->input_count; i++)
        TRY(open_input(call, at + 1 + i, &algebra->inputs[i]));
    TRY(read_options(call, at + 1 + algebra->input_count, algebra));
    if (algebra->operation != OPERATION_DIFF)
        qsort(algebra->inputs, algebra->input_count, sizeof *algebra->inputs, compare_inputs);
    return OK;
}

/* ---- Combining ----------------------------------------------------------------------------- */

static const struct zset_limits no_pack = {0};

struct work {
    const struct algebra *algebra;
    const struct input *input; /* whose members are visited */
    struct heap *heap;
    struct zset *result;      /* NULL for a cardinality */
    uint64_t count, text_len; /* members found; bytes of the longest one */
};

static double combine(enum aggregate aggregate, double a, double b)
{
    switch (aggregate) {
    case AGGREGATE_MIN:
        return b < a ? b : a;
    case AGGREGATE_MAX:
        return b > a ? b : a;
    default:
        return isnan(a + b) ? 0 : a + b; /* of opposite infinities */
    }
}

static double weigh(double weight, double score)
{
    return isnan(weight * score) ? 0 : weight * score; /* of infinity and 0 */
}

static void keep(struct work *work, struct zset_entry entry)
{
    work->count++;
    if (entry.member.len > work->text_len)
        work->text_len = entry.member.len;
    if (work->result)
        (void)zset_put(work->result, work->heap, &no_pack, entry.member, entry.score);
}

static void unite_entry(void *context, struct zset_entry entry)
{
    struct work *work = context;
    double old;
    entry.score = weigh(work->input->weight, entry.score);
    if (!zset_find(work->result, entry.member, &old)) {
        keep(work, entry);
        return;
    }
    entry.score = combine(work->algebra->aggregate, old, entry.score);
    (void)zset_put(work->result, work->heap, &no_pack, entry.member, entry.score);
}

static void intersect_entry(void *context, struct zset_entry entry)
{
    struct work *work = context;
    const struct algebra *algebra = work->algebra;
    if (algebra->limit && work->count == algebra->limit)
        return;
    entry.score = weigh(work->input->weight, entry.score);
    for (uint32_t i = 1; i < algebra->input_count; i++) {
        double other;
        if (!input_find(&algebra->inputs[i], entry.member, &other))
            return;
        /* Not by weigh(): of infinity and 0, MIN and MAX keep what they have. */
        other *= algebra->inputs[i].weight;
        entry.score = combine(algebra->aggregate, entry.score, other);
    }
    keep(work, entry);
}

static void subtract_entry(void *context, struct zset_entry entry)
{
    struct work *work = context;
    double other;
    for (uint32_t i = 1; i < work->algebra->input_count; i++) {
        if (input_find(&work->algebra->inputs[i], entry.member, &other))
            return;
    }
    keep(work, entry);
}

static void run_operation(struct work *work)
{
    const struct algebra *algebra = work->algebra;
    switch (algebra->operation) {
    case OPERATION_UNION:
        for (uint32_t i = 0; i < algebra->input_count; i++) {
            work->input = &algebra->inputs[i];
            input_each(work->input, unite_entry, work);
        }
        break;
    case OPERATION_INTER:
        work->input = &algebra->inputs[0];
        input_each(work->input, intersect_entry, work);
        break;
    case OPERATION_DIFF:
        work->input = &algebra->inputs[0];
        input_each(work->input, subtract_entry, work);
        break;
    }
}

/* ---- Answering ----------------------------------------------------------------------------- */

static void destroy(struct zset *zset, struct heap *heap)
{
    (void)zset_ops.free_some(zset, heap, SIZE_MAX);
}

static void reply_result(struct call *call, const struct work *work)
{
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_reply_begin(call, work->count, work->algebra->with_scores);
    zset_seek(work->result, 0, false, &cursor);
    while (zset_step(&cursor, &entry))
        zset_reply_entry(call, entry, work->algebra->with_scores);
    destroy(work->result, work->heap);
}

static void store_result(struct call *call, struct work *work)
{
    const struct zset_limits *limits = &call->config->zset_limits;
    if (work->count <= limits->member_count && work->text_len <= limits->text_len) {
        struct zset *pack = zset_create(work->heap);
        struct zset_cursor cursor;
        struct zset_entry entry;
        zset_seek(work->result, 0, false, &cursor);
        while (zset_step(&cursor, &entry))
            (void)zset_put(pack, work->heap, limits, entry.member, entry.score);
        destroy(work->result, work->heap);
        work->result = pack;
    }
    zset_key_replace(call, 1, work->result); /* the inputs may be gone now */
    reply_int(call->reply, (int64_t)work->count);
}

static enum status run_algebra(struct call *call, struct algebra algebra)
{
    TRY(read_algebra(call, &algebra));
    struct work work = {.algebra = &algebra};
    work.heap = algebra.is_store ? zset_key_heap(call, 1) : call->shard->heap;
    if (!algebra.is_cardinality) {
        work.result = zset_create(work.heap);
        zset_expect(work.result, work.heap, &no_pack, 1);
    }
    run_operation(&work);
    if (algebra.is_cardinality)
        reply_int(call->reply, (int64_t)work.count);
    else if (algebra.is_store)
        store_result(call, &work);
    else
        reply_result(call, &work);
    return OK;
}

static enum status cmd_zunion(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_UNION});
}

static enum status cmd_zunionstore(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_UNION, .is_store = true});
}

static enum status cmd_zinter(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_INTER});
}

static enum status cmd_zinterstore(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_INTER, .is_store = true});
}

static enum status cmd_zintercard(struct call *call)
{
    return run_algebra(call,
                       (struct algebra){.operation = OPERATION_INTER, .is_cardinality = true});
}

static enum status cmd_zdiff(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_DIFF});
}

static enum status cmd_zdiffstore(struct call *call)
{
    return run_algebra(call, (struct algebra){.operation = OPERATION_DIFF, .is_store = true});
}

/* clang-format off */
#define KEYS_COUNTED(word) \
    {.flags = KEY_RO | KEY_ACCESS, .index = (word), .counted = true, .last = 0, .first = 1, .step = 1}
#define KEYS_STORED {{.flags = KEY_OW | KEY_UPDATE, .index = 1, .step = 1}, KEYS_COUNTED(2)}

#define WEIGHTS_AGGREGATE "[WEIGHTS weight [weight ...]] [AGGREGATE aggregate=<SUM | MIN | MAX>]"
#define COST_UNION "O(N*log(N)) where N is the number of all members of the inputs."
#define COST_INTER "O(N*K) where N is the number of members of the smallest of K inputs."
#define COST_DIFF "O(N*K) where N is the number of members of the first of K inputs."

const struct command zset_algebra_commands[] = {
    {.name = "zunion", .arity = -3, .run = cmd_zunion, .plan = PLAN_TOGETHER,
     .keys = {KEYS_COUNTED(1)},
     .flags = CMD_READONLY | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "numkeys key [key ...] " WEIGHTS_AGGREGATE " [WITHSCORES]", .since = "6.2.0",
     .cost = COST_UNION, .brief = "Lists the members that any of several sorted sets has."},

    {.name = "zunionstore", .arity = -4, .run = cmd_zunionstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_STORED,
     .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "destination numkeys key [key ...] " WEIGHTS_AGGREGATE, .since = "2.0.0",
     .cost = COST_UNION, .brief = "Keeps the union of several sorted sets at a key."},

    {.name = "zinter", .arity = -3, .run = cmd_zinter, .plan = PLAN_TOGETHER,
     .keys = {KEYS_COUNTED(1)},
     .flags = CMD_READONLY | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "numkeys key [key ...] " WEIGHTS_AGGREGATE " [WITHSCORES]", .since = "6.2.0",
     .cost = COST_INTER, .brief = "Lists the members that all of several sorted sets have."},

    {.name = "zinterstore", .arity = -4, .run = cmd_zinterstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_STORED,
     .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "destination numkeys key [key ...] " WEIGHTS_AGGREGATE, .since = "2.0.0",
     .cost = COST_INTER, .brief = "Keeps the intersection of several sorted sets at a key."},

    {.name = "zintercard", .arity = -3, .run = cmd_zintercard, .plan = PLAN_TOGETHER,
     .keys = {KEYS_COUNTED(1)},
     .flags = CMD_READONLY | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "numkeys key [key ...] [LIMIT limit]", .since = "7.0.0",
     .cost = COST_INTER, .brief = "Counts the members that all of several sorted sets have."},

    {.name = "zdiff", .arity = -3, .run = cmd_zdiff, .plan = PLAN_TOGETHER,
     .keys = {KEYS_COUNTED(1)},
     .flags = CMD_READONLY | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "numkeys key [key ...] [WITHSCORES]", .since = "6.2.0",
     .cost = COST_DIFF, .brief = "Lists the members of one sorted set that no other has."},

    {.name = "zdiffstore", .arity = -4, .run = cmd_zdiffstore, .plan = PLAN_TOGETHER,
     .keys = KEYS_STORED,
     .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "destination numkeys key [key ...]", .since = "6.2.0",
     .cost = COST_DIFF, .brief = "Keeps the members of one sorted set that no other has at a key."},
    {0},
};
/* clang-format on */
