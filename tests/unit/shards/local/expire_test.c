#include "shards/local/expire.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "shards/local/db_data.h"

static struct config config;
static struct shard *shard;

static void open_shard(void)
{
    config = (struct config){.databases = 16, .hash_seed = 7, .active_expire_effort = 1};
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
}

static void close_shard(void)
{
    for (uint32_t i = 0; i < config.databases; i++)
        keyspace_validate(shard->dbs[i]->keyspace);
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(expire, .init = open_shard, .fini = close_shard);

static void fill(struct db *db, int count, int64_t expire_at_ms)
{
    for (int i = 0; i < count; i++) {
        char name[40];
        int len = snprintf(name, sizeof(name), "%lld:%d", (long long)expire_at_ms, i);
        struct key key = key_make(bytes_of(name, (size_t)len));
        db_put_int(db, &key, i, expire_at_ms);
    }
}

/* One tick and all the slices that it grants. */
static void tick(int64_t later_ms)
{
    shard_cron(shard, shard->now_ms + later_ms);
    while (task_run(&shard->tasks, SLICE_US))
        continue;
}

Test(expire, deletes_what_is_due_and_nothing_else)
{
    fill(shard->dbs[0], 300, shard->now_ms + 50);
    fill(shard->dbs[0], 200, shard->now_ms + 500000);
    fill(shard->dbs[0], 100, DB_NO_EXPIRE);
    fill(shard->dbs[15], 400, shard->now_ms + 50);
    for (int i = 0; i < 5; i++)
        tick(0);
    cr_assert_eq(db_size(shard->dbs[0]), 600);
    for (int i = 0; i < 50 && shard->stats.expired_keys < 700; i++)
        tick(100);
    cr_assert_eq(db_size(shard->dbs[0]), 300);
    cr_assert_eq(db_size(shard->dbs[15]), 0);
    cr_assert_eq(shard->stats.expired_keys, 700);
    tick(0);
    cr_assert_gt(shard->stats.expired_stale_perc_x100, 0);
}

Test(expire, gets_through_many_keys_in_the_end)
{
    fill(shard->dbs[3], 100000, shard->now_ms + 1);
    fill(shard->dbs[3], 100000, DB_NO_EXPIRE);
    int ticks = 0;
    for (; shard->stats.expired_keys < 100000 && ticks < 10000; ticks++)
        tick(100);
    cr_assert_eq(db_size(shard->dbs[3]), 100000);
    cr_assert_eq(db_expires(shard->dbs[3]), 0);
}

Test(expire, does_nothing_when_switched_off)
{
    fill(shard->dbs[0], 100, shard->now_ms + 50);
    shard->active_expire = false;
    for (int i = 0; i < 20; i++)
        tick(100);
    cr_assert_eq(db_size(shard->dbs[0]), 100);
    shard->active_expire = true;
    for (int i = 0; i < 20; i++)
        tick(100);
    cr_assert_eq(db_size(shard->dbs[0]), 0);
}

Test(expire, asks_for_no_time_when_nothing_has_a_time_to_live)
{
    fill(shard->dbs[0], 1000, DB_NO_EXPIRE);
    shard_cron(shard, shard->now_ms + 100);
    cr_assert_null(shard->tasks.first);
}

Test(expire, knows_the_average_time_to_live)
{
    fill(shard->dbs[0], 500, shard->now_ms + 40000);
    fill(shard->dbs[0], 500, shard->now_ms + 60000);
    for (int i = 0; i < 20 && db_avg_ttl_ms(shard->dbs[0]) == 0; i++)
        tick(0);
    cr_assert_eq(db_avg_ttl_ms(shard->dbs[0]), 50000);
    db_flush(shard->dbs[0], true);
    tick(0);
    cr_assert_eq(db_avg_ttl_ms(shard->dbs[0]), 0);
}

Test(expire, survives_a_flush_and_a_swap_between_its_slices)
{
    fill(shard->dbs[0], 50000, shard->now_ms + 1);
    shard_cron(shard, shard->now_ms + 100);
    task_run(&shard->tasks, 1);
    db_swap(shard->dbs[0], shard->dbs[1]);
    task_run(&shard->tasks, 1);
    db_flush(shard->dbs[1], false);
    for (int i = 0; i < 20; i++)
        tick(100);
    cr_assert_eq(db_size(shard->dbs[0]) + db_size(shard->dbs[1]), 0);
}
