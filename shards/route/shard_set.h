/*
 * shard_set: which shards a command or an entry involves. A value of 256 bits. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SHARD_MAX 256u

struct shard_set {
    uint64_t bits[SHARD_MAX / 64];
};

static inline void shard_set_add(struct shard_set *set, uint32_t shard)
{
    set->bits[shard / 64] |= 1ull << (shard % 64);
}

static inline bool shard_set_has(const struct shard_set *set, uint32_t shard)
{
    return set->bits[shard / 64] >> (shard % 64) & 1;
}

static inline uint32_t shard_set_count(const struct shard_set *set)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SHARD_MAX / 64; i++)
        count += (uint32_t)__builtin_popcountll(set->bits[i]);
    return count;
}

/* The smallest member that is at least `from`, or SHARD_MAX. */
static inline uint32_t shard_set_next(const struct shard_set *set, uint32_t from)
{
    while (from < SHARD_MAX) {
        uint64_t rest = set->bits[from / 64] >> (from % 64);
        if (rest)
            return from + (uint32_t)__builtin_ctzll(rest);
        from = (from / 64 + 1) * 64;
    }
    return SHARD_MAX;
}

#define SHARD_SET_EACH(shard, set)                                                                 \
    for (uint32_t shard = shard_set_next(set, 0); shard < SHARD_MAX;                               \
         shard = shard_set_next(set, shard + 1))

static inline void shard_set_fill(struct shard_set *set, uint32_t shard_count)
{
    for (uint32_t i = 0; i < shard_count; i++)
        shard_set_add(set, i);
}

static inline void shard_set_merge(struct shard_set *set, const struct shard_set *more)
{
    for (uint32_t i = 0; i < SHARD_MAX / 64; i++)
        set->bits[i] |= more->bits[i];
}

static inline bool shard_set_within(const struct shard_set *inner, const struct shard_set *outer)
{
    uint64_t outside = 0;
    for (uint32_t i = 0; i < SHARD_MAX / 64; i++)
        outside |= inner->bits[i] & ~outer->bits[i];
    return outside == 0;
}

static inline bool shard_set_meets(const struct shard_set *a, const struct shard_set *b)
{
    uint64_t both = 0;
    for (uint32_t i = 0; i < SHARD_MAX / 64; i++)
        both |= a->bits[i] & b->bits[i];
    return both != 0;
}

/* All 256 bits folded to 64 (bit = shard mod 64): equal sets fold alike, a member's bit is set. */
static inline uint64_t shard_set_fold(const struct shard_set *set)
{
    return set->bits[0] | set->bits[1] | set->bits[2] | set->bits[3];
}
