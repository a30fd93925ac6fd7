#include "shards/admin/rate.h"

#include <criterion/criterion.h>

Test(rate, is_zero_before_it_has_two_samples)
{
    struct rate rate = {0};
    cr_assert_eq(rate_per_second(&rate), 0);
    rate_sample(&rate, 1000, 5000);
    cr_assert_eq(rate_per_second(&rate), 0, "what was before the first sample has no duration");
}

Test(rate, is_the_mean_of_the_last_samples)
{
    struct rate rate = {0};
    for (int i = 0; i <= RATE_SAMPLES; i++)
        rate_sample(&rate, (uint64_t)i * 50, 1000 + i * 100);
    cr_assert_eq(rate_per_second(&rate), 500);
    for (int i = 1; i <= RATE_SAMPLES; i++)
        rate_sample(&rate, RATE_SAMPLES * 50, 1000 + (RATE_SAMPLES + i) * 100);
    cr_assert_eq(rate_per_second(&rate), 0, "old samples are forgotten");
}

Test(rate, counts_by_the_time_that_has_passed)
{
    struct rate rate = {0};
    for (int i = 0; i <= RATE_SAMPLES; i++)
        rate_sample(&rate, (uint64_t)i * 50, 1000 + i * 200);
    cr_assert_eq(rate_per_second(&rate), 250);
}

Test(rate, survives_a_reset_and_a_clock_that_stands)
{
    struct rate rate = {0};
    rate_sample(&rate, 1000000, 1000);
    rate_sample(&rate, 5, 1100);
    rate_sample(&rate, 10, 1100);
    cr_assert_eq(rate_per_second(&rate), 0);
    rate_sample(&rate, 26, 1200);
    cr_assert_eq(rate_per_second(&rate), 160 / RATE_SAMPLES);
}
