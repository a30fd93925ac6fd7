/*
 * bits: powers of two and alignment. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool bits_is_power_of_two(uint64_t value)
{
    return value && !(value & (value - 1));
}

/* The whole part of the logarithm; value > 0. */
static inline unsigned bits_log2(uint64_t value)
{
    return 63 - (unsigned)__builtin_clzll(value);
}

/* The smallest power of two that is not below `value`, which is at most 2^63; 1 for 0. */
static inline uint64_t bits_power_of_two_from(uint64_t value)
{
    return value <= 1 ? 1 : UINT64_C(1) << (bits_log2(value - 1) + 1);
}

/* Up to the next multiple of `step`, a power of two. The sum must not overflow. */
static inline size_t bits_round_up(size_t value, size_t step)
{
    return (value + step - 1) & ~(step - 1);
}
