/*
 * histogram: how often values of each size occurred, to within one percent.
 *
 * Values below HISTOGRAM_STEPS have a bucket each; above, every power of two is cut into
 * HISTOGRAM_STEPS equal ones. Larger values than HISTOGRAM_VALUE_MAX count as that. The zero value
 * is an empty histogram.
 * Thread: the owner's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_STEP_BITS 7
#define HISTOGRAM_STEPS (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_VALUE_BITS 34
#define HISTOGRAM_VALUE_MAX (((uint64_t)1 << HISTOGRAM_VALUE_BITS) - 1) /* 17 s in nanoseconds */
#define HISTOGRAM_BUCKETS ((HISTOGRAM_VALUE_BITS - HISTOGRAM_STEP_BITS + 1) << HISTOGRAM_STEP_BITS)

struct histogram {
    uint64_t total; /* values in all buckets */
    uint64_t counts[HISTOGRAM_BUCKETS];
};

/* The bucket of `value`. */
static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value > HISTOGRAM_VALUE_MAX)
        value = HISTOGRAM_VALUE_MAX;
    uint32_t top = 63 - (uint32_t)__builtin_clzll(value | HISTOGRAM_STEPS);
    uint32_t shift = top - HISTOGRAM_STEP_BITS;
    return (shift << HISTOGRAM_STEP_BITS) + (uint32_t)(value >> shift);
}

/* The largest value that falls into `bucket`. */
uint64_t histogram_bucket_top(uint32_t bucket);

/* Counts `value` as having occurred `times` times. */
static inline void histogram_add(struct histogram *histogram, uint64_t value, uint64_t times)
{
    histogram->total += times;
    histogram->counts[histogram_bucket(value)] += times;
}

/* Adds what `from` has counted to `to`. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/* How many values are at most the top of the bucket of `value`. */
uint64_t histogram_count_to(const struct histogram *histogram, uint64_t value);

/* The value that `percent` (0..100) of all values do not exceed: the top of its bucket. 0 when
 * empty. */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);
