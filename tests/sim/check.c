/*
 * How: the search for another order is that of Wing and Gong, with Lowe's memory of configurations
 * visited: linearise any operation that no unlinearised one must precede, if its results are as
 * recorded; go back when stuck.
 */
#include "tests/sim/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "tests/sim/world.h"

#define SEARCH_NODES_MAX 400000u
#define VISITED_CAP (1u << 20) /* a power of two, more than twice the nodes */

static struct verdict wrong(const char *kind, const struct op *op, const char *text)
{
    struct verdict verdict = {.kind = kind};
    snprintf(verdict.text, sizeof(verdict.text), "c%d/%u %s: %s", (int)op->conn, op->index,
             op_name(op->kind), text);
    return verdict;
}

static uint32_t result_count(const struct op *op)
{
    if (op->kind == OP_CONFIG)
        return 0;
    return op->kind == OP_LOOK || op->kind == OP_CHAIN ? 1 : op->key_count;
}

static bool same_results(const struct op *op, const uint64_t *result)
{
    return memcmp(op->result, result, result_count(op) * sizeof(result[0])) == 0;
}

/* ---- the claimed order ---------------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const struct place *a = &(*(struct op *const *)left)->place;
    const struct place *b = &(*(struct op *const *)right)->place;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static uint32_t all_ops(struct op **out_ops)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < world.conn_count; c++)
        for (uint32_t i = 0; i < world.conns[c].op_count; i++)
            out_ops[count++] = &world.conns[c].ops[i];
    for (uint32_t i = 0; i < world.follow_up_count; i++)
        out_ops[count++] = &world.follow_ups[i];
    return count;
}

static const struct op *find_misplaced(struct op **ops, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct op *op = ops[i];
        if (op->place.step < op->asked_at || op->place.step > op->answered_at)
            return op;
        if (i > 0 && op->conn != NOBODY && ops[i - 1]->conn == op->conn &&
            by_place(&ops[i - 1], &ops[i]) > 0)
            return op;
    }
    return NULL;
}

/* The first operation, in the claimed order, whose results differ from the serial execution's. */
static const struct op *find_different(struct op **ops, uint32_t count)
{
    uint64_t values[WORLD_KEYS_MAX] = {0}, config = 0, result[WORLD_KEYS_MAX];
    qsort(ops, count, sizeof(ops[0]), by_place);
    for (uint32_t i = 0; i < count; i++) {
        op_apply(ops[i], values, &config, result);
        if (!same_results(ops[i], result))
            return ops[i];
    }
    return memcmp(values, world.values, sizeof(values)) == 0 ? NULL : ops[count - 1];
}

/* ---- any other order ------------------------------------------------------------------------ */

/* Operations that must keep their order: a connection's, or a follow-up alone. */
struct sequence {
    struct op *ops;
    uint32_t count, done;
};

struct state {
    uint64_t values[WORLD_KEYS_MAX];
    uint64_t config;
};

static struct search {
    struct sequence sequences[WORLD_CONNS_MAX + WORLD_FOLLOW_UPS_MAX];
    uint32_t sequence_count;
    uint32_t nodes;
    uint64_t *visited; /* [VISITED_CAP] hashes of configurations, 0 for none */
} search;

static uint64_t hash_more(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0xff51afd7ed558ccdull;
    return hash ^ hash >> 32;
}

/* True the first time this configuration is met. */
static bool visit(const struct state *state)
{
    uint64_t hash = hash_more(1, state->config);
    for (uint32_t i = 0; i < WORLD_KEYS_MAX; i++)
        hash = hash_more(hash, state->values[i]);
    for (uint32_t i = 0; i < search.sequence_count; i++)
        hash = hash_more(hash, search.sequences[i].done);
    hash |= 1;
    uint32_t at = (uint32_t)(hash >> 32) & (VISITED_CAP - 1);
    for (; search.visited[at]; at = (at + 1) & (VISITED_CAP - 1))
        if (search.visited[at] == hash)
            return false;
    search.visited[at] = hash;
    return true;
}

/* The earliest answer among what is not yet linearised: nothing asked later may come before it. */
static uint64_t earliest_answer(void)
{
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < search.sequence_count; i++) {
        const struct sequence *sequence = &search.sequences[i];
        if (sequence->done < sequence->count &&
            sequence->ops[sequence->done].answered_at < earliest)
            earliest = sequence->ops[sequence->done].answered_at;
    }
    return earliest;
}

enum found { FOUND, NOT_FOUND, GAVE_UP };

static enum found find_order(const struct state *state)
{
    if (++search.nodes > SEARCH_NODES_MAX)
        return GAVE_UP;
    uint64_t earliest = earliest_answer();
    if (earliest == UINT64_MAX)
        return memcmp(state->values, world.values, sizeof(state->values)) == 0 ? FOUND : NOT_FOUND;
    for (uint32_t i = 0; i < search.sequence_count; i++) {
        struct sequence *sequence = &search.sequences[i];
        if (sequence->done == sequence->count)
            continue;
        const struct op *op = &sequence->ops[sequence->done];
        if (op->asked_at > earliest)
            continue;
        struct state after = *state;
        uint64_t result[WORLD_KEYS_MAX];
        op_apply(op, after.values, &after.config, result);
        if (!same_results(op, result))
            continue;
        sequence->done++;
        enum found found = visit(&after) ? find_order(&after) : NOT_FOUND;
        sequence->done--;
        if (found != NOT_FOUND)
            return found;
    }
    return NOT_FOUND;
}

static enum found find_any_order(void)
{
    if (!search.visited)
        search.visited = mem_alloc(VISITED_CAP * sizeof(search.visited[0]));
    memset(search.visited, 0, VISITED_CAP * sizeof(search.visited[0]));
    search.nodes = search.sequence_count = 0;
    for (uint32_t c = 0; c < world.conn_count; c++)
        search.sequences[search.sequence_count++] = (struct sequence){world.conns[c].ops,
                                                                      world.conns[c].op_count, 0};
    for (uint32_t i = 0; i < world.follow_up_count; i++)
        search.sequences[search.sequence_count++] = (struct sequence){&world.follow_ups[i], 1, 0};
    struct state state = {0};
    return find_order(&state);
}

struct verdict check_history(void)
{
    struct op *ops[WORLD_OPS_MAX];
    uint32_t count = all_ops(ops);
    for (uint32_t i = 0; i < count; i++) /* who sleeps need not have heard of a new configuration */
        if (ops[i]->ran_mask != ops[i]->mask && ops[i]->kind != OP_CONFIG)
            return wrong("part not run", ops[i], "answered, but not run everywhere");
    const struct op *suspect = find_misplaced(ops, count);
    if (!suspect)
        suspect = find_different(ops, count);
    if (!suspect)
        return (struct verdict){0};
    switch (find_any_order()) {
    case NOT_FOUND:
        return wrong("not serialisable", suspect, "no order explains the results");
    case FOUND:
        return wrong(VERDICT_CLAIM, suspect, "another order explains the results");
    case GAVE_UP:
        break;
    }
    return wrong(VERDICT_CLAIM, suspect, "no order was found in time");
}

void check_fini(void)
{
    mem_free(search.visited);
    search.visited = NULL;
}
