/*
 * rate: how fast a counter rises, as an average over the last samples.
 *
 * The zero value is a rate of 0 that has not yet been sampled. Thread: the owner's.
 */
#pragma once

#include <stdint.h>

#define RATE_SAMPLES 16 /* of a tenth of a second each, as Redis keeps them */

struct rate {
    uint64_t samples[RATE_SAMPLES]; /* per second */
    uint32_t next;
    uint64_t last_count;
    int64_t last_at_ms; /* 0: never */
};

/* The counter stands at `count` now. A counter that has been reset starts again from there. */
void rate_sample(struct rate *rate, uint64_t count, int64_t now_ms);

/* Per second. */
uint64_t rate_per_second(const struct rate *rate);
