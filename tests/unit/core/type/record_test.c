#include "core/type/record.h"

#include <criterion/criterion.h>
#include <string.h>

#define AT_MS INT64_C(1700000000000)
#define FAR_MS (RECORD_NARROW_TTL_MAX + 1)

static struct value *make(struct heap *heap, struct bytes name, int64_t expire_at_ms)
{
    struct value *record = record_create(heap, name, expire_at_ms, TYPE_STRING, ENCODING_EMBED, 5);
    memcpy(record_value(record), "value", 5);
    return record;
}

static void expect(const struct value *record, struct bytes name, int64_t expire_at_ms)
{
    cr_assert(bytes_equal(record_name(record), name));
    cr_assert(bytes_equal(bytes_of(record_value(record), 5), BYTES("value")));
    cr_assert_eq(value_expire_at_ms(record), expire_at_ms);
}

Test(record, takes_no_more_than_its_parts)
{
    cr_assert_eq(record_bytes_for(14, RECORD_NO_TTL, 8), 30);
    cr_assert_eq(record_bytes_for(14, AT_MS, 8), 36);
    cr_assert_eq(record_bytes_for(14, FAR_MS, 8), 38);
}

Test(record, gets_and_loses_a_time_of_death)
{
    struct heap *heap = heap_create(-1);
    struct value *record = make(heap, BYTES("name"), RECORD_NO_TTL);
    static const int64_t times[] = {AT_MS, FAR_MS, AT_MS + 1, RECORD_NO_TTL, FAR_MS, RECORD_NO_TTL};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        record = record_set_ttl(record, heap, times[i]);
        expect(record, BYTES("name"), times[i]);
    }
    record_destroy(record, heap);
    heap_destroy(heap);
}

Test(record, keeps_names_of_any_length)
{
    struct heap *heap = heap_create(-1);
    static char name[70000];
    memset(name, 'n', sizeof(name));
    static const size_t lens[] = {0, 1, 254, 255, 256, 69999};
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct bytes borrowed = bytes_of(name, lens[i]);
        struct value *record = make(heap, borrowed, AT_MS);
        expect(record, borrowed, AT_MS);
        cr_assert_eq(record_heap(record), heap);
        record = record_set_ttl(record, heap, RECORD_NO_TTL);
        expect(record, borrowed, RECORD_NO_TTL);
        record_destroy(record, heap);
    }
    heap_destroy(heap);
}

Test(record, moves_to_another_name_and_heap)
{
    struct heap *from = heap_create(-1), *to = heap_create(-1);
    struct value *record = make(from, BYTES("old"), AT_MS);
    record_set_access(record, 4711);
    record = record_rename(record, BYTES("a longer name"), to);
    expect(record, BYTES("a longer name"), AT_MS);
    cr_assert_eq(record_access(record), 4711);
    cr_assert_eq(record_heap(record), to);
    heap_destroy(from);
    expect(record, BYTES("a longer name"), AT_MS);
    record_destroy(record, to);
    heap_destroy(to);
}

Test(record, is_copied_without_touching_the_original)
{
    struct heap *heap = heap_create(-1);
    struct value *record = make(heap, BYTES("one"), AT_MS);
    struct value *copy = record_copy(record, BYTES("two"), heap);
    memcpy(record_value(record), "other", 5);
    expect(copy, BYTES("two"), AT_MS);
    record_destroy(record, heap);
    record_destroy(copy, heap);
    heap_destroy(heap);
}
