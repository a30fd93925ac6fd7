/*
 * heap: blocks of several heaps, freed by whoever holds them, while others count what is used.
 *
 * Each thread owns a heap. Blocks wander: a thread fills one of its own, leaves it on a table that
 * all share, and takes another from there, which it checks and frees through its own heap.
 *
 * Checks   no block is given out twice; content that was written before a block was handed on is
 *          there; all that was freed elsewhere comes home; sums read meanwhile are sane.
 * Usage    race_heap [--all]; prints what passed, exits with 0 if all did.
 */
#include "core/base/heap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"

#define THREADS 3
#define TABLE_LEN 64
#define STEPS 30000
#define STEPS_ALL 400000

struct block {
    uint64_t far_link; /* overwritten when it is sent home */
    uint64_t size;
    uint64_t stamp;
};

struct worker {
    pthread_t thread;
    struct heap *heap;
    uint64_t seed;
    uint32_t steps;
};

static _Atomic(struct block *) table[TABLE_LEN];
static atomic_int running;
static atomic_int failed;

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    atomic_store(&failed, 1);
}

static uint64_t stamp_of(const struct block *block)
{
    return block->size * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)block;
}

static struct block *make_block(struct heap *heap, struct rng *rng)
{
    size_t size = sizeof(struct block) + rng_below(rng, HEAP_SMALL_MAX - sizeof(struct block));
    struct block *block = heap_alloc(heap, size);
    block->size = size;
    block->stamp = stamp_of(block);
    return block;
}

static void drop_block(struct heap *heap, struct block *block)
{
    if (block->stamp != stamp_of(block))
        fail("a block does not hold what was written to it");
    block->stamp = 0;
    heap_free(heap, block, block->size);
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct rng rng;
    rng_init(&rng, worker->seed);
    for (uint32_t i = 0; i < worker->steps; i++) {
        struct block *block = make_block(worker->heap, &rng);
        block = atomic_exchange(&table[rng_below(&rng, TABLE_LEN)], block);
        if (block)
            drop_block(worker->heap, block);
        if (i % 16 == 0)
            heap_tend(worker->heap);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "--all") == 0;
    struct worker workers[THREADS];
    size_t before = mem_used();
    atomic_store(&running, THREADS);
    for (uint32_t i = 0; i < THREADS; i++)
        workers[i] = (struct worker){
            .heap = heap_create(-1), .seed = i + 1, .steps = all ? STEPS_ALL : STEPS};
    for (uint32_t i = 0; i < THREADS; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    while (atomic_load(&running) > 0) {
        for (uint32_t i = 0; i < THREADS; i++) {
            if (heap_used(workers[i].heap) > (size_t)1 << 30)
                fail("a heap says it uses a gigabyte");
            if (heap_spare(workers[i].heap) > (size_t)1 << 30)
                fail("a heap says it has a gigabyte to spare");
        }
        if (mem_used() > (size_t)2 << 30)
            fail("all together say they use two gigabytes");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);

    for (uint32_t i = 0; i < TABLE_LEN; i++) {
        if (table[i])
            drop_block(workers[0].heap, table[i]);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        heap_tend(workers[i].heap);
        heap_validate(workers[i].heap);
        heap_release_unused(workers[i].heap);
        if (heap_used(workers[i].heap) != 0)
            fail("a heap did not get all its blocks back");
        heap_destroy(workers[i].heap);
    }
    if (mem_used() != before)
        fail("memory is counted that is not there");
    if (atomic_load(&failed))
        return 1;
    printf("heap: blocks of %d heaps wandered\n1 passed, 0 failed\n", THREADS);
    return 0;
}
