#include "shards/local/shard.h"

#include <criterion/criterion.h>

#include "core/base/mem.h"
#include "shards/local/db.h"

static struct config config = {.databases = 16, .hash_seed = 7, .active_expire_effort = 1};

Test(shard, begins_with_empty_databases)
{
    struct shard *shard = shard_create(3, -1, &config);
    cr_assert_eq(shard->id, 3);
    cr_assert(shard->active_expire);
    for (uint16_t i = 0; i < 16; i++) {
        cr_assert_eq(db_index(shard->dbs[i]), i);
        cr_assert_eq(db_shard(shard->dbs[i]), shard);
        cr_assert_eq(db_size(shard->dbs[i]), 0);
    }
    shard_destroy(shard);
    shard_destroy(NULL);
}

Test(shard, gives_all_its_memory_back)
{
    key_seed(1);
    shard_destroy(shard_create(0, -1, &config));
    size_t before = mem_used();
    struct shard *shard = shard_create(0, -1, &config);
    for (int i = 0; i < 1000; i++) {
        struct key key = key_make(bytes_of(&i, sizeof i));
        db_put_int(shard->dbs[i % 16], &key, i, DB_NO_EXPIRE);
    }
    shard_destroy(shard);
    cr_assert_eq(mem_used(), before);
}

Test(shard, has_a_clock_that_never_goes_back)
{
    struct shard *shard = shard_create(0, -1, &config);
    shard_tick(shard, 5000);
    shard_tick(shard, 4000);
    cr_assert_eq(shard->now_ms, 5000);
    shard_cron(shard, 6000);
    cr_assert_eq(shard->now_ms, 6000);
    shard_destroy(shard);
}

Test(shard, draws_differently_from_its_neighbours)
{
    struct shard *a = shard_create(0, -1, &config), *b = shard_create(1, -1, &config);
    cr_assert_neq(rng_next(&a->rng), rng_next(&b->rng));
    shard_destroy(a);
    shard_destroy(b);
}

Test(shard, gives_memory_back_in_slices_after_a_flush)
{
    key_seed(1);
    struct shard *shard = shard_create(0, -1, &config);
    for (int i = 0; i < 200000; i++) {
        struct key key = key_make(bytes_of(&i, sizeof i));
        db_put_int(shard->dbs[0], &key, i, DB_NO_EXPIRE);
    }
    size_t full = heap_used(shard->heap);
    db_flush(shard->dbs[0], false);
    while (task_run(&shard->tasks, SLICE_US))
        continue;
    shard_cron(shard, 1000);
    while (task_run(&shard->tasks, SLICE_US))
        continue;
    cr_assert_not(heap_give_back(shard->heap), "nothing is left to give");
    cr_assert_lt(heap_used(shard->heap), full / 10);
    size_t usual = heap_used(shard->heap);
    shard_give_back(shard, true);
    while (task_run(&shard->tasks, SLICE_US))
        continue;
    cr_assert_leq(heap_used(shard->heap), usual);
    shard_destroy(shard);
}
