/*
 * How: slot = { word, fold }. word carries the entry's address in its low 48 bits and the lap in
 * the high 16; laps count from 1, so that a fresh, zeroed slot is not filled. A slot is rewritten
 * only when every cursor has passed it a lap ago, so a reader at or before its own cursor always
 * sees a word and a fold that belong together. `tail` is a hint that publishers help along.
 */
#include "shards/route/order.h"

#include <string.h>

#include "core/base/check.h"
#include "core/base/mem.h"

#define WORD_LAP_SHIFT 48
#define WORD_ADDRESS ((1ull << WORD_LAP_SHIFT) - 1)

struct order_slot {
    _Alignas(16) _Atomic uint64_t word;
    _Atomic uint64_t fold;
};

struct order {
    struct order_slot *slots;
    void *memory; /* that `slots` lie in, unaligned */
    uint32_t capacity;
    uint32_t shift;
    _Alignas(128) _Atomic uint64_t tail;
};

static uint64_t lap_of(const struct order *order, uint64_t at)
{
    return ((at >> order->shift) + 1) & 0xffff;
}

static struct order_slot *slot_of(const struct order *order, uint64_t at)
{
    return &order->slots[at & (order->capacity - 1)];
}

struct order *order_create(uint32_t capacity)
{
    ASSERT(capacity >= 8 && (capacity & (capacity - 1)) == 0);
    struct order *order = mem_alloc_aligned(sizeof(*order), _Alignof(struct order));
    *order = (struct order){0};
    order->capacity = capacity;
    order->shift = (uint32_t)__builtin_ctz(capacity);
    order->memory = mem_zalloc(sizeof(struct order_slot) * (capacity + 1));
    order->slots = (struct order_slot *)(((uintptr_t)order->memory + 15) & ~(uintptr_t)15);
    return order;
}

void order_destroy(struct order *order)
{
    if (!order)
        return;
    mem_free(order->memory);
    mem_free(order);
}

uint32_t order_capacity(const struct order *order)
{
    return order->capacity;
}

bool order_is_filled(const struct order *order, uint64_t at)
{
    /* Acquire: what the publisher built is seen by whoever finds the slot filled. */
    uint64_t word = atomic_load_explicit(&slot_of(order, at)->word, memory_order_acquire);
    return word >> WORD_LAP_SHIFT == lap_of(order, at);
}

bool order_read(const struct order *order, uint64_t at, struct tx **out_tx, uint64_t *out_fold)
{
    const struct order_slot *slot = slot_of(order, at);
    uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
    if (word >> WORD_LAP_SHIFT != lap_of(order, at))
        return false;
    *out_tx = (struct tx *)(uintptr_t)(word & WORD_ADDRESS);
    *out_fold = atomic_load_explicit(&slot->fold, memory_order_relaxed);
    return true;
}

/* The 16-byte compare-and-swap (lock cmpxchg16b), a full fence. Out: what was there on failure. */
static bool swap_slot(struct order_slot *slot, uint64_t old_word, uint64_t old_fold, uint64_t word,
                      uint64_t fold)
{
    unsigned __int128 old = (unsigned __int128)old_fold << 64 | old_word;
    unsigned __int128 new = (unsigned __int128)fold << 64 | word;
    return __sync_bool_compare_and_swap((unsigned __int128 *)slot, old, new);
}

bool order_publish(struct order *order, struct tx *tx, const struct shard_set *set, uint64_t oldest,
                   uint64_t *out_position)
{
    DEBUG_ASSERT(((uintptr_t)tx & ~WORD_ADDRESS) == 0);
    uint64_t fold = shard_set_fold(set);
    for (;;) {
        uint64_t at = atomic_load_explicit(&order->tail, memory_order_acquire);
        struct order_slot *slot = slot_of(order, at);
        uint64_t word = atomic_load_explicit(&slot->word, memory_order_acquire);
        uint64_t lap = lap_of(order, at);
        uint64_t hint = at;
        if (word >> WORD_LAP_SHIFT == lap) { /* filled, but the hint lags: help it along */
            atomic_compare_exchange_strong_explicit(&order->tail, &hint, at + 1,
                                                    memory_order_acq_rel, memory_order_relaxed);
            continue;
        }
        if (word >> WORD_LAP_SHIFT != ((lap - 1) & 0xffff))
            continue; /* we slept for a lap: the hint is stale, read it again */
        if (at - oldest >= order->capacity)
            return false;
        uint64_t old_fold = atomic_load_explicit(&slot->fold, memory_order_relaxed);
        if (swap_slot(slot, word, old_fold, (uint64_t)(uintptr_t)tx | lap << WORD_LAP_SHIFT,
                      fold)) {
            atomic_compare_exchange_strong_explicit(&order->tail, &hint, at + 1,
                                                    memory_order_acq_rel, memory_order_relaxed);
            *out_position = at;
            return true;
        }
    }
}

uint64_t order_tail(const struct order *order)
{
    return atomic_load_explicit(&order->tail, memory_order_acquire);
}
