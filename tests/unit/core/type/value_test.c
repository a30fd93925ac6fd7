#include "core/type/value.h"

#include <criterion/criterion.h>

#include "core/type/record.h"

static struct heap *heap;

static void open_heap(void)
{
    heap = heap_create(-1);
}

static void close_heap(void)
{
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(value, .init = open_heap, .fini = close_heap);

static struct value *embed(struct bytes name, int64_t expire_at_ms, struct bytes text)
{
    struct value *record = record_create(heap, name, expire_at_ms, TYPE_STRING, ENCODING_EMBED,
                                         text.len);
    memcpy(record_value(record), text.ptr, text.len);
    return record;
}

Test(value, has_redis_words_for_types)
{
    cr_assert_str_eq(type_name(TYPE_STRING), "string");
    cr_assert_str_eq(type_name(TYPE_LIST), "list");
    cr_assert_str_eq(type_name(TYPE_SET), "set");
    cr_assert_str_eq(type_name(TYPE_ZSET), "zset");
    cr_assert_str_eq(type_name(TYPE_HASH), "hash");
    cr_assert_str_eq(type_name(TYPE_STREAM), "stream");
}

Test(value, names_encodings_at_redis_thresholds)
{
    char text[45];
    memset(text, 'x', sizeof text);
    struct value *number = record_create(heap, BYTES("k"), RECORD_NO_TTL, TYPE_STRING, ENCODING_INT,
                                         8);
    struct value *short_text = embed(BYTES("k"), RECORD_NO_TTL, bytes_of(text, 44));
    struct value *long_text = embed(BYTES("k"), RECORD_NO_TTL, bytes_of(text, 45));
    cr_assert_str_eq(value_encoding(number), "int");
    cr_assert_str_eq(value_encoding(short_text), "embstr");
    cr_assert_str_eq(value_encoding(long_text), "raw");
    short_text->flags |= RECORD_GROWN;
    cr_assert_str_eq(value_encoding(short_text), "raw", "what APPEND made is never embstr");
    record_destroy(number, heap);
    record_destroy(short_text, heap);
    record_destroy(long_text, heap);
}

/* Name, time and value survive every way of changing the time to live, for names of all lengths. */
Test(value, keeps_name_and_value_when_its_time_to_live_changes)
{
    static const int64_t times[] = {
        RECORD_NO_TTL, 0, 5000, RECORD_NARROW_TTL_MAX, RECORD_NARROW_TTL_MAX + 1, INT64_MAX};
    static const size_t lens[] = {0, 1, 14, 100, 254, 255, 256, 1000, 70000};
    size_t count = sizeof times / sizeof times[0];
    static char name[70000];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (char)(i * 7);
    for (size_t l = 0; l < sizeof lens / sizeof lens[0]; l++) {
        struct bytes bytes = bytes_of(name, lens[l]);
        struct value *record = embed(bytes, times[0], BYTES("the value"));
        record_set_access(record, 0xabcdef);
        for (size_t step = 0; step < count * count; step++) {
            int64_t at_ms = times[(step * 7 + step / count) % count];
            record = record_set_ttl(record, heap, at_ms);
            cr_assert_eq(value_expire_at_ms(record), at_ms);
            cr_assert(bytes_equal(value_name(record), bytes));
            cr_assert_eq(memcmp(record_value(record), "the value", 9), 0);
            cr_assert_eq(record_access(record), 0xabcdef);
            cr_assert_eq(record_heap(record), heap);
            cr_assert_eq(record_is_expired(record, 5001), at_ms >= 0 && at_ms < 5001);
        }
        record_destroy(record, heap);
    }
}

Test(value, takes_30_bytes_for_a_name_of_14_and_a_number)
{
    cr_assert_eq(record_bytes_for(14, RECORD_NO_TTL, 8), 30);
    cr_assert_eq(record_bytes_for(14, 1700000000000, 8), 36);
    cr_assert_eq(record_bytes_for(14, RECORD_NO_TTL, 100), 122);
}

Test(value, moves_between_heaps_with_all_that_hangs_off_it)
{
    static const size_t lens[] = {600, 2000, 100000};
    static const size_t name_lens[] = {3, 3000};
    static char text[100000], name[3000];
    memset(text, 't', sizeof text);
    memset(name, 'n', sizeof name);
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct heap *other = heap_create(-1);
            struct value *record = record_create(heap, bytes_of(name, name_lens[k]), 77,
                                                 TYPE_STRING, ENCODING_BLOCK, 8);
            struct str_block *block = str_block_create(heap, lens[i]);
            memcpy(block->bytes, text, lens[i]);
            block->len = lens[i];
            record_set_pointer(record, block);

            struct value *copy = record_copy(record, BYTES("copy"), other);
            struct value *moved = record_rename(record, BYTES("moved"), other);
            heap_release_unused(heap);
            cr_assert_eq(heap_used(heap), 0, "nothing stayed behind");
            cr_assert_eq(record_heap(moved), other);
            cr_assert(bytes_equal(value_name(moved), BYTES("moved")));
            cr_assert_eq(value_expire_at_ms(moved), 77);
            block = record_pointer(moved);
            cr_assert(bytes_equal(bytes_of(block->bytes, block->len), bytes_of(text, lens[i])));
            block = record_pointer(copy);
            cr_assert(bytes_equal(bytes_of(block->bytes, block->len), bytes_of(text, lens[i])));
            cr_assert_geq(value_bytes(copy), lens[i]);

            record_destroy(copy, other);
            record_destroy(moved, other);
            heap_validate(other);
            heap_release_unused(other);
            cr_assert_eq(heap_used(other), 0);
            heap_destroy(other);
        }
    }
}
