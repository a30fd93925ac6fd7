#include "shards/local/fields.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/fingerprint.h"
#include "core/type/hash.h"
#include "shards/local/db_data.h"

static struct config config;
static struct shard *shard;
static struct db *db;
static struct key key;

static void open_shard(void)
{
    config = (struct config){
        .databases = 1, .hash_seed = 7, .hash_limits = {.field_count = 128, .text_len = 64}};
    key_seed(7);
    fingerprint_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
    db = shard->dbs[0];
    key = key_make(BYTES("hash"));
}

static void close_shard(void)
{
    keyspace_validate(db->keyspace);
    shard_destroy(shard);
}

TestSuite(fields, .init = open_shard, .fini = close_shard);

/* A hash of the fields 0 .. count - 1, which live for so many milliseconds. */
static const struct hash *make(int count)
{
    struct hash *hash = hash_create(shard->heap);
    struct value *value = db_put_root(db, &key, TYPE_HASH, hash, DB_NO_EXPIRE);
    for (int i = 0; i < count; i++) {
        char text[12];
        struct bytes field = bytes_of(text, (size_t)snprintf(text, sizeof text, "%d", i));
        struct hash_pair pair = {field, field, shard->now_ms + i};
        (void)hash_put_pair(&hash, shard->heap, &config.hash_limits, pair);
    }
    fields_put_back(db, &key, value, hash);
    return hash;
}

Test(fields, drops_a_field_whose_time_has_passed)
{
    const struct hash *hash = make(3);
    shard_tick(shard, shard->now_ms + 1);
    cr_assert_eq(fields_drop_due(db, &key, hash, BYTES("1")), hash);
    cr_assert_eq(fields_drop_due(db, &key, hash, BYTES("missing")), hash);
    cr_assert_eq(hash_count(hash), 3);
    hash = fields_drop_due(db, &key, hash, BYTES("0"));
    cr_assert_eq(hash_count(hash), 2);
    cr_assert_eq(shard->stats.expired_subkeys, 1);
}

Test(fields, drops_the_key_with_the_last_field)
{
    const struct hash *hash = make(1);
    shard_tick(shard, shard->now_ms + 1);
    cr_assert_null(fields_drop_due(db, &key, hash, BYTES("0")));
    cr_assert_eq(db_size(db), 0);
    cr_assert_eq(db_subexpires(db), 0);
}

Test(fields, drops_several_at_once)
{
    static const int counts[] = {100, 1000};
    for (int c = 0; c < 2; c++) {
        const struct hash *hash = make(counts[c]);
        shard_tick(shard, shard->now_ms + 50);
        hash = fields_drop_some_due(db, &key, hash, 5000);
        cr_assert_eq(hash_count(hash), counts[c] - 50);
        shard_tick(shard, shard->now_ms + 10000);
        cr_assert_null(fields_drop_some_due(db, &key, hash, 5000));
        cr_assert_eq(db_size(db), 0);
    }
}

Test(fields, drops_all_though_a_walk_is_under_way)
{
    const struct hash *hash = make(1000);
    shard_tick(shard, shard->now_ms + 10);
    hash = fields_drop_some_due(db, &key, hash, 300);
    shard_tick(shard, shard->now_ms + 490);
    hash = fields_drop_some_due(db, &key, hash, FIELDS_ALL);
    cr_assert_eq(hash_count(hash), 500);
    cr_assert_geq(hash_first_expiry_ms(hash), shard->now_ms);
}

Test(fields, takes_a_key_away_whose_hash_comes_back_empty)
{
    (void)make(2);
    struct value *value = db_edit(db, &key);
    struct hash *hash = value_edit_root(value);
    cr_assert(hash_delete(&hash, shard->heap, BYTES("0")));
    cr_assert(hash_delete(&hash, shard->heap, BYTES("1")));
    fields_put_back(db, &key, value, hash);
    cr_assert_eq(db_size(db), 0);
}

Test(fields, are_kept_for_readers_while_expiry_is_paused)
{
    cr_assert(fields_may_drop(db));
    shard->keeps_expired_until_ms = shard->now_ms + 1;
    cr_assert_not(fields_may_drop(db));
}

Test(fields, expire_where_something_has_been_due_for_longest)
{
    uint64_t count;
    cr_assert_eq(fields_expire_some(db, 10, &count), 0);
    (void)make(3);
    struct key first = key;
    shard_tick(shard, shard->now_ms + 10);
    key = key_make(BYTES("other"));
    (void)make(3);
    shard_tick(shard, shard->now_ms + 1);
    cr_assert_gt(fields_expire_some(db, 10, &count), 0);
    cr_assert_eq(count, 3);
    cr_assert_null(db_peek(db, &first));
    cr_assert_gt(fields_expire_some(db, 10, &count), 0);
    cr_assert_eq(count, 1);
    cr_assert_eq(fields_expire_some(db, 10, &count), 0);
    cr_assert_eq(db_size(db), 1);
}
