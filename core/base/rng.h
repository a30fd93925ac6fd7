/*
 * rng: chance as an argument.
 *
 * A small, fast generator with a state of its own for each thread or purpose: the same seed gives
 * the same numbers, on every machine. Good enough for sampling and shuffling, not for secrets.
 * Thread: the owner's.
 */
#pragma once

#include <stdint.h>

struct rng {
    uint64_t state[4]; /* not all zero */
};

/* Any seed will do; near seeds give unrelated numbers. */
void rng_init(struct rng *rng, uint64_t seed);

/* A seed from the kernel's chance, for rng_init() where no seed was asked for. */
uint64_t rng_fresh_seed(void);

/* 64 random bits. */
static inline uint64_t rng_next(struct rng *rng)
{
    /* xoshiro256++ by Blackman and Vigna, "Scrambled linear pseudorandom number generators". */
    uint64_t *s = rng->state;
    uint64_t sum = s[0] + s[3];
    uint64_t result = (sum << 23 | sum >> 41) + s[0];
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* Evenly one of 0 .. bound - 1; bound > 0. */
static inline uint64_t rng_below(struct rng *rng, uint64_t bound)
{
    /* Lemire's multiplication; the loop throws away what would favour some results. */
    unsigned __int128 product = (unsigned __int128)rng_next(rng) * bound;
    if ((uint64_t)product < bound) {
        uint64_t uneven = -bound % bound;
        while ((uint64_t)product < uneven)
            product = (unsigned __int128)rng_next(rng) * bound;
    }
    return (uint64_t)(product >> 64);
}

/* Evenly in [0, 1). */
static inline double rng_double(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}
