#include "shards/local/field_sweep.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/local/db_data.h"
#include "shards/local/expire.h"
#include "shards/local/fields.h"

#define STEP_FIELDS 64u /* looked at between two looks at the clock: some 10 us */
#define TICK_CPU_NS (1000000000u / EXPIRE_TICKS_PER_S / 100) /* 1 % */
#define PACE_MAX 25u                                         /* 25 % */
/* A tick is well spent when so many of the fields it looks at are due, at effort 1. */
#define DUE_PERCENT_MIN 10u

struct field_sweep {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    uint32_t db_index;
    uint32_t pace;
    uint64_t cpu_ns_left;     /* of this tick's grant */
    uint64_t looked, deleted; /* since the last tick */
};

/* A step in the next database where something is due; false when there is none. */
static bool step(struct field_sweep *sweep)
{
    struct shard *shard = sweep->shard;
    for (uint32_t i = 0; i < shard->config->databases; i++) {
        struct db *db = shard->dbs[sweep->db_index];
        sweep->db_index = (sweep->db_index + 1) % shard->config->databases;
        uint64_t deleted;
        uint64_t looked = fields_expire_some(db, STEP_FIELDS, &deleted);
        if (looked == 0)
            continue;
        sweep->looked += looked;
        sweep->deleted += deleted;
        return true;
    }
    return false;
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    struct field_sweep *sweep = (struct field_sweep *)task;
    uint64_t start_ns = clock_mono_ns(), now_ns = start_ns;
    uint64_t end_ns = start_ns + sweep->cpu_ns_left;
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;
    bool is_due = true;
    while (is_due && now_ns < end_ns) {
        is_due = step(sweep);
        now_ns = clock_mono_ns();
    }
    uint64_t used_ns = now_ns - start_ns;
    sweep->cpu_ns_left -= used_ns < sweep->cpu_ns_left ? used_ns : sweep->cpu_ns_left;
    sweep->shard->stats.active_expire_us += (used_ns + 500) / 1000;
    return is_due && sweep->cpu_ns_left > 0;
}

struct field_sweep *field_sweep_create(struct shard *shard)
{
    struct field_sweep *sweep = mem_zalloc(sizeof *sweep);
    sweep->shard = shard;
    sweep->pace = 1;
    sweep->task.run = run_task;
    return sweep;
}

void field_sweep_destroy(struct field_sweep *sweep)
{
    if (!sweep)
        return;
    task_stop(&sweep->shard->tasks, &sweep->task);
    mem_free(sweep);
}

static void set_pace(struct field_sweep *sweep)
{
    uint32_t effort = sweep->shard->config->active_expire_effort;
    effort = effort < 1 ? 1 : effort > 10 ? 10 : effort;
    uint32_t wanted_percent = DUE_PERCENT_MIN - (effort - 1);
    bool was_enough = sweep->cpu_ns_left > 0;
    if (!was_enough && sweep->deleted * 100 >= sweep->looked * wanted_percent)
        sweep->pace = sweep->pace * 2 > PACE_MAX ? PACE_MAX : sweep->pace * 2;
    else
        sweep->pace = sweep->pace > 1 ? sweep->pace / 2 : 1;
    if (sweep->pace < effort)
        sweep->pace = effort;
    sweep->looked = sweep->deleted = 0;
}

void field_sweep_tick(struct field_sweep *sweep)
{
    struct shard *shard = sweep->shard;
    uint64_t timed_count = 0;
    for (uint32_t i = 0; i < shard->config->databases; i++)
        timed_count += db_subexpires(shard->dbs[i]);
    set_pace(sweep);
    sweep->cpu_ns_left = (uint64_t)TICK_CPU_NS * sweep->pace;
    if (timed_count > 0)
        task_start(&shard->tasks, &sweep->task);
}

void field_sweep_rest(struct field_sweep *sweep)
{
    task_stop(&sweep->shard->tasks, &sweep->task);
}
