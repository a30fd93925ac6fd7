/* codec_write: what is written is read as the same value, and written again as the same bytes. */
#include "persist/format/codec.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/heap.h"
#include "core/type/record.h"
#include "core/type/stream_group.h"

#define FAR_MS INT64_C(33177117420000)

static struct heap *heap;
static struct arena arena;

static const struct codec_limits limits = {
    .list = {.node = {8192, UINT32_MAX}, .small = {4096, UINT32_MAX}},
    .set = {512, 128, 64},
    .zset = {128, 64},
    .hash = {128, 64},
};

static void open_heap(void)
{
    heap = heap_create(-1);
}

static void close_heap(void)
{
    cr_assert_eq(heap_live(heap), 0, "something stays behind");
    arena_fini(&arena);
    heap_destroy(heap);
}

TestSuite(codec_write, .init = open_heap, .fini = close_heap);

/* A root as the value of a key. */
static struct buf written(enum type type, void *root, enum rdb_type *out_type)
{
    struct value *record = record_create(heap, BYTES("k"), RECORD_NO_TTL, type, ENCODING_ROOT,
                                         sizeof root);
    value_set_root(record, root);
    struct buf content = {0};
    *out_type = codec_type(record);
    codec_write(&content, record, *out_type, true);
    heap_free(heap, record, record_bytes(record));
    return content;
}

/* Writes, reads and writes again; drops the root. Returns what was read, to be looked at. */
static struct codec_value go_round(enum type type, void *root, enum rdb_type expected,
                                   bool is_ordered)
{
    enum rdb_type first_type, second_type;
    struct buf first = written(type, root, &first_type);
    cr_assert_eq(first_type, expected);
    struct rdb_reader reader = {.at = first.ptr, .end = first.ptr + first.len, .arena = &arena};
    struct codec_value copy;
    cr_assert(codec_read(&reader, first_type, heap, &limits, 0, &copy));
    cr_assert_eq(rdb_left(&reader), 0, "something is left");
    cr_assert_eq(copy.type, type);
    const struct compound_ops *ops = compound_ops(type);
    cr_assert_eq(ops->count(copy.root), ops->count(root));
    cr_assert_str_eq(ops->encoding(copy.root), ops->encoding(root));

    struct buf second = written(type, copy.root, &second_type);
    cr_assert_eq(second_type, first_type);
    cr_assert_eq(second.len, first.len);
    cr_assert(!is_ordered || memcmp(first.ptr, second.ptr, first.len) == 0);
    buf_fini(&first);
    buf_fini(&second);
    struct codec_value original = {.type = type, .root = root};
    codec_drop(&original, heap);
    return copy;
}

static struct bytes numbered(char text[32], const char *format, int i)
{
    return bytes_of(text, (size_t)snprintf(text, 32, format, i));
}

Test(codec_write, lists_of_one_pack_and_of_many)
{
    for (int count = 3; count <= 3000; count *= 1000) {
        struct list *list = list_create(heap);
        for (int i = 0; i < count; i++) {
            char text[32];
            struct bytes element = numbered(text, i % 2 ? "%d" : "element %d", i);
            list_push(list, heap, &limits.list, LIST_LAST, &element, 1);
        }
        struct codec_value copy = go_round(TYPE_LIST, list, RDB_LIST_PACKS, true);
        list_validate(copy.root);
        codec_drop(&copy, heap);
    }
}

static struct set *set_of(const char *format, int count)
{
    struct set *set = set_create(heap);
    for (int i = 0; i < count; i++) {
        char text[32];
        set_add(set, heap, &limits.set, numbered(text, format, i));
    }
    return set;
}

Test(codec_write, sets_of_integers_and_of_few_and_many_texts)
{
    static const struct {
        const char *format;
        int count;
        enum rdb_type type;
    } sets[] = {{"%d", 100, RDB_SET_INTSET}, {"m%d", 10, RDB_SET}, {"m%d", 1000, RDB_SET}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct set *set = set_of(sets[i].format, sets[i].count);
        struct codec_value copy = go_round(TYPE_SET, set, sets[i].type, false);
        set_validate(copy.root);
        for (int j = 0; j < sets[i].count; j++) {
            char text[32];
            cr_assert(set_has(copy.root, numbered(text, sets[i].format, j)));
        }
        codec_drop(&copy, heap);
    }
}

Test(codec_write, sorted_sets_small_and_large)
{
    for (int count = 10; count <= 1000; count *= 100) {
        struct zset *zset = zset_create(heap);
        for (int i = 0; i < count; i++) {
            char text[32];
            zset_put(zset, heap, &limits.zset, numbered(text, "m%d", i), i / 7.0);
        }
        enum rdb_type type = count > 128 ? RDB_ZSET : RDB_ZSET_PACK;
        struct codec_value copy = go_round(TYPE_ZSET, zset, type, true);
        zset_validate(copy.root);
        for (int i = 0; i < count; i++) {
            char text[32];
            double score;
            cr_assert(zset_find(copy.root, numbered(text, "m%d", i), &score));
            cr_assert(score == i / 7.0);
        }
        codec_drop(&copy, heap);
    }
}

/* Every third field has a time of its own if `is_timed`. */
static int64_t time_of(int i, bool is_timed)
{
    return is_timed && i % 3 == 0 ? FAR_MS + i : HASH_NO_TTL;
}

static void go_round_hash(int count, bool is_timed, enum rdb_type type)
{
    struct hash *hash = hash_create(heap);
    for (int i = 0; i < count; i++) {
        char field[32], value[32];
        struct hash_pair pair = {numbered(field, "f%d", i), numbered(value, "v%d", i),
                                 time_of(i, is_timed)};
        hash_put_pair(&hash, heap, &limits.hash, pair);
    }
    struct codec_value copy = go_round(TYPE_HASH, hash, type, false);
    for (int i = 0; i < count; i++) {
        char field[32], value[32], scratch[PACK_SCRATCH];
        struct bytes name = numbered(field, "f%d", i), found;
        int64_t expire_at_ms;
        cr_assert(hash_find(copy.root, HASH_SEE_ALL, name, scratch, &found));
        cr_assert(bytes_equal(found, numbered(value, "v%d", i)));
        cr_assert(hash_find_ttl(copy.root, name, &expire_at_ms));
        cr_assert_eq(expire_at_ms, time_of(i, is_timed));
    }
    codec_drop(&copy, heap);
}

Test(codec_write, hashes_small_and_large_with_times_and_without)
{
    go_round_hash(10, false, RDB_HASH_PACK);
    go_round_hash(1000, false, RDB_HASH);
    go_round_hash(10, true, RDB_HASH_PACK_TIMES);
    go_round_hash(1000, true, RDB_HASH_TIMES);
}

static struct stream *stream_of(uint64_t count)
{
    static const struct stream_limits nodes = {STREAM_NODE_BYTES_DEFAULT, 100};
    static const struct bytes words[] = {{"field", 5}, {"value", 5}};
    struct stream *stream = stream_create(heap);
    for (uint64_t i = 1; i <= count; i++)
        stream_append(stream, heap, &nodes, (struct stream_id){i, i % 5}, words, 1);
    return stream;
}

Test(codec_write, streams_with_holes_and_counters)
{
    struct stream *stream = stream_of(1000);
    cr_assert(stream_delete(stream, heap, (struct stream_id){500, 0}));
    stream_set_last_id(stream, heap, (struct stream_id){5000, 1});
    struct codec_value value = go_round(TYPE_STREAM, stream, RDB_STREAM_2, true);
    const struct stream *copy = value.root;
    stream_validate(copy);
    cr_assert_eq(copy->length, 999);
    cr_assert_eq(copy->entries_added, 1000);
    cr_assert_eq(copy->last_id.ms, 5000);
    cr_assert_eq(copy->max_deleted_id.ms, 500);
    codec_drop(&value, heap);
}

Test(codec_write, groups_of_a_stream_with_what_is_pending_for_whom)
{
    struct stream *stream = stream_of(10);
    struct stream_group *group = stream_group_create(stream, heap, BYTES("g"),
                                                     (struct stream_id){3, 3}, 3);
    struct stream_group_consumer *eager = stream_group_create_consumer(group, heap, BYTES("eager"),
                                                                       70);
    stream_group_create_consumer(group, heap, BYTES("idle"), 80);
    stream_group_deliver(group, heap, eager, (struct stream_id){2, 2}, 90);
    stream_group_deliver(group, heap, eager, (struct stream_id){3, 3}, 91);
    struct codec_value value = go_round(TYPE_STREAM, stream, RDB_STREAM_2, true);
    stream_group_validate(value.root);
    const struct stream_group *copy = stream_group_find(value.root, BYTES("g"));
    cr_assert(copy);
    cr_assert_eq(copy->entries_read, 3);
    cr_assert_eq(copy->last_id.ms, 3);
    const struct stream_group_pending *pending = stream_group_find_pending(
        copy, (struct stream_id){3, 3});
    cr_assert(pending);
    cr_assert_eq(pending->delivered_at_ms, 91);
    cr_assert_eq(pending->delivery_count, 1);
    cr_assert(bytes_equal(stream_group_consumer_name(pending->consumer), BYTES("eager")));
    cr_assert(stream_group_find_consumer(copy, BYTES("idle")));
    codec_drop(&value, heap);
}
