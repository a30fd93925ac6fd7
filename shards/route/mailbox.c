/*
 * How: a matrix of lanes, each made by its sender when first used and published by a release store.
 * A bit per sender tells the receiver which lanes to look at; setting it is the read-modify-write,
 * hence the full fence, that stands between sending and looking at the receiver's baton.
 */
#include "shards/route/mailbox.h"

#include <stdatomic.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/lane.h"
#include "shards/route/home.h"
#include "shards/route/shard_set.h"
#include "shards/route/together.h"
#include "shards/route/server.h"

#define LANE_CAPACITY 256u
#define MARK_WORDS (SHARD_MAX / 64)
#define DRAIN_BATCH 64u

struct marks {
    _Alignas(128) _Atomic uint64_t words[MARK_WORDS];
};

struct lanes {
    uint32_t shard_count;
    void *memory;
    struct marks *marks;             /* [receiver], a bit per sender */
    _Atomic(struct lane *) matrix[]; /* [sender * shard_count + receiver] */
};

struct overflow {
    struct hop *first, *last;
};

struct mailbox {
    struct home *home;
    struct lanes *lanes;
    struct overflow *overflow;         /* [receiver] */
    struct shard_set dirty;            /* receivers with queued hops not yet visible */
    struct shard_set crowded;          /* receivers with overflow */
    struct hop *own_first, **own_tail; /* hops from this thread to itself */
    uint64_t overflow_count;
};

struct lanes *lanes_create(uint32_t shard_count)
{
    struct lanes *lanes = mem_zalloc(sizeof(*lanes) + (size_t)shard_count * shard_count *
                                                          sizeof(_Atomic(struct lane *)));
    lanes->shard_count = shard_count;
    lanes->memory = mem_zalloc(shard_count * sizeof(struct marks) + 128);
    lanes->marks = (struct marks *)(((uintptr_t)lanes->memory + 127) & ~(uintptr_t)127);
    return lanes;
}

void lanes_destroy(struct lanes *lanes)
{
    if (!lanes)
        return;
    for (uint32_t i = 0; i < lanes->shard_count * lanes->shard_count; i++)
        lane_destroy(atomic_load_explicit(&lanes->matrix[i], memory_order_acquire));
    mem_free(lanes->memory);
    mem_free(lanes);
}

struct mailbox *mailbox_create(struct home *home, struct lanes *lanes)
{
    struct mailbox *mailbox = mem_zalloc(sizeof(*mailbox));
    mailbox->home = home;
    mailbox->lanes = lanes;
    mailbox->overflow = mem_zalloc(lanes->shard_count * sizeof(struct overflow));
    mailbox->own_tail = &mailbox->own_first;
    return mailbox;
}

void mailbox_destroy(struct mailbox *mailbox)
{
    if (!mailbox)
        return;
    mem_free(mailbox->overflow);
    mem_free(mailbox);
}

static struct lane *lane_to(struct mailbox *mailbox, uint32_t to)
{
    struct lanes *lanes = mailbox->lanes;
    _Atomic(struct lane *) *place = &lanes->matrix[mailbox->home->id * lanes->shard_count + to];
    struct lane *lane = atomic_load_explicit(place, memory_order_relaxed); /* we alone write it */
    if (unlikely(!lane)) {
        lane = lane_create(LANE_CAPACITY, mailbox->home->server->homes[to]->node);
        atomic_store_explicit(place, lane, memory_order_release);
    }
    return lane;
}

void mailbox_send(struct mailbox *mailbox, uint16_t to, struct hop *hop)
{
    hop->next = NULL;
    if (to == mailbox->home->id) {
        *mailbox->own_tail = hop;
        mailbox->own_tail = &hop->next;
        return;
    }
    struct overflow *overflow = &mailbox->overflow[to];
    if (overflow->first || !lane_send(lane_to(mailbox, to), hop)) {
        if (overflow->first)
            overflow->last->next = hop;
        else
            overflow->first = hop;
        overflow->last = hop;
        shard_set_add(&mailbox->crowded, to);
        mailbox->overflow_count++;
    }
    shard_set_add(&mailbox->dirty, to);
}

/* Moves what has room now from the overflow list to the lane. */
static void retry_overflow(struct mailbox *mailbox, uint32_t to)
{
    struct overflow *overflow = &mailbox->overflow[to];
    struct lane *lane = lane_to(mailbox, to);
    while (overflow->first) {
        struct hop *hop = overflow->first;
        struct hop *next = hop->next;
        hop->next = NULL; /* ours no longer once it is sent */
        if (!lane_send(lane, hop)) {
            hop->next = next;
            return;
        }
        overflow->first = next;
        shard_set_add(&mailbox->dirty, to);
    }
    mailbox->crowded.bits[to / 64] &= ~(1ull << (to % 64));
}

void mailbox_flush(struct mailbox *mailbox)
{
    SHARD_SET_EACH(crowded, &mailbox->crowded)
    {
        retry_overflow(mailbox, crowded);
    }
    struct shard_set dirty = mailbox->dirty;
    mailbox->dirty = (struct shard_set){0};
    uint32_t self = mailbox->home->id;
    SHARD_SET_EACH(to, &dirty)
    {
        if (!lane_flush(lane_to(mailbox, to)))
            continue;
        atomic_fetch_or_explicit(&mailbox->lanes->marks[to].words[self / 64], 1ull << (self % 64),
                                 memory_order_seq_cst);
        together_poke(mailbox->home, (uint16_t)to);
    }
}

static struct hop **drain_lane(struct mailbox *mailbox, uint32_t from, struct hop **tail)
{
    struct lanes *lanes = mailbox->lanes;
    struct lane *lane = atomic_load_explicit(
        &lanes->matrix[from * lanes->shard_count + mailbox->home->id], memory_order_acquire);
    void *hops[DRAIN_BATCH];
    size_t count;
    do {
        bool was_full = false;
        count = lane_receive(lane, hops, DRAIN_BATCH, &was_full);
        for (size_t i = 0; i < count; i++) {
            struct hop *hop = hops[i];
            hop->next = NULL;
            *tail = hop;
            tail = &hop->next;
        }
        if (was_full) /* its overflow can move now */
            together_poke(mailbox->home, (uint16_t)from);
    } while (count == DRAIN_BATCH);
    return tail;
}

struct hop **mailbox_drain(struct mailbox *mailbox, struct hop **tail)
{
    if (mailbox->own_first) {
        *tail = mailbox->own_first;
        tail = mailbox->own_tail;
        mailbox->own_first = NULL;
        mailbox->own_tail = &mailbox->own_first;
    }
    struct marks *marks = &mailbox->lanes->marks[mailbox->home->id];
    for (uint32_t word = 0; word < (mailbox->lanes->shard_count + 63) / 64; word++) {
        if (atomic_load_explicit(&marks->words[word], memory_order_relaxed) == 0)
            continue;
        /* Acquire pairs with the sender's mark: cleared before the lanes are read, so nothing is
         * missed. */
        uint64_t bits = atomic_exchange_explicit(&marks->words[word], 0, memory_order_seq_cst);
        for (; bits; bits &= bits - 1)
            tail = drain_lane(mailbox, word * 64 + (uint32_t)__builtin_ctzll(bits), tail);
    }
    return tail;
}

bool mailbox_has_own(const struct mailbox *mailbox)
{
    return mailbox->own_first != NULL;
}

bool mailbox_has_arrivals(const struct lanes *lanes, uint32_t id)
{
    const struct marks *marks = &lanes->marks[id];
    for (uint32_t word = 0; word < (lanes->shard_count + 63) / 64; word++)
        if (atomic_load_explicit(&marks->words[word], memory_order_acquire))
            return true;
    return false;
}

bool mailbox_has_overflow(struct mailbox *mailbox, bool *out_can_move)
{
    *out_can_move = false;
    bool any = false;
    SHARD_SET_EACH(to, &mailbox->crowded)
    {
        any = true;
        if (lane_has_room(lane_to(mailbox, to)))
            *out_can_move = true;
    }
    return any;
}

uint64_t mailbox_overflows(const struct mailbox *mailbox)
{
    return mailbox->overflow_count;
}
