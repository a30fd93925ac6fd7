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

struct model_key {
    bool exists;
    int64_t expire_at_ms;
    size_t len;
    char text[MODEL_TEXT_MAX];
};
static struct model_key *model;

static struct key named(char name[400], uint32_t number)
{
    /* Every tenth name is long; every third carries a tag, so that a slot gets many keys. */
    int len = number % 10 == 0  ? sprintf(name, "{tag}%0300u", number)
              : number % 3 == 0 ? sprintf(name, "{tag}%u", number)
                                : sprintf(name, "key:%u", number);
    return key_make(bytes_of(name, (size_t)len));
}

static size_t random_text(struct rng *rng, char *text)
{
    static const uint32_t lens[] = {3, 8, 30, 45, 130, 600, MODEL_TEXT_MAX};
    if (rng_below(rng, 4) == 0)
        return (size_t)sprintf(text, "%d", (int)rng_next(rng));
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
    char name[400], scratch[STR_SCRATCH];
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
    char name[400], text[MODEL_TEXT_MAX];
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
