/*
 * world: what surrounds the order log: connections that ask, data that is asked for, and a
 * record of all that happened, for the checker.
 *
 * A connection has a list of operations, sends some of them at a time (a pipeline), sometimes
 * without waiting for replies, and gets its replies in order. Values are hashes of their whole past
 * (a write mixes its own number into the old value), so two writes in the wrong order never go
 * unnoticed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "tests/sim/schedule.h"
#include "tests/sim/variants.h"

#define WORLD_SHARDS_MAX SIM_THREADS_MAX
#define WORLD_KEYS_PER_SHARD_MAX 2u
#define WORLD_KEYS_MAX (WORLD_SHARDS_MAX * WORLD_KEYS_PER_SHARD_MAX)
#define WORLD_CONNS_MAX 8u
#define WORLD_CONN_OPS_MAX 16u
#define WORLD_FOLLOW_UPS_MAX 16u
#define WORLD_OPS_MAX (WORLD_CONNS_MAX * WORLD_CONN_OPS_MAX + WORLD_FOLLOW_UPS_MAX)
#define NOBODY UINT32_MAX

enum op_kind {
    OP_GET,    /* one key */
    OP_ADD,    /* one key, written */
    OP_MGET,   /* several keys (EACH) */
    OP_MADD,   /* several keys, all written with one number (EACH) */
    OP_SUM,    /* all keys (ALL) */
    OP_SWAP,   /* two keys exchange their values (TOGETHER) */
    OP_SPREAD, /* the first key's value goes to all the others (TOGETHER) */
    OP_TIMER,  /* one key, written; its shard's owner must act once more, later */
    OP_CHAIN,  /* one key, written; an OP_MADD over its other keys must follow by itself */
    OP_CONFIG, /* sets what all threads read (ALL, answered when published, nobody woken) */
    OP_LOOK,   /* reads that, without touching a key (HERE) */
    OP_KIND_COUNT,
};

/* Where an operation stands in the total order: the step at which that was decided (an entry's
 * compare-and-swap, or the load that found the next slot empty), then a running number. */
struct place {
    uint64_t step;
    uint64_t number;
};

struct op {
    enum op_kind kind;
    uint32_t conn;  /* NOBODY: it follows another operation */
    uint32_t index; /* of its connection */
    uint32_t key_count;
    uint8_t keys[WORLD_KEYS_MAX];
    uint64_t number;                /* what it writes */
    uint32_t mask;                  /* shards that take part */
    uint32_t ran_mask;              /* of these, those that have run their part */
    bool needs_timer;               /* OP_TIMER: set when run, cleared when the owner has acted */
    bool followed;                  /* OP_CHAIN: its successor has been made */
    uint64_t asked_at, answered_at; /* steps; 0: not yet */
    struct place place;
    uint64_t result[WORLD_KEYS_MAX]; /* per key, what was read or is now there */
};

struct conn {
    uint32_t thread;
    uint32_t op_count;
    struct op ops[WORLD_CONN_OPS_MAX];
    uint32_t pipeline_end[WORLD_CONN_OPS_MAX]; /* what is sent at once ends before these */
    uint32_t pipeline_count, pipelines_sent;
    uint32_t window; /* pipelines it sends without waiting for replies */
    /* 0 <= replied <= taken <= parsed <= sent <= op_count. Sent: in the socket. Parsed: the thread
     * has them. Taken: part of the connection's outstanding group. */
    uint32_t sent, parsed, taken, replied;
};

struct world {
    uint32_t shard_count, keys_per_shard, conn_count;
    struct conn conns[WORLD_CONNS_MAX];
    struct op follow_ups[WORLD_FOLLOW_UPS_MAX];
    uint32_t follow_up_count, follow_ups_done;
    uint32_t timers_pending;
    uint64_t values[WORLD_KEYS_MAX];
    uint64_t config[WORLD_SHARDS_MAX]; /* each thread's copy */
    uint32_t
        holder[WORLD_SHARDS_MAX]; /* the thread that owns the shard, NOBODY while handed over */
    uint64_t runs;                /* operations and parts run so far */
};

extern struct world world;

/* A new world with `shard_count` shards, drawn from `rng`. */
void world_init(struct rng *rng, uint32_t shard_count, enum focus focus);

/* The schedule's questions. */
bool world_deliver(struct rng *rng);
bool world_has_input(uint32_t thread);
bool world_is_done(void);

static inline uint32_t world_shard_of(uint32_t key)
{
    return key / world.keys_per_shard;
}

/* ---- owners: checked at every hand-over and at every touch ---- */

void world_take(uint32_t shard, uint32_t thread); /* thread has become the owner */
void world_drop(uint32_t shard, uint32_t thread); /* ... and is no longer */
void world_touch(uint32_t shard, uint32_t thread);

/* ---- operations ---- */

/* Can it only run by itself, ending the group before it? */
bool op_is_alone(const struct op *op);
bool op_is_together(const struct op *op);

/* Runs `shard`'s part of `op` (all parts of a TOGETHER one: shard is NOBODY). Thread: self(). */
void op_run(struct op *op, uint32_t shard);

/* What `op` does to `values` and `config`, and the results it would give there, in one go. */
void op_apply(const struct op *op, uint64_t *values, uint64_t *config, uint64_t *out_result);

/* The successor of a chain, to be published; NULL for none. Once only. */
struct op *op_take_follow_up(struct op *op);

/* The client has the replies of its operations up to `count` now. */
void conn_reply(struct conn *conn, uint32_t count);

const char *op_name(enum op_kind kind);
