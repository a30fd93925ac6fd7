/*
 * together: shards walk the order log, stand together, sleep, are lent and poked, on real threads,
 * with a log so small that it is full all the time.
 *
 * Checks   the data of a shard is plain memory: the thread sanitizer sees every touch by two owners
 *          without a hand-over in between. Links between shards are written at both ends by one
 * entry, and entries that stand together find both ends equal. Nothing is run twice or lost. Usage
 * race_together [--all]; prints what passed, exits with 0 if all did.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/herd.h"

#define SHARDS_MAX 8u
#define STUCK_US 10e6 /* a sleep ends by a wake, or after 20 seconds */

/* One shard's data, touched by its owner only. */
static struct cell {
    _Alignas(128) uint64_t alone;     /* operations run alone */
    uint64_t links[SHARDS_MAX];       /* entries that this shard and that one took part in */
    uint64_t link_hashes[SHARDS_MAX]; /* their numbers, in their order */
    bool is_busy;
} cells[SHARDS_MAX];

static _Atomic uint64_t alone_count, scatter_count, together_count;
static uint64_t goal; /* operations of each thread */

static void fail(const char *what, uint32_t shard)
{
    fprintf(stderr, "shard %u: %s\n", shard, what);
    exit(1);
}

static void begin(uint32_t shard)
{
    if (cells[shard].is_busy)
        fail("two at once", shard);
    cells[shard].is_busy = true;
}

static void end(uint32_t shard)
{
    cells[shard].is_busy = false;
}

static void run_alone(uint32_t shard, const struct shard_set *set, uint64_t number)
{
    (void)set;
    begin(shard);
    cells[shard].alone += number;
    end(shard);
}

static void link_all(uint32_t shard, const struct shard_set *set, uint64_t number)
{
    SHARD_SET_EACH(other, set)
    {
        cells[shard].links[other]++;
        cells[shard].link_hashes[other] = (cells[shard].link_hashes[other] ^ number) *
                                          0x9e3779b97f4a7c15u;
    }
}

static void run_scatter(uint32_t shard, const struct shard_set *set, uint64_t number)
{
    begin(shard);
    link_all(shard, set, number);
    end(shard);
}

static void run_together(uint32_t via, const struct shard_set *set, uint64_t number)
{
    (void)via;
    SHARD_SET_EACH(shard, set)
    {
        begin(shard);
    }
    SHARD_SET_EACH(shard, set)
    {
        SHARD_SET_EACH(other, set)
        {
            if (cells[shard].links[other] != cells[other].links[shard] ||
                cells[shard].link_hashes[other] != cells[other].link_hashes[shard])
                fail("has another past with its neighbour than the neighbour with it", shard);
        }
    }
    SHARD_SET_EACH(shard, set)
    {
        link_all(shard, set, number);
    }
    SHARD_SET_EACH(shard, set)
    {
        end(shard);
    }
}

static struct shard_set draw_set(struct herd_thread *thread)
{
    uint32_t shard_count = thread->options->shard_count;
    uint32_t count = rng_below(&thread->rng, 8) == 0 ? shard_count : 2;
    struct shard_set set = {0};
    while (shard_set_count(&set) < count)
        shard_set_add(&set, (uint32_t)rng_below(&thread->rng, shard_count));
    return set;
}

static bool work(struct herd_thread *thread)
{
    if (thread->issued == goal)
        return false;
    uint64_t number = rng_next(&thread->rng) >> 8;
    uint32_t kind = (uint32_t)rng_below(&thread->rng, 8);
    struct shard_set set = draw_set(thread);
    if (kind < 3) {
        atomic_fetch_add_explicit(&alone_count, number, memory_order_relaxed);
        herd_alone(thread, (uint32_t)rng_below(&thread->rng, thread->options->shard_count),
                   run_alone, number);
    } else if (kind < 6) {
        atomic_fetch_add_explicit(&scatter_count, shard_set_count(&set), memory_order_relaxed);
        herd_scatter(thread, &set, run_scatter, number);
    } else {
        atomic_fetch_add_explicit(&together_count, shard_set_count(&set), memory_order_relaxed);
        herd_together(thread, &set, run_together, number);
    }
    return true;
}

static void run(uint32_t shards, enum ring_backend backend, bool lend, uint32_t depth)
{
    struct herd_options options = {.shard_count = shards,
                                   .log_entries = 8,
                                   .lend = lend,
                                   .backend = backend,
                                   .depth = depth,
                                   .work = work};
    memset(cells, 0, sizeof(cells));
    atomic_store(&alone_count, 0);
    atomic_store(&scatter_count, 0);
    atomic_store(&together_count, 0);
    struct herd_result result = herd_run(&options);

    uint64_t alone = 0, entries = 0;
    for (uint32_t shard = 0; shard < shards; shard++) {
        alone += cells[shard].alone;
        entries += cells[shard].links[shard];
    }
    if (alone != atomic_load(&alone_count))
        fail("what ran alone is not what was asked for", 0);
    if (entries != atomic_load(&scatter_count) + atomic_load(&together_count))
        fail("parts of entries are not as many as were asked for", 0);
    if (result.operations != goal * shards)
        fail("not all was answered", 0);
    if (result.latency_us_max > STUCK_US)
        fail("somebody was not woken", 0);
    printf("%u shards, %s, %s, depth %u: %llu operations, %llu entries, %llu lent, %llu sleeps\n",
           shards, backend == RING_BACKEND_EPOLL ? "epoll" : "io_uring", lend ? "lent" : "poked",
           depth, (unsigned long long)result.operations, (unsigned long long)result.entries,
           (unsigned long long)result.lent_runs, (unsigned long long)result.sleeps);
}

int main(int argc, char **argv)
{
    bool long_form = argc > 1 && strcmp(argv[1], "--all") == 0;
    goal = long_form ? 100000 : 4000;
    char reason[256];
    bool has_io_uring = ring_probe(reason, sizeof(reason)) == 0;
    static const uint32_t shard_counts[] = {2, 3, 5, 8};
    for (uint32_t i = 0; i < sizeof(shard_counts) / sizeof(shard_counts[0]); i++)
        for (uint32_t lend = 0; lend < 2; lend++) {
            if (has_io_uring)
                run(shard_counts[i], RING_BACKEND_IO_URING, lend, lend ? 1 : 8);
            run(shard_counts[i], RING_BACKEND_EPOLL, lend, lend ? 4 : 1);
        }
    return 0;
}
