#include "core/ds/intset.h"

#include <criterion/criterion.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static struct heap *heap;
static struct intset *set;

static void make(void)
{
    heap = heap_create(-1);
    set = intset_create(heap);
}

static void drop(void)
{
    intset_destroy(set, heap);
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(intset, .init = make, .fini = drop);

static struct bytes content(void)
{
    return bytes_of(set, intset_bytes(set));
}

Test(intset, keeps_each_integer_once_and_in_order)
{
    cr_assert(intset_add(&set, heap, 5));
    cr_assert(intset_add(&set, heap, -3));
    cr_assert(intset_add(&set, heap, 9));
    cr_assert_not(intset_add(&set, heap, 5));
    cr_assert_eq(intset_count(set), 3);
    cr_assert_eq(intset_get(set, 0), -3);
    cr_assert_eq(intset_get(set, 1), 5);
    cr_assert_eq(intset_get(set, 2), 9);
    cr_assert(intset_has(set, 9));
    cr_assert_not(intset_has(set, 6));
    cr_assert_not(intset_has(set, 10));
}

Test(intset, has_the_bytes_of_redis)
{
    cr_assert(intset_add(&set, heap, 258));
    cr_assert(intset_add(&set, heap, -1));
    static const char narrow[] = "\2\0\0\0\2\0\0\0\xff\xff\2\1";
    cr_assert(bytes_equal(content(), BYTES(narrow)));

    cr_assert(intset_add(&set, heap, 65536));
    static const char middle[] = "\4\0\0\0\3\0\0\0\xff\xff\xff\xff\2\1\0\0\0\0\1\0";
    cr_assert(bytes_equal(content(), BYTES(middle)));

    cr_assert(intset_remove(&set, heap, 258));
    cr_assert(intset_remove(&set, heap, 65536));
    static const char still_middle[] = "\4\0\0\0\1\0\0\0\xff\xff\xff\xff";
    cr_assert(bytes_equal(content(), BYTES(still_middle)), "a removal changed the width");
}

Test(intset, widens_for_integers_at_the_borders_of_each_width)
{
    static const struct {
        int64_t number;
        size_t width;
    } steps[] = {{INT16_MIN, 2}, {INT16_MAX, 2}, {INT16_MAX + 1, 4},   {INT16_MIN - 1, 4},
                 {INT32_MIN, 4}, {INT32_MAX, 4}, {INT32_MAX + 1LL, 8}, {INT32_MIN - 1LL, 8},
                 {INT64_MIN, 8}, {INT64_MAX, 8}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        cr_assert(intset_add(&set, heap, steps[i].number));
        cr_assert_eq(intset_bytes(set), 8 + (i + 1) * steps[i].width);
        for (size_t k = 0; k <= i; k++)
            cr_assert(intset_has(set, steps[k].number));
        cr_assert(intset_is_valid(content()));
    }
}

Test(intset, removes_what_is_there)
{
    for (int i = 0; i < 100; i++)
        cr_assert(intset_add(&set, heap, i * 3));
    cr_assert_not(intset_remove(&set, heap, 1));
    cr_assert_not(intset_remove(&set, heap, INT64_MAX));
    for (int i = 99; i >= 0; i -= 2)
        cr_assert(intset_remove(&set, heap, i * 3));
    cr_assert_eq(intset_count(set), 50);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(intset_has(set, i * 3), i % 2 == 0);
    cr_assert(intset_is_valid(content()));
}

static bool is_even(void *context, int64_t number)
{
    ++*(int *)context;
    return number % 2 == 0;
}

Test(intset, filters_asking_about_each_once)
{
    for (int i = 0; i < 1001; i++)
        cr_assert(intset_add(&set, heap, i));
    int asked = 0;
    intset_filter(&set, heap, is_even, &asked);
    cr_assert_eq(asked, 1001);
    cr_assert_eq(intset_count(set), 501);
    for (int i = 0; i < 501; i++)
        cr_assert_eq(intset_get(set, (uint32_t)i), 2 * i);
}

Test(intset, copies_and_loads_its_bytes)
{
    for (int i = 0; i < 300; i++)
        cr_assert(intset_add(&set, heap, i * 1000));
    struct intset *copy = intset_copy(set, heap);
    cr_assert(bytes_equal(content(), bytes_of(copy, intset_bytes(copy))));
    cr_assert(intset_remove(&copy, heap, 0));
    cr_assert(intset_has(set, 0), "a copy shares memory");
    intset_destroy(copy, heap);
}

Test(intset, refuses_bytes_that_are_no_intset)
{
    cr_assert(intset_is_valid(BYTES("\2\0\0\0\0\0\0\0")));
    cr_assert(intset_is_valid(BYTES("\2\0\0\0\2\0\0\0\xff\xff\1\0")));
    cr_assert_not(intset_is_valid(BYTES("")));
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\0\0\0")), "too short for the header");
    cr_assert_not(intset_is_valid(BYTES("\3\0\0\0\0\0\0\0")), "a width of three");
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\1\0\0\0")), "an integer is missing");
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\1\0\0\0\1\0\0")), "a byte too many");
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\2\0\0\0\1\0\1\0")), "the same twice");
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\2\0\0\0\2\0\1\0")), "not in order");
    cr_assert_not(intset_is_valid(BYTES("\2\0\0\0\1\0\0\x40")), "more than the bound");
}

Test(intset, agrees_with_a_plain_array_over_random_changes)
{
    bool expected[400] = {false};
    uint32_t count = 0;
    struct rng rng;
    rng_init(&rng, 7);
    for (int step = 0; step < 20000; step++) {
        uint64_t index = rng_below(&rng, 400);
        int64_t number = ((int64_t)index - 200) * (index % 7 == 0 ? 100000 : 1);
        bool had = expected[index];
        if (rng_below(&rng, 2)) {
            cr_assert_eq(intset_add(&set, heap, number), !had);
            expected[index] = true;
            count += !had;
        } else {
            cr_assert_eq(intset_remove(&set, heap, number), had);
            expected[index] = false;
            count -= had;
        }
        cr_assert_eq(intset_count(set), count);
    }
    cr_assert(intset_is_valid(content()));
}
