/*
 * order: several threads fill a log of eight slots and walk it, for thousands of laps.
 *
 * Checks   all walk the same entries in the same order; an entry that is found is complete (it is
 * plain memory), and is reused by its maker only when all have passed. Usage    race_order [--all];
 * prints what passed, exits with 0 if all did.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shards/route/order.h"
#include "shards/route/tx.h"

#define THREADS 4u
#define CAPACITY 8u
#define ENTRIES 8u /* of a thread, reused in turn */

static struct order *order;
static uint64_t goal; /* entries of each thread */

static struct walker {
    _Alignas(128) _Atomic uint64_t cursor;
    uint32_t id;
    uint64_t published, last_of[THREADS], hash;
    struct tx *entries[ENTRIES];
    pthread_t thread;
} walkers[THREADS];

static void fail(const char *what, uint64_t at)
{
    fprintf(stderr, "position %llu: %s\n", (unsigned long long)at, what);
    exit(1);
}

static uint64_t oldest(void)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < THREADS; i++) {
        uint64_t cursor = atomic_load_explicit(&walkers[i].cursor, memory_order_acquire);
        if (cursor < least)
            least = cursor;
    }
    return least;
}

static void walk(struct walker *walker)
{
    uint64_t at = atomic_load_explicit(&walker->cursor, memory_order_relaxed);
    struct tx *tx;
    uint64_t fold;
    while (order_read(order, at, &tx, &fold)) {
        uint64_t number = (uint64_t)tx->now_ms;
        if (tx->home >= THREADS || fold != 1ull << tx->home)
            fail("an entry and its shards do not belong together", at);
        if (number != ++walker->last_of[tx->home])
            fail("an entry is missing, or comes twice", at);
        walker->hash = (walker->hash ^ (number << 8 | tx->home)) * 0x9e3779b97f4a7c15u;
        /* Release: whoever reuses the entry does so after we have read it. */
        atomic_store_explicit(&walker->cursor, ++at, memory_order_release);
    }
}

static void publish(struct walker *walker)
{
    uint64_t least = oldest();
    struct tx *tx = walker->entries[walker->published % ENTRIES];
    if (tx->position >= least && walker->published >= ENTRIES)
        return; /* somebody may still read it */
    tx->home = (uint16_t)walker->id;
    tx->now_ms = (int64_t)walker->published + 1;
    struct shard_set set = {0};
    shard_set_add(&set, walker->id);
    if (order_publish(order, tx, &set, least, &tx->position))
        walker->published++;
}

static void *live(void *context)
{
    struct walker *walker = context;
    while (atomic_load_explicit(&walker->cursor, memory_order_relaxed) < goal * THREADS) {
        if (walker->published < goal)
            publish(walker);
        walk(walker);
        sched_yield(); /* more threads than cores */
    }
    return NULL;
}

int main(int argc, char **argv)
{
    goal = argc > 1 && strcmp(argv[1], "--all") == 0 ? 200000 : 20000;
    order = order_create(CAPACITY);
    for (uint32_t id = 0; id < THREADS; id++) {
        walkers[id].id = id;
        for (uint32_t i = 0; i < ENTRIES; i++)
            walkers[id].entries[i] = calloc(1, sizeof(struct tx));
    }
    for (uint32_t id = 0; id < THREADS; id++)
        if (pthread_create(&walkers[id].thread, NULL, live, &walkers[id]) != 0)
            fail("no thread", 0);
    for (uint32_t id = 0; id < THREADS; id++)
        pthread_join(walkers[id].thread, NULL);
    for (uint32_t id = 0; id < THREADS; id++) {
        if (walkers[id].hash != walkers[0].hash)
            fail("two threads have walked different logs", goal * THREADS);
        for (uint32_t i = 0; i < ENTRIES; i++)
            free(walkers[id].entries[i]);
    }
    printf("%u threads, a log of %u: %llu entries\n", THREADS, CAPACITY,
           (unsigned long long)goal * THREADS);
    order_destroy(order);
    return 0;
}
