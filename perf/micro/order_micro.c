/*
 * order_micro: what a command over several shards costs, without the network.
 *
 *     order_micro            2, 8 and 64 shards
 *     order_micro N ...      these numbers of shards
 *     order_micro --epoll    with epoll for rings
 *
 * One thread asks, one command at a time, and the rest are idle (asleep in their rings, the usual
 * case on a quiet machine) or busy (each turns all the time over commands of its own). `lent` lets
 * the asking thread run sleeping shards, `poked` wakes their threads. CPU is that of all threads
 * together; with the others busy it says nothing about the command, and is left out. More threads
 * than cores is what a small machine gives: latencies with busy others are then the kernel's time
 * slices.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/os/clock.h"
#include "tests/support/herd.h"

#define ROUND_NS 400000000u
#define LOG_ENTRIES 65536u

enum kind { KIND_OWN, KIND_OTHER, KIND_SCATTER, KIND_TOGETHER };

static struct load {
    enum kind kind;
    uint32_t over; /* shards */
    bool others_busy;
    uint64_t end_ns; /* 0: not begun */
    _Atomic bool is_over;
} load;

/* A command's work is a few cache lines: what is measured is the way there. */
static struct cell {
    _Alignas(128) uint64_t value;
} cells[SHARD_MAX];

static void touch(uint32_t shard, const struct shard_set *set, uint64_t number)
{
    (void)set;
    cells[shard].value += number;
}

static void touch_all(uint32_t via, const struct shard_set *set, uint64_t number)
{
    (void)via;
    SHARD_SET_EACH(shard, set)
    {
        cells[shard].value += number;
    }
}

/* `over` shards, spread evenly, the first of them the asking one's. */
static struct shard_set draw_set(const struct herd_thread *thread)
{
    uint32_t shard_count = thread->options->shard_count;
    struct shard_set set = {0};
    uint32_t first = load.over == shard_count ? 0 : (uint32_t)(thread->issued % (shard_count - 1));
    shard_set_add(&set, 0);
    for (uint32_t i = 1; i < load.over; i++)
        shard_set_add(&set, load.over == shard_count ? i : 1 + (first + i - 1) % (shard_count - 1));
    return set;
}

static bool ask(struct herd_thread *thread)
{
    uint64_t now_ns = clock_mono_ns();
    if (load.end_ns == 0)
        load.end_ns = now_ns + ROUND_NS;
    if (now_ns >= load.end_ns) {
        atomic_store(&load.is_over, true);
        return false;
    }
    struct shard_set set = draw_set(thread);
    switch (load.kind) {
    case KIND_OWN:
        herd_alone(thread, 0, touch, 1);
        break;
    case KIND_OTHER:
        herd_alone(thread, 1 + (uint32_t)(thread->issued % (thread->options->shard_count - 1)),
                   touch, 1);
        break;
    case KIND_SCATTER:
        herd_scatter(thread, &set, touch, 1);
        break;
    case KIND_TOGETHER:
        herd_together(thread, &set, touch_all, 1);
        break;
    }
    return true;
}

static bool work(struct herd_thread *thread)
{
    if (thread->id == 0)
        return ask(thread);
    if (!load.others_busy || atomic_load_explicit(&load.is_over, memory_order_relaxed))
        return false;
    herd_alone(thread, thread->id, touch, 1);
    return true;
}

static void measure(uint32_t shards, enum ring_backend backend, const char *name, enum kind kind,
                    uint32_t over)
{
    struct herd_options options = {
        .shard_count = shards, .log_entries = LOG_ENTRIES, .backend = backend, .depth = 1};
    options.work = work;
    printf("| %u | %s |", shards, name);
    for (int busy = 0; busy < 2; busy++)
        for (int lend = 1; lend >= 0; lend--) {
            load.kind = kind;
            load.over = over;
            load.others_busy = busy;
            load.end_ns = 0;
            atomic_store(&load.is_over, false);
            options.lend = lend;
            struct herd_result result = herd_run(&options);
            if (busy)
                printf(" %.1f |", result.asker_latency_us);
            else
                printf(" %.1f | %.1f | %.2f |", result.asker_latency_us,
                       result.cpu_seconds * 1e6 / (double)result.operations,
                       (double)result.wakes / (double)result.operations);
        }
    printf("\n");
    fflush(stdout);
}

static void measure_all(uint32_t shards, enum ring_backend backend)
{
    measure(shards, backend, "own shard", KIND_OWN, 1);
    measure(shards, backend, "one other shard", KIND_OTHER, 1);
    measure(shards, backend, "each of 2", KIND_SCATTER, 2);
    measure(shards, backend, "together, 2", KIND_TOGETHER, 2);
    if (shards == 2)
        return;
    measure(shards, backend, "each of all", KIND_SCATTER, shards);
    measure(shards, backend, "together, all", KIND_TOGETHER, shards);
}

int main(int argc, char **argv)
{
    static const uint32_t usual[] = {2, 8, 64};
    enum ring_backend backend = RING_BACKEND_IO_URING;
    bool has_numbers = false;
    char reason[256];
    if ((argc > 1 && strcmp(argv[1], "--epoll") == 0) || ring_probe(reason, sizeof(reason)) < 0)
        backend = RING_BACKEND_EPOLL;
    printf("%s; us a command, CPU us a command, wakes a command\n\n",
           backend == RING_BACKEND_EPOLL ? "epoll" : "io_uring");
    printf("| shards | command | idle, lent: us | CPU | wakes | idle, poked: us | CPU | wakes "
           "| busy, lent: us | busy, poked: us |\n|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 1; i < argc; i++) {
        uint32_t shards = (uint32_t)strtoul(argv[i], NULL, 10);
        if (shards < 2 || shards > SHARD_MAX)
            continue;
        has_numbers = true;
        measure_all(shards, backend);
    }
    for (uint32_t i = 0; !has_numbers && i < sizeof(usual) / sizeof(usual[0]); i++)
        measure_all(usual[i], backend);
    return 0;
}
