#include "shards/admin/dataset_digest.h"

#include <criterion/criterion.h>

#include "core/store/key.h"
#include "core/type/stream.h"
#include "shards/local/shard.h"

/* Wanted values were taken from redis-server 7.0.15: DEBUG DIGEST, DEBUG DIGEST-VALUE. */

static struct config config = {.databases = 2, .hash_seed = 7, .active_expire_effort = 1};
static struct shard *shard;

static void begin(void)
{
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
}

static void end(void)
{
    shard_destroy(shard);
}

TestSuite(dataset_digest, .init = begin, .fini = end);

static void put(struct db *db, const char *name, const char *value, int64_t expire_at_ms)
{
    struct key key = key_make(bytes_from_text(name));
    db_put_string(db, &key, bytes_from_text(value), expire_at_ms);
}

static void expect(const struct dataset_digest *digest, const char *wanted)
{
    char hex[2 * DIGEST_SHA1_LEN + 1];
    dataset_digest_hex(digest, hex);
    cr_assert_str_eq(hex, wanted);
}

static void expect_value(const char *name, const char *wanted)
{
    struct key key = key_make(bytes_from_text(name));
    struct dataset_digest digest = {0};
    dataset_digest_mix_value(&digest, db_peek(shard->dbs[0], &key));
    expect(&digest, wanted);
}

Test(dataset_digest, of_a_value_knows_its_text_and_whether_it_expires)
{
    put(shard->dbs[0], "a", "1", DB_NO_EXPIRE);
    put(shard->dbs[0], "b", "hello", DB_NO_EXPIRE);
    put(shard->dbs[0], "c", "hello", 2000000000);
    expect_value("a", "b4fc66738120fba0b5aa500ab5c2bf89cea1c5da");
    expect_value("b", "36b23a1456b2dce2c3ed252c456761301dba8060");
    expect_value("c", "d037c4eb8a8b36b602fbced4000daeab0714c1e3");
}

Test(dataset_digest, of_a_stream_knows_the_entries_that_are_left)
{
    struct db *db = shard->dbs[0];
    struct heap *heap = db_heap(db);
    struct stream_limits limits = {.node_entries = 2};
    struct stream *stream = stream_create(heap);
    struct bytes first[] = {BYTES("a"), BYTES("1"), BYTES("b"), BYTES("hello")};
    struct bytes other[] = {BYTES("c"), BYTES("d")};
    stream_append(stream, heap, &limits, (struct stream_id){1, 2}, first, 2);
    stream_append(stream, heap, &limits, (struct stream_id){3, 0}, other, 1);
    stream_append(stream, heap, &limits, (struct stream_id){4, 0}, other, 1);
    cr_assert(stream_delete(stream, heap, (struct stream_id){4, 0}));
    struct key key = key_make(BYTES("s"));
    (void)db_put_root(db, &key, TYPE_STREAM, stream, DB_NO_EXPIRE);
    expect_value("s", "a29b7dd6863e74f86dc8987227745f9b63a93814");
}

/* a=1, b=hello in database 0; c=hello, which expires, in database 1. */
Test(dataset_digest, of_all_is_that_of_redis)
{
    put(shard->dbs[0], "b", "hello", DB_NO_EXPIRE);
    put(shard->dbs[0], "a", "1", DB_NO_EXPIRE);
    put(shard->dbs[1], "c", "hello", 2000000000);
    struct dataset_digest all = {0}, sum;
    for (uint32_t i = 0; i < 2; i++) {
        dataset_digest_of_db(shard->dbs[i], &sum);
        dataset_digest_mix_db(&all, i, &sum);
    }
    expect(&all, "813f3a0d8a9c9b5643bbcd2695c7598610b8eb26");
}

Test(dataset_digest, of_two_shards_is_that_of_one)
{
    put(shard->dbs[0], "a", "1", DB_NO_EXPIRE);
    put(shard->dbs[0], "b", "hello", DB_NO_EXPIRE);
    put(shard->dbs[1], "a", "1", DB_NO_EXPIRE);
    struct dataset_digest both, one, other;
    dataset_digest_of_db(shard->dbs[0], &both);
    dataset_digest_of_db(shard->dbs[1], &one); /* stands for the shard that has only a */
    struct key key = key_make(BYTES("a"));
    cr_assert(db_delete(shard->dbs[0], &key));
    dataset_digest_of_db(shard->dbs[0], &other);
    dataset_digest_add(&one, &other);
    cr_assert_eq(memcmp(&one, &both, sizeof both), 0);
}

Test(dataset_digest, of_nothing_is_zero)
{
    struct dataset_digest sum;
    dataset_digest_of_db(shard->dbs[0], &sum);
    expect(&sum, "0000000000000000000000000000000000000000");
}
