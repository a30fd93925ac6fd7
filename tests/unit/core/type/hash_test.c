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
    cr_assert(hash_has(hash, HASH_SEE_ALL, bytes_from_text(field)), "no %s", field);
    cr_assert(hash_find(hash, HASH_SEE_ALL, bytes_from_text(field), scratch, &found), "no %s",
              field);
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
    cr_assert_not(hash_has(hash, HASH_SEE_ALL, BYTES("c")));
    cr_assert_not(hash_has(hash, HASH_SEE_ALL, BYTES("text")), "a value was taken for a field");
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
            cr_assert(hash_find(hash, HASH_SEE_ALL, field, scratch, &found));
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
    cr_assert_eq(hash_scan(hash, HASH_SEE_ALL, 77, 1, note, &seen), 0);
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
        cursor = hash_scan(hash, HASH_SEE_ALL, cursor, 10, note, &seen);
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
        (void)hash_scan(hash, HASH_SEE_ALL, rng_next(&rng), 10, note, &seen);
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
            struct hash_pair pair;
            cr_assert(hash_random(hash, HASH_SEE_ALL, &rng, &scratch, &pair));
            note(&seen, pair);
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
            hash_sample(hash, HASH_SEE_ALL, &rng, (uint64_t)wanted, &arena, note, &seen);
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
        cr_assert(hash_find(copy, HASH_SEE_ALL, BYTES("field:0"), scratch, &value));
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
                cr_assert_eq(hash_has(hash, HASH_SEE_ALL, numbered(field, i)), has[i]);
                if (has[i])
                    expect(field, values[i]);
            }
        }
    }
    cr_assert_not(is_listpack());
}

/* ---- Times to live ---- */

#define NOW 1000000
static const struct hash_notice silence = {NULL, NULL};

/* A hash of so many fields; the time of field:i is NOW + i, of every third one none. */
static void fill_timed(int count)
{
    hash_ops.free_some(hash, heap, SIZE_MAX);
    hash = hash_create(heap);
    fill(count);
    char field[24];
    for (int i = 0; i < count; i++) {
        if (i % 3 != 0)
            hash_set_ttl(&hash, heap, numbered(field, i), NOW + i);
    }
    hash_validate(hash);
}

static int64_t ttl_of(int number)
{
    char field[24];
    int64_t expire_at_ms;
    cr_assert(hash_find_ttl(hash, numbered(field, number), &expire_at_ms));
    return expire_at_ms;
}

static uint64_t expire_all(int64_t now_ms)
{
    uint64_t total = 0, count;
    bool is_done = false;
    while (!is_done) {
        is_done = hash_expire_some(&hash, heap, now_ms, 16, silence, &count);
        total += count;
    }
    hash_validate(hash);
    return total;
}

Test(hash, pays_for_times_only_once_a_field_has_had_one)
{
    fill(FIELD_COUNT);
    size_t before = hash_ops.bytes(hash);
    cr_assert_not(hash_is_timed(hash));
    cr_assert_null(hash_agenda_item(hash));
    hash_set_ttl(&hash, heap, BYTES("field:1"), HASH_NO_TTL);
    cr_assert_eq(hash_ops.bytes(hash), before);
    hash_set_ttl(&hash, heap, BYTES("field:1"), NOW);
    cr_assert(hash_is_timed(hash));
    cr_assert_str_eq(hash_ops.encoding(hash), "listpackex");
    hash_set_ttl(&hash, heap, BYTES("field:1"), HASH_NO_TTL);
    cr_assert_eq(hash_ttl_count(hash), 0);
    cr_assert_eq(hash_first_expiry_ms(hash), HASH_NO_TTL);
    cr_assert_str_eq(hash_ops.encoding(hash), "listpackex", "what it was once, it stays");
    hash_validate(hash);
}

Test(hash, knows_the_time_of_each_field_in_either_encoding)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        cr_assert_eq(hash_ttl_count(hash), count - (count + 2) / 3);
        cr_assert_eq(hash_first_expiry_ms(hash), NOW + 1);
        for (int i = 0; i < count; i++)
            cr_assert_eq(ttl_of(i), i % 3 ? NOW + i : HASH_NO_TTL);
        cr_assert_eq(hash_count(hash), count);
    }
}

Test(hash, treats_what_has_passed_as_absent_and_still_counts_it)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        cr_assert(hash_has(hash, NOW + 1, BYTES("field:1")), "its last moment");
        cr_assert_not(hash_has(hash, NOW + 2, BYTES("field:1")));
        char scratch[PACK_SCRATCH];
        struct bytes value;
        cr_assert_not(hash_find(hash, NOW + 2, BYTES("field:1"), scratch, &value));
        cr_assert(hash_find(hash, NOW + 2, BYTES("field:0"), scratch, &value));
        cr_assert_eq(hash_count(hash), count);
        cr_assert_eq(hash_live_count(hash, NOW + 2), count - 1);
        struct seen seen = {0};
        hash_each_live(hash, NOW + 2, note, &seen);
        cr_assert_eq(seen.times[1], 0);
        cr_assert_eq(seen.count, count - 1);
        seen = (struct seen){0};
        (void)hash_scan(hash, NOW + 2, 0, 4000, note, &seen);
        cr_assert_eq(seen.times[1], 0);
        cr_assert_eq(seen.count, count - 1);
    }
}

Test(hash, draws_only_what_has_not_passed)
{
    struct arena arena = {0};
    struct rng rng;
    rng_init(&rng, 11);
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        int64_t now_ms = NOW + count;
        uint64_t live_count = hash_live_count(hash, now_ms);
        cr_assert_eq(live_count, (count + 2) / 3);
        struct seen seen = {0};
        hash_sample(hash, now_ms, &rng, live_count, &arena, note, &seen);
        hash_sample(hash, now_ms, &rng, 1, &arena, note, &seen);
        struct hash_scratch scratch;
        struct hash_pair pair;
        for (int i = 0; i < 300; i++) {
            cr_assert(hash_random(hash, now_ms, &rng, &scratch, &pair));
            note(&seen, pair);
        }
        for (int i = 0; i < count; i++)
            cr_assert(i % 3 == 0 ? seen.times[i] > 0 : seen.times[i] == 0, "field %d", i);
        char field[24];
        for (int i = 0; i < count; i += 3)
            cr_assert(hash_delete(&hash, heap, numbered(field, i)));
        cr_assert_not(hash_random(hash, now_ms, &rng, &scratch, &pair), "all have passed");
    }
    arena_fini(&arena);
}

Test(hash, deletes_what_is_due_in_steps_and_knows_what_comes_next)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        cr_assert_eq(expire_all(NOW + 1), 0);
        cr_assert_eq(expire_all(NOW + 3), 2);
        if (count == FIELD_COUNT) {
            cr_assert_eq(hash_first_expiry_ms(hash), HASH_NO_TTL);
        } else {
            cr_assert_eq(hash_first_expiry_ms(hash), NOW + 4);
            hash_set_ttl(&hash, heap, BYTES("field:3"), NOW + 3);
            cr_assert_eq(hash_first_expiry_ms(hash), NOW + 3);
            cr_assert_eq(expire_all(NOW + 2000), 1000 - 334 - 2 + 1);
        }
        cr_assert_eq(hash_ttl_count(hash), 0);
        cr_assert_eq(hash_count(hash), count == FIELD_COUNT ? 2 : 333);
    }
}

static void count_call(void *context)
{
    (*(int *)context)++;
}

Test(hash, gives_notice_before_it_deletes_what_is_due_and_only_then)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        int calls = 0;
        struct hash_notice notice = {count_call, &calls};
        uint64_t deleted;
        (void)hash_expire_some(&hash, heap, NOW + 1, 2000, notice, &deleted);
        cr_assert_eq(calls, 0);
        (void)hash_expire_some(&hash, heap, NOW + 3, 2000, notice, &deleted);
        cr_assert_eq(deleted, 2);
        cr_assert_eq(calls, 1);
    }
}

Test(hash, forgets_the_time_of_a_field_that_is_put_anew)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        cr_assert_not(put("field:1", "new"));
        cr_assert_eq(ttl_of(1), HASH_NO_TTL);
        struct hash_pair kept = {BYTES("field:2"), BYTES("new"), HASH_KEEP_TTL};
        cr_assert_not(hash_put_pair(&hash, heap, &limits, kept));
        cr_assert_eq(ttl_of(2), NOW + 2);
        expect("field:2", "new");
        hash_validate(hash);
    }
}

Test(hash, keeps_times_and_its_item_when_it_turns_into_a_table)
{
    fill_timed(FIELD_COUNT);
    struct agenda_item *item = hash_agenda_item(hash);
    cr_assert(put("one more", "x"));
    cr_assert_str_eq(hash_ops.encoding(hash), "hashtable");
    cr_assert_eq(hash_agenda_item(hash), item);
    cr_assert_eq(hash_of_agenda_item(item), hash);
    cr_assert_eq(hash_first_expiry_ms(hash), NOW + 1);
    for (int i = 0; i < FIELD_COUNT; i++)
        cr_assert_eq(ttl_of(i), i % 3 ? NOW + i : HASH_NO_TTL);
    hash_validate(hash);
}

Test(hash, is_copied_with_its_times)
{
    for (int count = FIELD_COUNT; count <= 1000; count += 996) {
        fill_timed(count);
        hash_agenda_item(hash)->at_ms = 5; /* as if it stood in an agenda */
        struct hash *copy = hash_ops.copy(hash, heap);
        cr_assert_eq(hash_agenda_item(copy)->at_ms, AGENDA_NOWHERE);
        hash_validate(copy);
        hash_ops.free_some(hash, heap, SIZE_MAX);
        hash = copy;
        for (int i = 0; i < count; i++)
            cr_assert_eq(ttl_of(i), i % 3 ? NOW + i : HASH_NO_TTL);
    }
}

Test(hash, is_made_of_the_bytes_of_a_dump)
{
    fill_timed(FIELD_COUNT);
    struct pack *pack = pack_copy(hash_pack(hash), heap);
    cr_assert(hash_triples_are_valid(pack));
    hash_ops.free_some(hash, heap, SIZE_MAX);
    hash = hash_of_pack(pack, heap, true);
    hash_validate(hash);
    cr_assert_eq(ttl_of(2), NOW + 2);
    expect("field:2", "2");

    pack = pack_create(heap);
    static const int64_t times[] = {7, 5, 0}; /* not in order */
    for (int i = 0; i < 3; i++) {
        pack_append_int(&pack, heap, i);
        pack_append(&pack, heap, BYTES("value"));
        cr_assert_not(hash_triples_are_valid(pack));
        pack_append_int(&pack, heap, times[i]);
        cr_assert_eq(hash_triples_are_valid(pack), i == 0);
    }
    pack_destroy(pack, heap);
}

/* Every change made to a list of fields and times by number, too. */
Test(hash, stays_like_a_plain_list_through_any_times)
{
    enum { RANGE = 60 };
    static bool has[RANGE];
    static int64_t times[RANGE];
    struct rng rng;
    rng_init(&rng, 21);
    int64_t now_ms = NOW;
    limits = (struct hash_limits){.field_count = 40, .text_len = 100};
    for (int step = 0; step < 30000; step++) {
        int number = (int)rng_below(&rng, step < 15000 ? 35 : RANGE);
        int64_t at_ms = now_ms + (int64_t)rng_below(&rng, 100);
        char name[24];
        struct bytes field = numbered(name, number);
        switch (rng_below(&rng, 6)) {
        case 0:
            cr_assert_eq(hash_delete(&hash, heap, field), has[number]);
            has[number] = false;
            break;
        case 1:
        case 2:
            if (has[number]) {
                times[number] = at_ms % 4 ? at_ms : HASH_NO_TTL;
                hash_set_ttl(&hash, heap, field, times[number]);
            }
            break;
        case 3: {
            struct hash_pair pair = {field, field, at_ms % 2 ? at_ms : HASH_KEEP_TTL};
            cr_assert_eq(hash_put_pair(&hash, heap, &limits, pair), !has[number]);
            if (pair.expire_at_ms != HASH_KEEP_TTL)
                times[number] = pair.expire_at_ms;
            else if (!has[number])
                times[number] = HASH_NO_TTL;
            has[number] = true;
            break;
        }
        case 4:
            cr_assert_eq(hash_put(&hash, heap, &limits, field, field), !has[number]);
            has[number] = true;
            times[number] = HASH_NO_TTL;
            break;
        default:
            now_ms += step % 10 == 0 ? 30 : 0;
            uint64_t expired;
            bool is_done = hash_expire_some(&hash, heap, now_ms, 8, silence, &expired);
            for (int i = 0; i < RANGE; i++) {
                char text[24];
                if (!has[i] || !hash_is_past(times[i], now_ms))
                    continue;
                has[i] = hash_has(hash, HASH_SEE_ALL, numbered(text, i));
                expired -= !has[i];
                cr_assert(!is_done || !has[i] || hash_first_expiry_ms(hash) <= times[i]);
            }
            cr_assert_eq(expired, 0);
        }
        if (step % 50 != 0)
            continue;
        hash_validate(hash);
        for (int i = 0; i < RANGE; i++) {
            char text[24];
            int64_t found;
            cr_assert_eq(hash_find_ttl(hash, numbered(text, i), &found), has[i]);
            cr_assert(!has[i] || found == times[i], "step %d field %d", step, i);
        }
    }
    cr_assert_str_eq(hash_ops.encoding(hash), "hashtable");
}
