#include "core/type/hash.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/rng.h"

#define FIELD_COUNT 4 /* limits that are soon reached */
#define TEXT_LEN 8

static struct heap *heap;
static struct hash *hash;
static struct hash_limits limits;

static void open_hash(void)
{
    fingerprint_seed(1);
    heap = heap_create(-1);
    hash = hash_create(heap);
    limits = (struct hash_limits){.field_count = FIELD_COUNT, .text_len = TEXT_LEN};
}

static void close_hash(void)
{
    if (hash)
        hash_ops.free_some(hash, heap, SIZE_MAX);
    heap_destroy(heap);
}

TestSuite(hash, .init = open_hash, .fini = close_hash);

static bool put(const char *field, const char *value)
{
    return hash_put(&hash, heap, &limits, bytes_from_text(field), bytes_from_text(value));
}

static bool is_listpack(void)
{
    return strcmp(hash_ops.encoding(hash), "listpack") == 0;
}

static void expect(const char *field, const char *value)
{
    char scratch[PACK_SCRATCH];
    struct bytes found;
    cr_assert(hash_has(hash, bytes_from_text(field)), "no %s", field);
    cr_assert(hash_find(hash, bytes_from_text(field), scratch, &found), "no %s", field);
    cr_assert(bytes_equal(found, bytes_from_text(value)), "%s is %.*s", field, (int)found.len,
              found.ptr);
}

static struct bytes numbered(char text[24], int number)
{
    return bytes_of(text, (size_t)snprintf(text, 24, "field:%d", number));
}

/* Puts field:0 .. field:count - 1, whose values are their numbers. */
static void fill(int count)
{
    char field[24], value[24];
    for (int i = 0; i < count; i++)
        cr_assert(hash_put(&hash, heap, &limits, numbered(field, i),
                           bytes_of(value, (size_t)snprintf(value, sizeof value, "%d", i))));
}

Test(hash, keeps_the_last_value_of_each_field)
{
    cr_assert(put("a", "1"));
    cr_assert(put("b", "text"));
    cr_assert_not(put("a", "2"));
    expect("a", "2");
    expect("b", "text");
    cr_assert_eq(hash_count(hash), 2);
    cr_assert_not(hash_has(hash, BYTES("c")));
    cr_assert_not(hash_has(hash, BYTES("text")), "a value was taken for a field");
    hash_validate(hash);
}

Test(hash, forgets_fields_in_either_encoding)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill(count);
        char field[24];
        cr_assert_eq(hash_count(hash), count);
        for (int i = 0; i < count; i++) {
            cr_assert(hash_delete(&hash, heap, numbered(field, i)));
            cr_assert_not(hash_delete(&hash, heap, numbered(field, i)));
            if (i % 50 == 0)
                hash_validate(hash);
        }
        cr_assert_eq(hash_count(hash), 0);
    }
}

Test(hash, turns_into_a_table_by_its_count_and_never_back)
{
    fill(FIELD_COUNT);
    cr_assert(is_listpack());
    cr_assert(put("one more", "x"));
    cr_assert_not(is_listpack());
    hash_validate(hash);
    expect("field:3", "3");
    char field[24];
    for (int i = 0; i < FIELD_COUNT; i++)
        cr_assert(hash_delete(&hash, heap, numbered(field, i)));
    cr_assert_eq(hash_count(hash), 1);
    cr_assert_not(is_listpack());
}

Test(hash, turns_into_a_table_when_an_update_finds_it_too_large)
{
    fill(FIELD_COUNT);
    limits.field_count = 2;
    cr_assert(is_listpack(), "a setting alone changes nothing");
    cr_assert_not(put("field:0", "x"));
    cr_assert_not(is_listpack());
}

Test(hash, turns_into_a_table_by_the_length_of_a_field_or_value)
{
    cr_assert(put("12345678", "12345678"));
    cr_assert(is_listpack());
    cr_assert(put("123456789", ""));
    cr_assert_not(is_listpack());
    expect("12345678", "12345678");
    hash_ops.free_some(hash, heap, SIZE_MAX);

    hash = hash_create(heap);
    cr_assert(put("a", "12345678"));
    cr_assert_not(put("a", "123456789"));
    cr_assert_not(is_listpack());
    expect("a", "123456789");
}

Test(hash, turns_into_a_table_before_more_is_put_than_fits)
{
    struct bytes words[2 * (FIELD_COUNT + 1)];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = BYTES("same");
    hash_expect(&hash, heap, &limits, words, 2 * FIELD_COUNT);
    cr_assert(is_listpack());
    hash_expect(&hash, heap, &limits, words, 2 * (FIELD_COUNT + 1));
    cr_assert_not(is_listpack());
    cr_assert_eq(hash_count(hash), 0);
}

Test(hash, holds_fields_and_values_of_any_length_and_bytes)
{
    static const size_t lens[] = {0, 1, 253, 254, 255, 256, 1000, 5000, 100000};
    char *text = calloc(1, 100000);
    for (size_t f = 0; f < 9; f++) {
        for (size_t v = 0; v < 9; v++) {
            struct bytes field = bytes_of(text, lens[f]), value = bytes_of(text, lens[v]), found;
            char scratch[PACK_SCRATCH];
            cr_assert_eq(hash_put(&hash, heap, &limits, field, value), v == 0);
            cr_assert(hash_find(hash, field, scratch, &found));
            cr_assert_eq(found.len, lens[v]);
        }
        hash_validate(hash);
    }
    free(text);
}

/* ---- Walks ---- */

struct seen {
    uint32_t count;
    uint8_t times[4096];
};

static void note(void *context, struct hash_pair pair)
{
    struct seen *seen = context;
    int number;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)pair.field.len, pair.field.ptr);
    cr_assert_eq(sscanf(text, "field:%d", &number), 1);
    seen->times[number]++;
    seen->count++;
}

Test(hash, visits_every_field_once)
{
    for (int count = FIELD_COUNT; count <= 4000; count += 3996) {
        struct seen seen = {0};
        hash_ops.free_some(hash, heap, SIZE_MAX);
        hash = hash_create(heap);
        fill(count);
        hash_each(hash, note, &seen);
        cr_assert_eq(seen.count, count);
        for (int i = 0; i < count; i++)
            cr_assert_eq(seen.times[i], 1);
    }
}

Test(hash, scans_a_pack_at_once)
{
    fill(FIELD_COUNT);
    struct seen seen = {0};
    cr_assert_eq(hash_scan(hash, 77, 1, note, &seen), 0);
    cr_assert_eq(seen.count, FIELD_COUNT);
}

Test(hash, scans_a_table_a_few_at_a_time_past_growth_and_shrinking)
{
    fill(1000);
    struct seen seen = {0};
    uint64_t cursor = 0;
    char field[24];
    uint32_t rounds = 0;
    do {
        cursor = hash_scan(hash, cursor, 10, note, &seen);
        rounds++;
        if (rounds == 20) { /* fields that were there all the time are still to be seen */
            for (int i = 1000; i < 4000; i++)
                (void)hash_put(&hash, heap, &limits, numbered(field, i), BYTES("x"));
        } else if (rounds == 60) {
            for (int i = 1000; i < 4000; i++)
                (void)hash_delete(&hash, heap, numbered(field, i));
        }
    } while (cursor != 0);
    cr_assert_gt(rounds, 60);
    for (int i = 0; i < 1000; i++)
        cr_assert_geq(seen.times[i], 1, "field %d was passed over", i);
}

Test(hash, takes_any_number_for_a_cursor)
{
    fill(1000);
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < 100; i++) {
        struct seen seen = {0};
        (void)hash_scan(hash, rng_next(&rng), 10, note, &seen);
        cr_assert_leq(seen.count, 100);
    }
}

/* ---- Chance ---- */

Test(hash, draws_each_field_about_as_often)
{
    for (int count = FIELD_COUNT; count <= 104; count += 100) {
        hash_ops.free_some(hash, heap, SIZE_MAX);
        hash = hash_create(heap);
        fill(count);
        struct rng rng;
        rng_init(&rng, 3);
        static uint32_t times[128];
        memset(times, 0, sizeof times);
        for (int i = 0; i < 1000 * count; i++) {
            struct hash_scratch scratch;
            struct seen seen = {0};
            note(&seen, hash_random(hash, &rng, &scratch));
            for (int j = 0; j < count; j++)
                times[j] += seen.times[j];
        }
        for (int i = 0; i < count; i++)
            cr_assert(times[i] > 800 && times[i] < 1200, "field %d came %u times", i, times[i]);
    }
}

Test(hash, samples_different_fields)
{
    struct rng rng;
    rng_init(&rng, 5);
    struct arena arena = {0};
    static const int counts[] = {FIELD_COUNT, 1000};
    for (size_t c = 0; c < 2; c++) {
        hash_ops.free_some(hash, heap, SIZE_MAX);
        hash = hash_create(heap);
        fill(counts[c]);
        for (int wanted = 0; wanted <= counts[c]; wanted += 1 + counts[c] / 50) {
            struct seen seen = {0};
            hash_sample(hash, &rng, (uint64_t)wanted, &arena, note, &seen);
            cr_assert_eq(seen.count, wanted);
            for (int i = 0; i < counts[c]; i++)
                cr_assert_leq(seen.times[i], 1);
        }
    }
    arena_fini(&arena);
}

/* ---- As a compound value ---- */

Test(hash, is_copied_with_its_encoding)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        hash_ops.free_some(hash, heap, SIZE_MAX);
        hash = hash_create(heap);
        fill(count);
        struct heap *other = heap_create(-1);
        struct hash *copy = hash_ops.copy(hash, other);
        hash_validate(copy);
        cr_assert_eq(hash_count(copy), count);
        cr_assert_str_eq(hash_ops.encoding(copy), hash_ops.encoding(hash));
        cr_assert_not(put("field:0", "other"));
        char scratch[PACK_SCRATCH];
        struct bytes value;
        cr_assert(hash_find(copy, BYTES("field:0"), scratch, &value));
        cr_assert(bytes_equal(value, BYTES("0")), "the copy changed too");
        heap_destroy(other);
    }
}

Test(hash, says_what_memory_it_takes)
{
    fill(FIELD_COUNT);
    cr_assert_eq(hash_ops.bytes(hash), heap_usable(7 + FIELD_COUNT * 11));
    size_t before = heap_used(heap) - heap_spare(heap);
    limits.field_count = 0;
    char field[24];
    for (int i = 0; i < 20000; i++)
        (void)hash_put(&hash, heap, &limits, numbered(field, i), BYTES("0123456789"));
    size_t taken = heap_used(heap) - heap_spare(heap) - before;
    size_t said = hash_ops.bytes(hash);
    cr_assert(said > taken * 9 / 10 && said <= taken + 1000, "%zu, but %zu", said, taken);
}

Test(hash, is_freed_in_slices)
{
    for (int count = FIELD_COUNT; count <= 2000; count += 1996) {
        fill(count);
        int slices = 1;
        while (!hash_ops.free_some(hash, heap, 100))
            slices++;
        cr_assert_geq(slices, count / 120);
        hash = hash_create(heap);
    }
    hash_ops.free_some(hash, heap, SIZE_MAX);
    hash = NULL;
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "a block was lost");
}

/* Every change made to a list of values by number, too. */
Test(hash, stays_like_a_plain_list_through_any_changes)
{
    enum { RANGE = 300 };
    static char values[RANGE][600];
    static bool has[RANGE];
    struct rng rng;
    rng_init(&rng, 9);
    size_t count = 0;
    limits = (struct hash_limits){.field_count = 100, .text_len = 400};
    for (int step = 0; step < 20000; step++) {
        int number = (int)rng_below(&rng, step < 3000 ? 50 : RANGE);
        char field[24];
        if (rng_below(&rng, 3) == 0) {
            cr_assert_eq(hash_delete(&hash, heap, numbered(field, number)), has[number]);
            count -= has[number];
            has[number] = false;
        } else {
            size_t len = rng_below(&rng, step < 6000 ? 30 : 590);
            memset(values[number], 'a' + step % 26, len);
            values[number][len] = 0;
            cr_assert_eq(hash_put(&hash, heap, &limits, numbered(field, number),
                                  bytes_from_text(values[number])),
                         !has[number]);
            count += !has[number];
            has[number] = true;
        }
        if (step % 500 == 0) {
            hash_validate(hash);
            cr_assert_eq(hash_count(hash), count);
            for (int i = 0; i < RANGE; i++) {
                cr_assert_eq(hash_has(hash, numbered(field, i)), has[i]);
                if (has[i])
                    expect(field, values[i]);
            }
        }
    }
    cr_assert_not(is_listpack());
}
