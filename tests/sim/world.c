#include "tests/sim/world.h"

#include <string.h>

struct world world;

/* ---- making a world ------------------------------------------------------------------------- */

static bool one_in(struct rng *rng, uint32_t n)
{
    return rng_below(rng, n) == 0;
}

/* `count` different keys, the first at random, the others on any shards. */
static void draw_keys(struct rng *rng, struct op *op, uint32_t count)
{
    uint32_t all = world.shard_count * world.keys_per_shard;
    uint32_t seen = 0;
    for (op->key_count = 0; op->key_count < count && op->key_count < all;) {
        uint8_t key = (uint8_t)rng_below(rng, all);
        if (seen >> key & 1)
            continue;
        seen |= 1u << key;
        op->keys[op->key_count++] = key;
    }
}

static void draw_op(struct rng *rng, struct op *op, const uint32_t *weights)
{
    uint32_t total = 0;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        total += weights[kind];
    uint32_t ticket = (uint32_t)rng_below(rng, total);
    for (int kind = 0; ticket >= weights[kind] || weights[kind] == 0; kind++) {
        ticket -= weights[kind];
        op->kind = (enum op_kind)(kind + 1);
    }
    op->number = rng_next(rng);
    switch (op->kind) {
    case OP_GET:
    case OP_ADD:
    case OP_TIMER:
        draw_keys(rng, op, 1);
        break;
    case OP_SWAP:
        draw_keys(rng, op, 2);
        break;
    case OP_MGET:
    case OP_MADD:
    case OP_SPREAD:
    case OP_CHAIN:
        draw_keys(rng, op, 2 + (uint32_t)rng_below(rng, 2));
        break;
    case OP_SUM:
        draw_keys(rng, op, WORLD_KEYS_MAX);
        break;
    case OP_CONFIG:
    case OP_LOOK:
    case OP_KIND_COUNT:
        break;
    }
    for (uint32_t i = 0; i < op->key_count; i++)
        op->mask |= 1u << world_shard_of(op->keys[i]);
    if (op->kind == OP_CHAIN) /* itself it writes the first key only */
        op->mask = 1u << world_shard_of(op->keys[0]);
    if (op->kind == OP_CONFIG)
        op->mask = (1u << world.shard_count) - 1;
}

static void draw_conn(struct rng *rng, struct conn *conn, const uint32_t *weights,
                      uint32_t reader_percent)
{
    /* Some only read, one thing after the other: they see what should not be seen. */
    static const uint32_t reads[OP_KIND_COUNT] = {[OP_GET] = 8, [OP_MGET] = 1, [OP_LOOK] = 1};
    bool is_reader = rng_below(rng, 100) < reader_percent;
    conn->window = is_reader ? 1 : 1 + (uint32_t)rng_below(rng, 2);
    uint32_t pipelines = 1 + (uint32_t)rng_below(rng, one_in(rng, 3) ? 16 : 6);
    for (uint32_t i = 0; i < pipelines && conn->op_count < WORLD_CONN_OPS_MAX; i++) {
        uint32_t len = is_reader || one_in(rng, 2) ? 1 : 1 + (uint32_t)rng_below(rng, 3);
        for (; len > 0 && conn->op_count < WORLD_CONN_OPS_MAX; len--) {
            struct op *op = &conn->ops[conn->op_count];
            op->conn = (uint32_t)(conn - world.conns);
            op->index = conn->op_count++;
            draw_op(rng, op, is_reader ? reads : weights);
            if (op->kind == OP_LOOK)
                op->mask = 1u << conn->thread;
        }
        conn->pipeline_end[conn->pipeline_count++] = conn->op_count;
    }
}

/* Each world has likings of its own, so that a few kinds meet often. */
static void draw_likings(struct rng *rng, uint32_t *weights)
{
    uint32_t total = 0;
    for (int kind = 0; kind < OP_KIND_COUNT; kind++)
        total += weights[kind] = one_in(rng, 2) ? 0 : 1 + (uint32_t)rng_below(rng, 8);
    weights[OP_GET] += 2;
    weights[OP_MADD] += total == 0;
}

void world_init(struct rng *rng, uint32_t shard_count, enum focus focus)
{
    memset(&world, 0, sizeof(world));
    world.shard_count = shard_count;
    world.keys_per_shard = 1 + (uint32_t)rng_below(rng, WORLD_KEYS_PER_SHARD_MAX);
    for (uint32_t i = 0; i < shard_count; i++)
        world.holder[i] = i;
    world.conn_count = 2 + (uint32_t)rng_below(rng, WORLD_CONNS_MAX - 1);

    uint32_t weights[OP_KIND_COUNT] = {0};
    draw_likings(rng, weights);
    uint32_t reader_percent = 33, crowded_threads = shard_count;
    if (focus == FOCUS_READERS) {
        memset(weights, 0, sizeof(weights));
        weights[OP_MADD] = weights[OP_SWAP] = 1;
        world.keys_per_shard = 1;
        world.conn_count = WORLD_CONNS_MAX;
        reader_percent = 60;
    }
    if (focus == FOCUS_LANES) {
        crowded_threads = 1;
        world.conn_count = WORLD_CONNS_MAX;
    }
    for (uint32_t i = 0; i < world.conn_count; i++) {
        world.conns[i].thread = (uint32_t)rng_below(rng, crowded_threads);
        draw_conn(rng, &world.conns[i], weights, reader_percent);
    }
}

/* ---- the schedule's questions --------------------------------------------------------------- */

static bool conn_may_send(const struct conn *conn)
{
    uint32_t finished = 0;
    while (finished < conn->pipelines_sent && conn->pipeline_end[finished] <= conn->replied)
        finished++;
    return conn->pipelines_sent < conn->pipeline_count &&
           conn->pipelines_sent - finished < conn->window;
}

bool world_deliver(struct rng *rng)
{
    uint32_t first = (uint32_t)rng_below(rng, world.conn_count);
    for (uint32_t i = 0; i < world.conn_count; i++) {
        struct conn *conn = &world.conns[(first + i) % world.conn_count];
        if (!conn_may_send(conn))
            continue;
        uint32_t end = conn->pipeline_end[conn->pipelines_sent++];
        trace("c%u sends %u operations", (uint32_t)(conn - world.conns), end - conn->sent);
        while (conn->sent < end)
            conn->ops[conn->sent++].asked_at = now();
        return true;
    }
    return false;
}

bool world_has_input(uint32_t thread)
{
    for (uint32_t i = 0; i < world.conn_count; i++)
        if (world.conns[i].thread == thread && world.conns[i].parsed < world.conns[i].sent)
            return true;
    return false;
}

bool world_is_done(void)
{
    for (uint32_t i = 0; i < world.conn_count; i++)
        if (world.conns[i].replied < world.conns[i].op_count)
            return false;
    return world.timers_pending == 0 && world.follow_ups_done == world.follow_up_count;
}

/* ---- owners --------------------------------------------------------------------------------- */

void world_take(uint32_t shard, uint32_t thread)
{
    trace("owns s%u", shard);
    if (world.holder[shard] != NOBODY)
        fail("two owners", "t%u takes s%u, which t%u still owns", thread, shard,
             world.holder[shard]);
    world.holder[shard] = thread;
}

void world_drop(uint32_t shard, uint32_t thread)
{
    world_touch(shard, thread);
    world.holder[shard] = NOBODY;
}

void world_touch(uint32_t shard, uint32_t thread)
{
    if (world.holder[shard] != thread)
        fail("two owners", "t%u touches s%u, which belongs to t%d", thread, shard,
             (int)world.holder[shard]);
}

/* ---- operations ----------------------------------------------------------------------------- */

bool op_is_alone(const struct op *op)
{
    return op->kind == OP_CONFIG || op->kind == OP_LOOK || op->kind == OP_SUM || op_is_together(op);
}

bool op_is_together(const struct op *op)
{
    return op->kind == OP_SWAP || op->kind == OP_SPREAD;
}

static uint64_t mix(uint64_t old, uint64_t number)
{
    return (old ^ number) * 0x9e3779b97f4a7c15ull + 1;
}

static bool writes(enum op_kind kind)
{
    return kind == OP_ADD || kind == OP_MADD || kind == OP_TIMER || kind == OP_CHAIN;
}

void op_apply(const struct op *op, uint64_t *values, uint64_t *config, uint64_t *out_result)
{
    uint32_t count = op->kind == OP_CHAIN ? 1 : op->key_count;
    if (op->kind == OP_SWAP) {
        uint64_t first = values[op->keys[0]];
        values[op->keys[0]] = values[op->keys[1]];
        values[op->keys[1]] = first;
    }
    for (uint32_t i = 1; op->kind == OP_SPREAD && i < count; i++)
        values[op->keys[i]] = mix(values[op->keys[0]], i);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *value = &values[op->keys[i]];
        if (writes(op->kind))
            *value = mix(*value, op->number);
        out_result[i] = *value;
    }
    if (op->kind == OP_CONFIG)
        *config = op->number;
    if (op->kind == OP_LOOK)
        out_result[0] = *config;
}

/* Bookkeeping of a run: each part once. */
static void ran(struct op *op, uint32_t mask)
{
    if (op->ran_mask & mask)
        fail("run twice", "c%d/%u %s on shards %x", (int)op->conn, op->index, op_name(op->kind),
             mask);
    op->ran_mask |= mask;
    world.runs++;
}

static void run_together(struct op *op)
{
    ran(op, op->mask);
    for (uint32_t shard = 0; shard < world.shard_count; shard++)
        if (op->mask >> shard & 1) {
            world_touch(shard, self());
            step();
        }
    uint64_t config;
    op_apply(op, world.values, &config, op->result);
    for (uint32_t shard = 0; shard < world.shard_count; shard++)
        if (op->mask >> shard & 1)
            world_touch(shard, self());
}

void op_run(struct op *op, uint32_t shard)
{
    trace("runs c%d/%u %s on s%d", (int)op->conn, op->index, op_name(op->kind), (int)shard);
    if (shard == NOBODY) {
        run_together(op);
        return;
    }
    world_touch(shard, self());
    ran(op, 1u << shard);
    if (op->kind == OP_CONFIG) {
        step();
        world.config[shard] = op->number;
    }
    if (op->kind == OP_LOOK)
        op->result[0] = world.config[shard];
    uint32_t count = op->kind == OP_CHAIN ? 1 : op->key_count;
    if (op_is_together(op)) { /* all its keys are here */
        uint64_t config;
        op_apply(op, world.values, &config, op->result);
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (world_shard_of(op->keys[i]) != shard)
            continue;
        step(); /* an operation takes time, and its shard is owned all the while */
        world_touch(shard, self());
        uint64_t *value = &world.values[op->keys[i]];
        if (writes(op->kind))
            *value = mix(*value, op->number);
        op->result[i] = *value;
    }
    if (op->kind == OP_TIMER) {
        op->needs_timer = true;
        world.timers_pending++;
    }
}

struct op *op_take_follow_up(struct op *op)
{
    if (op->kind != OP_CHAIN || op->followed || world.follow_up_count == WORLD_FOLLOW_UPS_MAX)
        return NULL;
    op->followed = true;
    struct op *next = &world.follow_ups[world.follow_up_count];
    next->kind = OP_MADD;
    next->conn = NOBODY;
    next->index = world.follow_up_count++;
    next->number = ~op->number;
    for (uint32_t i = 1; i < op->key_count; i++) {
        next->keys[next->key_count++] = op->keys[i];
        next->mask |= 1u << world_shard_of(op->keys[i]);
    }
    next->asked_at = now();
    return next;
}

void conn_reply(struct conn *conn, uint32_t count)
{
    while (conn->replied < count) {
        struct op *op = &conn->ops[conn->replied++];
        op->answered_at = now();
        trace("c%u has the reply of %u %s", op->conn, op->index, op_name(op->kind));
    }
}

const char *op_name(enum op_kind kind)
{
    static const char *const names[] = {"GET",    "ADD",   "MGET",  "MADD",   "SUM", "SWAP",
                                        "SPREAD", "TIMER", "CHAIN", "CONFIG", "LOOK"};
    return names[kind];
}
