#include "shards/local/lazyfree.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/type/zset.h"
#include "shards/local/db_data.h"

static struct config config = {.databases = 1, .hash_seed = 7, .active_expire_effort = 1};

static struct keyspace *make_keyspace(struct shard *shard, int count)
{
    struct keyspace *keyspace = keyspace_create(shard->heap);
    for (int i = 0; i < count; i++) {
        char name[20];
        struct key key = key_make(bytes_of(name, (size_t)snprintf(name, sizeof(name), "%d", i)));
        keyspace_insert(
            keyspace, shard->heap, &key,
            record_create(shard->heap, key.name, RECORD_NO_TTL, TYPE_STRING, ENCODING_INT, 8));
    }
    return keyspace;
}

static size_t live_bytes(const struct shard *shard)
{
    return heap_used(shard->heap) - heap_spare(shard->heap);
}

Test(lazyfree, frees_in_steps_and_keeps_count)
{
    struct shard *shard = shard_create(0, -1, &config);
    size_t before = live_bytes(shard);
    lazyfree_add(shard->lazyfree, make_keyspace(shard, 1000));
    lazyfree_add(shard->lazyfree, make_keyspace(shard, 0));
    lazyfree_add(shard->lazyfree, make_keyspace(shard, 500));
    cr_assert_eq(shard->stats.lazyfree_pending_objects, 1500);
    int steps = 1;
    while (lazyfree_run(shard->lazyfree, 0)) /* a deadline that has passed: the least step */
        steps++;
    cr_assert_gt(steps, 10);
    cr_assert_eq(shard->stats.lazyfree_pending_objects, 0);
    cr_assert_eq(shard->stats.lazyfreed_objects, 1500);
    cr_assert_leq(live_bytes(shard), before + 4096);
    cr_assert_not(lazyfree_run(shard->lazyfree, 0), "nothing is left to do");
    shard_destroy(shard);
}

Test(lazyfree, runs_as_a_task_of_the_shard)
{
    struct shard *shard = shard_create(0, -1, &config);
    lazyfree_add(shard->lazyfree, make_keyspace(shard, 3000));
    while (task_run(&shard->tasks, SLICE_US))
        continue;
    cr_assert_eq(shard->stats.lazyfreed_objects, 3000);
    shard_destroy(shard);
}

static struct zset *make_zset(struct shard *shard, int count)
{
    static const struct zset_limits no_pack = {0};
    struct zset *zset = zset_create(shard->heap);
    char name[20];
    for (int i = 0; i < count; i++)
        zset_put(zset, shard->heap, &no_pack,
                 bytes_of(name, (size_t)snprintf(name, sizeof(name), "%d", i)), i);
    return zset;
}

Test(lazyfree, takes_what_is_too_large_to_be_freed_at_once)
{
    struct shard *shard = shard_create(0, -1, &config);
    size_t before = live_bytes(shard);
    db_drop_root(shard->dbs[0], TYPE_ZSET, make_zset(shard, 10));
    cr_assert_eq(shard->stats.lazyfree_pending_objects, 0);
    cr_assert_leq(live_bytes(shard), before + 4096);
    db_drop_root(shard->dbs[0], TYPE_ZSET, make_zset(shard, 1000));
    cr_assert_eq(shard->stats.lazyfree_pending_objects, 1);
    while (lazyfree_run(shard->lazyfree, 0))
        continue;
    cr_assert_eq(shard->stats.lazyfreed_objects, 1);
    cr_assert_leq(live_bytes(shard), before + 4096);
    shard_destroy(shard);
}

Test(lazyfree, frees_at_once_when_told)
{
    struct shard *shard = shard_create(0, -1, &config);
    size_t before = live_bytes(shard);
    lazyfree_now(shard, make_keyspace(shard, 3000));
    cr_assert_leq(live_bytes(shard), before + 4096);
    cr_assert_eq(shard->stats.lazyfreed_objects, 0);
    shard_destroy(shard);
}

Test(lazyfree, leaves_nothing_behind_when_the_shard_goes)
{
    struct shard *shard = shard_create(0, -1, &config);
    lazyfree_add(shard->lazyfree, make_keyspace(shard, 3000));
    shard_destroy(shard);
}
