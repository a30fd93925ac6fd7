/*
 * table_micro: what keys cost: bytes and nanoseconds.
 *
 *     table_micro            all of it
 *     table_micro memory     bytes a key: used_memory (and RSS), mean over 3, 4, 5 and 6 million
 * keys table_micro lookup     ns a lookup of 5 million keys, one by one and in prefetched batches
 *     table_micro growth     ns an insert, and the longest single insert from 0 to 10 million keys
 *     table_micro one-slot   the same with all keys in one hash slot
 *
 * Names are those of `SET key:%010d`. Memory is reckoned as INFO does, minus the empty server.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/os/clock.h"
#include "shards/local/db.h"
#include "shards/local/shard.h"

#define LOOKUPS 400000u /* of a round */
#define ROUNDS 12       /* the fastest counts: others of the machine only ever add */
#define GROWTH_ROUNDS 3
#define BATCH 16u

static struct config config = {.databases = 16, .hash_seed = 1, .active_expire_effort = 1};

static size_t resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long size = 0, resident = 0;
    if (!file || fscanf(file, "%lu %lu", &size, &resident) != 2)
        exit(1);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static struct key make_key(char name[32], uint32_t number)
{
    int len = snprintf(name, 32, "key:%010u", number);
    return key_make(bytes_of(name, (size_t)len));
}

static struct shard *open_shard(void)
{
    struct shard *shard = shard_create(0, -1, &config);
    shard_tick(shard, clock_wall_ms());
    return shard;
}

static void fill(struct db *db, uint32_t from, uint32_t to, size_t value_len, int64_t expire_at_ms)
{
    char name[32], value[256];
    memset(value, 'x', sizeof value);
    for (uint32_t i = from; i < to; i++) {
        struct key key = make_key(name, i);
        db_put_string(db, &key, bytes_of(value, value_len), expire_at_ms);
    }
}

/* ---- memory ---- */

static void measure_memory(const char *label, size_t value_len, bool with_ttl, double limit)
{
    fflush(stdout);
    if (fork() != 0) { /* a process of its own, so that RSS starts from nothing */
        wait(NULL);
        return;
    }
    size_t empty_used = mem_used(), empty_resident = resident_bytes();
    struct shard *shard = open_shard();
    struct db *db = shard->dbs[0];
    empty_used = mem_used();
    double used_sum = 0, resident_sum = 0;
    printf("| %s |", label);
    uint32_t have = 0;
    for (uint32_t millions = 3; millions <= 6; millions++) {
        uint32_t count = millions * 1000000;
        fill(db, have, count, value_len, with_ttl ? shard->now_ms + 3600000 : DB_NO_EXPIRE);
        have = count;
        double used = (double)(mem_used() - empty_used) / count;
        double resident = (double)(resident_bytes() - empty_resident) / count;
        struct db_table_stats stats = db_table_stats(db);
        printf(" %.2f (%.2f; table %.2f) |", used, resident, (double)stats.bytes / count);
        used_sum += used;
        resident_sum += resident;
    }
    printf(" %.2f (%.2f) | %.1f |\n", used_sum / 4, resident_sum / 4, limit);
    fflush(stdout);
    _exit(0);
}

static void memory(void)
{
    printf("\n| bytes a key: used (resident) | 3 M | 4 M | 5 M | 6 M | mean | at most |\n"
           "|---|---|---|---|---|---|---|\n");
    measure_memory("8-byte value", 8, false, 0.48 * 93);
    measure_memory("8-byte value, TTL", 8, true, 0.39 * 139);
    measure_memory("100-byte value", 100, false, 0.76 * 189);
}

/* ---- lookup ---- */

static double time_lookups(struct db *db, const struct key *keys, uint32_t batch, bool present)
{
    uint64_t best_ns = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        const struct key *part = keys + (size_t)round * LOOKUPS;
        uint32_t found = 0;
        uint64_t start_ns = clock_thread_cpu_ns();
        for (uint32_t i = 0; i < LOOKUPS; i += batch) {
            for (int step = 0; batch > 1 && step < DB_PREFETCH_STEPS; step++) {
                for (uint32_t k = i; k < i + batch; k++)
                    db_prefetch(db, &part[k], step);
            }
            for (uint32_t k = i; k < i + batch; k++)
                found += db_lookup(db, &part[k]) != NULL;
        }
        uint64_t took_ns = clock_thread_cpu_ns() - start_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
        if (found != (present ? LOOKUPS : 0))
            exit(1);
    }
    return (double)best_ns / LOOKUPS;
}

/* What one random line of memory costs on this machine at this moment, when many are asked for at
 * once, and when each waits for the one before: what the figures below are to be seen against. */
static void measure_memory_lines(void)
{
    size_t line_count = (size_t)4 << 20, lines_read = LOOKUPS;
    char *memory = mem_alloc_aligned(line_count * 64, 64);
    for (size_t i = 0; i < line_count; i++)
        memory[i * 64] = 1;
    struct rng rng;
    rng_init(&rng, 9);
    double best[2] = {1e9, 1e9};
    uint64_t sum = 0;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        bool waits = round % 2;
        uint64_t chain = 0, start_ns = clock_thread_cpu_ns();
        for (size_t i = 0; i < lines_read; i++) {
            uint64_t index = (rng_next(&rng) + (waits ? chain : 0)) % line_count;
            chain += (unsigned char)memory[index * 64];
        }
        double ns = (double)(clock_thread_cpu_ns() - start_ns) / (double)lines_read;
        best[waits] = ns < best[waits] ? ns : best[waits];
        sum += chain;
    }
    printf("\nA random line of memory: %.0f ns, waited for %.0f ns.%s\n", best[0], best[1],
           sum ? "" : " ");
    mem_free(memory);
}

static void lookup(void)
{
    measure_memory_lines();
    struct shard *shard = open_shard();
    struct db *db = shard->dbs[0];
    uint32_t count = 5000000;
    fill(db, 0, count, 8, DB_NO_EXPIRE);
    struct key *keys = malloc((size_t)LOOKUPS * ROUNDS * sizeof *keys);
    char(*names)[16] = malloc((size_t)LOOKUPS * ROUNDS * sizeof *names);
    printf("\n| ns a lookup, 5 M keys | one by one | batch of %u |\n|---|---|---|\n", BATCH);
    for (int present = 1; present >= 0; present--) {
        struct rng rng;
        rng_init(&rng, 3);
        for (uint32_t i = 0; i < LOOKUPS * ROUNDS; i++) {
            char name[32];
            make_key(name, (uint32_t)rng_below(&rng, count) + (present ? 0 : count));
            memcpy(names[i], name, 14);
            keys[i] = key_make(bytes_of(names[i], 14));
        }
        double single = time_lookups(db, keys, 1, present);
        double batched = time_lookups(db, keys, BATCH, present);
        printf("| %s | %.1f | %.1f |\n", present ? "present" : "absent", single, batched);
    }
    free(keys);
    free(names);
    shard_destroy(shard);
}

/* ---- growth ---- */

#define STEP 8 /* inserts between two looks at the clock, which takes as long as one insert */
#define LONGEST 5

/* Time of each step over some rounds, each in a process of its own; the shortest counts, since the
 * same inserts do the same work, and what the machine adds falls elsewhere each time. */
static void grow(const char *format, uint32_t count, uint32_t *io_shortest_ns)
{
    struct shard *shard = open_shard();
    struct db *db = shard->dbs[0];
    uint64_t last_ns = clock_thread_cpu_ns();
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        int len = snprintf(name, sizeof name, format, i);
        struct key key = key_make(bytes_of(name, (size_t)len));
        db_put_int(db, &key, i, DB_NO_EXPIRE);
        if (i % STEP == STEP - 1) {
            uint64_t now_ns = clock_thread_cpu_ns();
            uint32_t took_ns = (uint32_t)(now_ns - last_ns);
            if (took_ns < io_shortest_ns[i / STEP])
                io_shortest_ns[i / STEP] = took_ns;
            last_ns = now_ns;
        }
    }
    db_flush(db, false);
    uint64_t slices = 0, longest_ns = 0, total_ns = 0;
    for (bool more = true; more; slices++) {
        uint64_t slice_ns = clock_thread_cpu_ns();
        more = task_run(&shard->tasks, SLICE_US);
        slice_ns = clock_thread_cpu_ns() - slice_ns;
        total_ns += slice_ns;
        longest_ns = slice_ns > longest_ns ? slice_ns : longest_ns;
    }
    printf("| ... freed in %" PRIu64 " slices | %.0f | %.1f | |\n", slices,
           (double)total_ns / count, (double)longest_ns / 1000);
    shard_destroy(shard);
}

static void growth(const char *label, const char *format, uint32_t count)
{
    printf("\n| %s: 0 to 10 M keys | ns a key | longest, us of thread time | over 100 us |\n"
           "|---|---|---|---|\n",
           label);
    size_t bytes = count / STEP * sizeof(uint32_t);
    uint32_t *shortest_ns = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                 -1, 0);
    if (shortest_ns == MAP_FAILED)
        exit(1);
    memset(shortest_ns, 0xff, bytes);
    for (int round = 0; round < GROWTH_ROUNDS; round++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            grow(format, count, shortest_ns);
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    uint64_t sum_ns = 0, over_100_us = 0;
    uint32_t longest[LONGEST] = {0}; /* indices of steps */
    for (uint32_t i = 0; i < count / STEP; i++) {
        sum_ns += shortest_ns[i];
        over_100_us += shortest_ns[i] > 100000;
        uint32_t index = i;
        for (int k = 0; k < LONGEST; k++) {
            if (shortest_ns[index] > shortest_ns[longest[k]]) {
                uint32_t displaced = longest[k];
                longest[k] = index;
                index = displaced;
            }
        }
    }
    printf("| %u inserts, of %d rounds each the shortest | %.0f |", STEP, GROWTH_ROUNDS,
           (double)sum_ns / count);
    for (int k = 0; k < LONGEST; k++)
        printf(" %.0f (at %u)", shortest_ns[longest[k]] / 1000.0, longest[k] * STEP);
    printf(" | %" PRIu64 " |\n", over_100_us);
    munmap(shortest_ns, bytes);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    bool all = strcmp(what, "all") == 0;
    key_seed(1);
    if (all || strcmp(what, "memory") == 0)
        memory();
    if (all || strcmp(what, "lookup") == 0)
        lookup();
    if (all || strcmp(what, "growth") == 0)
        growth("names spread over slots", "key:%010u", 10000000);
    if (all || strcmp(what, "one-slot") == 0)
        growth("all in one slot", "{one}:%010u", 10000000);
    return 0;
}
