/*
 * A tick grants an amount of work (cells) and of time; the task uses it up in slices and rests.
 * One tick never does more than one full round, so a small database costs a glance.
 *
 * A record lies on a line of its own that is seldom near. So cells are taken in batches: the walk
 * over a batch only asks for the lines of its records with a time to live, the times are looked at
 * afterwards.
 */
#include "shards/local/expire.h"

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/local/db_data.h"
#include "shards/local/field_sweep.h"

#define BATCH_CELLS 64u
#define BATCH_MAX 128u /* a batch ends with a whole bucket, however long */

#define TICK_CELLS 32768u                                    /* swept at most, at pace 1, */
#define TICK_ROUND_PART (30u * EXPIRE_TICKS_PER_S)           /* or this part of all there are */
#define TICK_CPU_NS (1000000000u / EXPIRE_TICKS_PER_S / 100) /* 1 % */
#define PACE_MAX 25u                                         /* 25 % */
#define STALE_PERCENT_MAX 10u                                /* of the keys met, at effort 1 */

struct expire {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    struct field_sweep *fields; /* of hashes: another sweep, of the same ticks */
    uint32_t db_index;          /* where the sweep is */
    uint64_t position;
    uint64_t cells_left; /* of this tick's grants */
    uint64_t cpu_ns_left;
    uint32_t dbs_left; /* until this tick's round is full */
    uint32_t pace;
    uint64_t met, due;              /* since the last tick */
    uint64_t ttl_sum_ms, ttl_count; /* of this database, for its average */
};

struct batch {
    struct value *records[BATCH_MAX];
    uint32_t count;
};

static void collect(void *context, uint64_t *cell)
{
    struct batch *batch = context;
    if (!(*cell & TABLE_MARK) || batch->count == BATCH_MAX)
        return;
    struct value *record = table_item(*cell);
    __builtin_prefetch(record);
    batch->records[batch->count++] = record;
}

static void end_database(struct expire *expire, struct db *db)
{
    if (expire->ttl_count) {
        int64_t average = (int64_t)(expire->ttl_sum_ms / expire->ttl_count);
        db->avg_ttl_ms = db->avg_ttl_ms ? db->avg_ttl_ms / 50 * 49 + average / 50 : average;
    } else if (db->keyspace->ttl_count == 0) {
        db->avg_ttl_ms = 0;
    }
    expire->ttl_sum_ms = expire->ttl_count = 0;
    expire->position = 0;
    expire->db_index = (expire->db_index + 1) % expire->shard->config->databases;
    expire->dbs_left--;
}

static void sweep_batch(struct expire *expire, struct db *db)
{
    struct shard *shard = expire->shard;
    struct batch batch = {.count = 0};
    expire->position = keyspace_scan(db->keyspace, expire->position, BATCH_CELLS, collect, &batch);
    expire->cells_left -= expire->cells_left < BATCH_CELLS ? expire->cells_left : BATCH_CELLS;

    for (uint32_t i = 0; i < batch.count; i++) {
        struct value *record = batch.records[i];
        expire->met++;
        if (!record_is_expired(record, shard->now_ms)) {
            int64_t left_ms = record_expire_at(record) - shard->now_ms;
            expire->ttl_sum_ms += left_ms > 0 ? (uint64_t)left_ms : 0;
            expire->ttl_count++;
            continue;
        }
        expire->due++;
        shard->stats.expired_keys++;
        db_remove_record(db, record);
    }
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    struct expire *expire = (struct expire *)task;
    struct shard *shard = expire->shard;
    uint64_t start_ns = clock_mono_ns(), now_ns = start_ns;
    uint64_t end_ns = start_ns + expire->cpu_ns_left;
    if (end_ns > deadline_ns)
        end_ns = deadline_ns;

    while (expire->dbs_left > 0 && expire->cells_left > 0 && now_ns < end_ns) {
        struct db *db = shard->dbs[expire->db_index];
        if (db->keyspace->ttl_count == 0)
            expire->position = KEYSPACE_END;
        else
            sweep_batch(expire, db);
        if (expire->position == KEYSPACE_END)
            end_database(expire, db);
        now_ns = clock_mono_ns();
    }

    uint64_t used_ns = now_ns - start_ns;
    expire->cpu_ns_left -= used_ns < expire->cpu_ns_left ? used_ns : expire->cpu_ns_left;
    shard->stats.active_expire_us += (used_ns + 500) / 1000;
    slow_note(&shard->slow, SLOW_EXPIRE_CYCLE, used_ns);
    return expire->dbs_left > 0 && expire->cells_left > 0 && expire->cpu_ns_left > 0;
}

struct expire *expire_create(struct shard *shard)
{
    struct expire *expire = mem_zalloc(sizeof *expire);
    expire->shard = shard;
    expire->fields = field_sweep_create(shard);
    expire->pace = 1;
    expire->task.run = run_task;
    return expire;
}

void expire_destroy(struct expire *expire)
{
    if (!expire)
        return;
    task_stop(&expire->shard->tasks, &expire->task);
    field_sweep_destroy(expire->fields);
    mem_free(expire);
}

static void set_pace(struct expire *expire)
{
    struct shard_stats *stats = &expire->shard->stats;
    uint32_t effort = expire->shard->config->active_expire_effort;
    effort = effort < 1 ? 1 : effort > 10 ? 10 : effort;
    /* The harder we are to try, the fewer dead keys are tolerated. */
    uint32_t tolerated_percent = STALE_PERCENT_MAX - (effort - 1);
    if (expire->met) {
        uint64_t stale_x100 = expire->due * 10000 / expire->met;
        stats->expired_stale_perc_x100 = (stale_x100 * 5 + stats->expired_stale_perc_x100 * 95) /
                                         100;
    }
    if (expire->due * 100 > expire->met * tolerated_percent)
        expire->pace = expire->pace * 2 > PACE_MAX ? PACE_MAX : expire->pace * 2;
    else
        expire->pace = expire->pace > 1 ? expire->pace / 2 : 1;
    if (expire->pace < effort)
        expire->pace = effort;
    expire->met = expire->due = 0;
}

void expire_tick(struct expire *expire)
{
    struct shard *shard = expire->shard;
    if (!shard->active_expire || shard->keeps_expired_until_ms > shard->now_ms) {
        task_stop(&shard->tasks, &expire->task);
        field_sweep_rest(expire->fields);
        return;
    }
    field_sweep_tick(expire->fields);
    uint64_t count = 0, ttl_count = 0;
    for (uint32_t i = 0; i < shard->config->databases; i++) {
        count += shard->dbs[i]->keyspace->count;
        ttl_count += shard->dbs[i]->keyspace->ttl_count;
        if (shard->dbs[i]->keyspace->ttl_count == 0)
            shard->dbs[i]->avg_ttl_ms = 0;
    }
    set_pace(expire);
    if (ttl_count == 0)
        return;
    uint64_t cells = count / TICK_ROUND_PART;
    expire->cells_left = (cells > TICK_CELLS ? cells : TICK_CELLS) * expire->pace;
    expire->cpu_ns_left = (uint64_t)TICK_CPU_NS * expire->pace;
    expire->dbs_left = shard->config->databases;
    task_start(&shard->tasks, &expire->task);
}
