/* codec_read: what becomes of each form. (What is written, and refused: codec_test.c.) */
#include "persist/format/codec.h"

#include <criterion/criterion.h>
#include <math.h>

#include "core/base/heap.h"
#include "core/ds/intset.h"
#include "core/type/stream_group.h"

#define FAR_MS INT64_C(33177117420000)
#define FAR "\xe0\x69\x4c\xa6\x2c\x1e\x00\x00" /* the same, as bytes */

static struct heap *heap;
static struct arena arena;
static struct codec_limits limits;
static struct codec_value value;

static void open_heap(void)
{
    heap = heap_create(-1);
    limits = (struct codec_limits){
        .list = {.node = {8192, UINT32_MAX}, .small = {4096, UINT32_MAX}},
        .set = {512, 128, 64},
        .zset = {128, 64},
        .hash = {128, 64},
    };
}

static void close_heap(void)
{
    codec_drop(&value, heap);
    arena_fini(&arena);
    heap_destroy(heap);
}

TestSuite(codec_read, .init = open_heap, .fini = close_heap);

static bool read_value(enum rdb_type type, struct bytes content)
{
    struct rdb_reader reader = {
        .at = content.ptr, .end = content.ptr + content.len, .arena = &arena};
    codec_drop(&value, heap);
    bool is_read = codec_read(&reader, type, heap, &limits, 0, &value);
    cr_assert(!is_read || rdb_left(&reader) == 0, "something is left");
    return is_read;
}

/* The value is now in this form. */
static void assert_encoding(const char *word)
{
    cr_assert_str_eq(compound_ops(value.type)->encoding(value.root), word);
}

static void assert_list(const char *const *texts, size_t count)
{
    char scratch[PACK_SCRATCH];
    cr_assert_eq(list_count(value.root), count);
    list_validate(value.root);
    for (size_t i = 0; i < count; i++) {
        struct list_place place = list_seek(value.root, (int64_t)i);
        cr_assert(bytes_equal(list_view(place, scratch), bytes_from_text(texts[i])));
    }
}

static void assert_field(const char *field, const char *text, int64_t expire_at_ms)
{
    char scratch[PACK_SCRATCH];
    struct bytes found;
    int64_t found_ms;
    cr_assert(hash_find(value.root, HASH_SEE_ALL, bytes_from_text(field), scratch, &found));
    cr_assert(bytes_equal(found, bytes_from_text(text)));
    cr_assert(hash_find_ttl(value.root, bytes_from_text(field), &found_ms));
    cr_assert_eq(found_ms, expire_at_ms);
    hash_validate(value.root);
}

static void assert_score(const char *member, double score, uint64_t rank)
{
    double found;
    uint64_t found_rank;
    cr_assert(zset_find_rank(value.root, bytes_from_text(member), &found_rank, &found));
    cr_assert_eq(found, score);
    cr_assert_eq(found_rank, rank);
    zset_validate(value.root);
}

/* ---- What came before listpacks ------------------------------------------------------------ */

/* "a", 2, 100, -1000, 70000, 2^31, a text of 70 bytes: a ziplist has a form for each. */
#define ENTRIES                                                                                    \
    "\x00\x01"                                                                                     \
    "a\x03\xf3\x02\xfe\x64\x03\xc0\x18\xfc\x04\xf0\x70\x11\x01\x05\xe0\x00\x00\x00\x80\x00\x00"    \
    "\x00\x00\x0a\x40\x46"
#define SEVENTY "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define ZIPLIST "\x6f\x00\x00\x00\x25\x00\x00\x00\x07\x00" ENTRIES SEVENTY "\xff"

static const char *const entries[] = {"a", "2", "100", "-1000", "70000", "2147483648", SEVENTY};
#define ENTRY_COUNT (sizeof entries / sizeof *entries)

Test(codec_read, a_ziplist_has_texts_and_integers_of_all_widths)
{
    cr_assert(read_value(RDB_LIST_ZIPLIST, BYTES("\x40\x6f" ZIPLIST)));
    assert_list(entries, ENTRY_COUNT);
}

Test(codec_read, a_quicklist_has_ziplists_of_which_some_may_be_empty)
{
    cr_assert(
        read_value(RDB_LIST_QUICKLIST, BYTES("\x02\x0b\x0b\x00\x00\x00\x0a\x00\x00\x00\x00\x00\xff"
                                             "\x40\x6f" ZIPLIST)));
    assert_list(entries, ENTRY_COUNT);
    cr_assert_not(
        read_value(RDB_LIST_QUICKLIST, BYTES("\x01\x0b\x0b\x00\x00\x00\x0a\x00\x00\x00\x00\x00"
                                             "\xff")));
}

Test(codec_read, a_ziplist_that_contradicts_itself_is_refused)
{
    /* Two entries, "a" and 2; then one byte of it after the other is changed. */
    static const char sound[] = "\x10\x10\x00\x00\x00\x0d\x00\x00\x00\x02\x00\x00\x01"
                                "a\x03\xf3\xff";
    size_t len = sizeof sound - 1;
    cr_assert(read_value(RDB_LIST_ZIPLIST, bytes_of(sound, len)));
    static const size_t telling[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16};
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        char changed[sizeof sound];
        memcpy(changed, sound, len);
        changed[telling[i]] ^= 0x04;
        cr_assert_not(read_value(RDB_LIST_ZIPLIST, bytes_of(changed, len)), "byte %zu", telling[i]);
    }
}

Test(codec_read, ziplists_of_pairs_are_hashes_and_sorted_sets)
{
    static const char pairs[] = "\x16\x16\x00\x00\x00\x12\x00\x00\x00\x04\x00\x00\x01"
                                "a\x03\xf2\x02\x01"
                                "b\x03\xfe\x37\xff";
    struct bytes bytes = bytes_of(pairs, sizeof pairs - 1);
    cr_assert(read_value(RDB_HASH_ZIPLIST, bytes));
    assert_field("a", "1", HASH_NO_TTL);
    assert_field("b", "55", HASH_NO_TTL);
    assert_encoding("listpack");
    cr_assert(read_value(RDB_ZSET_ZIPLIST, bytes));
    assert_score("a", 1, 0);
    assert_score("b", 55, 1);
    assert_encoding("listpack");
}

Test(codec_read, a_zipmap_may_have_unused_bytes)
{
    static const char map[] = "\x0d\x02\x01"
                              "f\x01\x02"
                              "v..\x01"
                              "g\x00\x00\xff";
    cr_assert(read_value(RDB_HASH_ZIPMAP, bytes_of(map, sizeof map - 1)));
    assert_field("f", "v", HASH_NO_TTL);
    assert_field("g", "", HASH_NO_TTL);
    for (size_t len = 1; len < sizeof map - 1; len++)
        cr_assert_not(read_value(RDB_HASH_ZIPMAP, bytes_of(map, len)));
}

Test(codec_read, scores_were_texts_once)
{
    cr_assert(read_value(RDB_ZSET_TEXT, BYTES("\x03\x01"
                                              "a\x03"
                                              "1.5\x01"
                                              "b\xfe\x01"
                                              "c\xff")));
    assert_score("c", -(double)INFINITY, 0);
    assert_score("a", 1.5, 1);
    assert_score("b", (double)INFINITY, 2);
    cr_assert_not(read_value(RDB_ZSET_TEXT, BYTES("\x01\x01"
                                                  "a\x01x")));
}

/* ---- Small forms are taken as they are, within the limits ---------------------------------- */

Test(codec_read, a_pack_of_more_elements_than_allowed_becomes_a_table)
{
    static const char pairs[] = "\x12\x12\x00\x00\x00\x04\x00\x81"
                                "f\x02\x81"
                                "v\x02\x81"
                                "g\x02\x05\x01\xff";
    struct bytes bytes = bytes_of(pairs, sizeof pairs - 1);
    cr_assert(read_value(RDB_HASH_PACK, bytes));
    assert_encoding("listpack");
    limits.hash.field_count = 1;
    cr_assert(read_value(RDB_HASH_PACK, bytes));
    assert_encoding("hashtable");
    assert_field("f", "v", HASH_NO_TTL);
    assert_field("g", "5", HASH_NO_TTL);

    static const char members[] = "\x0d\x0d\x00\x00\x00\x02\x00\x81"
                                  "a\x02\x81"
                                  "b\x02\xff";
    bytes = bytes_of(members, sizeof members - 1);
    cr_assert(read_value(RDB_SET_PACK, bytes));
    assert_encoding("listpack");
    limits.set.text_count = 1;
    cr_assert(read_value(RDB_SET_PACK, bytes));
    assert_encoding("hashtable");
    set_validate(value.root);

    static const char numbers[] = "\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x02\x00";
    bytes = bytes_of(numbers, sizeof numbers - 1);
    cr_assert(read_value(RDB_SET_INTSET, bytes));
    assert_encoding("intset");
    limits.set.number_count = 1;
    cr_assert(read_value(RDB_SET_INTSET, bytes));
    assert_encoding("hashtable");
    set_validate(value.root);
}

Test(codec_read, members_in_a_wrong_order_are_put_right)
{
    static const char pairs[] = "\x11\x11\x00\x00\x00\x04\x00\x81"
                                "b\x02\x02\x01\x81"
                                "a\x02\x01\x01\xff";
    struct bytes bytes = bytes_of(pairs, sizeof pairs - 1);
    cr_assert(read_value(RDB_ZSET_PACK, bytes));
    assert_score("a", 1, 0);
    assert_score("b", 2, 1);
    limits.zset.member_count = 1;
    cr_assert(read_value(RDB_ZSET_PACK, bytes));
    assert_encoding("skiplist");
    assert_score("a", 1, 0);
}

Test(codec_read, names_that_occur_twice_are_refused_in_packs_of_any_size)
{
    static const char twice[] = "\x11\x11\x00\x00\x00\x04\x00\x81"
                                "a\x02\x01\x01\x81"
                                "a\x02\x02\x01\xff";
    struct bytes bytes = bytes_of(twice, sizeof twice - 1);
    for (uint64_t count = 2; count-- > 0;) {
        cr_assert_not(read_value(RDB_HASH_PACK, bytes));
        cr_assert_not(read_value(RDB_ZSET_PACK, bytes));
        cr_assert_eq(heap_live(heap), 0);
        limits.hash.field_count = limits.zset.member_count = count;
    }
    /* As values they may. */
    cr_assert(read_value(RDB_LIST_PACKS, BYTES("\x01\x02\x0d\x0d\x00\x00\x00\x02\x00\x81"
                                               "a\x02\x81"
                                               "a\x02\xff")));
    const char *const texts[] = {"a", "a"};
    assert_list(texts, 2);
}

/* ---- Times of fields ----------------------------------------------------------------------- */

Test(codec_read, fields_have_times_in_three_forms)
{
    cr_assert(read_value(RDB_HASH_TIMES, BYTES(FAR "\x02\x02\x01"
                                                   "f\x01"
                                                   "v\x00\x01"
                                                   "g\x01"
                                                   "w")));
    assert_field("f", "v", FAR_MS + 1);
    assert_field("g", "w", HASH_NO_TTL);
    cr_assert(read_value(RDB_HASH_VALKEY_TIMES, BYTES("\x02\x01"
                                                      "f\x01"
                                                      "v" FAR "\x01"
                                                      "g\x01"
                                                      "w\xff\xff\xff\xff\xff\xff\xff\xff")));
    assert_field("f", "v", FAR_MS);
    assert_field("g", "w", HASH_NO_TTL);
    struct bytes triples = BYTES(FAR "\x1f\x1f\x00\x00\x00\x06\x00\x81"
                                     "f\x02\x81"
                                     "v\x02\xf4" FAR "\x09\x81"
                                     "g\x02\x81"
                                     "w\x02\x00\x01\xff");
    cr_assert(read_value(RDB_HASH_PACK_TIMES, triples));
    assert_encoding("listpackex");
    assert_field("f", "v", FAR_MS);
    assert_field("g", "w", HASH_NO_TTL);
    limits.hash.field_count = 1;
    cr_assert(read_value(RDB_HASH_PACK_TIMES, triples));
    assert_encoding("hashtable");
    assert_field("f", "v", FAR_MS);
}

Test(codec_read, times_that_cannot_be_are_refused)
{
    cr_assert_not(read_value(RDB_HASH_TIMES, BYTES("\xff\xff\xff\xff\xff\xff\x00\x00\x01\x02\x01"
                                                   "f\x01"
                                                   "v")));
    cr_assert_not(read_value(RDB_HASH_VALKEY_TIMES, BYTES("\x01\x01"
                                                          "f\x01"
                                                          "v\xfe\xff\xff\xff\xff\xff\xff\xff")));
    cr_assert_not(read_value(RDB_HASH_VALKEY_TIMES, BYTES("\x01\x01"
                                                          "f\x01"
                                                          "v\x00\x00\x00\x00\x00\x00\x00\x00")));
}

/* ---- Streams ------------------------------------------------------------------------------- */

#define ID(ms) "\0\0\0\0\0\0\0" ms "\0\0\0\0\0\0\0\0"
/* One entry, 1-0, of a field and a value. */
#define NODE                                                                                       \
    "\x01\x10" ID("\x01") "\x1d\x1d\0\0\0\x0a\0\x01\x01\x00\x01\x01\x01\x81"                       \
                          "f\x02\x00\x01\x02\x01\x00\x01\x00\x01\x81"                              \
                          "v\x02\x04\x01\xff"
#define GROUP_HEAD "\x01\x01g\x01\x00"
#define SEEN "\x0a\0\0\0\0\0\0\0"
#define ACTIVE "\x0b\0\0\0\0\0\0\0"
#define PENDING "\x01" ID("\x01") "\x09\0\0\0\0\0\0\0\x03"

static const struct stream_group_consumer *only_consumer(int64_t entries_read)
{
    stream_validate(value.root);
    stream_group_validate(value.root);
    const struct stream *stream = value.root;
    cr_assert_eq(stream->length, 1);
    cr_assert_eq(stream->last_id.ms, 1);
    const struct stream_group *group = stream_group_find(stream, BYTES("g"));
    cr_assert(group);
    cr_assert_eq(group->entries_read, entries_read);
    const struct stream_group_pending *pending = stream_group_find_pending(
        group, (struct stream_id){1, 0});
    cr_assert(pending && pending->delivered_at_ms == 9 && pending->delivery_count == 3);
    cr_assert(bytes_equal(stream_group_consumer_name(pending->consumer), BYTES("c")));
    return pending->consumer;
}

Test(codec_read, streams_have_three_versions)
{
    cr_assert(read_value(RDB_STREAM_1, BYTES(NODE "\x01\x01\x00" GROUP_HEAD PENDING "\x01\x01"
                                                  "c" SEEN "\x01" ID("\x01"))));
    cr_assert_eq(only_consumer(1)->seen_at_ms, 10);

    cr_assert(read_value(RDB_STREAM_2, BYTES(NODE "\x01\x01\x00\x01\x00\x00\x00\x05" GROUP_HEAD
                                                  "\x04" PENDING "\x01\x01"
                                                  "c" SEEN "\x01" ID("\x01"))));
    cr_assert_eq(only_consumer(4)->active_at_ms, 10);
    cr_assert_eq(((const struct stream *)value.root)->entries_added, 5);

    cr_assert(read_value(RDB_STREAM_3, BYTES(NODE "\x01\x01\x00\x01\x00\x00\x00\x05" GROUP_HEAD
                                                  "\x04" PENDING "\x01\x01"
                                                  "c" SEEN ACTIVE "\x01" ID("\x01"))));
    cr_assert_eq(only_consumer(4)->active_at_ms, 11);
}

Test(codec_read, streams_that_contradict_themselves_are_refused)
{
    static const struct bytes wrong[] = {
        BYTES(NODE "\x02\x01\x00\x00"),      /* two entries, and there is one */
        BYTES(NODE "\x01\x00\x05\x00"),      /* the last id is before the last entry's */
        BYTES("\x00\x01\x01\x00\x00"),       /* an entry without a node */
        BYTES(NODE "\x01\x01\x00\x01\x01g"), /* it ends in a group */
        BYTES(NODE "\x01\x01\x00" GROUP_HEAD PENDING "\x00"), /* what is pending is nobody's */
        BYTES(NODE "\x01\x01\x00" GROUP_HEAD "\x00\x01\x01"
                   "c" SEEN "\x01" ID("\x01")), /* somebody's, and not pending */
        BYTES(NODE "\x01\x01\x00\x02\x01g\x01\x00\x00\x00\x01g\x01\x00\x00\x00"), /* twice */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_assert_not(read_value(RDB_STREAM_1, wrong[i]), "case %zu", i);
        cr_assert_eq(heap_live(heap), 0, "case %zu leaves something behind", i);
    }
}
