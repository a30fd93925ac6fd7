#include "shards/local/watch.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "shards/local/db_data.h"

static struct config config;
static struct shard *shard;

static void open_shard(void)
{
    config = (struct config){.databases = 2, .hash_seed = 7};
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000);
}

static void close_shard(void)
{
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(watch, .init = open_shard, .fini = close_shard);

static struct key key(const char *name)
{
    return key_make(bytes_from_text(name));
}

static void set(uint32_t db, const char *name, int64_t expire_at_ms)
{
    struct key k = key(name);
    db_put_int(shard->dbs[db], &k, 1, expire_at_ms);
}

static void watch(uint64_t client, uint32_t epoch, uint32_t db, const char *name)
{
    struct key k = key(name);
    watch_add(shard->watches, client, epoch, shard->dbs[db], &k);
}

static bool is_dirty(uint64_t client, uint32_t epoch)
{
    return watch_is_dirty(shard->watches, client, epoch);
}

Test(watch, a_change_spoils_for_those_who_watch_the_key_and_for_nobody_else)
{
    watch(1, 0, 0, "a");
    watch(1, 0, 0, "b");
    watch(2, 0, 0, "b");
    watch(3, 0, 1, "b");
    watch(4, 0, 0, "c");
    cr_assert_not(is_dirty(1, 0));
    set(0, "b", DB_NO_EXPIRE);
    cr_assert(is_dirty(1, 0));
    cr_assert(is_dirty(2, 0));
    cr_assert_not(is_dirty(3, 0));
    cr_assert_not(is_dirty(4, 0));
}

Test(watch, the_observer_is_on_duty_only_while_anything_is_watched)
{
    cr_assert_null(shard->observers);
    watch(1, 0, 0, "a");
    watch(2, 0, 0, "a");
    cr_assert_not_null(shard->observers);
    watch_drop(shard->watches, 1, 0);
    cr_assert_not_null(shard->observers);
    watch_drop(shard->watches, 2, 0);
    cr_assert_null(shard->observers);
    cr_assert_eq(watch_count(shard->watches), 0);
}

Test(watch, a_key_watched_twice_takes_one_place)
{
    for (int i = 0; i < 100; i++)
        watch(1, 0, 0, "a");
    cr_assert_eq(watch_count(shard->watches), 1);
}

Test(watch, a_key_whose_time_comes_spoils_and_one_that_was_dead_before_does_not)
{
    set(0, "a", shard->now_ms + 10);
    set(0, "b", shard->now_ms + 10);
    watch(1, 0, 0, "a");
    shard_tick(shard, shard->now_ms + 20);
    watch(2, 0, 0, "b");
    cr_assert(is_dirty(1, 0), "found out when it is asked, though nobody met the key");
    cr_assert_not(is_dirty(2, 0));
}

Test(watch, flushing_spoils_only_for_keys_that_were_there)
{
    set(0, "a", DB_NO_EXPIRE);
    watch(1, 0, 0, "a");
    watch(2, 0, 0, "none");
    watch(3, 0, 1, "a");
    db_flush(shard->dbs[0], true);
    cr_assert(is_dirty(1, 0));
    cr_assert_not(is_dirty(2, 0));
    cr_assert_not(is_dirty(3, 0));
}

Test(watch, swapping_spoils_for_keys_of_either_database)
{
    set(0, "a", DB_NO_EXPIRE);
    set(1, "b", DB_NO_EXPIRE);
    watch(1, 0, 0, "a");
    watch(2, 0, 0, "b");
    watch(3, 0, 1, "a");
    watch(4, 0, 0, "none");
    db_swap(shard->dbs[0], shard->dbs[1]);
    cr_assert(is_dirty(1, 0));
    cr_assert(is_dirty(2, 0));
    cr_assert(is_dirty(3, 0));
    cr_assert_not(is_dirty(4, 0));
}

Test(watch, a_dead_key_that_comes_by_an_exchange_is_no_key)
{
    set(1, "a", shard->now_ms + 10);
    watch(1, 0, 0, "a");
    shard_tick(shard, shard->now_ms + 20);
    db_swap(shard->dbs[0], shard->dbs[1]);
    cr_assert_not(is_dirty(1, 0));
}

Test(watch, watches_of_an_earlier_transaction_do_not_count_and_go_with_the_next)
{
    watch(1, 0, 0, "a");
    set(0, "a", DB_NO_EXPIRE);
    cr_assert_not(is_dirty(1, 1));
    watch(1, 1, 0, "b");
    cr_assert_not(is_dirty(1, 1));
    cr_assert_eq(watch_count(shard->watches), 1);
    watch_drop(shard->watches, 1, 0); /* comes late: the new ones stay */
    set(0, "b", DB_NO_EXPIRE);
    cr_assert(is_dirty(1, 1));
}

Test(watch, what_is_left_is_freed_with_the_shard)
{
    char name[16];
    for (int client = 0; client < 50; client++)
        for (int i = 0; i < 20; i++) {
            snprintf(name, sizeof(name), "key%d", i);
            watch((uint64_t)client, 0, 0, name);
        }
    cr_assert_eq(watch_count(shard->watches), 1000);
}
