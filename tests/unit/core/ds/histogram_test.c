#include "core/ds/histogram.h"

#include <criterion/criterion.h>

Test(histogram, every_value_lies_in_a_bucket_whose_top_is_within_one_percent)
{
    for (uint64_t value = 0; value <= HISTOGRAM_VALUE_MAX; value += value / 1000 + 1) {
        uint32_t bucket = histogram_bucket(value);
        cr_assert_lt(bucket, HISTOGRAM_BUCKETS);
        uint64_t top = histogram_bucket_top(bucket);
        cr_assert_geq(top, value);
        cr_assert_leq(top - value, value / 100, "%lu is counted as %lu", value, top);
    }
}

Test(histogram, buckets_follow_each_other_without_a_gap)
{
    for (uint32_t bucket = 0; bucket + 1 < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t top = histogram_bucket_top(bucket);
        cr_assert_eq(histogram_bucket(top), bucket);
        cr_assert_eq(histogram_bucket(top + 1), bucket + 1);
    }
    cr_assert_eq(histogram_bucket_top(HISTOGRAM_BUCKETS - 1), HISTOGRAM_VALUE_MAX);
}

Test(histogram, what_is_too_large_counts_as_the_largest)
{
    static struct histogram histogram;
    histogram_add(&histogram, UINT64_MAX, 1);
    cr_assert_eq(histogram.counts[HISTOGRAM_BUCKETS - 1], 1);
    cr_assert_eq(histogram_percentile(&histogram, 100), HISTOGRAM_VALUE_MAX);
}

Test(histogram, a_percentile_is_the_value_that_so_many_do_not_exceed)
{
    static struct histogram histogram;
    cr_assert_eq(histogram_percentile(&histogram, 50), 0, "an empty one has no values");
    for (uint64_t value = 1; value <= 100; value++)
        histogram_add(&histogram, value, 1);
    cr_assert_eq(histogram_percentile(&histogram, 50), 50);
    cr_assert_eq(histogram_percentile(&histogram, 99), 99);
    cr_assert_eq(histogram_percentile(&histogram, 100), 100);
    cr_assert_eq(histogram_percentile(&histogram, 0), 1);
}

Test(histogram, counts_up_to_a_value_include_its_bucket)
{
    static struct histogram histogram;
    histogram_add(&histogram, 100, 2);
    histogram_add(&histogram, 1024, 3);
    histogram_add(&histogram, 4096, 5);
    cr_assert_eq(histogram_count_to(&histogram, 99), 0);
    cr_assert_eq(histogram_count_to(&histogram, 100), 2);
    cr_assert_eq(histogram_count_to(&histogram, 1024), 5);
    cr_assert_eq(histogram_count_to(&histogram, 4096), 10);
}

Test(histogram, merging_adds_counts)
{
    static struct histogram one, other;
    histogram_add(&one, 7, 1);
    histogram_add(&other, 7, 2);
    histogram_add(&other, 5000, 4);
    histogram_merge(&one, &other);
    cr_assert_eq(one.total, 7);
    cr_assert_eq(one.counts[7], 3);
    cr_assert_eq(histogram_count_to(&one, 5000), 7);
}
