#include "shards/local/field_sweep.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/fingerprint.h"
#include "core/type/hash.h"
#include "shards/local/db_data.h"
#include "shards/local/fields.h"

static struct config config;
static struct shard *shard;

static void open_shard(void)
{
    config = (struct config){.databases = 16,
                             .hash_seed = 7,
                             .active_expire_effort = 1,
                             .hash_limits = {.field_count = 128, .text_len = 64}};
    key_seed(7);
    fingerprint_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
}

static void validate(void)
{
    for (uint32_t i = 0; i < config.databases; i++)
        keyspace_validate(shard->dbs[i]->keyspace);
}

static void close_shard(void)
{
    validate();
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(field_sweep, .init = open_shard, .fini = close_shard);

/* A hash of `count` fields; the first `timed_count` of them live until `expire_at_ms`. */
static void make(struct db *db, const char *name, int count, int timed_count, int64_t expire_at_ms)
{
    struct key key = key_make(bytes_from_text(name));
    struct hash *hash = hash_create(shard->heap);
    struct value *value = db_put_root(db, &key, TYPE_HASH, hash, DB_NO_EXPIRE);
    for (int i = 0; i < count; i++) {
        char text[24];
        struct bytes field = bytes_of(text, (size_t)snprintf(text, sizeof text, "field:%d", i));
        struct hash_pair pair = {field, BYTES("value"),
                                 i < timed_count ? expire_at_ms : HASH_NO_TTL};
        (void)hash_put_pair(&hash, shard->heap, &config.hash_limits, pair);
    }
    fields_put_back(db, &key, value, hash);
}

static size_t count_at(struct db *db, const char *name)
{
    struct key key = key_make(bytes_from_text(name));
    const struct value *value = db_peek(db, &key);
    return value ? hash_count(value_root(value)) : 0;
}

static void tick(int64_t later_ms)
{
    shard_cron(shard, shard->now_ms + later_ms);
    while (task_run(&shard->tasks, SLICE_US))
        continue;
}

Test(field_sweep, deletes_what_is_due_and_nothing_else)
{
    make(shard->dbs[0], "small", 10, 4, shard->now_ms + 50);
    make(shard->dbs[0], "large", 1000, 400, shard->now_ms + 50);
    make(shard->dbs[9], "later", 10, 4, shard->now_ms + 50000);
    tick(50);
    cr_assert_eq(count_at(shard->dbs[0], "small"), 10, "not before its time has passed");
    tick(1);
    tick(100);
    cr_assert_eq(count_at(shard->dbs[0], "small"), 6);
    cr_assert_eq(count_at(shard->dbs[0], "large"), 600);
    cr_assert_eq(count_at(shard->dbs[9], "later"), 10);
    cr_assert_eq(shard->stats.expired_subkeys, 404);
    cr_assert_eq(db_subexpires(shard->dbs[0]), 0);
    cr_assert_eq(db_subexpires(shard->dbs[9]), 1);
    cr_assert_eq(shard->stats.expired_keys, 0);
}

Test(field_sweep, deletes_a_key_with_its_last_field)
{
    make(shard->dbs[0], "small", 10, 10, shard->now_ms + 50);
    make(shard->dbs[0], "large", 1000, 1000, shard->now_ms + 50);
    cr_assert_eq(db_size(shard->dbs[0]), 2);
    cr_assert_eq(db_subexpires(shard->dbs[0]), 2);
    tick(100);
    tick(100);
    cr_assert_eq(db_size(shard->dbs[0]), 0);
    cr_assert_eq(db_subexpires(shard->dbs[0]), 0);
}

Test(field_sweep, gets_through_many_hashes_in_the_end)
{
    for (int i = 0; i < 20000; i++) {
        char name[24];
        snprintf(name, sizeof name, "hash:%d", i);
        make(shard->dbs[i % 16], name, 5, i % 6, shard->now_ms + 1 + i % 1000);
    }
    int ticks = 0;
    uint64_t left = 1;
    for (; left > 0 && ticks < 10000; ticks++) {
        tick(100);
        left = 0;
        for (int i = 0; i < 16; i++)
            left += db_subexpires(shard->dbs[i]);
    }
    cr_assert_eq(left, 0);
    cr_assert_eq(shard->stats.expired_subkeys, 20000 / 6 * 15 + 1);
}

Test(field_sweep, does_nothing_when_switched_off_or_paused)
{
    make(shard->dbs[0], "small", 10, 10, shard->now_ms + 1);
    shard->active_expire = false;
    tick(100);
    cr_assert_eq(count_at(shard->dbs[0], "small"), 10);
    shard->active_expire = true;
    shard->keeps_expired_until_ms = shard->now_ms + 250;
    tick(100);
    cr_assert_eq(count_at(shard->dbs[0], "small"), 10);
    tick(200);
    tick(100);
    cr_assert_eq(count_at(shard->dbs[0], "small"), 0);
}

struct heard {
    int count;
    size_t fields;
};

static void hear(void *context, struct db *db, const struct bytes *name)
{
    struct heard *heard = context;
    struct key key = key_make(*name);
    heard->count++;
    heard->fields = hash_count(value_root(db_peek(db, &key)));
}

Test(field_sweep, tells_the_observers_before_a_field_goes)
{
    struct heard heard = {0};
    struct db_observer observer = {.observe = hear, .context = &heard};
    make(shard->dbs[0], "small", 10, 3, shard->now_ms + 1);
    db_observe(shard, &observer);
    tick(0);
    cr_assert_eq(heard.count, 0);
    tick(100);
    cr_assert_eq(heard.count, 1);
    cr_assert_eq(heard.fields, 10, "only after the change");
    db_unobserve(shard, &observer);
}

Test(field_sweep, follows_values_wherever_they_go)
{
    struct db *from = shard->dbs[0], *to = shard->dbs[1];
    static const int counts[] = {10, 1000};
    for (int c = 0; c < 2; c++) {
        struct key old = key_make(BYTES("old")), new = key_make(BYTES("new"));
        make(from, "old", counts[c], counts[c], shard->now_ms + 50);
        db_put(to, &new, db_take(from, &old)); /* MOVE and RENAME */
        validate();
        cr_assert_eq(db_subexpires(from), 0);
        cr_assert_eq(db_subexpires(to), 1);
        db_put_copy(from, &old, db_peek(to, &new)); /* COPY */
        validate();
        cr_assert_eq(db_subexpires(from), 1);
        db_put_string(from, &old, BYTES("text"), DB_NO_EXPIRE); /* SET */
        validate();
        cr_assert_eq(db_subexpires(from), 0);
        db_put_copy(from, &old, db_peek(to, &new));
        db_put_copy(from, &old, db_peek(to, &new)); /* over another */
        cr_assert_eq(db_subexpires(from), 1);
        db_swap(from, to);
        validate();
        cr_assert_eq(count_at(from, "new"), counts[c]);
        db_set_expire(from, &new, shard->now_ms + 100000); /* the record may move */
        validate();
        cr_assert(db_delete(to, &old));
        cr_assert_eq(db_subexpires(to), 0);
        tick(51);
        tick(100);
        cr_assert_eq(db_size(from), 0);
    }
}

Test(field_sweep, forgets_what_a_flush_has_taken)
{
    for (int i = 0; i < 500; i++) {
        char name[24];
        snprintf(name, sizeof name, "hash:%d", i);
        make(shard->dbs[2], name, 3, 1, shard->now_ms + 1);
    }
    db_flush(shard->dbs[2], false);
    cr_assert_eq(db_subexpires(shard->dbs[2]), 0);
    make(shard->dbs[2], "hash:1", 3, 1, shard->now_ms + 1);
    tick(100);
    tick(100);
    cr_assert_eq(count_at(shard->dbs[2], "hash:1"), 2);
    db_flush(shard->dbs[2], true);
    cr_assert_eq(shard->stats.lazyfree_pending_objects, 0);
}
