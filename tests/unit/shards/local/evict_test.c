#include "shards/local/evict.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "shards/local/db_data.h"

#define KEYS 20000
#define ROOM ((size_t)1 << 20)

static struct config config;
static struct shard *shard;
static struct db *db;

static void open_shard(void)
{
    config = (struct config){.databases = 2,
                             .hash_seed = 7,
                             .active_expire_effort = 1,
                             .maxmemory_samples = 5,
                             .maxmemory_eviction_tenacity = 100,
                             .lfu_log_factor = 10,
                             .lfu_decay_time = 1};
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
    db = shard->dbs[0];
}

static void close_shard(void)
{
    keyspace_validate(db->keyspace);
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(evict, .init = open_shard, .fini = close_shard);

static struct key named(char name[40], int number)
{
    return key_make(bytes_of(name, (size_t)snprintf(name, 40, "key:%d", number)));
}

static void put(struct db *where, int number, int64_t expire_at_ms)
{
    char name[40], text[100] = {0};
    struct key key = named(name, number);
    db_put_string(where, &key, bytes_of(text, sizeof text), expire_at_ms);
}

static bool has(int number)
{
    char name[40];
    struct key key = named(name, number);
    return db_peek(db, &key) != NULL;
}

/* The limit is what is used now and `extra` more. */
static void limit(enum maxmemory_policy policy, int64_t extra)
{
    config.maxmemory = (uint64_t)((int64_t)(mem_used() - evict_not_counted(shard)) + extra);
    config.maxmemory_policy = policy;
    evict_tick(shard->evict); /* as after CONFIG SET */
}

static bool within_limit(void)
{
    return mem_used() - evict_not_counted(shard) <= config.maxmemory;
}

/* Writes as a client does: room is made before each key. */
static int write_keys(int from, int count, int64_t expire_at_ms)
{
    int refused = 0;
    for (int i = from; i < from + count; i++) {
        if (evict_make_room(shard) == OK)
            put(db, i, expire_at_ms);
        else
            refused++;
    }
    return refused;
}

#ifdef SHERD_JEMALLOC

static void put_sized(int number, size_t len)
{
    static char text[100000];
    char name[40];
    struct key key = named(name, number);
    db_put_string(db, &key, bytes_of(text, len), DB_NO_EXPIRE);
}

/* A second of the server's life: ten ticks, and tasks in between. */
static void run_ticks(int count)
{
    for (int i = 0; i < count; i++) {
        shard_cron(shard, shard->now_ms);
        for (int turn = 0; turn < 100 && task_run(&shard->tasks, SLICE_US); turn++)
            continue;
    }
}

/* Writes values of the sizes that `len_of` says into a full cache, for many times what it holds.
 * What operators look at is mem_used(): it may never be much above the limit (`permille` of it),
 * and is not above it once all is at rest; and the cache is well filled all the while. */
static void check_used(size_t (*len_of)(int number), uint64_t maxmemory, int writes, int permille)
{
    config.maxmemory_eviction_tenacity = 10;
    config.maxmemory_policy = MAXMEMORY_ALLKEYS_LRU;
    config.maxmemory = mem_used() + maxmemory;
    bool was_full = false;
    size_t most = 0, least_live = SIZE_MAX;
    for (int i = 0; i < writes; i++) {
        cr_assert_eq(evict_make_room(shard), OK);
        put_sized(i, len_of(i));
        if (i % 100 == 0)
            task_run(&shard->tasks, SLICE_US);
        if (i % 1000 == 0)
            run_ticks(1);
        was_full |= mem_used() > config.maxmemory - maxmemory / 50;
        if (was_full) {
            most = mem_used() > most ? mem_used() : most;
            least_live = heap_live(shard->heap) < least_live ? heap_live(shard->heap) : least_live;
        }
    }
    run_ticks(100);
    cr_assert(was_full);
    cr_assert_leq(mem_used(), config.maxmemory, "%zu at rest, spare %zu", mem_used(),
                  heap_spare(shard->heap));
    cr_assert_leq(most, config.maxmemory + maxmemory * permille / 1000, "%zd above the limit",
                  most - config.maxmemory);
    cr_assert_gt(least_live, maxmemory * 8 / 10, "%zu kept of %zu", least_live, maxmemory);
}

static size_t always_100(int number)
{
    return 100;
}

Test(evict, keeps_what_is_used_below_the_limit)
{
    check_used(always_100, 16 << 20, 500000, 10);
}

static size_t mixed(int number)
{
    static const size_t lens[] = {10, 40, 100, 250, 500, 900, 3000, 20000};
    return lens[(uint32_t)number * 2654435761u >> 29];
}

Test(evict, keeps_it_there_with_values_of_all_sizes)
{
    check_used(mixed, 16 << 20, 50000, 50);
}

/* The old values leave holes that the new ones do not fit into. */
static size_t ever_longer(int number)
{
    return 10 + (size_t)number / 20000 * 48 % 480;
}

Test(evict, keeps_it_there_while_sizes_change)
{
    check_used(ever_longer, 16 << 20, 500000, 50);
}

#endif

Test(evict, lets_all_pass_without_a_limit)
{
    cr_assert_eq(write_keys(0, 1000, DB_NO_EXPIRE), 0);
    cr_assert_eq(shard->stats.evicted_keys, 0);
}

Test(evict, refuses_at_the_limit_when_the_policy_is_noeviction)
{
    limit(MAXMEMORY_NOEVICTION, ROOM);
    int refused = write_keys(0, KEYS, DB_NO_EXPIRE);
    cr_assert_gt(refused, KEYS / 3);
    cr_assert_gt(db_size(db), ROOM / 200);
    cr_assert_eq(shard->stats.evicted_keys, 0);
    cr_assert(within_limit() || mem_used() - config.maxmemory < 100000);
    db_flush(db, true);
    evict_tick(shard->evict);
    cr_assert_eq(evict_make_room(shard), OK);
}

/* Under every policy that may evict: the limit holds to within a key and a slab, nothing is
 * refused, and not much more goes than must. */
static void check_policy(enum maxmemory_policy policy, int64_t expire_at_ms)
{
    limit(policy, ROOM);
    cr_assert_eq(write_keys(0, KEYS, expire_at_ms), 0);
    cr_assert_eq(evict_make_room(shard), OK);
    cr_assert(within_limit());
    cr_assert_eq(db_size(db) + shard->stats.evicted_keys, KEYS);
    cr_assert_gt(db_size(db), ROOM * 8 / 10 / 150, "the room is used");
}

Test(evict, keeps_the_limit_by_lru)
{
    check_policy(MAXMEMORY_ALLKEYS_LRU, DB_NO_EXPIRE);
}

Test(evict, keeps_the_limit_by_lfu)
{
    check_policy(MAXMEMORY_ALLKEYS_LFU, DB_NO_EXPIRE);
}

Test(evict, keeps_the_limit_at_random)
{
    check_policy(MAXMEMORY_ALLKEYS_RANDOM, DB_NO_EXPIRE);
}

Test(evict, keeps_the_limit_by_lru_of_volatile_keys)
{
    check_policy(MAXMEMORY_VOLATILE_LRU, 2000000000);
}

Test(evict, keeps_the_limit_by_lfu_of_volatile_keys)
{
    check_policy(MAXMEMORY_VOLATILE_LFU, 2000000000);
}

Test(evict, keeps_the_limit_at_random_among_volatile_keys)
{
    check_policy(MAXMEMORY_VOLATILE_RANDOM, 2000000000);
}

Test(evict, keeps_the_limit_by_time_to_live)
{
    check_policy(MAXMEMORY_VOLATILE_TTL, 2000000000);
}

Test(evict, prefers_keys_long_not_used)
{
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    shard_tick(shard, shard->now_ms + 100000);
    char name[40];
    for (int i = 0; i < KEYS; i += 2) {
        struct key key = named(name, i);
        db_lookup(db, &key);
    }
    limit(MAXMEMORY_ALLKEYS_LRU, 0);
    write_keys(KEYS, KEYS / 4, DB_NO_EXPIRE);
    int used = 0, unused = 0;
    for (int i = 0; i < KEYS; i++)
        *(i % 2 ? &unused : &used) += has(i);
    cr_assert_gt(used, KEYS / 2 * 98 / 100, "%d of the keys in use are left", used);
    cr_assert_lt(unused, KEYS / 2 * 65 / 100, "%d of those not in use are left", unused);
}

Test(evict, prefers_keys_seldom_used)
{
    config.maxmemory_policy = MAXMEMORY_ALLKEYS_LFU;
    config.lfu_log_factor = 0;
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    char name[40];
    for (int i = 0; i < KEYS; i += 2) {
        struct key key = named(name, i);
        for (int k = 0; k < 5; k++)
            db_lookup(db, &key);
    }
    limit(MAXMEMORY_ALLKEYS_LFU, 0);
    write_keys(KEYS, KEYS / 4, DB_NO_EXPIRE);
    int used = 0;
    for (int i = 0; i < KEYS; i += 2)
        used += has(i);
    cr_assert_gt(used, KEYS / 2 * 98 / 100, "%d of the keys in use are left", used);
}

Test(evict, prefers_keys_that_die_soon)
{
    for (int i = 0; i < KEYS; i++)
        put(db, i, shard->now_ms + (i % 2 ? 1000 : 1000000) + i);
    limit(MAXMEMORY_VOLATILE_TTL, 0);
    write_keys(KEYS, KEYS / 4, shard->now_ms + 2000000);
    int late = 0;
    for (int i = 0; i < KEYS; i += 2)
        late += has(i);
    cr_assert_gt(late, KEYS / 2 * 99 / 100, "%d of the keys that live long are left", late);
}

Test(evict, spares_keys_without_a_time_to_live_under_volatile_policies)
{
    static const enum maxmemory_policy policies[] = {MAXMEMORY_VOLATILE_LRU, MAXMEMORY_VOLATILE_LFU,
                                                     MAXMEMORY_VOLATILE_RANDOM,
                                                     MAXMEMORY_VOLATILE_TTL};
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    for (size_t p = 0; p < 4; p++) {
        /* Few volatile keys among many others: chance alone would hardly find them. */
        for (int i = 0; i < 20; i++)
            put(db, KEYS + i, shard->now_ms + 100000);
        limit(policies[p], -500);
        cr_assert_eq(evict_make_room(shard), OK);
        cr_assert(within_limit());
        cr_assert_lt(db_expires(db), 20);
        limit(policies[p], -(int64_t)ROOM);
        cr_assert_eq(evict_make_room(shard), ERR_OOM, "nothing may go any more");
        cr_assert_eq(db_expires(db), 0);
        cr_assert_eq(db_size(db), KEYS);
    }
}

Test(evict, frees_flushed_data_before_it_evicts)
{
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    db_flush(db, false);
    put(db, 1, DB_NO_EXPIRE);
    limit(MAXMEMORY_ALLKEYS_LRU, -(int64_t)ROOM);
    cr_assert_eq(evict_make_room(shard), OK);
    cr_assert_eq(shard->stats.evicted_keys, 0);
    cr_assert(has(1));
}

Test(evict, does_not_refuse_under_noeviction_while_flushed_data_is_being_freed)
{
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    limit(MAXMEMORY_NOEVICTION, -(int64_t)ROOM);
    cr_assert_eq(evict_make_room(shard), ERR_OOM);
    db_flush(db, false);
    cr_assert_eq(evict_make_room(shard), OK);
}

Test(evict, works_in_slices_and_goes_on_as_a_task)
{
    for (int i = 0; i < KEYS; i++)
        put(db, i, DB_NO_EXPIRE);
    config.maxmemory_eviction_tenacity = 0;
    limit(MAXMEMORY_ALLKEYS_RANDOM, -(int64_t)ROOM);
    cr_assert_eq(evict_make_room(shard), OK, "the command runs while room is being made");
    cr_assert_not(within_limit());
    while (task_run(&shard->tasks, SLICE_US))
        continue;
    cr_assert(within_limit());
    cr_assert_gt(shard->stats.evicted_keys, ROOM / 200);
}

Test(evict, asks_the_fullest_shard_when_its_own_share_is_small)
{
    struct shard *shards[] = {shard, shard_create(1, -1, &config)};
    evict_introduce(shards, 2);
    shard_tick(shards[1], shard->now_ms);
    for (int i = 0; i < KEYS; i++)
        put(shards[1]->dbs[0], i, DB_NO_EXPIRE);
    put(db, 1, DB_NO_EXPIRE);
    limit(MAXMEMORY_ALLKEYS_LRU, -10000);
    evict_tick(shards[1]->evict);
    cr_assert_eq(evict_asked_shard(shard), -1);
    cr_assert_eq(evict_make_room(shard), OK);
    cr_assert_eq(evict_asked_shard(shard), 1);
    cr_assert_eq(evict_asked_shard(shard), -1, "it is asked once");
    cr_assert_eq(shard->stats.evicted_keys, 0);
    evict_tick(shards[1]->evict);
    while (task_run(&shards[1]->tasks, SLICE_US))
        continue;
    cr_assert_gt(shards[1]->stats.evicted_keys, 0);
    cr_assert(within_limit());
    shard_destroy(shards[1]);
}

Test(evict, is_oom_only_when_no_shard_has_anything_to_evict)
{
    struct shard *shards[] = {shard, shard_create(1, -1, &config)};
    evict_introduce(shards, 2);
    put(shards[1]->dbs[0], 1, DB_NO_EXPIRE);
    limit(MAXMEMORY_ALLKEYS_LRU, -1);
    config.maxmemory = 1;
    evict_tick(shards[1]->evict);
    cr_assert_eq(evict_make_room(shard), OK, "the other shard can still evict");
    evict_tick(shards[1]->evict);
    while (task_run(&shards[1]->tasks, SLICE_US))
        continue;
    evict_tick(shards[1]->evict);
    cr_assert_eq(evict_make_room(shard), ERR_OOM);
    shard_destroy(shards[1]);
}
