#include "core/base/rng.h"

#include <criterion/criterion.h>

Test(rng, repeats_itself_for_the_same_seed_and_only_for_that)
{
    struct rng a, b, c;
    rng_init(&a, 7);
    rng_init(&b, 7);
    rng_init(&c, 8);
    int equal_to_c = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t value = rng_next(&a);
        cr_assert_eq(value, rng_next(&b));
        equal_to_c += value == rng_next(&c);
    }
    cr_expect_eq(equal_to_c, 0);
}

Test(rng, is_the_published_generator)
{
    /* The first outputs of xoshiro256++ from the state 1, 2, 3, 4, by its authors' program. */
    struct rng rng = {.state = {1, 2, 3, 4}};
    cr_expect_eq(rng_next(&rng), UINT64_C(41943041));
    cr_expect_eq(rng_next(&rng), UINT64_C(58720359));
    cr_expect_eq(rng_next(&rng), UINT64_C(3588806011781223));
    cr_expect_eq(rng_next(&rng), UINT64_C(3591011842654386));
}

Test(rng, begins_somewhere_from_seed_zero)
{
    struct rng rng;
    rng_init(&rng, 0);
    cr_expect(rng.state[0] || rng.state[1] || rng.state[2] || rng.state[3]);
}

Test(rng, spreads_evenly_below_any_bound)
{
    struct rng rng;
    rng_init(&rng, 9);
    int seen[7] = {0};
    for (int i = 0; i < 70000; i++) {
        uint64_t value = rng_below(&rng, 7);
        cr_assert_lt(value, 7);
        seen[value]++;
    }
    for (int i = 0; i < 7; i++)
        cr_expect(seen[i] > 9600 && seen[i] < 10400, "%d came %d times", i, seen[i]);
    cr_expect_eq(rng_below(&rng, 1), 0);
}

Test(rng, favours_nothing_below_a_bound_that_divides_badly)
{
    /* Plain multiplication would give the lower two thirds twice as often. */
    struct rng rng;
    rng_init(&rng, 10);
    uint64_t bound = UINT64_C(3) << 62;
    int low = 0;
    for (int i = 0; i < 30000; i++)
        low += rng_below(&rng, bound) < bound / 3;
    cr_expect(low > 9600 && low < 10400, "%d of 30000 in the lowest third", low);
}

Test(rng, draws_doubles_below_one)
{
    struct rng rng;
    rng_init(&rng, 11);
    double sum = 0;
    for (int i = 0; i < 10000; i++) {
        double value = rng_double(&rng);
        cr_assert(value >= 0 && value < 1);
        sum += value;
    }
    cr_expect(sum > 4850 && sum < 5150);
}

Test(rng, finds_fresh_seeds)
{
    cr_expect_neq(rng_fresh_seed(), rng_fresh_seed());
}
