#include "core/ds/number_set.h"

#include <criterion/criterion.h>

#include "core/base/arena.h"

#define COUNT 1000u

/* Ranks, pointers that lie evenly apart, and numbers that share their low 32 bits. */
static const uint64_t steps[] = {1, 16, 4096, UINT64_C(1) << 32};

Test(number_set, takes_each_number_once)
{
    for (uint32_t count = 1; count <= COUNT; count = count * 3 / 2 + 1) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            struct arena arena = {0};
            struct number_set set = number_set_create(&arena, count);
            for (uint64_t n = 1; n <= count; n++) {
                cr_assert(number_set_add(&set, n * steps[i]));
                cr_assert_not(number_set_add(&set, n * steps[i]));
            }
            for (uint64_t n = 1; n <= count; n++)
                cr_assert_not(number_set_add(&set, n * steps[i]));
            arena_fini(&arena);
        }
    }
}

Test(number_set, takes_at_most_32_bytes_for_each)
{
    for (uint64_t count = 1; count <= COUNT; count++) {
        struct arena arena = {0};
        struct number_set set = number_set_create(&arena, count);
        cr_assert_leq((set.mask + 1) * sizeof(*set.slots), 32 * count);
        cr_assert_geq(set.mask + 1, 2 * count, "more than half of the slots may be taken");
        arena_fini(&arena);
    }
}
