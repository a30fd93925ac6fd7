/*
 * dataset_digest: two operations build everything. Adding is exclusive or with the SHA-1 of some
 * bytes, and does not care for order; mixing adds and then takes the SHA-1 of the sum, and does.
 *
 *     key     mix(name), mix(type as a big-endian 32-bit number), value, add("!!expire!!") if it
 *             expires
 *     value   string: mix(text). list: mix(each element). set: add(each member). hash: for each
 *             field, add(mix(field), mix(value)), made apart from zero; sorted set: the same with
 *             member and score in 17 digits. stream: for each entry mix(its id as "ms.seq"), then
 *             mix(field), mix(value) of each pair; groups do not count
 *     db      the keys' digests, each added
 *     all     for each database with keys: mix(its index as such a number), then exclusive or with
 *             its db
 */
#include "shards/admin/dataset_digest.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "core/type/hash.h"
#include "core/type/list.h"
#include "core/type/set.h"
#include "core/type/str.h"
#include "core/type/stream.h"
#include "core/type/zset.h"

/* How Redis numbers its types, which is not how ours are. */
static const uint32_t type_numbers[TYPE_COUNT] = {
    [TYPE_STRING] = 0, [TYPE_LIST] = 1, [TYPE_SET] = 2,
    [TYPE_ZSET] = 3,   [TYPE_HASH] = 4, [TYPE_STREAM] = 6,
};

static void add(struct dataset_digest *digest, struct bytes bytes)
{
    struct dataset_digest hash;
    digest_sha1(bytes, hash.bytes);
    for (size_t i = 0; i < DIGEST_SHA1_LEN; i++)
        digest->bytes[i] ^= hash.bytes[i];
}

static void mix(struct dataset_digest *digest, struct bytes bytes)
{
    add(digest, bytes);
    struct dataset_digest sum = *digest;
    digest_sha1(bytes_of(sum.bytes, sizeof sum.bytes), digest->bytes);
}

static void mix_number(struct dataset_digest *digest, uint32_t number)
{
    uint32_t big_endian = htonl(number);
    mix(digest, bytes_of(&big_endian, sizeof big_endian));
}

static void mix_list(struct dataset_digest *digest, const struct list *list)
{
    char scratch[PACK_SCRATCH];
    for (struct list_place at = list_seek(list, 0); list_is_at(at); at = list_next(at))
        mix(digest, list_view(at, scratch));
}

static void add_field(void *context, struct hash_pair pair)
{
    struct dataset_digest field = {0};
    mix(&field, pair.field);
    mix(&field, pair.value);
    if (pair.expire_at_ms != HASH_NO_TTL) /* as Redis 7.4 does */
        add(&field, BYTES("!!hexpire!!"));
    add(context, bytes_of(field.bytes, sizeof field.bytes));
}

static void add_member(void *context, struct bytes member)
{
    add(context, member);
}

static void add_scored(struct dataset_digest *digest, const struct zset *zset)
{
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, 0, false, &cursor);
    while (zset_step(&cursor, &entry)) {
        char score[NUM_DOUBLE_CAP];
        int len = snprintf(score, sizeof score, "%.17g", entry.score);
        struct dataset_digest element = {0};
        mix(&element, entry.member);
        mix(&element, bytes_of(score, (size_t)len));
        add(digest, bytes_of(element.bytes, sizeof element.bytes));
    }
}

static void mix_entries(struct dataset_digest *digest, const struct stream *stream)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, STREAM_ID_MIN, STREAM_ID_MAX, false, &cursor);
    while (stream_step(&cursor, &entry)) {
        char id[STREAM_ID_CAP];
        size_t len = stream_id_write(id, entry.id);
        *(char *)memchr(id, '-', len) = '.';
        mix(digest, bytes_of(id, len));
        for (uint32_t i = 0; i < entry.pair_count; i++) {
            struct stream_pair pair;
            stream_entry_step(&entry, &pair);
            mix(digest, pair.field);
            mix(digest, pair.value);
        }
    }
}

static void mix_content(struct dataset_digest *digest, const struct value *value)
{
    char scratch[STR_SCRATCH];
    switch (value_type(value)) {
    case TYPE_STRING:
        mix(digest, str_view(value, scratch));
        break;
    case TYPE_LIST:
        mix_list(digest, value_root(value));
        break;
    case TYPE_HASH:
        hash_each(value_root(value), add_field, digest);
        break;
    case TYPE_SET:
        set_each(value_root(value), add_member, digest);
        break;
    case TYPE_ZSET:
        add_scored(digest, value_root(value));
        break;
    case TYPE_STREAM:
        mix_entries(digest, value_root(value));
        break;
    case TYPE_COUNT:
        ASSERT(!"a type that this version does not have");
    }
}

void dataset_digest_mix_value(struct dataset_digest *digest, const struct value *value)
{
    mix_number(digest, type_numbers[value_type(value)]);
    mix_content(digest, value);
    if (value_expire_at_ms(value) != DB_NO_EXPIRE)
        add(digest, BYTES("!!expire!!"));
}

static void add_key(void *context, const struct value *value)
{
    struct dataset_digest digest = {0};
    mix(&digest, value_name(value));
    dataset_digest_mix_value(&digest, value);
    add(context, bytes_of(digest.bytes, sizeof digest.bytes));
}

void dataset_digest_of_db(struct db *db, struct dataset_digest *out_sum)
{
    *out_sum = (struct dataset_digest){0};
    db_each(db, add_key, out_sum);
}

void dataset_digest_add(struct dataset_digest *sum, const struct dataset_digest *more)
{
    for (size_t i = 0; i < DIGEST_SHA1_LEN; i++)
        sum->bytes[i] ^= more->bytes[i];
}

void dataset_digest_mix_db(struct dataset_digest *digest, uint32_t index,
                           const struct dataset_digest *sum)
{
    mix_number(digest, index);
    dataset_digest_add(digest, sum);
}

void dataset_digest_hex(const struct dataset_digest *digest, char out[2 * DIGEST_SHA1_LEN + 1])
{
    digest_hex(out, digest->bytes, DIGEST_SHA1_LEN);
    out[2 * DIGEST_SHA1_LEN] = '\0';
}
