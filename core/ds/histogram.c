/*
 * How: bucket numbers are those of a floating-point number with HISTOGRAM_STEP_BITS of mantissa:
 * the exponent counts in steps of HISTOGRAM_STEPS, the mantissa within. The first two exponents
 * coincide (a shift of 0), so numbers run on without a gap.
 */
#include "core/ds/histogram.h"

uint64_t histogram_bucket_top(uint32_t bucket)
{
    uint32_t exponent = bucket >> HISTOGRAM_STEP_BITS;
    if (exponent <= 1)
        return bucket;
    uint32_t shift = exponent - 1;
    uint64_t mantissa = HISTOGRAM_STEPS + (bucket & (HISTOGRAM_STEPS - 1));
    return ((mantissa + 1) << shift) - 1;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    to->total += from->total;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->counts[i] += from->counts[i];
}

uint64_t histogram_count_to(const struct histogram *histogram, uint64_t value)
{
    uint64_t count = 0;
    uint32_t last = histogram_bucket(value);
    for (uint32_t i = 0; i <= last; i++)
        count += histogram->counts[i];
    return count;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
    if (histogram->total == 0)
        return 0;
    double wanted = percent / 100.0 * (double)histogram->total;
    uint64_t seen = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->counts[i] == 0)
            continue;
        seen += histogram->counts[i];
        last = i;
        if ((double)seen >= wanted)
            break;
    }
    return histogram_bucket_top(last);
}
