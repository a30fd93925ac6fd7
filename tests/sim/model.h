/*
 * model: the order log, standing together, sleeping and lending, as the design's pseudo-code has
 * it.
 *
 * One simulated thread for each shard, which it owns and may lend. Taking a request, checking the
 * log and running are separate steps. All numbers that matter are small (a log of 4 to 16, lanes of
 * 1 or 2, a handful of entries to reuse), so that laps, overflows and reuse happen all the time.
 *
 * model.c is the algorithm; turn.c is what a thread does with it: connections, groups, running, one
 * turn after the other. Functions bear the design's names, without a prefix, so that both can be
 * read side by side. LOAD, STORE, CAS and ADD are accesses that other threads may see, each a step
 * of its own; everything else belongs to one thread, or to the owner of a shard.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "tests/sim/schedule.h"
#include "tests/sim/variants.h"
#include "tests/sim/world.h"

#define LANE_CAP_MAX 2u
#define LOG_CAP_MAX 16u
#define TX_MAX 6u
#define GROUP_OPS_MAX 4u
#define MESSAGES_MAX 64u

#define LOAD(place) (step(), (place))
#define STORE(place, value) (step(), (void)((place) = (value)))
#define CAS(place, old, new) (step(), (place) == (old) ? ((place) = (new), true) : false)
#define ADD(place, amount) (step(), (place) += (amount), (place) - (amount))
#define EACH_IN(id, mask)                                                                          \
    for (uint32_t id = 0; id < world.shard_count; id++)                                            \
        if ((mask) >> id & 1)

enum baton {
    RUNNING,   /* the owner has it */
    ASLEEP,    /* nobody */
    LENT,      /* a lender or an entry has it; the owner sleeps */
    LENT_POLL, /* the same; the owner is awake and reads this word */
    LENT_WAIT, /* the same; the owner is in its ring and must be woken */
};

/* What a connection has outstanding: operations first .. first+count-1, or one piece of them. */
struct group {
    struct conn *conn;
    uint32_t first, count;
    uint32_t left_mask; /* shards that have not reported */
};

enum tx_kind { TX_SCATTER, TX_TOGETHER, TX_ANNOUNCE };

struct tx {
    uint32_t life; /* counts the reuses */
    enum tx_kind kind;
    uint32_t home;
    uint32_t mask, part_count;
    uint32_t arrived;
    bool is_done; /* only a weakened variant reads it */
    struct op *ops[WORLD_CONN_OPS_MAX];
    uint32_t op_count;
    /* Home's: */
    bool is_taken;
    uint32_t position;
    uint32_t left_mask; /* shards that have not reported */
};

struct tx_ref {
    struct tx *tx;
    uint32_t life;
};

struct slot {
    struct tx_ref entry;
    uint32_t lap; /* of the position it was filled for; 0: never */
    uint32_t mask;
};

enum message_kind { MESSAGE_REQUEST, MESSAGE_REPLY, MESSAGE_REPORT };

struct message {
    enum message_kind kind;
    uint32_t shards; /* MESSAGE_REPORT: whose parts */
    struct group *group;
    struct tx_ref entry;
};

struct lane {
    struct message messages[LANE_CAP_MAX];
    uint32_t tail; /* the sender's, as the receiver sees it */
    uint32_t head; /* the receiver's */
    /* The sender's side, owned with the shard: */
    uint32_t queued; /* tail as of the next flush */
    struct message overflow[MESSAGES_MAX];
    uint32_t overflow_first, overflow_end;
};

struct shard {
    uint32_t baton;
    uint32_t cursor;
    struct lane out[WORLD_SHARDS_MAX];
    /* Belong to the shard, and go with it: */
    struct op *timers[WORLD_CONN_OPS_MAX * WORLD_CONNS_MAX];
    uint32_t timer_count;
};

struct thread {
    uint32_t id;
    struct place checked; /* the last load that found the own next slot empty */
    enum wake woken_by;
    bool needs_room;                       /* something could not be published this turn */
    struct message requests[MESSAGES_MAX]; /* taken from lanes, to be run */
    uint32_t request_count;
    struct group *local[MESSAGES_MAX]; /* planned for the own shard */
    uint32_t local_count;
    struct op *follow_ups[WORLD_FOLLOW_UPS_MAX];
    uint32_t follow_up_count;
    struct tx txs[TX_MAX];
    struct group groups[WORLD_CONNS_MAX][GROUP_OPS_MAX]; /* of its connections, in pieces */
};

struct model {
    enum variant variant;
    /* Drawn for each schedule: */
    uint32_t log_cap, log_reserve, tx_count;
    uint32_t lend_percent, single_percent, stop_entries, chunk, lane_cap, lane_budget, polls;
    bool borrowed_lanes; /* reports leave by the lanes of the shard that reports, where possible */

    struct slot log[LOG_CAP_MAX];
    uint32_t tail;
    struct shard shards[WORLD_SHARDS_MAX];
    struct thread threads[WORLD_SHARDS_MAX];
    struct rng rng;
    uint64_t run_number;
};

extern struct model model;

/* How often the interesting things happened since the program began. */
struct model_counts {
    uint64_t entries, together_runs, more_entries, lends, lent_arrivals, lent_singles, pokes;
    uint64_t sleeps, waits_in_ring, overflows, log_full, laps, reuses;
};
extern struct model_counts model_counts;

/* Is this the weakened variant that breaks the rule at hand? */
static inline bool weak(enum variant variant)
{
    return model.variant == variant;
}

static inline bool chance(uint32_t percent)
{
    return rng_below(&model.rng, 100) < percent;
}

static inline uint32_t bit(uint32_t shard)
{
    return 1u << shard;
}

/* The entry, if it still leads the life that is meant; a later life ends the schedule. */
static inline struct tx *touch(struct tx_ref entry)
{
    if (entry.tx->life != entry.life)
        fail("touched after reuse", "t%u touches an entry of t%u", self(), entry.tx->home);
    return entry.tx;
}

static inline struct place decided_now(void)
{
    return (struct place){now(), ++model.run_number};
}

/* A new model over the present `world`, with numbers drawn from `rng`. */
void model_init(struct rng *rng, enum variant variant, enum focus focus);

/* ---- the algorithm (model.c) ---- */

/* Lanes. A full lane never makes its sender wait: what finds no room joins an overflow list. */
void push(uint32_t s, uint32_t to, struct message message);
void retry_overflow(uint32_t s);
void flush(uint32_t s); /* makes visible, and pokes each peer that got something */
void poke(uint32_t s);

/* Runs every published entry that involves the own shard. */
void catch_up(struct thread *me);

/* Takes `s` if it sleeps, and does there what the log has for it: for the entry at t, which the
 * caller has published (`single` is NULL), or to run `single` right here. True if `single` has been
 * run. */
bool lend(struct thread *me, uint32_t s, uint32_t t, struct group *single);

/* Sleeps in the ring unless there is work. Out: the shard is the thread's own again. */
void sleep_in_ring(struct thread *me);

/* Sockets only: what a thread may do while its shard is in other hands. */
void io_only(struct thread *me);

/* An entry to fill; NULL when all are still needed. False from publish(): the log is full; the
 * entry is taken back. Both then move laggards on, and the turn's sleep is timed. */
struct tx *tx_take(struct thread *me, enum tx_kind kind);
void tx_add(struct tx *tx, struct op *op);
bool publish(struct thread *me, struct tx *tx, bool is_follow_up);

/* ---- what it runs (turn.c) ---- */

/* `me`, who owns `s`, runs its part of a SCATTER or ANNOUNCE entry and reports. */
void run_part(struct thread *me, uint32_t s, struct tx_ref entry);

/* `me`, who owns all its shards, runs a TOGETHER entry and reports; `via` is one of them. */
void run_together(struct thread *me, uint32_t via, struct tx_ref entry);

/* A group whose keys are all on `s`, which `me` owns; the log was checked at that step. */
void run_group(struct thread *me, struct group *group, uint32_t s, uint64_t checked_at);

/* The life of one thread: turn after turn, for ever. */
void turn_run(uint32_t thread);
