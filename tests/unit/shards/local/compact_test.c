#include "shards/local/compact.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/type/str.h"
#include "shards/local/db_data.h"

#define KEYS 60000

static struct config config;
static struct shard *shard;
static struct db *db;

static void open_shard(void)
{
    config = (struct config){.databases = 2, .hash_seed = 7, .active_expire_effort = 1};
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
    db = shard->dbs[1];
}

static void close_shard(void)
{
    keyspace_validate(db->keyspace);
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(compact, .init = open_shard, .fini = close_shard);

static struct key named(char name[40], int number)
{
    return key_make(
        bytes_of(name, (size_t)snprintf(name, 40, number % 2 ? "key:%d" : "{one}%d", number)));
}

/* Short strings, long ones with a small block, integers; some with a time to live. */
static void put(int number)
{
    char name[40], text[900];
    struct key key = named(name, number);
    size_t len = number % 7 == 0 ? 600 + (size_t)number % 300 : (size_t)number % 50;
    memset(text, 'a' + number % 26, sizeof text);
    int64_t at_ms = number % 3 ? DB_NO_EXPIRE : shard->now_ms + 1000000;
    if (number % 5)
        db_put_string(db, &key, bytes_of(text, len), at_ms);
    else
        db_put_int(db, &key, number, at_ms);
}

static void check(int number)
{
    char name[40], scratch[STR_SCRATCH];
    struct key key = named(name, number);
    const struct value *value = db_peek(db, &key);
    cr_assert_not_null(value, "key %d is gone", number);
    cr_assert(bytes_equal(value_name(value), key.name));
    cr_assert_eq(value_expire_at_ms(value), number % 3 ? DB_NO_EXPIRE : shard->now_ms + 1000000);
    struct bytes text = str_view(value, scratch);
    if (number % 5 == 0) {
        int64_t out;
        cr_assert_eq(str_to_int(value, &out), OK);
        cr_assert_eq(out, number);
        return;
    }
    cr_assert_eq(text.len, number % 7 == 0 ? 600 + (size_t)number % 300 : (size_t)number % 50);
    for (size_t i = 0; i < text.len; i++)
        cr_assert_eq(text.ptr[i], 'a' + number % 26);
}

static bool is_kept(int number)
{
    return number % 4 == 0;
}

/* Leaves a quarter of the keys, so that all slabs are sparse. */
static void make_holes(void)
{
    char name[40];
    for (int i = 0; i < KEYS; i++)
        put(i);
    for (int i = 0; i < KEYS; i++) {
        struct key key = named(name, i);
        if (!is_kept(i))
            db_delete(db, &key);
    }
}

#ifdef SHERD_JEMALLOC

static void run_ticks(int count)
{
    for (int i = 0; i < count; i++) {
        shard_cron(shard, shard->now_ms);
        while (task_run(&shard->tasks, SLICE_US))
            continue;
    }
}

Test(compact, gives_back_what_is_spare)
{
    make_holes();
    size_t used = heap_used(shard->heap), spare = heap_spare(shard->heap);
    cr_assert_gt(spare, used / 3);
    for (int i = 0; i < 10000 && heap_spare(shard->heap) > used / 16; i++)
        run_ticks(1);
    cr_assert_leq(heap_spare(shard->heap), used / 16, "%zu of %zu were spare, %zu are", spare, used,
                  heap_spare(shard->heap));
    cr_assert_lt(heap_used(shard->heap), used - spare * 3 / 4);
}

Test(compact, rests_when_little_is_spare)
{
    for (int i = 0; i < KEYS; i++)
        put(i);
    shard->active_expire = false;
    run_ticks(100); /* what growing tables have left behind */
    shard_cron(shard, shard->now_ms);
    cr_assert_null(shard->tasks.first);
}

#endif

Test(compact, keeps_every_key_as_it_is)
{
    make_holes();
    for (uint64_t position = 0; position != KEYSPACE_END;)
        position = keyspace_compact(db->keyspace, shard->heap, position, 10);
    keyspace_validate(db->keyspace);
    heap_validate(shard->heap);
    for (int i = 0; i < KEYS; i++) {
        if (is_kept(i))
            check(i);
    }
}

Test(compact, bears_changes_between_its_slices)
{
    char name[40];
    struct rng rng;
    rng_init(&rng, 3);
    make_holes();
    for (int i = 0; i < 3000; i++) {
        shard_cron(shard, shard->now_ms);
        task_run(&shard->tasks, 1);
        int number = (int)rng_below(&rng, KEYS);
        struct key key = named(name, number);
        if (is_kept(number))
            put(number);
        else if (i % 2)
            put(number);
        else
            db_delete(db, &key);
        if (i % 1000 == 500)
            db_swap(shard->dbs[0], shard->dbs[1]);
        if (i % 1000 == 700)
            db_swap(shard->dbs[0], shard->dbs[1]);
    }
    for (int i = 0; i < KEYS; i++) {
        if (is_kept(i))
            check(i);
    }
}
