/*
 * access: how recently, or how often, a key was used; 24 bits in its record.
 *
 * LRU  seconds of a clock that wraps after 194 days.
 * LFU  the low 8 bits are a counter that grows with the logarithm of the uses and shrinks by one
 *      each `decay_minutes`; the high 16 bits are the minute it was last looked at.
 * The arithmetic is Redis's, so that OBJECT IDLETIME and FREQ agree with it. Thread: any.
 */
#pragma once

#include <stdint.h>

#include "core/base/rng.h"

#define ACCESS_LFU_INITIAL 5u /* a new key must not be the first to go */

struct access_lfu_options {
    uint32_t log_factor;    /* the greater, the more uses a step takes */
    uint32_t decay_minutes; /* 0: never shrinks */
};

static inline uint32_t access_lru_now(int64_t now_ms)
{
    return (uint32_t)(now_ms / 1000) & 0xffffff;
}

/* Seconds since `access`, of an LRU key. */
uint32_t access_idle_s(uint32_t access, int64_t now_ms);
/* What access_idle_s() will tell `idle_s` of. */
uint32_t access_lru_idle_since(uint32_t idle_s, int64_t now_ms);

/* The counter as of now, and the access of a key that has such a counter now. */
uint8_t access_lfu_counter(uint32_t access, int64_t now_ms, struct access_lfu_options options);
uint32_t access_lfu_with(uint8_t counter, int64_t now_ms);

/* The access of a key that has just been used once more. */
uint32_t access_lfu_used(uint32_t access, int64_t now_ms, struct access_lfu_options options,
                         struct rng *rng);
