#include "shards/local/db.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/type/record.h"
#include "core/type/str.h"
#include "shards/local/db_data.h"

/* A shard with two databases, at second 1,000,000. */
static struct config config;
static struct shard *shard;
static struct db *db;

static void open_shard(void)
{
    config = (struct config){.databases = 2, .hash_seed = 7, .active_expire_effort = 1};
    key_seed(7);
    shard = shard_create(0, -1, &config);
    shard_tick(shard, 1000000000);
    db = shard->dbs[0];
}

static void close_shard(void)
{
    keyspace_validate(shard->dbs[0]->keyspace);
    keyspace_validate(shard->dbs[1]->keyspace);
    heap_validate(shard->heap);
    shard_destroy(shard);
}

TestSuite(db, .init = open_shard, .fini = close_shard);

/* ---- A model to compare with: plain arrays, indexed by the key's number. ---- */

#define MODEL_KEYS 3000
#define MODEL_TEXT_MAX 1500
#define NAME_CAP 400u

struct model_key {
    bool exists;
    int64_t expire_at_ms;
    size_t len;
    char text[MODEL_TEXT_MAX];
};
static struct model_key *model;

static struct key named(char name[NAME_CAP], uint32_t number)
{
    /* Every tenth name is long; every third carries a tag, so that a slot gets many keys. */
    int len = number % 10 == 0  ? snprintf(name, NAME_CAP, "{tag}%0300u", number)
              : number % 3 == 0 ? snprintf(name, NAME_CAP, "{tag}%u", number)
                                : snprintf(name, NAME_CAP, "key:%u", number);
    return key_make(bytes_of(name, (size_t)len));
}

static size_t random_text(struct rng *rng, char *text)
{
    static const uint32_t lens[] = {3, 8, 30, 45, 130, 600, MODEL_TEXT_MAX};
    if (rng_below(rng, 4) == 0)
        return (size_t)snprintf(text, MODEL_TEXT_MAX, "%d", (int)rng_next(rng));
    size_t len = rng_below(rng, lens[rng_below(rng, 7)] + 1);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + rng_below(rng, 26));
    return len;
}

static bool model_lives(struct model_key *key)
{
    if (key->exists && key->expire_at_ms >= 0 && key->expire_at_ms < shard->now_ms)
        key->exists = false;
    return key->exists;
}

static void check_key(uint32_t number)
{
    char name[NAME_CAP], scratch[STR_SCRATCH];
    struct key key = named(name, number);
    const struct value *value = db_peek(db, &key);
    struct model_key *expected = &model[number];
    cr_assert_eq(value != NULL, model_lives(expected), "key %u", number);
    if (!value)
        return;
    struct bytes text = str_view(value, scratch);
    cr_assert(bytes_equal(text, bytes_of(expected->text, expected->len)), "key %u", number);
    cr_assert(bytes_equal(value_name(value), key.name));
    cr_assert_eq(value_expire_at_ms(value), expected->expire_at_ms);
}

static int64_t random_expiry(struct rng *rng)
{
    switch (rng_below(rng, 3)) {
    case 0:
        return DB_NO_EXPIRE;
    case 1:
        return shard->now_ms + (int64_t)rng_below(rng, 2000);
    default:
        return rng_below(rng, 20) ? shard->now_ms + 1000000 : INT64_MAX - 5;
    }
}

static void random_step(struct rng *rng, uint32_t key_count)
{
    uint32_t number = (uint32_t)rng_below(rng, key_count);
    char name[NAME_CAP], text[MODEL_TEXT_MAX];
    struct key key = named(name, number);
    struct model_key *m = &model[number];
    bool lives = model_lives(m);

    switch (rng_below(rng, 8)) {
    case 0:
    case 1: { /* put */
        size_t len = random_text(rng, text);
        bool keep = rng_below(rng, 4) == 0;
        int64_t at = keep ? DB_KEEP_TTL : random_expiry(rng);
        db_put_string(db, &key, bytes_of(text, len), at);
        if (!keep || !lives)
            m->expire_at_ms = keep ? DB_NO_EXPIRE : at;
        m->exists = true;
        m->len = len;
        memcpy(m->text, text, len);
        break;
    }
    case 2: { /* resize, and fill the new bytes */
        size_t len = rng_below(rng, rng_below(rng, 2) ? 60 : MODEL_TEXT_MAX);
        char *bytes = db_resize_string(db, &key, len);
        cr_assert_not_null(bytes);
        size_t old_len = lives ? m->len : 0;
        for (size_t i = old_len; i < len; i++) {
            cr_assert_eq(bytes[i], 0);
            bytes[i] = m->text[i] = 'z';
        }
        if (!lives)
            m->expire_at_ms = DB_NO_EXPIRE;
        m->exists = true;
        m->len = len;
        break;
    }
    case 3:
        cr_assert_eq(db_delete(db, &key), lives);
        m->exists = false;
        break;
    case 4:
        if (lives) {
            m->expire_at_ms = random_expiry(rng);
            db_set_expire(db, &key, m->expire_at_ms);
        }
        break;
    case 5: { /* rename */
        uint32_t other = (uint32_t)rng_below(rng, key_count);
        struct value *value = db_take(db, &key);
        cr_assert_eq(value != NULL, lives);
        if (!value)
            break;
        key = named(name, other);
        db_put(db, &key, value);
        struct model_key taken = *m;
        m->exists = false;
        model[other] = taken;
        check_key(other);
        break;
    }
    case 6: { /* copy onto another */
        uint32_t other = (uint32_t)rng_below(rng, key_count);
        const struct value *value = db_lookup(db, &key);
        if (!value || other == number)
            break;
        key = named(name, other);
        db_put_copy(db, &key, value);
        model[other] = *m;
        check_key(other);
        break;
    }
    default:
        shard_tick(shard, shard->now_ms + (int64_t)rng_below(rng, 3));
        break;
    }
    check_key(number);
}

static void run_model(uint32_t key_count, uint32_t steps, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    model = calloc(MODEL_KEYS, sizeof *model);
    for (uint32_t i = 0; i < steps; i++) {
        random_step(&rng, key_count);
        if (i % 200 == 0) {
            keyspace_validate(db->keyspace);
            heap_validate(shard->heap);
        }
    }
    for (uint32_t i = 0; i < key_count; i++)
        check_key(i);
    free(model);
}

Test(db, agrees_with_a_simple_model_over_random_steps)
{
    run_model(MODEL_KEYS, 60000, 1);
}

Test(db, agrees_with_the_model_when_keys_come_and_go_all_the_time)
{
    run_model(40, 40000, 2);
}

/* ---- Promises one by one ---- */

static struct key key_of(const char *name)
{
    return key_make(bytes_from_text(name));
}

static void put(const char *name, const char *text, int64_t expire_at_ms)
{
    struct key key = key_of(name);
    db_put_string(db, &key, bytes_from_text(text), expire_at_ms);
}

static bool holds(struct db *where, const char *name, const char *text)
{
    char scratch[STR_SCRATCH];
    struct key key = key_of(name);
    const struct value *value = db_peek(where, &key);
    return value && bytes_equal(str_view(value, scratch), bytes_from_text(text));
}

static const char *encoding(const char *name)
{
    struct key key = key_of(name);
    return value_encoding(db_peek(db, &key));
}

Test(db, counts_hits_and_misses_of_find_and_lookup_but_not_of_peek)
{
    struct key key = key_of("a"), absent = key_of("b");
    const struct value *value;
    put("a", "1", DB_NO_EXPIRE);
    cr_assert_eq(db_find(db, &key, TYPE_STRING, &value), OK);
    cr_assert_not_null(value);
    cr_assert_eq(db_find(db, &absent, TYPE_STRING, &value), OK);
    cr_assert_null(value);
    cr_assert_not_null(db_lookup(db, &key));
    cr_assert_not_null(db_peek(db, &key));
    cr_assert_null(db_peek(db, &absent));
    cr_assert_eq(shard->stats.keyspace_hits, 2);
    cr_assert_eq(shard->stats.keyspace_misses, 1);
}

Test(db, refuses_to_find_another_type)
{
    struct key key = key_of("a");
    const struct value *value = NULL;
    put("a", "1", DB_NO_EXPIRE);
    cr_assert_eq(db_find(db, &key, TYPE_LIST, &value), ERR_WRONG_TYPE);
    cr_assert_null(value, "failure leaves the output alone");
}

Test(db, moves_the_access_time_on_lookup_and_not_on_peek)
{
    struct key key = key_of("a");
    put("a", "1", DB_NO_EXPIRE);
    shard_tick(shard, shard->now_ms + 30000);
    cr_assert_eq(db_idle_s(db, db_peek(db, &key)), 30);
    cr_assert_eq(db_idle_s(db, db_lookup(db, &key)), 0);
    db_set_idle_s(db, &key, 500);
    cr_assert_eq(db_idle_s(db, db_peek(db, &key)), 500);
}

Test(db, counts_uses_under_an_lfu_policy)
{
    struct key key = key_of("a");
    config.maxmemory_policy = MAXMEMORY_ALLKEYS_LFU;
    config.lfu_log_factor = 0;
    config.lfu_decay_time = 1;
    put("a", "1", DB_NO_EXPIRE);
    cr_assert_eq(db_frequency(db, db_peek(db, &key)), 5);
    for (int i = 0; i < 10; i++)
        db_lookup(db, &key);
    cr_assert_eq(db_frequency(db, db_peek(db, &key)), 15);
    put("a", "another value, and a longer one", DB_NO_EXPIRE);
    cr_assert_geq(db_frequency(db, db_peek(db, &key)), 15, "overwriting keeps the count");
    db_set_frequency(db, &key, 200);
    cr_assert_eq(db_frequency(db, db_peek(db, &key)), 200);
}

Test(db, stores_integers_as_such)
{
    put("a", "12345", DB_NO_EXPIRE);
    put("b", "-9223372036854775808", DB_NO_EXPIRE);
    put("c", "012", DB_NO_EXPIRE);
    put("d", "9223372036854775808", DB_NO_EXPIRE);
    cr_assert_str_eq(encoding("a"), "int");
    cr_assert_str_eq(encoding("b"), "int");
    cr_assert_str_eq(encoding("c"), "embstr");
    cr_assert_str_eq(encoding("d"), "embstr");
    cr_assert(holds(db, "b", "-9223372036854775808"));
}

Test(db, shows_grown_strings_as_raw_and_set_ones_by_length)
{
    struct key key = key_of("a");
    put("a", "hello", DB_NO_EXPIRE);
    cr_assert_str_eq(encoding("a"), "embstr");
    memcpy(db_resize_string(db, &key, 6) + 5, "!", 1);
    cr_assert_str_eq(encoding("a"), "raw");
    cr_assert(holds(db, "a", "hello!"));
    put("a", "12", DB_NO_EXPIRE);
    db_resize_string(db, &key, 2);
    cr_assert_str_eq(encoding("a"), "raw", "an integer that APPEND touched");
    put("a", "hello", DB_NO_EXPIRE);
    cr_assert_str_eq(encoding("a"), "embstr");
}

Test(db, overwrites_in_place_without_taking_memory)
{
    struct key key = key_of("key:0000000001");
    db_put_string(db, &key, BYTES("12345678"), DB_NO_EXPIRE);
    const struct value *before = db_peek(db, &key);
    db_put_string(db, &key, BYTES("abcdefgh"), DB_NO_EXPIRE);
    cr_assert_eq(db_peek(db, &key), before);
    cr_assert(holds(db, "key:0000000001", "abcdefgh"));
}

Test(db, takes_text_that_is_borrowed_from_the_value_itself)
{
    static const size_t lens[] = {30, 500, 5000};
    char text[5000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 23);
    struct key key = key_of("key");
    for (size_t i = 0; i < 3; i++) {
        db_put_string(db, &key, bytes_of(text, lens[i]), DB_NO_EXPIRE);
        int64_t ttls[] = {shard->now_ms + 9000, DB_NO_EXPIRE, INT64_MAX, shard->now_ms + 9000,
                          DB_KEEP_TTL};
        for (size_t k = 0; k < 5; k++) {
            char scratch[STR_SCRATCH];
            db_put_string(db, &key, str_view(db_peek(db, &key), scratch), ttls[k]);
            cr_assert(bytes_equal(str_view(db_peek(db, &key), scratch), bytes_of(text, lens[i])));
        }
        char scratch[STR_SCRATCH];
        struct bytes part = str_view(db_peek(db, &key), scratch);
        part = bytes_of(part.ptr + 7, part.len - 9);
        db_put_string(db, &key, part, DB_NO_EXPIRE);
        cr_assert(
            bytes_equal(str_view(db_peek(db, &key), scratch), bytes_of(text + 7, lens[i] - 9)));
    }
}

Test(db, keeps_or_replaces_the_time_to_live_as_told)
{
    struct key key = key_of("a");
    put("a", "1", shard->now_ms + 5000);
    cr_assert_eq(db_expires(db), 1);
    put("a", "2", DB_KEEP_TTL);
    cr_assert_eq(value_expire_at_ms(db_peek(db, &key)), shard->now_ms + 5000);
    put("a", "3", DB_NO_EXPIRE);
    cr_assert_eq(value_expire_at_ms(db_peek(db, &key)), DB_NO_EXPIRE);
    cr_assert_eq(db_expires(db), 0);
    put("b", "1", DB_KEEP_TTL);
    key = key_of("b");
    cr_assert_eq(value_expire_at_ms(db_peek(db, &key)), DB_NO_EXPIRE);
}

Test(db, treats_expired_keys_as_absent_and_deletes_them_when_met)
{
    struct key key = key_of("a");
    put("a", "1", shard->now_ms + 100);
    shard_tick(shard, shard->now_ms + 100);
    cr_assert_not_null(db_peek(db, &key), "a key lives through its last millisecond");
    shard_tick(shard, shard->now_ms + 1);
    cr_assert_eq(db_size(db), 1, "expired keys count until somebody meets them");
    cr_assert_null(db_lookup(db, &key));
    cr_assert_eq(db_size(db), 0);
    cr_assert_eq(shard->stats.expired_keys, 1);

    put("b", "1", shard->now_ms - 1);
    key = key_of("b");
    cr_assert_not(db_delete(db, &key));
    put("c", "1", shard->now_ms - 1);
    key = key_of("c");
    cr_assert_null(db_take(db, &key));
    put("d", "1", shard->now_ms - 1);
    put("d", "2", DB_KEEP_TTL);
    cr_assert(holds(db, "d", "2"), "a dead key has no time to live to keep");
    cr_assert_eq(shard->stats.expired_keys, 4);
    cr_assert_null(db_random(shard->dbs[1]));
}

static void count_visit(void *context, const struct value *value)
{
    (void)value;
    ++*(int *)context;
}

Test(db, passes_over_expired_keys_when_it_walks)
{
    put("a", "1", DB_NO_EXPIRE);
    put("b", "1", shard->now_ms - 1);
    put("c", "1", shard->now_ms + 1);
    int count = 0;
    db_each(db, count_visit, &count);
    cr_assert_eq(count, 2);
    count = 0;
    for (uint64_t cursor = 0; cursor != DB_SCAN_END;)
        cursor = db_scan(db, cursor, 1, count_visit, &count);
    cr_assert_eq(count, 2);
}

Test(db, finds_random_keys_that_live_and_none_in_the_end)
{
    for (int i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof(name), "k%d", i);
        put(name, "1", i < 99 ? shard->now_ms - 1 : DB_NO_EXPIRE);
    }
    cr_assert(bytes_equal(value_name(db_random(db)), BYTES("k99")));
    struct key key = key_of("k99");
    db_delete(db, &key);
    cr_assert_null(db_random(db));
}

Test(db, keeps_what_has_expired_while_it_is_told_to)
{
    put("a", "1", shard->now_ms - 1);
    shard->keeps_expired_until_ms = shard->now_ms + 1000;
    struct key key = key_of("a");
    cr_assert_null(db_lookup(db, &key));
    cr_assert_null(db_peek(db, &key));
    cr_assert_not_null(db_random(db), "nothing else is there");
    cr_assert_eq(db_size(db), 1);
    shard_tick(shard, shard->now_ms + 1000);
    cr_assert_null(db_random(db));
    cr_assert_eq(db_size(db), 0);
}

Test(db, answers_null_where_a_string_would_be_too_long_and_changes_nothing)
{
    struct key key = key_of("a"), absent = key_of("b");
    put("a", "hello", DB_NO_EXPIRE);
    cr_assert_null(db_resize_string(db, &key, (size_t)1 << 62));
    cr_assert(holds(db, "a", "hello"));
    cr_assert_null(db_resize_string(db, &absent, (size_t)1 << 62));
    cr_assert_null(db_peek(db, &absent));
}

Test(db, grows_a_string_bit_by_bit_in_amortised_time)
{
    struct key key = key_of("a");
    char *last = NULL;
    int moves = 0;
    for (size_t len = 1; len <= 3000000; len += len < 3000 ? 1 : 100) {
        char *bytes = db_resize_string(db, &key, len);
        bytes[len - 1] = 'x';
        moves += bytes != last;
        last = bytes;
    }
    cr_assert_lt(moves, 600, "the bytes moved %d times", moves);
}

Test(db, moves_values_between_shards_with_their_accounts)
{
    struct shard *other = shard_create(1, -1, &config);
    shard_tick(other, shard->now_ms);
    size_t before = heap_used(other->heap);
    static char text[200000];
    memset(text, 'x', sizeof text);
    struct key key = key_of("a"), new_key = key_of("b");
    db_put_string(db, &key, bytes_of(text, sizeof text), shard->now_ms + 777);
    db_put(other->dbs[0], &new_key, db_take(db, &key));
    cr_assert_geq(heap_used(other->heap), before + sizeof text);
    cr_assert_lt(heap_used(shard->heap), sizeof text);
    const struct value *value = db_peek(other->dbs[0], &new_key);
    cr_assert_eq(str_len(value), sizeof text);
    cr_assert_eq(value_expire_at_ms(value), shard->now_ms + 777);
    db_put_copy(db, &key, value);
    cr_assert_eq(str_len(db_peek(db, &key)), sizeof text);
    db_drop_value(db, db_take(other->dbs[0], &new_key));
    heap_validate(other->heap);
    shard_destroy(other);
}

Test(db, flushes_at_once_or_in_slices)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20000; i++) {
            char name[20];
            snprintf(name, sizeof(name), "key:%d", i);
            put(name, "some text", i % 2 ? shard->now_ms + 1000 : DB_NO_EXPIRE);
        }
        db_flush(db, round == 0);
        cr_assert_eq(db_size(db), 0);
        cr_assert_eq(db_expires(db), 0);
        cr_assert_eq(shard->stats.lazyfree_pending_objects, round == 0 ? 0 : 20001,
                     "and the key of the first round");
        put("new", "1", DB_NO_EXPIRE);
        while (task_run(&shard->tasks, SLICE_US))
            continue;
        cr_assert_eq(shard->stats.lazyfree_pending_objects, 0);
        cr_assert(holds(db, "new", "1"));
    }
    cr_assert_eq(shard->stats.lazyfreed_objects, 20001);
}

Test(db, swaps_contents)
{
    put("a", "1", DB_NO_EXPIRE);
    db_swap(shard->dbs[0], shard->dbs[1]);
    cr_assert_eq(db_size(shard->dbs[0]), 0);
    cr_assert(holds(shard->dbs[1], "a", "1"));
    cr_assert_eq(db_index(shard->dbs[1]), 1);
    db_swap(shard->dbs[1], shard->dbs[1]);
    cr_assert(holds(shard->dbs[1], "a", "1"));
}

/* ---- Observers ---- */

struct log {
    char text[500];
};

static void log_change(void *context, struct db *where, const struct bytes *name)
{
    struct log *log = context;
    size_t len = strlen(log->text);
    snprintf(log->text + len, sizeof log->text - len, "%u:%.*s ", db_index(where),
             name ? (int)name->len : 1, name ? name->ptr : "*");
}

Test(db, tells_observers_before_each_change)
{
    struct log log = {""};
    struct db_observer observer = {.observe = log_change, .context = &log};
    db_observe(shard, &observer);
    struct key a = key_of("a"), b = key_of("b"), gone = key_of("gone");
    put("a", "1", DB_NO_EXPIRE);
    db_put_int(db, &a, 2, DB_NO_EXPIRE);
    db_resize_string(db, &a, 5);
    db_set_expire(db, &a, shard->now_ms + 10);
    db_put(db, &b, db_take(db, &a));
    cr_assert_not(db_delete(db, &gone));
    db_lookup(db, &b);
    db_edit(db, &b);
    db_delete(db, &b);
    put("c", "1", shard->now_ms - 1);
    db_random(db);
    put("d", "1", DB_NO_EXPIRE);
    db_swap(shard->dbs[0], shard->dbs[1]);
    db_flush(shard->dbs[1], true);
    cr_assert_str_eq(log.text, "0:a 0:a 0:a 0:a 0:a 0:b 0:b 0:b 0:c 0:c 0:d 0:* 1:* 1:* ");
    db_unobserve(shard, &observer);
    put("e", "1", DB_NO_EXPIRE);
    cr_assert_str_eq(strrchr(log.text, '1'), "1:* ",
                     "an observer that was taken off hears nothing");
}

Test(db, tells_of_what_is_no_change_of_values_only_those_who_ask)
{
    struct log all = {""}, values = {""};
    struct db_observer of_all = {.observe = log_change, .context = &all};
    struct db_observer of_values = {.observe = log_change, .context = &values, .values_only = true};
    put("a", "1", DB_NO_EXPIRE);
    db_observe(shard, &of_all);
    db_observe(shard, &of_values);
    struct key a = key_of("a");
    cr_assert_eq(db_edit_aside(db, &a), db_lookup(db, &a));
    cr_assert_str_eq(all.text, "0:a ");
    cr_assert_str_eq(values.text, "");
    db_edit(db, &a);
    cr_assert_str_eq(values.text, "0:a ");
    db_unobserve(shard, &of_all);
    db_unobserve(shard, &of_values);
}

Test(db, tells_how_its_tables_are_filled)
{
    for (int i = 0; i < 1000; i++) {
        char name[20];
        snprintf(name, sizeof(name), "{x}%d", i);
        put(name, "1", DB_NO_EXPIRE);
    }
    struct db_table_stats stats = db_table_stats(db);
    cr_assert_eq(stats.keys, 1000);
    cr_assert_gt(stats.buckets, 1000 / 8);
    cr_assert_geq(stats.bytes, stats.buckets * 64);
    cr_assert_eq(db_slot_size(db, key_slot(BYTES("x"))), 1000);
    cr_assert_eq(db_slot_size(db, 0), 0);
}
