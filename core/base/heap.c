/*
 * Layout: segments of 2 MiB, aligned to 2 MiB, hold 32 slabs of 64 KiB. A slab serves blocks of one
 * size. The descriptors of all slabs of a segment stand together in its first page, not each at the
 * head of its slab: heads at multiples of 64 KiB would all fall into the same few cache sets. The
 * first slab is shorter by that page.
 *
 * A slab hands out what was given back to it first, then what has never been used ("fresh"), from
 * low addresses on. Pages that were never used are not resident, so a slab is counted only up to
 * its fresh mark. Slabs of a size with room form a list; a slab that fills up leaves it and comes
 * back at its end when a block is freed. A slab with no live block is empty and serves any
 * size next. A few are kept for that, others give their pages back when heap_give_back() is called:
 * not at once, since that takes 10 us each, and the last records of a database that is being freed
 * may empty thousands. A segment of slabs without pages is unmapped.
 *
 * Huge pages are not asked for: they save about a tenth of a random lookup, but the first touch of
 * each clears 2 MiB at once, which was seen to take 5 ms in a virtual machine.
 *
 * Under sanitizers (no SHERD_JEMALLOC) every block is one of the general allocator, exactly as
 * long as asked for, behind a line with its heap and size: overflows, leaks and wrong sizes show.
 */
#include "core/base/heap.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/check.h"
#include "core/base/mem.h"

/* A small block given back by another heap's owner. */
struct far_block {
    struct far_block *next;
};

#ifdef SHERD_JEMALLOC

#define SEGMENT_BYTES ((size_t)2 << 20)
#define SLAB_BYTES ((size_t)64 << 10)
#define SLABS_PER_SEGMENT (SEGMENT_BYTES / SLAB_BYTES)
#define SEGMENT_HEAD_BYTES ((size_t)4096)
#define EMPTY_KEPT_MAX 4u              /* empty slabs that keep their pages */
#define SORTED_MAX 256u                /* slabs of a size that a round begins with: some 25 us */
#define FILL_FULL 65536u               /* what a slab has touched is all in use */
#define FILL_USUAL (FILL_FULL / 4 * 3) /* below this it is sparse */
#define FINE_MAX 256u                  /* classes in steps of 8 up to here */
#define FINE_CLASSES (FINE_MAX / 8)
#define CLASS_COUNT (FINE_CLASSES + 16) /* and eighths of 256..512 and 512..1024 */

struct free_block {
    struct free_block *next;
};

struct slab {
    struct heap *heap;
    struct slab *next, *prev; /* among the slabs with room of its class, or the empty ones */
    struct free_block *given_back;
    char *fresh; /* never used from here on */
    char *end;
    uint32_t block_bytes; /* 0: the slab is empty */
    uint16_t live_count;
    uint8_t class_index;
    bool listed; /* has room, or is empty and has its pages */
} __attribute__((aligned(64)));
static_assert(sizeof(struct slab) == 64, "a slab's descriptor is one cache line");

struct segment {
    struct slab slabs[SLABS_PER_SEGMENT];
    struct segment *next, *prev; /* all of the heap */
    uint32_t idle_count;         /* slabs that are empty and have no pages */
};
static_assert(sizeof(struct segment) <= SEGMENT_HEAD_BYTES, "descriptors fill the first page");

struct slab_list {
    struct slab *first, *last;
};

struct heap {
    struct mem_account *used;   /* bytes, as heap_used() tells */
    _Atomic size_t spare_bytes; /* given back and not yet handed out again */
    struct slab_list with_room[CLASS_COUNT];
    uint32_t sparse_fill; /* of FILL_FULL: what is less full is sparse */
    size_t large_bytes;   /* of `used`, blocks that are in no slab */
    struct slab_list empty;
    uint32_t empty_count;
    uint32_t segment_count;
    struct segment *segments;
    struct mem_pool pool;
    int node;
    _Atomic(struct far_block *) far __attribute__((aligned(64))); /* written by other threads */
};

/* Others may read it at any time; only the owner writes. */
static inline void add_spare(struct heap *heap, int64_t delta)
{
    size_t bytes = atomic_load_explicit(&heap->spare_bytes, memory_order_relaxed);
    atomic_store_explicit(&heap->spare_bytes, bytes + (size_t)delta, memory_order_relaxed);
}

/* ---- Size classes ---- */

static inline uint32_t class_of(size_t size)
{
    if (likely(size <= FINE_MAX))
        return (uint32_t)(size + 7) / 8 - 1;
    if (size <= 512)
        return (uint32_t)(FINE_CLASSES + (size - FINE_MAX + 31) / 32 - 1);
    return (uint32_t)(FINE_CLASSES + 8 + (size - 512 + 63) / 64 - 1);
}

static inline uint32_t class_bytes(uint32_t index)
{
    if (index < FINE_CLASSES)
        return (index + 1) * 8;
    if (index < FINE_CLASSES + 8)
        return FINE_MAX + (index - FINE_CLASSES + 1) * 32;
    return 512 + (index - FINE_CLASSES - 8 + 1) * 64;
}

size_t heap_usable(size_t size)
{
    return size <= HEAP_SMALL_MAX ? class_bytes(class_of(size)) : mem_pool_usable(size);
}

/* ---- Slabs and segments ---- */

static inline struct segment *segment_of(const void *ptr)
{
    return (struct segment *)((uintptr_t)ptr & ~(SEGMENT_BYTES - 1));
}

static inline struct slab *slab_of(const void *ptr)
{
    return &segment_of(ptr)->slabs[((uintptr_t)ptr & (SEGMENT_BYTES - 1)) / SLAB_BYTES];
}

static inline char *slab_start(const struct slab *slab)
{
    struct segment *segment = segment_of(slab);
    size_t index = (size_t)(slab - segment->slabs);
    return (char *)segment + (index ? index * SLAB_BYTES : SEGMENT_HEAD_BYTES);
}

static void list_append(struct slab_list *list, struct slab *slab)
{
    slab->next = NULL;
    slab->prev = list->last;
    if (list->last)
        list->last->next = slab;
    else
        list->first = slab;
    list->last = slab;
    slab->listed = true;
}

static void list_remove(struct slab_list *list, struct slab *slab)
{
    if (slab->prev)
        slab->prev->next = slab->next;
    else
        list->first = slab->next;
    if (slab->next)
        slab->next->prev = slab->prev;
    else
        list->last = slab->prev;
    slab->listed = false;
}

static struct segment *add_segment(struct heap *heap)
{
    struct segment *segment = mem_map(SEGMENT_BYTES, SEGMENT_BYTES, heap->node);
    if (!segment)
        return NULL;
    for (size_t i = 0; i < SLABS_PER_SEGMENT; i++)
        segment->slabs[i].heap = heap;
    segment->idle_count = SLABS_PER_SEGMENT;
    segment->next = heap->segments;
    if (segment->next)
        segment->next->prev = segment;
    heap->segments = segment;
    heap->segment_count++;
    mem_account_add(heap->used, SEGMENT_HEAD_BYTES);
    return segment;
}

static void remove_segment(struct heap *heap, struct segment *segment)
{
    if (segment->prev)
        segment->prev->next = segment->next;
    else
        heap->segments = segment->next;
    if (segment->next)
        segment->next->prev = segment->prev;
    heap->segment_count--;
    mem_account_add(heap->used, -(int64_t)SEGMENT_HEAD_BYTES);
    mem_unmap(segment, SEGMENT_BYTES);
}

/* Moves `segment` behind the head of the list, where the search for idle slabs begins. */
static void bring_forward(struct heap *heap, struct segment *segment)
{
    if (heap->segments == segment)
        return;
    segment->prev->next = segment->next;
    if (segment->next)
        segment->next->prev = segment->prev;
    segment->prev = NULL;
    segment->next = heap->segments;
    heap->segments->prev = segment;
    heap->segments = segment;
}

static struct slab *take_empty_slab(struct heap *heap)
{
    struct slab *slab = heap->empty.first;
    if (slab) {
        list_remove(&heap->empty, slab);
        heap->empty_count--;
        return slab;
    }
    /* Segments with idle slabs stand in front: each one that gets an idle slab is moved there, and
     * one that has none left is followed by others that may, so only the first is looked at. */
    struct segment *segment = heap->segments;
    if (!segment || segment->idle_count == 0) {
        while (segment && segment->idle_count == 0)
            segment = segment->next;
        if (segment)
            bring_forward(heap, segment);
        else if (!(segment = add_segment(heap)))
            return NULL;
    }
    for (slab = segment->slabs; slab->block_bytes || slab->listed; slab++)
        continue;
    segment->idle_count--;
    return slab;
}

static struct slab *start_slab(struct heap *heap, uint32_t class_index)
{
    struct slab *slab = take_empty_slab(heap);
    if (!slab)
        return NULL;
    char *start = slab_start(slab);
    size_t room = SLAB_BYTES - (size_t)((uintptr_t)start & (SLAB_BYTES - 1));
    slab->block_bytes = class_bytes(class_index);
    slab->class_index = (uint8_t)class_index;
    slab->live_count = 0;
    slab->given_back = NULL;
    slab->fresh = start;
    slab->end = start + room / slab->block_bytes * slab->block_bytes;
    list_append(&heap->with_room[class_index], slab);
    return slab;
}

static void idle_slab(struct heap *heap, struct slab *slab)
{
    struct segment *segment = segment_of(slab);
    char *start = slab_start(slab);
    mem_forget(start, SLAB_BYTES - (size_t)((uintptr_t)start & (SLAB_BYTES - 1)));
    if (++segment->idle_count == SLABS_PER_SEGMENT)
        remove_segment(heap, segment);
    else
        bring_forward(heap, segment);
}

/* The last live block is gone. */
static void retire_slab(struct heap *heap, struct slab *slab)
{
    int64_t touched = slab->fresh - slab_start(slab);
    mem_account_add(heap->used, -touched);
    add_spare(heap, -touched);
    if (slab->listed)
        list_remove(&heap->with_room[slab->class_index], slab);
    slab->block_bytes = 0;
    list_append(&heap->empty, slab);
    heap->empty_count++;
}

/* ---- Blocks ---- */

static void *alloc_small(struct heap *heap, size_t size)
{
    uint32_t class_index = class_of(size);
    struct slab *slab = heap->with_room[class_index].first;
    if (unlikely(!slab) && !(slab = start_slab(heap, class_index)))
        return NULL;

    void *ptr = slab->given_back;
    if (ptr) {
        slab->given_back = slab->given_back->next;
        add_spare(heap, -(int64_t)slab->block_bytes);
    } else {
        ptr = slab->fresh;
        slab->fresh += slab->block_bytes;
        mem_account_add(heap->used, slab->block_bytes);
    }
    slab->live_count++;
    if (unlikely(!slab->given_back && slab->fresh == slab->end))
        list_remove(&heap->with_room[class_index], slab);
    return ptr;
}

static void free_small(struct heap *heap, struct slab *slab, void *ptr)
{
    struct free_block *block = ptr;
    block->next = slab->given_back;
    slab->given_back = block;
    add_spare(heap, slab->block_bytes);
    if (unlikely(--slab->live_count == 0))
        retire_slab(heap, slab);
    else if (unlikely(!slab->listed))
        list_append(&heap->with_room[slab->class_index], slab);
}

static void count_large(struct heap *heap, int64_t delta)
{
    mem_account_add(heap->used, delta);
    heap->large_bytes += (size_t)delta;
}

void *heap_try_alloc(struct heap *heap, size_t size)
{
    if (likely(size <= HEAP_SMALL_MAX))
        return alloc_small(heap, size);
    void *ptr = mem_pool_alloc(&heap->pool, size);
    if (ptr)
        count_large(heap, (int64_t)mem_pool_usable(size));
    return ptr;
}

static void send_home(struct heap *home, void *ptr)
{
    struct far_block *block = ptr;
    block->next = atomic_load_explicit(&home->far, memory_order_relaxed);
    /* Release: the owner must see the link, and whatever was last done to the block. */
    while (!atomic_compare_exchange_weak_explicit(&home->far, &block->next, block,
                                                  memory_order_release, memory_order_relaxed))
        continue;
}

void heap_free(struct heap *heap, void *ptr, size_t size)
{
    if (likely(size <= HEAP_SMALL_MAX)) {
        struct slab *slab = slab_of(ptr);
        DEBUG_ASSERT(slab->block_bytes == heap_usable(size));
        if (likely(slab->heap == heap))
            free_small(heap, slab, ptr);
        else
            send_home(slab->heap, ptr);
        return;
    }
    count_large(heap, -(int64_t)mem_pool_usable(size));
    mem_pool_free(&heap->pool, ptr, size);
}

struct heap *heap_of_small(const void *ptr)
{
    return slab_of(ptr)->heap;
}

void heap_adopt(struct heap *heap, struct heap *from, void *ptr, size_t size)
{
    ASSERT(size > HEAP_SMALL_MAX);
    (void)ptr; /* the allocator knows its arena, whoever frees it */
    int64_t bytes = (int64_t)mem_pool_usable(size);
    count_large(from, -bytes);
    count_large(heap, bytes);
}

size_t heap_spare(const struct heap *heap)
{
    return atomic_load_explicit(&heap->spare_bytes, memory_order_relaxed);
}

size_t heap_live(const struct heap *heap)
{
    return heap_used(heap) - heap_spare(heap) - heap->segment_count * SEGMENT_HEAD_BYTES;
}

static void take_home(struct heap *heap, struct far_block *block)
{
    while (block) {
        struct far_block *next = block->next;
        free_small(heap, slab_of(block), block);
        block = next;
    }
}

/* ---- Moving together ---- */

/* Merges two lists, linked by `next` only, the fullest slab first. */
static struct slab *merge_by_fullness(struct slab *a, struct slab *b)
{
    struct slab *merged = NULL, **end = &merged;
    while (a && b) {
        struct slab **fuller = a->live_count >= b->live_count ? &a : &b;
        *end = *fuller;
        end = &(*fuller)->next;
        *fuller = (*fuller)->next;
    }
    *end = a ? a : b;
    return merged;
}

static size_t touched_bytes(const struct slab *slab)
{
    return (size_t)(slab->fresh - slab_start(slab));
}

static size_t live_bytes(const struct slab *slab)
{
    return (size_t)slab->live_count * slab->block_bytes;
}

/* Of all slabs, full ones included. */
static uint32_t average_fill(const struct heap *heap)
{
    size_t spare = heap_spare(heap);
    size_t touched = heap_live(heap) - heap->large_bytes + spare;
    return touched ? (uint32_t)((touched - spare) * FILL_FULL / touched) : 0;
}

static bool is_sparse(const struct heap *heap, const struct slab *slab)
{
    return live_bytes(slab) * FILL_FULL < touched_bytes(slab) * heap->sparse_fill;
}

/* Of the first SORTED_MAX of a list, the fullest come first, for blocks to come from them, and the
 * sparse ones go to its end. */
static void sort_by_fullness(struct heap *heap, struct slab_list *list)
{
    /* Merge sort from below: runs[i] holds 2^i slabs or none. */
    struct slab *runs[32] = {NULL}, *rest = list->first, *last = list->last, *next;
    for (uint32_t count = 0; rest && count < SORTED_MAX; count++) {
        struct slab *slab = rest;
        rest = slab->next;
        slab->next = NULL;
        uint32_t i = 0;
        for (; runs[i]; i++) {
            slab = merge_by_fullness(runs[i], slab);
            runs[i] = NULL;
        }
        runs[i] = slab;
    }
    struct slab *sorted = NULL;
    for (uint32_t i = 0; i < 32; i++)
        sorted = merge_by_fullness(sorted, runs[i]);
    *list = (struct slab_list){NULL, NULL};
    for (; sorted && !is_sparse(heap, sorted); sorted = next) {
        next = sorted->next;
        list_append(list, sorted);
    }
    if (rest) {
        rest->prev = list->last;
        *(list->last ? &list->last->next : &list->first) = rest;
        list->last = last;
    }
    for (; sorted; sorted = next) {
        next = sorted->next;
        list_append(list, sorted);
    }
}

void heap_prefer_full(struct heap *heap, bool thorough)
{
    uint32_t average = thorough ? average_fill(heap) : 0;
    heap->sparse_fill = average > FILL_USUAL ? average : FILL_USUAL;
    for (uint32_t i = 0; i < CLASS_COUNT; i++)
        sort_by_fullness(heap, &heap->with_room[i]);
}

bool heap_is_sparse(const struct heap *heap, const void *ptr, size_t size)
{
    if (size > HEAP_SMALL_MAX)
        return false;
    const struct slab *slab = slab_of(ptr);
    /* The slab that is being filled would only be moved into itself. */
    return is_sparse(heap, slab) && slab != heap->with_room[slab->class_index].first;
}

static void give_back_one(struct heap *heap)
{
    struct slab *slab = heap->empty.first;
    list_remove(&heap->empty, slab);
    heap->empty_count--;
    idle_slab(heap, slab);
}

bool heap_give_back(struct heap *heap)
{
    if (heap->empty_count > EMPTY_KEPT_MAX)
        give_back_one(heap);
    return heap->empty_count > EMPTY_KEPT_MAX;
}

void heap_release_unused(struct heap *heap)
{
    while (heap->empty.first)
        give_back_one(heap);
}

/* ---- The heap ---- */

struct heap *heap_create(int node)
{
    struct heap *heap = mem_alloc_aligned(sizeof *heap, 64);
    memset(heap, 0, sizeof *heap);
    heap->node = node;
    heap->sparse_fill = FILL_USUAL;
    heap->used = mem_account_open();
    mem_pool_init(&heap->pool);
    return heap;
}

void heap_destroy(struct heap *heap)
{
    if (!heap)
        return;
    mem_pool_fini(&heap->pool);
    while (heap->segments)
        remove_segment(heap, heap->segments);
    mem_account_close(heap->used);
    mem_free(heap);
}

void heap_validate(struct heap *heap)
{
    size_t spare = 0, empty_count = 0, segment_count = 0;
    for (struct segment *segment = heap->segments; segment; segment = segment->next) {
        uint32_t idle_count = 0;
        segment_count++;
        for (size_t i = 0; i < SLABS_PER_SEGMENT; i++) {
            const struct slab *slab = &segment->slabs[i];
            ASSERT(slab->heap == heap);
            if (!slab->block_bytes) {
                empty_count += slab->listed;
                idle_count += !slab->listed;
                continue;
            }
            size_t free_count = 0;
            for (struct free_block *block = slab->given_back; block; block = block->next)
                free_count += slab_of(block) == slab;
            ASSERT(slab->fresh <= slab->end);
            size_t used_count = (size_t)(slab->fresh - slab_start(slab)) / slab->block_bytes;
            ASSERT(slab->live_count > 0);
            ASSERT(slab->live_count + free_count == used_count);
            ASSERT(slab->listed == (slab->given_back != NULL || slab->fresh != slab->end));
            spare += free_count * slab->block_bytes;
        }
        ASSERT(idle_count == segment->idle_count);
    }
    ASSERT(spare == heap->spare_bytes);
    ASSERT(empty_count == heap->empty_count);
    ASSERT(segment_count == heap->segment_count);
}

#else

/* The line before each block. */
struct guard {
    struct heap *heap;
    struct guard *next, *prev;
    size_t size;
} __attribute__((aligned(64)));
static_assert(sizeof(struct guard) == 64, "blocks start a cache line");

struct heap {
    struct mem_account *used;
    struct guard blocks; /* the ring of all blocks */
    struct mem_pool pool;
    _Atomic(struct far_block *) far;
};

static struct guard *guard_of(const void *ptr)
{
    return (struct guard *)ptr - 1;
}

size_t heap_usable(size_t size)
{
    return size;
}

void *heap_try_alloc(struct heap *heap, size_t size)
{
    ASSERT(size > 0);
    /* A freed far block is linked through its first bytes. */
    size_t room = size < sizeof(struct far_block) ? sizeof(struct far_block) : size;
    struct guard *guard = mem_pool_alloc(&heap->pool, sizeof *guard + room);
    if (!guard)
        return NULL;
    *guard = (struct guard){heap, heap->blocks.next, &heap->blocks, size};
    guard->next->prev = guard;
    heap->blocks.next = guard;
    mem_account_add(heap->used, (int64_t)size);
    return guard + 1;
}

static void free_block(struct heap *heap, void *ptr)
{
    struct guard *guard = guard_of(ptr);
    guard->prev->next = guard->next;
    guard->next->prev = guard->prev;
    mem_account_add(heap->used, -(int64_t)guard->size);
    mem_pool_free(&heap->pool, guard, 0);
}

void heap_free(struct heap *heap, void *ptr, size_t size)
{
    struct guard *guard = guard_of(ptr);
    ASSERT(guard->size == size);
    if (guard->heap == heap) {
        free_block(heap, ptr);
        return;
    }
    ASSERT(size <= HEAP_SMALL_MAX);
    struct heap *home = guard->heap;
    struct far_block *block = ptr;
    block->next = atomic_load_explicit(&home->far, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&home->far, &block->next, block,
                                                  memory_order_release, memory_order_relaxed))
        continue;
}

struct heap *heap_of_small(const void *ptr)
{
    return guard_of(ptr)->heap;
}

void heap_adopt(struct heap *heap, struct heap *from, void *ptr, size_t size)
{
    struct guard *guard = guard_of(ptr);
    ASSERT(size > HEAP_SMALL_MAX && guard->size == size && guard->heap == from);
    guard->prev->next = guard->next;
    guard->next->prev = guard->prev;
    guard->heap = heap;
    guard->next = heap->blocks.next;
    guard->prev = &heap->blocks;
    guard->next->prev = guard;
    heap->blocks.next = guard;
    mem_account_add(from->used, -(int64_t)size);
    mem_account_add(heap->used, (int64_t)size);
}

size_t heap_spare(const struct heap *heap)
{
    (void)heap;
    return 0;
}

size_t heap_live(const struct heap *heap)
{
    return heap_used(heap);
}

static void take_home(struct heap *heap, struct far_block *block)
{
    while (block) {
        struct far_block *next = block->next;
        free_block(heap, block);
        block = next;
    }
}

void heap_prefer_full(struct heap *heap, bool thorough)
{
    (void)heap;
    (void)thorough;
}

bool heap_is_sparse(const struct heap *heap, const void *ptr, size_t size)
{
    /* Some are, so that whoever moves blocks is watched at it. */
    (void)heap;
    return size <= HEAP_SMALL_MAX && (uintptr_t)ptr / 64 % 4 == 0;
}

bool heap_give_back(struct heap *heap)
{
    (void)heap; /* nothing is kept */
    return false;
}

void heap_release_unused(struct heap *heap)
{
    (void)heap;
}

struct heap *heap_create(int node)
{
    (void)node;
    struct heap *heap = mem_zalloc(sizeof *heap);
    heap->blocks.next = heap->blocks.prev = &heap->blocks;
    heap->used = mem_account_open();
    mem_pool_init(&heap->pool);
    return heap;
}

void heap_destroy(struct heap *heap)
{
    if (!heap)
        return;
    while (heap->blocks.next != &heap->blocks)
        free_block(heap, heap->blocks.next + 1);
    mem_account_close(heap->used);
    mem_free(heap);
}

void heap_validate(struct heap *heap)
{
    size_t sum = 0;
    for (struct guard *guard = heap->blocks.next; guard != &heap->blocks; guard = guard->next) {
        ASSERT(guard->heap == heap && guard->next->prev == guard);
        sum += guard->size;
    }
    ASSERT(sum == heap_used(heap));
}

#endif

void *heap_compact(struct heap *heap, void *ptr, size_t size)
{
    if (!heap_is_sparse(heap, ptr, size))
        return ptr;
    void *moved = heap_alloc(heap, size);
    memcpy(moved, ptr, size);
    heap_free(heap, ptr, size);
    return moved;
}

void *heap_alloc(struct heap *heap, size_t size)
{
    void *ptr = heap_try_alloc(heap, size);
    if (unlikely(!ptr))
        mem_exhausted(size);
    return ptr;
}

size_t heap_used(const struct heap *heap)
{
    return (size_t)mem_account_bytes(heap->used);
}

void heap_tend(struct heap *heap)
{
    if (likely(!atomic_load_explicit(&heap->far, memory_order_relaxed)))
        return;
    /* Acquire: pairs with the release of the heaps that sent them home. */
    take_home(heap, atomic_exchange_explicit(&heap->far, NULL, memory_order_acquire));
}
