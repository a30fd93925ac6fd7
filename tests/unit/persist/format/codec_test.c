#include "persist/format/codec.h"

#include <criterion/criterion.h>

#include "core/base/heap.h"

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
    arena_fini(&arena);
    heap_destroy(heap);
}

TestSuite(codec, .init = open_heap, .fini = close_heap);

static bool read_value(enum rdb_type type, struct bytes content, struct codec_value *out)
{
    struct rdb_reader reader = {
        .at = content.ptr, .end = content.ptr + content.len, .arena = &arena};
    return codec_read(&reader, type, heap, &limits, 0, out);
}

static void assert_refused(enum rdb_type type, struct bytes content)
{
    struct codec_value value;
    cr_assert_not(read_value(type, content, &value));
    cr_assert_eq(heap_live(heap), 0, "something of what was refused stays behind");
}

static size_t count_of(enum rdb_type type, struct bytes content)
{
    struct codec_value value;
    cr_assert(read_value(type, content, &value));
    size_t count = compound_ops(value.type)->count(value.root);
    codec_drop(&value, heap);
    cr_assert_eq(heap_live(heap), 0, "something of what was dropped stays behind");
    return count;
}

Test(codec, reads_what_older_versions_wrote)
{
    cr_assert_eq(count_of(RDB_LIST, BYTES("\x02\x01"
                                          "a\x01"
                                          "b")),
                 2);
    cr_assert_eq(count_of(RDB_ZSET_TEXT, BYTES("\x02\x01"
                                               "a\x03"
                                               "1.5\x01"
                                               "b\xfe")),
                 2);
    cr_assert_eq(count_of(RDB_HASH_ZIPMAP, BYTES("\x0b\x02\x01"
                                                 "f\x01\x00"
                                                 "v\x01"
                                                 "g\x00\x00\xff")),
                 2);
    cr_assert_eq(
        count_of(RDB_LIST_ZIPLIST, BYTES("\x10\x10\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x00\x01"
                                         "a\x03\xf3\xff")),
        2);
}

Test(codec, refuses_what_occurs_twice)
{
    assert_refused(RDB_SET, BYTES("\x02\x01"
                                  "a\x01"
                                  "a"));
    assert_refused(RDB_HASH, BYTES("\x02\x01"
                                   "f\x01"
                                   "v\x01"
                                   "f\x01"
                                   "w"));
    assert_refused(RDB_ZSET, BYTES("\x02\x01"
                                   "a\0\0\0\0\0\0\0\0\x01"
                                   "a\0\0\0\0\0\0\0\x01"));
    assert_refused(RDB_SET_PACK, BYTES("\x0d\x0d\0\0\0\x02\0\x81"
                                       "a\x02\x81"
                                       "a\x02\xff"));
}

Test(codec, refuses_scores_that_are_none)
{
    assert_refused(RDB_ZSET, BYTES("\x01\x01"
                                   "a\0\0\0\0\0\0\xf8\x7f"));
    assert_refused(RDB_ZSET_TEXT, BYTES("\x01\x01"
                                        "a\xfd"));
}

Test(codec, refuses_what_is_empty_but_for_strings_and_streams)
{
    assert_refused(RDB_LIST, BYTES("\x00"));
    assert_refused(RDB_SET, BYTES("\x00"));
    assert_refused(RDB_HASH, BYTES("\x00"));
    assert_refused(RDB_ZSET, BYTES("\x00"));
    assert_refused(RDB_LIST_PACKS, BYTES("\x01\x02\x07\x07\0\0\0\0\0\xff"));
    cr_assert_eq(count_of(RDB_STREAM_1, BYTES("\x00\x00\x00\x00\x00")), 0);
}

Test(codec, refuses_halves_of_pairs)
{
    assert_refused(RDB_HASH_PACK, BYTES("\x0a\x0a\0\0\0\x01\0\x81"
                                        "a\x02\xff"));
    assert_refused(RDB_ZSET_PACK, BYTES("\x0a\x0a\0\0\0\x01\0\x81"
                                        "a\x02\xff"));
    assert_refused(RDB_HASH, BYTES("\x01\x01"
                                   "f"));
}

Test(codec, refuses_types_that_it_does_not_know)
{
    assert_refused(6, BYTES("\x00"));
    assert_refused(26, BYTES("\x00"));
    assert_refused(255, BYTES("\x00"));
}
