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
#define TICK_CPU_NS 2500000u /* 2.5 % of 100 ms */

struct compact {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    bool is_running;
    uint32_t db_index; /* where the round is */
    uint64_t position;
    uint64_t cpu_ns_left; /* of this tick */
    size_t left_spare;    /* bytes that the last round left, or less if it has become less */
};

static void step(struct compact *compact)
{
    struct shard *shard = compact->shard;
    struct keyspace *keyspace = shard->dbs[compact->db_index]->keyspace;
    compact->position = keyspace_compact(keyspace, shard->heap, compact->position, STEP_CELLS);
    if (compact->position != KEYSPACE_END)
        return;
    compact->position = 0;
    if (++compact->db_index < shard->config->databases)
        return;
    compact->is_running = false;
    compact->left_spare = heap_spare(shard->heap);
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    struct compact *compact = (struct compact *)task;
    uint64_t start_ns = clock_mono_ns(), now_ns = start_ns;
    uint64_t end_ns = start_ns + compact->cpu_ns_left;
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;
    while (compact->is_running && now_ns < end_ns) {
        step(compact);
        now_ns = clock_mono_ns();
    }
    uint64_t used_ns = now_ns - start_ns;
    compact->cpu_ns_left -= used_ns < compact->cpu_ns_left ? used_ns : compact->cpu_ns_left;
    return compact->is_running && compact->cpu_ns_left > 0;
}

static bool is_worth_while(const struct compact *compact)
{
    size_t spare = heap_spare(compact->shard->heap);
    return spare >= COMPACT_SPARE_MIN &&
           spare >= heap_used(compact->shard->heap) / COMPACT_SPARE_PART &&
           spare >= compact->left_spare + compact->left_spare / 4;
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
        compact->is_running = true;
        compact->db_index = 0;
        compact->position = 0;
        heap_prefer_full(shard->heap);
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
