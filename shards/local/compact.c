/*
 * A round that could not help (what is spare lies in slabs that are not sparse, or under values
 * that are not moved) must not be followed by another at once: the next one waits until a quarter
 * more is spare than it left.
 */
#include "shards/local/compact.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/local/db_data.h"

#define STEP_CELLS 64u       /* moved between two looks at the clock: some 10 us */
#define ORDER_STEPS 64u      /* between two looks for full slabs to move into */
#define TICK_CPU_NS 2500000u /* 2.5 % of 100 ms */

struct compact {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    bool is_running, is_thorough;
    uint32_t db_index; /* where the round is */
    uint32_t steps;    /* that it has taken */
    uint64_t position;
    uint64_t cpu_ns_left; /* of this tick */
    size_t left_spare;    /* bytes that the last round left, or less if it has become less */
};

static void begin(struct compact *compact, bool thorough)
{
    compact->is_running = true;
    compact->is_thorough = thorough;
    compact->db_index = 0;
    compact->position = 0;
    compact->steps = 0;
}

static void step(struct compact *compact)
{
    struct shard *shard = compact->shard;
    struct keyspace *keyspace = shard->dbs[compact->db_index]->keyspace;
    if (compact->steps++ % ORDER_STEPS == 0)
        heap_prefer_full(shard->heap, compact->is_thorough);
    compact->position = keyspace_compact(keyspace, shard->heap, compact->position, STEP_CELLS);
    if (compact->position != KEYSPACE_END)
        return;
    compact->position = 0;
    if (++compact->db_index < shard->config->databases)
        return;
    compact->is_running = false;
    compact->left_spare = heap_spare(shard->heap);
}

/* Returns what the time is then. */
static uint64_t run_until(struct compact *compact, uint64_t now_ns, uint64_t end_ns)
{
    while (compact->is_running && now_ns < end_ns) {
        step(compact);
        now_ns = clock_mono_ns();
    }
    return now_ns;
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    struct compact *compact = (struct compact *)task;
    uint64_t start_ns = clock_mono_ns();
    uint64_t end_ns = start_ns + compact->cpu_ns_left;
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;
    uint64_t used_ns = run_until(compact, start_ns, end_ns) - start_ns;
    compact->cpu_ns_left -= used_ns < compact->cpu_ns_left ? used_ns : compact->cpu_ns_left;
    return compact->is_running && compact->cpu_ns_left > 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Bytes that are not worth a round. */
static size_t tolerated(const struct compact *compact)
{
    size_t part = heap_used(compact->shard->heap) / COMPACT_SPARE_PART;
    return larger(larger(part, COMPACT_SPARE_MIN), compact->left_spare + compact->left_spare / 4);
}

static bool is_worth_while(const struct compact *compact)
{
    return heap_spare(compact->shard->heap) > tolerated(compact);
}

size_t compact_leaves(const struct shard *shard)
{
    size_t most = larger(heap_used(shard->heap) / COMPACT_LEAVES_PART, COMPACT_SPARE_MIN);
    size_t leaves = tolerated(shard->compact);
    return leaves < most ? leaves : most;
}

bool compact_now(struct compact *compact, uint64_t deadline_ns)
{
    if (!compact->is_running && !is_worth_while(compact))
        return false;
    if (!compact->is_running || !compact->is_thorough)
        begin(compact, true);
    run_until(compact, clock_mono_ns(), deadline_ns);
    return compact->is_running;
}

void compact_tick(struct compact *compact)
{
    struct shard *shard = compact->shard;
    size_t spare = heap_spare(shard->heap);
    if (spare < compact->left_spare)
        compact->left_spare = spare;
    if (!compact->is_running) {
        if (!is_worth_while(compact))
            return;
        begin(compact, false);
    }
    compact->cpu_ns_left = TICK_CPU_NS;
    task_start(&shard->tasks, &compact->task);
}

struct compact *compact_create(struct shard *shard)
{
    struct compact *compact = mem_zalloc(sizeof *compact);
    compact->shard = shard;
    compact->task.run = run_task;
    return compact;
}

void compact_destroy(struct compact *compact)
{
    if (!compact)
        return;
    task_stop(&compact->shard->tasks, &compact->task);
    mem_free(compact);
}
