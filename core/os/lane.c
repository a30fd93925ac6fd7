/*
 * lane: a ring of pointers with two counters that only ever grow (modulo 2^32).
 *
 * The sender owns `tail`, the receiver owns `head`; `tail - head` messages are inside. Each end
 * remembers what it last saw of the other's counter and looks again only when that is not enough,
 * so that in a steady flow a counter's cache line crosses cores once a turn and not once a
 * message. Three groups of fields stand 128 bytes apart (two lines, because the adjacent-line
 * prefetcher pulls pairs): what the sender keeps for itself, what it publishes, what the receiver
 * writes. `queued` runs ahead of `tail` between lane_send() and lane_flush().
 */
#include "core/os/lane.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/cpu.h"

#define LINE_PAIR 128

struct lane {
    /* The sender's own, and what was set at creation. */
    alignas(LINE_PAIR) uint32_t queued; /* tail of the next flush */
    uint32_t head_seen;
    uint32_t sender_mask;
    size_t mapped_bytes; /* 0: from mem_alloc() */
    void *memory;        /* as it was allocated, before alignment */

    /* Published by the sender. */
    alignas(LINE_PAIR) _Atomic uint32_t tail;

    /* The receiver's. The mask is here again so that the receiver never touches the sender's line.
     */
    alignas(LINE_PAIR) _Atomic uint32_t head;
    uint32_t receiver_mask;

    alignas(LINE_PAIR) void *slots[];
};

struct lane *lane_create(uint32_t capacity, int node)
{
    ASSERT(capacity >= 2 && capacity <= LANE_CAPACITY_MAX);
    ASSERT((capacity & (capacity - 1)) == 0);

    size_t size = sizeof(struct lane) + capacity * sizeof(void *);
    size_t mapped_bytes = size;
    void *memory = cpu_map_on_node(&mapped_bytes, node);
    if (!memory) {
        mapped_bytes = 0;
        memory = mem_alloc(size + LINE_PAIR);
    }
    uintptr_t aligned = ((uintptr_t)memory + LINE_PAIR - 1) & ~(uintptr_t)(LINE_PAIR - 1);
    struct lane *lane = (struct lane *)aligned;
    memset(lane, 0, size);
    lane->memory = memory;
    lane->mapped_bytes = mapped_bytes;
    lane->sender_mask = lane->receiver_mask = capacity - 1;
    return lane;
}

void lane_destroy(struct lane *lane)
{
    if (!lane)
        return;
    if (lane->mapped_bytes)
        munmap(lane->memory, lane->mapped_bytes);
    else
        mem_free(lane->memory);
}

bool lane_has_room(struct lane *lane)
{
    if (likely(lane->queued - lane->head_seen <= lane->sender_mask))
        return true;
    /* Sequentially consistent, not just acquire: a sender about to sleep looks here after it has
     * announced its sleep, and must not see a head older than that announcement, or the receiver's
     * look at `tail` and this look could miss each other. */
    lane->head_seen = atomic_load_explicit(&lane->head, memory_order_seq_cst);
    return lane->queued - lane->head_seen <= lane->sender_mask;
}

bool lane_send(struct lane *lane, void *message)
{
    DEBUG_ASSERT(message);
    if (unlikely(!lane_has_room(lane)))
        return false;
    lane->slots[lane->queued & lane->sender_mask] = message;
    lane->queued++;
    return true;
}

bool lane_flush(struct lane *lane)
{
    if (lane->queued == atomic_load_explicit(&lane->tail, memory_order_relaxed))
        return false;
    /* Release: the slots, and what the messages point to, come before the counter. */
    atomic_store_explicit(&lane->tail, lane->queued, memory_order_release);
    return true;
}

size_t lane_receive(struct lane *lane, void **out_messages, size_t max, bool *out_was_full)
{
    const uint32_t mask = lane->receiver_mask;
    const uint32_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    const uint32_t tail = atomic_load_explicit(&lane->tail, memory_order_acquire);
    size_t count = tail - head;
    *out_was_full = false;
    if (count > max)
        count = max;
    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        out_messages[i] = lane->slots[(head + i) & mask];

    /* A full barrier between giving room and looking whether the sender was short of it: a sender
     * that was refused announces its sleep and then looks at `head`, we store `head` and then look
     * at `tail`; one of the two sees the other. It is an exchange and not a fence because the
     * thread sanitizer understands the former only, and on x86 it costs no more. */
    atomic_exchange_explicit(&lane->head, head + (uint32_t)count, memory_order_seq_cst);
    *out_was_full = atomic_load_explicit(&lane->tail, memory_order_seq_cst) - head > mask;
    return count;
}

bool lane_is_empty(const struct lane *lane)
{
    return atomic_load_explicit(&lane->tail, memory_order_acquire) ==
           atomic_load_explicit(&lane->head, memory_order_relaxed);
}
