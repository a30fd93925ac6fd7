/* How: a ring of rates, each taken between two calls; their mean smooths what one tenth of a second
 * happens to hold. */
#include "shards/admin/rate.h"

void rate_sample(struct rate *rate, uint64_t count, int64_t now_ms)
{
    int64_t elapsed_ms = now_ms - rate->last_at_ms;
    if (rate->last_at_ms != 0 && elapsed_ms > 0 && count >= rate->last_count) {
        uint64_t rise = count - rate->last_count;
        rate->samples[rate->next] = rise * 1000 / (uint64_t)elapsed_ms;
        rate->next = (rate->next + 1) % RATE_SAMPLES;
    }
    rate->last_count = count;
    rate->last_at_ms = now_ms;
}

uint64_t rate_per_second(const struct rate *rate)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < RATE_SAMPLES; i++)
        sum += rate->samples[i];
    return sum / RATE_SAMPLES;
}
