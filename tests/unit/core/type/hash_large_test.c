#include "core/type/hash_large.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/fingerprint.h"
#include "core/base/heap.h"

static struct heap *heap;
static struct hash_large *large;
static bool is_timed;
static const struct hash_notice silence = {NULL, NULL};

static void set_up(void)
{
    fingerprint_seed(1);
    heap = heap_create(-1);
    is_timed = true;
    large = hash_large_create(heap, true);
}

static void tear_down(void)
{
    hash_large_validate(large, is_timed);
    uint64_t budget = UINT64_MAX;
    cr_assert(hash_large_free_some(large, heap, is_timed, &budget));
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "a block was lost");
    heap_destroy(heap);
}

TestSuite(hash_large, .init = set_up, .fini = tear_down);

static struct hash_timed *timed(void)
{
    return (struct hash_timed *)large;
}

static struct bytes numbered(char text[24], int number)
{
    return bytes_of(text, (size_t)snprintf(text, 24, "field:%d", number));
}

static void put(int number, struct bytes value, int64_t expire_at_ms)
{
    char text[24];
    struct hash_pair pair = {numbered(text, number), value, expire_at_ms};
    (void)hash_large_put(large, heap, pair);
}

static struct hash_pair get(int number)
{
    char text[24];
    uint64_t *cell = hash_large_find(large, numbered(text, number));
    cr_assert(cell);
    return hash_large_pair(*cell);
}

Test(hash_large, marks_the_cells_of_fields_with_a_time)
{
    put(1, BYTES("a"), 100);
    put(2, BYTES("b"), HASH_NO_TTL);
    char text[24];
    cr_assert(*hash_large_find(large, numbered(text, 1)) & TABLE_MARK);
    cr_assert_not(*hash_large_find(large, numbered(text, 2)) & TABLE_MARK);
    put(1, BYTES("a"), HASH_NO_TTL);
    cr_assert_not(*hash_large_find(large, numbered(text, 1)) & TABLE_MARK);
}

Test(hash_large, keeps_any_value_beside_any_time)
{
    static const size_t lens[] = {0, 1, 240, 248, 254, 255, 256, 5000};
    static const int64_t times[] = {1, HASH_NO_TTL, HASH_TTL_MAX, HASH_NO_TTL, 5};
    char *value = calloc(1, 5000);
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < 5; k++) {
            memset(value, 'a' + (int)k, lens[i]);
            put(7, bytes_of(value, lens[i]), times[k]);
            struct hash_pair pair = get(7);
            cr_assert(bytes_equal(pair.value, bytes_of(value, lens[i])));
            cr_assert(bytes_equal(pair.field, BYTES("field:7")));
            cr_assert_eq(pair.expire_at_ms, times[k]);
            hash_large_validate(large, true);
        }
    }
    free(value);
}

Test(hash_large, changes_a_time_and_leaves_the_value)
{
    char text[24];
    for (size_t len = 0; len < 40; len++) { /* with and without another size class */
        char value[40];
        memset(value, 'v', len);
        put(3, bytes_of(value, len), HASH_NO_TTL);
        hash_large_set_ttl(timed(), heap, hash_large_find(large, numbered(text, 3)), 9);
        cr_assert_eq(get(3).expire_at_ms, 9);
        cr_assert(bytes_equal(get(3).value, bytes_of(value, len)));
        hash_large_set_ttl(timed(), heap, hash_large_find(large, numbered(text, 3)), HASH_NO_TTL);
        cr_assert_eq(get(3).expire_at_ms, HASH_NO_TTL);
        cr_assert(bytes_equal(get(3).value, bytes_of(value, len)));
        hash_large_validate(large, true);
    }
}

Test(hash_large, takes_six_bytes_for_a_time)
{
    put(1, BYTES("01234567"), HASH_NO_TTL);
    size_t before = large->item_bytes;
    put(2, BYTES("01234567"), 100);
    cr_assert_eq(large->item_bytes, before + heap_usable(2 + 7 + 8 + 6));
}

Test(hash_large, becomes_timed_with_all_it_has)
{
    uint64_t budget = UINT64_MAX;
    cr_assert(hash_large_free_some(large, heap, true, &budget));
    large = hash_large_create(heap, false);
    is_timed = false;
    for (int i = 0; i < 500; i++)
        put(i, BYTES("x"), HASH_NO_TTL);
    large = &hash_large_widen(large, heap)->large;
    is_timed = true;
    cr_assert_eq(large->table.count, 500);
    cr_assert_eq(timed()->ttl_count, 0);
    put(1, BYTES("y"), 50);
    cr_assert_eq(timed()->first_at_ms, 50);
}

Test(hash_large, looks_at_nothing_before_the_first_time)
{
    put(1, BYTES("x"), 100);
    uint64_t count;
    cr_assert(hash_large_expire_some(timed(), heap, 100, 1000, silence, &count));
    cr_assert_eq(count, 0);
    cr_assert_eq(timed()->position, 0);
}

/* What comes while a round is under way, behind it or before it, is not forgotten. */
Test(hash_large, finds_the_next_time_of_what_was_set_during_a_round)
{
    for (int i = 0; i < 2000; i++)
        put(i, BYTES("x"), i % 2 ? 10 : 1000 + i);
    uint64_t count, total = 0;
    int steps = 0;
    bool is_done = false;
    while (!is_done) {
        is_done = hash_large_expire_some(timed(), heap, 11, 20, silence, &count);
        total += count;
        if (++steps == 20) {
            for (int i = 2000; i < 4000; i++)
                put(i, BYTES("x"), 500 + i);
            put(4000, BYTES("x"), 300);
        }
        cr_assert_leq(count, 200);
    }
    cr_assert_eq(total, 1000);
    cr_assert_gt(steps, 20);
    cr_assert_eq(timed()->first_at_ms, 300);
    cr_assert_eq(timed()->ttl_count, 1000 + 2000 + 1);
}
