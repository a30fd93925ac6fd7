/*
 * How: the seats' batons follow the table in the header. The few places with memory orders:
 *
 *   baton     taken by acquire, given by release; the owner's store of ASLEEP and the holder's
 * give-back are each followed by a full fence before the last look at what came in, as every sender
 * publishes first and looks at the baton after a full fence: one of the two sees the other. cursor
 * written by the baton's holder only (release: a passed entry may be reused); read by anyone.
 *   arrived   acq_rel: the last to arrive sees all that the others did to their shards.
 */
#include "shards/route/together.h"

#include <stdatomic.h>

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "core/os/ring.h"
#include "shards/local/shard.h"
#include "shards/route/blocked.h"
#include "shards/route/home.h"
#include "shards/route/mailbox.h"
#include "shards/route/run.h"
#include "shards/route/server.h"

#define STOP_ENTRIES_MAX 32u /* entries that one stop serves at most */
#define STOP_NS_MAX 200000u  /* and for how long */
#define LEND_CALLS_MAX 64u   /* larger parts are worth waking their own thread for */
#define PARK_SLICE_NS                                                                              \
    10000000 /* a parked thread looks around this often even if nothing wakes it */
#define NO_ENTRY UINT64_MAX

enum baton { RUNNING, ASLEEP, LENT, LENT_POLL, LENT_WAIT };

struct seat {
    _Alignas(128) _Atomic uint64_t cursor;
    _Atomic uint32_t baton;
    _Atomic uint32_t overflow; /* its thread sleeps with hops that found no room */
};

struct together {
    struct server *server;
    struct order *order;
    bool lend;
    void *memory;
    struct seat *seats;
};

static struct seat *seat_of(const struct home *home)
{
    return &home->server->together->seats[home->id];
}

static bool swap_baton(struct seat *seat, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&seat->baton, &from, to, memory_order_acq_rel,
                                                   memory_order_acquire);
}

struct together *together_create(struct server *server, uint32_t log_capacity, bool lend)
{
    struct together *together = mem_zalloc(sizeof(*together));
    together->server = server;
    together->lend = lend;
    together->order = order_create(log_capacity);
    together->memory = mem_zalloc(sizeof(struct seat) * server->shard_count + 128);
    together->seats = (struct seat *)(((uintptr_t)together->memory + 127) & ~(uintptr_t)127);
    return together;
}

void together_destroy(struct together *together)
{
    if (!together)
        return;
    order_destroy(together->order);
    mem_free(together->memory);
    mem_free(together);
}

uint64_t together_oldest(const struct together *together)
{
    uint64_t oldest = UINT64_MAX;
    for (uint32_t i = 0; i < together->server->shard_count; i++) {
        uint64_t cursor = atomic_load_explicit(&together->seats[i].cursor, memory_order_acquire);
        if (cursor < oldest)
            oldest = cursor;
    }
    return oldest;
}

uint64_t together_position(const struct home *home)
{
    return atomic_load_explicit(&seat_of(home)->cursor, memory_order_relaxed);
}

bool together_is_behind(const struct home *home)
{
    return order_is_filled(home->server->together->order, together_position(home));
}

static bool folded_names(uint64_t fold, uint32_t shard)
{
    return fold >> (shard % 64) & 1;
}

/* `tx` may be read: the caller owns a cursor that has not passed it. */
static bool names(const struct tx *tx, uint64_t fold, uint32_t shard)
{
    return folded_names(fold, shard) && shard_set_has(&tx->set, shard);
}

/* Does an entry that `shard` has not passed name it? For whoever does not own it, hence by the
 * folded set only (never too few). An unchanged cursor proves that no slot from it on was reused
 * meanwhile. */
static bool is_named(const struct together *together, uint32_t shard)
{
    const struct seat *seat = &together->seats[shard];
    uint64_t cursor = atomic_load_explicit(&seat->cursor, memory_order_acquire);
    for (;;) {
        struct tx *tx;
        uint64_t fold;
        for (uint64_t at = cursor; order_read(together->order, at, &tx, &fold); at++)
            if (folded_names(fold, shard))
                return true;
        uint64_t again = atomic_load_explicit(&seat->cursor, memory_order_acquire);
        if (again == cursor)
            return false;
        cursor = again;
    }
}

void together_poke(struct home *home, uint16_t id)
{
    struct seat *seat = &home->server->together->seats[id];
    if (atomic_load_explicit(&seat->baton, memory_order_relaxed) == ASLEEP &&
        swap_baton(seat, ASLEEP, RUNNING)) {
        ring_wake(home->ring, home->server->homes[id]->ring);
        home->stats.wakes_sent++;
    }
}

/* Returns a borrowed shard to its thread, and looks once more whether something came in for it that
 * nobody else will look at: senders do not wake a thread whose shard is lent. */
static void give_back(struct home *home, uint32_t id)
{
    struct together *together = home->server->together;
    struct seat *seat = &together->seats[id];
    for (;;) {
        uint32_t baton = atomic_load_explicit(&seat->baton, memory_order_acquire);
        if (baton == LENT && swap_baton(seat, LENT, ASLEEP)) {
            atomic_thread_fence(memory_order_seq_cst);
            if (atomic_load_explicit(&seat->overflow, memory_order_relaxed) ||
                mailbox_has_arrivals(home->server->lanes, id) || is_named(together, id))
                together_poke(home, (uint16_t)id);
            return;
        }
        if (baton == LENT_POLL && swap_baton(seat, LENT_POLL, RUNNING))
            return;
        if (baton == LENT_WAIT && swap_baton(seat, LENT_WAIT, RUNNING)) {
            ring_wake(home->ring, home->server->homes[id]->ring);
            home->stats.wakes_sent++;
            return;
        }
    }
}

/* `shard`, owned by this thread, does its share of an entry. The caller then moves the cursor. */
static void run_part(struct home *home, struct shard *shard, struct tx *tx)
{
    shard_tick(shard, tx->now_ms);
    shard->stats.log_entries++;
    if (tx->kind == TX_ANNOUNCE) {
        tx->apply(shard, tx->object);
        return;
    }
    struct hop *hop = tx->parts[shard->id];
    run_hop(home, shard, hop);
    mailbox_send(home->mailbox, hop->home, hop);
}

static void run_whole(struct home *home, struct tx *tx)
{
    SHARD_SET_EACH(id, &tx->set)
    {
        struct shard *shard = home->server->shards[id];
        shard_tick(shard, tx->now_ms);
        shard->stats.log_entries++;
    }
    struct hop *hop = tx->hop;
    run_hop(home, home->server->shards[shard_set_next(&tx->set, 0)], hop);
    SHARD_SET_EACH(id, &tx->set)
    {
        if (home->server->shards[id]->has_ready)
            blocked_serve(home, home->server->shards[id]);
    }
    mailbox_send(home->mailbox, hop->home, hop);
}

/* Runs what follows in the log as far as the shards in `held`, all owned by this thread, can;
 * others skip it. Returns the position at which it stopped. */
static uint64_t run_following(struct home *home, const struct shard_set *held, uint64_t at)
{
    struct together *together = home->server->together;
    uint64_t until_ns = clock_mono_ns() + STOP_NS_MAX;
    struct tx *tx;
    uint64_t fold;
    for (uint32_t ran = 0; ran < STOP_ENTRIES_MAX && order_read(together->order, at, &tx, &fold);
         at++) {
        if (!shard_set_meets(&tx->set, held))
            continue;
        if (tx->kind == TX_TOGETHER && !shard_set_within(&tx->set, held))
            break;
        if (tx->kind == TX_TOGETHER) {
            run_whole(home, tx);
        } else {
            SHARD_SET_EACH(id, &tx->set)
            {
                if (shard_set_has(held, id))
                    run_part(home, home->server->shards[id], tx);
            }
        }
        ran++;
        if (clock_mono_ns() >= until_ns) {
            at++;
            break;
        }
    }
    return at;
}

/* This thread was the last to arrive: all shards of `tx` are its own now. One stop serves many
 * entries. */
static void run_borrowed(struct home *home, struct tx *tx, uint64_t at)
{
    struct together *together = home->server->together;
    struct shard_set held = tx->set;
    run_whole(home, tx);
    at = run_following(home, &held, at + 1);
    /* Once a cursor has moved its entries may be reused: no tx is read from here on. */
    SHARD_SET_EACH(id, &held)
    {
        atomic_store_explicit(&together->seats[id].cursor, at, memory_order_release);
    }
    SHARD_SET_EACH(id, &held)
    {
        if (id != home->id)
            give_back(home, id);
    }
}

/* The shard is somebody else's: does nothing but input and output until it comes back. */
static void wait_back(struct home *home)
{
    struct seat *seat = seat_of(home);
    uint64_t from_ns = clock_mono_ns();
    while (atomic_load_explicit(&seat->baton, memory_order_acquire) != RUNNING) {
        if (!swap_baton(seat, LENT_POLL, LENT_WAIT))
            continue; /* it has just come back */
        home_io_only(home, PARK_SLICE_NS);
        swap_baton(seat, LENT_WAIT, LENT_POLL);
    }
    home->shard->stats.park_us += (clock_mono_ns() - from_ns) / 1000;
}

/* This thread's shard has come to an entry that needs all its shards at once. */
static void arrive(struct home *home, struct tx *tx, uint64_t at)
{
    struct seat *seat = seat_of(home);
    uint32_t part_count = tx->part_count;
    mailbox_flush(home->mailbox);
    atomic_store_explicit(&seat->baton, LENT_POLL, memory_order_release);
    /* From the add on neither entry nor cursor are ours, unless we were the last. */
    if (atomic_fetch_add_explicit(&tx->arrived, 1, memory_order_acq_rel) + 1 == part_count) {
        atomic_store_explicit(&seat->baton, RUNNING, memory_order_relaxed);
        run_borrowed(home, tx, at);
    } else {
        wait_back(home);
    }
}

void together_catch_up(struct home *home, int64_t now_ms)
{
    struct together *together = home->server->together;
    struct seat *seat = seat_of(home);
    uint64_t at = atomic_load_explicit(&seat->cursor, memory_order_relaxed);
    struct tx *tx;
    uint64_t fold;
    shard_tick(home->shard, now_ms);
    while (order_read(together->order, at, &tx, &fold)) {
        if (names(tx, fold, home->id)) {
            if (tx->kind == TX_TOGETHER) {
                arrive(home, tx, at);
                at = atomic_load_explicit(&seat->cursor, memory_order_relaxed);
                continue;
            }
            run_part(home, home->shard, tx);
        }
        atomic_store_explicit(&seat->cursor, ++at, memory_order_release);
    }
}

/* Takes sleeping shard `id`, walks its log, and then, if it got that far, does `hop` there or lets
 * it arrive at entry `until`. Never holds a shard across a wait, never runs a stranger's TOGETHER.
 */
static bool lend(struct home *home, uint32_t id, uint64_t until, struct hop *hop)
{
    struct together *together = home->server->together;
    struct seat *seat = &together->seats[id];
    struct shard *shard = home->server->shards[id];
    if (!swap_baton(seat, ASLEEP, LENT))
        return false;
    shard_tick(shard, home->now_ms);
    uint64_t at = atomic_load_explicit(&seat->cursor, memory_order_relaxed);
    struct tx *tx;
    uint64_t fold;
    while (order_read(together->order, at, &tx, &fold)) {
        if (names(tx, fold, id)) {
            if (tx->kind == TX_TOGETHER && at != until) {
                give_back(home, id);
                return false;
            }
            if (tx->kind == TX_TOGETHER) {
                uint32_t part_count = tx->part_count;
                if (atomic_fetch_add_explicit(&tx->arrived, 1, memory_order_acq_rel) + 1 ==
                    part_count)
                    run_borrowed(home, tx, at);
                return true; /* the shard belongs to the entry now */
            }
            run_part(home, shard, tx);
        }
        atomic_store_explicit(&seat->cursor, ++at, memory_order_release);
    }
    if (hop) {
        run_hop(home, shard, hop);
        mailbox_send(home->mailbox, hop->home, hop);
    }
    give_back(home, id);
    home->stats.lent_runs++;
    return true;
}

bool together_lend(struct home *home, struct hop *hop)
{
    struct together *together = home->server->together;
    const struct seat *seat = &together->seats[hop->shard];
    if (!together->lend || hop->kind != HOP_CALLS || hop->call_count > LEND_CALLS_MAX ||
        atomic_load_explicit(&seat->baton, memory_order_relaxed) != ASLEEP)
        return false;
    return lend(home, hop->shard, NO_ENTRY, hop);
}

bool together_publish(struct home *home, struct tx *tx)
{
    struct together *together = home->server->together;
    struct shard_set set = tx->set;
    enum tx_kind kind = tx->kind;
    uint64_t at, oldest = together_oldest(together);
    if (!order_publish(together->order, tx, &set, oldest, &at)) {
        for (uint32_t id = 0; id < home->server->shard_count; id++) /* who lags may be asleep */
            if (id != home->id)
                together_poke(home, (uint16_t)id);
        return false;
    }
    tx->position = at;
    tx_sent(home, tx);
    home->stats.entries_published++;
    if (kind == TX_ANNOUNCE)
        return true;
    atomic_thread_fence(memory_order_seq_cst);
    SHARD_SET_EACH(id, &set)
    {
        if (id == home->id ||
            atomic_load_explicit(&together->seats[id].baton, memory_order_relaxed) != ASLEEP)
            continue;
        /* Our own entry is not reused before we say so: its parts may be read here. */
        bool small = kind == TX_TOGETHER || tx->parts[id]->call_count <= LEND_CALLS_MAX;
        if (!together->lend || !small || !lend(home, id, at, NULL))
            together_poke(home, (uint16_t)id);
    }
    return true;
}

void together_sleep(struct home *home, uint64_t timeout_ns)
{
    struct together *together = home->server->together;
    struct seat *seat = seat_of(home);
    bool can_move = false;
    bool overflow = mailbox_has_overflow(home->mailbox, &can_move);
    atomic_store_explicit(&seat->overflow, overflow, memory_order_relaxed);
    atomic_store_explicit(&seat->baton, ASLEEP, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    if (overflow)
        mailbox_has_overflow(home->mailbox, &can_move);
    if (!can_move && !mailbox_has_arrivals(home->server->lanes, home->id) &&
        !is_named(together, home->id)) {
        ring_wait(home->ring, timeout_ns);
        home->stats.sleeps++;
    }
    while (atomic_load_explicit(&seat->baton, memory_order_acquire) != RUNNING) {
        if (swap_baton(seat, ASLEEP, RUNNING))
            break;
        if (swap_baton(seat, LENT, LENT_POLL))
            wait_back(home);
    }
    atomic_store_explicit(&seat->overflow, 0, memory_order_relaxed);
}
