/*
 * How: read it beside the design's section on modes. Where the design leaves a choice (lend or
 * poke, how long to poll, how many entries at one stop, whose lanes a report takes) each schedule
 * draws one.
 *
 * An entry (`tx`) is reached through a reference that remembers which of the entry's lives is
 * meant: to touch one after its reuse ends the schedule.
 */
#include "tests/sim/model.h"

#include <string.h>

#include "core/base/check.h"

struct model model;
struct model_counts model_counts;

/* ---- the log: slots ------------------------------------------------------------------------- */

enum fill { EMPTY, FILLED, LATER };

/* Slot of position t: not yet filled, filled, or already of a later lap. */
static enum fill load_slot(uint32_t t, struct slot *out_slot)
{
    *out_slot = LOAD(model.log[t % model.log_cap]);
    uint32_t lap = t / model.log_cap + 1;
    return out_slot->lap < lap ? EMPTY : out_slot->lap == lap ? FILLED : LATER;
}

static uint32_t oldest_cursor(void)
{
    uint32_t oldest = UINT32_MAX;
    for (uint32_t s = 0; s < world.shard_count; s++) {
        uint32_t cursor = LOAD(model.shards[s].cursor);
        if (cursor < oldest)
            oldest = cursor;
    }
    return oldest;
}

/* Does a filled slot from the cursor of `s` on name it? Thread: any; the cursor may move meanwhile.
 */
static bool is_named(uint32_t s)
{
    uint32_t t = LOAD(model.shards[s].cursor);
    for (;;) {
        struct slot slot;
        switch (load_slot(t, &slot)) {
        case EMPTY:
            return false;
        case LATER:
            t = LOAD(model.shards[s].cursor);
            break;
        case FILLED:
            if (slot.mask & bit(s))
                return true;
            t++;
            break;
        }
    }
}

/* ---- lanes ---------------------------------------------------------------------------------- */

void poke(uint32_t s)
{
    if (weak(WEAK_WAKE_STORES)) {
        if (LOAD(model.shards[s].baton) != ASLEEP)
            return;
        STORE(model.shards[s].baton, RUNNING);
        ring_wake(s);
        return;
    }
    if (CAS(model.shards[s].baton, ASLEEP, RUNNING)) {
        model_counts.pokes++;
        step();
        ring_wake(s);
    }
}

static bool lane_has_room(const struct lane *lane)
{
    return lane->queued - LOAD(lane->head) < model.lane_cap;
}

static void lane_put(struct lane *lane, struct message message)
{
    lane->messages[lane->queued++ % model.lane_cap] = message;
}

static bool has_overflow(const struct lane *lane)
{
    return lane->overflow_first != lane->overflow_end;
}

/* Out-lanes stored, and each peer that got something poked. Thread: the owner of `s`. */
void flush(uint32_t s)
{
    world_touch(s, self());
    for (uint32_t peer = 0; peer < world.shard_count; peer++) {
        struct lane *lane = &model.shards[s].out[peer];
        if (lane->queued == lane->tail)
            continue;
        if (weak(WEAK_POKE_BEFORE_PUSH)) { /* the load of the baton has passed the store */
            poke(peer);
            STORE(lane->tail, lane->queued);
            continue;
        }
        STORE(lane->tail, lane->queued);
        poke(peer);
    }
}

/* A full lane never makes its sender wait. Thread: the owner of `s`. */
void push(uint32_t s, uint32_t to, struct message message)
{
    world_touch(s, self());
    struct lane *lane = &model.shards[s].out[to];
    if (weak(WEAK_FULL_LANE_BLOCKS)) {
        flush(s);
        while (!lane_has_room(lane))
            step_polling();
    }
    if (!has_overflow(lane) && lane_has_room(lane)) {
        lane_put(lane, message);
        return;
    }
    model_counts.overflows++;
    trace("overflow s%u to t%u", s, to);
    ASSERT(lane->overflow_end - lane->overflow_first < MESSAGES_MAX);
    lane->overflow[lane->overflow_end++ % MESSAGES_MAX] = message;
}

void retry_overflow(uint32_t s)
{
    for (uint32_t peer = 0; peer < world.shard_count; peer++) {
        struct lane *lane = &model.shards[s].out[peer];
        while (has_overflow(lane) && lane_has_room(lane))
            lane_put(lane, lane->overflow[lane->overflow_first++ % MESSAGES_MAX]);
    }
}

/* Peers for which `s` has overflow. */
static uint32_t overflow_peers(uint32_t s)
{
    uint32_t peers = 0;
    for (uint32_t peer = 0; peer < world.shard_count; peer++)
        if (has_overflow(&model.shards[s].out[peer]))
            peers |= bit(peer);
    return peers;
}

static bool has_arrivals(uint32_t s)
{
    for (uint32_t peer = 0; peer < world.shard_count; peer++) {
        const struct lane *lane = &model.shards[peer].out[s];
        if (LOAD(lane->tail) != lane->head)
            return true;
    }
    return false;
}

/* ---- standing together ---------------------------------------------------------------------- */

static void give_back(struct thread *me, uint32_t s)
{
    struct shard *shard = &model.shards[s];
    flush(s);
    bool left = false; /* read while holding */
    if (overflow_peers(s) && !weak(WEAK_LENDER_LEAVES_OVERFLOW))
        left = true;
    if (shard->timer_count > 0 && !weak(WEAK_LENDER_LEAVES_TIMER))
        left = true;
    world_drop(s, me->id);
    trace("gives back s%u", s);
    for (;;) {
        uint32_t baton = LOAD(shard->baton);
        if (baton == LENT) {
            bool looked = weak(WEAK_LOOK_BEFORE_GIVING_BACK) && (has_arrivals(s) || is_named(s));
            if (!CAS(shard->baton, LENT, ASLEEP))
                continue;
            if (weak(WEAK_NO_LOOK_AFTER_GIVING_BACK))
                return;
            if (!weak(WEAK_LOOK_BEFORE_GIVING_BACK))
                looked = has_arrivals(s) || is_named(s);
            if (left || looked)
                poke(s);
            return;
        }
        if (baton == LENT_POLL && CAS(shard->baton, LENT_POLL, RUNNING))
            return;
        if (baton == LENT_WAIT && CAS(shard->baton, LENT_WAIT, RUNNING)) {
            step();
            if (!weak(WEAK_WAITER_NOT_WOKEN))
                ring_wake(s);
            return;
        }
        if (weak(WEAK_PARKED_IS_ASLEEP) && CAS(shard->baton, ASLEEP, RUNNING)) {
            ring_wake(s);
            return;
        }
        if (baton == RUNNING || baton == ASLEEP) /* only where a rule was broken before */
            fail("two owners", "s%u is given back, but was not lent", s);
    }
}

/* All shards of the entry at t have stopped, and are the caller's now. */
static void run_borrowed(struct thread *me, struct slot slot, uint32_t t, uint32_t via)
{
    uint32_t together = slot.mask; /* a copy: the entry will be gone */
    EACH_IN(s, together)
    {
        world_take(s, me->id);
    }
    run_together(me, via, slot.entry);

    uint32_t q = t + 1;
    for (uint32_t n = 1; n < model.stop_entries; n++, q++) { /* one stop, many entries */
        struct slot next;
        if (load_slot(q, &next) != FILLED)
            break;
        if (!(next.mask & together))
            continue;
        if (touch(next.entry)->kind == TX_TOGETHER) {
            if (next.mask & ~together) {
                if (weak(WEAK_RUNS_PAST_STRANGER))
                    continue;
                break;
            }
            run_together(me, via, next.entry);
        } else {
            EACH_IN(s, next.mask & together)
            {
                run_part(me, s, next.entry);
            }
        }
        model_counts.more_entries++;
    }

    if (weak(WEAK_GIVES_BACK_BEFORE_CURSOR)) {
        EACH_IN(s, together)
        {
            if (s != me->id)
                give_back(me, s);
        }
        EACH_IN(s, together)
        {
            STORE(model.shards[s].cursor, q);
        }
        return;
    }
    EACH_IN(s, together)
    {
        STORE(model.shards[s].cursor, q); /* no entry may be read from here on */
    }
    EACH_IN(s, together)
    {
        if (s != me->id)
            give_back(me, s);
    }
}

/* What a thread may do while its shard is in other hands: sockets, and nothing that needs the
 * shard. */
void io_only(struct thread *me)
{
    for (uint32_t i = 0; i < world.conn_count; i++)
        if (world.conns[i].thread == me->id)
            world.conns[i].parsed = world.conns[i].sent;
}

/* Out: the shard is the thread's own again, and its cursor may have moved. */
static void wait_back(struct thread *me)
{
    struct shard *own = &model.shards[me->id];
    uint32_t waiting = weak(WEAK_PARKED_IS_ASLEEP) ? ASLEEP : LENT_WAIT;
    uint32_t polls = 0;
    while (LOAD(own->baton) != RUNNING) {
        io_only(me);
        if (++polls < model.polls) {
            step_polling();
        } else if (CAS(own->baton, LENT_POLL, waiting)) {
            model_counts.waits_in_ring++;
            ring_wait(false);
            io_only(me);
            (void)CAS(own->baton, waiting, LENT_POLL); /* failed: look again */
        }
    }
    world_take(me->id, me->id);
}

/* The own shard has reached the TOGETHER entry at t. */
static void arrive(struct thread *me, struct slot slot, uint32_t t)
{
    struct shard *own = &model.shards[me->id];
    uint32_t part_count = touch(slot.entry)->part_count;
    trace("arrives at %u", t);
    world_drop(me->id, me->id);
    uint32_t arrived = 0;
    if (weak(WEAK_ADD_BEFORE_BATON)) {
        arrived = ADD(touch(slot.entry)->arrived, 1) + 1;
        STORE(own->baton, LENT_POLL);
    } else {
        STORE(own->baton, LENT_POLL);
        arrived = ADD(touch(slot.entry)->arrived, 1) + 1; /* then touch neither entry nor cursor */
    }
    if (arrived == part_count) {
        STORE(own->baton, RUNNING);
        run_borrowed(me, slot, t, me->id);
        return;
    }
    while (weak(WEAK_PARKED_POLLS_STATE) && !(step_polling(), touch(slot.entry)->is_done))
        io_only(me);
    wait_back(me);
    if (weak(WEAK_PARKED_ADVANCES_CURSOR))
        STORE(own->cursor, t + 1);
}

/* Runs every published entry that involves the own shard. */
void catch_up(struct thread *me)
{
    struct shard *own = &model.shards[me->id];
    for (;;) {
        uint32_t t = LOAD(own->cursor);
        struct slot slot;
        enum fill fill = load_slot(t, &slot);
        if (fill == EMPTY) {
            me->checked = decided_now();
            return;
        }
        if (fill == LATER) /* somebody who needed room has moved the cursor */
            continue;
        if (!(slot.mask & bit(me->id))) {
            if (weak(WEAK_CURSOR_STORED))
                STORE(own->cursor, t + 1);
            else
                (void)CAS(own->cursor, t, t + 1);
        } else if (touch(slot.entry)->kind == TX_TOGETHER) {
            arrive(me, slot, t);
        } else if (weak(WEAK_CURSOR_BEFORE_PART)) {
            STORE(own->cursor, t + 1);
            run_part(me, me->id, slot.entry);
        } else {
            run_part(me, me->id, slot.entry);
            STORE(own->cursor, t + 1);
        }
    }
}

/* ---- sleeping and lending ------------------------------------------------------------------- */

/* A lender of `s`, for the weakened rule "waits in an older entry". */
static void wait_for_older(struct shard *shard, uint32_t t)
{
    while (LOAD(shard->cursor) <= t)
        step_polling();
}

/* Takes `s` if it sleeps, and does there what the log has for it: for the entry at t, which the
 * caller has published (`single` is NULL), or to run `single` right here. True if `single` has been
 * run. */
bool lend(struct thread *me, uint32_t s, uint32_t t, struct group *single)
{
    struct shard *shard = &model.shards[s];
    if (!CAS(shard->baton, ASLEEP, LENT))
        return false;
    model_counts.lends++;
    trace("lends s%u", s);
    world_take(s, me->id);
    for (;;) {
        uint32_t c = LOAD(shard->cursor);
        struct slot slot;
        enum fill fill = load_slot(c, &slot);
        if (fill == EMPTY)
            break;
        if (fill == LATER)
            continue;
        if (!(slot.mask & bit(s))) {
            (void)CAS(shard->cursor, c, c + 1);
            continue;
        }
        if (touch(slot.entry)->kind != TX_TOGETHER) {
            run_part(me, s, slot.entry);
            STORE(shard->cursor, c + 1);
            continue;
        }
        if (single && weak(WEAK_SINGLE_PAST_ENTRY))
            break;
        bool own_entry = !single && c == t;
        if (!own_entry && !weak(WEAK_LENDER_WAITS)) {
            give_back(me, s); /* never wait, never run a stranger's entry */
            return false;
        }
        model_counts.lent_arrivals++;
        flush(s);
        world_drop(s, me->id);
        uint32_t part_count = touch(slot.entry)->part_count;
        bool last = ADD(touch(slot.entry)->arrived, 1) + 1 == part_count;
        if (last) {
            run_borrowed(me, slot, c, s);
        } else if (weak(WEAK_GIVES_BACK_AFTER_ARRIVING)) {
            world.holder[s] = me->id;
            give_back(me, s);
        } else if (!own_entry) {
            wait_for_older(shard, c);
        }
        return false; /* the shard belongs to the entry now, not to the lender */
    }
    if (single) {
        model_counts.lent_singles++;
        run_group(me, single, s, now());
    }
    give_back(me, s);
    return single != NULL;
}

/* Somebody of `mask` sleeps and must answer: lend or poke, as we like. Any other state needs
 * nothing. */
static void rouse(struct thread *me, uint32_t mask, uint32_t t)
{
    EACH_IN(s, mask & ~bit(me->id))
    {
        if (LOAD(model.shards[s].baton) != ASLEEP)
            continue;
        if (chance(model.lend_percent))
            (void)lend(me, s, t, NULL);
        else
            poke(s);
    }
}

/* What a last look before sleeping must find: an arrival, an entry, or room for overflow in
 * `peers`. */
static bool has_work(uint32_t s, uint32_t peers)
{
    if (has_arrivals(s) || is_named(s))
        return true;
    EACH_IN(peer, weak(WEAK_OVERFLOW_SLEEPS_UNTOLD) ? 0 : peers)
    {
        if (lane_has_room(&model.shards[s].out[peer]))
            return true;
    }
    return false;
}

void sleep_in_ring(struct thread *me)
{
    uint32_t s = me->id;
    struct shard *own = &model.shards[s];
    flush(s);
    uint32_t peers = overflow_peers(s);
    bool timed = own->timer_count > 0 || me->needs_room;
    bool looked = weak(WEAK_LOOK_BEFORE_SLEEPING) && has_work(s, peers);
    model_counts.sleeps++;
    trace("sleeps");
    world_drop(s, s);
    STORE(own->baton, ASLEEP);
    if (!weak(WEAK_LOOK_BEFORE_SLEEPING))
        looked = has_work(s, peers);
    if (!looked)
        me->woken_by = ring_wait(timed);
    if (weak(WEAK_TIMER_RUNS_WHILE_LENT) && me->woken_by == WAKE_TIMER && timed && !looked) {
        STORE(own->baton, RUNNING);
        world_take(s, s);
        return;
    }
    for (;;) {
        uint32_t baton = LOAD(own->baton);
        if (baton == RUNNING || (baton == ASLEEP && CAS(own->baton, ASLEEP, RUNNING))) {
            world_take(s, s);
            return;
        }
        if (baton == LENT && CAS(own->baton, LENT, LENT_POLL)) {
            wait_back(me);
            return;
        }
    }
}

/* ---- publishing ----------------------------------------------------------------------------- */

/* Who is behind and not named there is moved on; who sleeps and is named is roused. */
static void make_room(struct thread *me)
{
    model_counts.log_full++;
    me->needs_room = true;
    for (uint32_t s = 0; s < world.shard_count; s++) {
        struct shard *shard = &model.shards[s];
        for (;;) {
            uint32_t c = LOAD(shard->cursor);
            struct slot slot;
            enum fill fill = load_slot(c, &slot);
            if (fill == LATER)
                continue;
            if (fill == EMPTY)
                break;
            if (slot.mask & bit(s) && !weak(WEAK_HELPER_PASSES_NAMED)) {
                if (!weak(WEAK_FULL_LOG_TELLS_NOBODY))
                    rouse(me, bit(s), UINT32_MAX);
                break;
            }
            (void)CAS(shard->cursor, c, c + 1);
        }
    }
}

/* An entry to fill; NULL when all are still needed: each cursor must pass, each report come home.
 */
struct tx *tx_take(struct thread *me, enum tx_kind kind)
{
    uint32_t oldest = weak(WEAK_REUSED_EARLY) ? LOAD(model.shards[me->id].cursor) : oldest_cursor();
    for (uint32_t i = 0; i < model.tx_count; i++) {
        struct tx *tx = &me->txs[i];
        if (tx->is_taken && (tx->position >= oldest || tx->left_mask))
            continue;
        model_counts.reuses += tx->is_taken;
        uint32_t life = tx->life + 1;
        *tx = (struct tx){.life = life, .kind = kind, .home = me->id, .is_taken = true};
        return tx;
    }
    make_room(me);
    return NULL;
}

void tx_add(struct tx *tx, struct op *op)
{
    ASSERT(tx->op_count < WORLD_CONN_OPS_MAX);
    tx->ops[tx->op_count++] = op;
    tx->mask |= op->mask;
}

/* False when the log is full: back-pressure. Follow-ups have a part of it for themselves. */
bool publish(struct thread *me, struct tx *tx, bool is_follow_up)
{
    tx->part_count = (uint32_t)__builtin_popcount(tx->mask);
    tx->left_mask = tx->kind == TX_ANNOUNCE ? 0 : tx->mask;
    uint32_t cap = model.log_cap - (is_follow_up ? 0 : model.log_reserve);
    for (;;) {
        uint32_t t = LOAD(model.tail);
        struct slot old;
        enum fill fill = load_slot(t, &old);
        if (fill == FILLED) { /* help */
            (void)CAS(model.tail, t, t + 1);
            continue;
        }
        if (fill == LATER && !weak(WEAK_STALE_TAIL))
            continue; /* we stood still for a lap, and hold an old tail */
        if ((int32_t)(t - oldest_cursor()) >= (int32_t)cap) {
            tx->is_taken = false;
            tx->life++;
            make_room(me);
            return false;
        }
        struct slot *slot = &model.log[t % model.log_cap];
        step();
        if (slot->lap != old.lap) /* a lap is filled once: the rest is then the same too */
            continue;
        *slot = (struct slot){
            .entry = {tx, tx->life}, .lap = t / model.log_cap + 1, .mask = tx->mask};
        trace("publishes %u: %s, shards %x", t, op_name(tx->ops[0]->kind), tx->mask);
        model_counts.entries++;
        model_counts.laps += t % model.log_cap == 0;
        tx->position = t;
        struct place place = decided_now();
        for (uint32_t i = 0; i < tx->op_count; i++, place.number = ++model.run_number)
            tx->ops[i]->place = place;
        uint32_t mask = tx->mask;
        bool rouses = tx->kind != TX_ANNOUNCE && !weak(WEAK_SLEEPERS_NOT_TOLD);
        (void)CAS(model.tail, t, t + 1);
        if (rouses)
            rouse(me, mask, t);
        return true;
    }
}

/* ---- a new model ---------------------------------------------------------------------------- */

void model_init(struct rng *rng, enum variant variant, enum focus focus)
{
    memset(&model, 0, sizeof(model));
    model.variant = variant;
    rng_init(&model.rng, rng_next(rng));
    model.log_cap = 4u << rng_below(rng, 3);
    model.tx_count = 2 + (uint32_t)rng_below(rng, TX_MAX - 1);
    static const uint32_t percents[] = {0, 50, 100};
    model.lend_percent = percents[rng_below(rng, 3)];
    model.single_percent = percents[rng_below(rng, 3)];
    model.stop_entries = rng_below(rng, 2) ? 32 : 1 + (uint32_t)rng_below(rng, 3);
    model.chunk = 1 + (uint32_t)rng_below(rng, 3);
    model.lane_cap = 1u << rng_below(rng, 2); /* indices wrap, so a power of two */
    model.lane_budget = 1 + (uint32_t)rng_below(rng, 2);
    model.polls = (uint32_t)rng_below(rng, 4);
    model.borrowed_lanes = rng_below(rng, 2);
    if (focus == FOCUS_READERS)
        model.single_percent = 100;
    if (focus == FOCUS_LANES) {
        model.lane_budget = 1;
        model.single_percent = 0;
    }
    if (focus == FOCUS_LOG)
        model.log_cap = 4;
    model.log_reserve = model.log_cap / 4;
    if (variant == RIGHT_POKE_ONLY)
        model.lend_percent = model.single_percent = 0;
    if (variant == RIGHT_LEND_ALWAYS)
        model.lend_percent = model.single_percent = 100;
    if (variant == RIGHT_ONE_STOP_ONE_ENTRY)
        model.stop_entries = 1;
    if (variant == RIGHT_REPORTS_BY_BORROWED_LANES)
        model.borrowed_lanes = true;
    for (uint32_t i = 0; i < world.shard_count; i++)
        model.threads[i].id = i;
}
