/*
 * rng: the state is drawn from splitmix64, as its authors advise: it never is all zero, and seeds
 * that differ in one bit start far apart.
 */
#include "core/base/rng.h"

#include <errno.h>
#include <sys/random.h>

#include "core/base/check.h"

void rng_init(struct rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = seed;
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        rng->state[i] = mixed ^ mixed >> 31;
    }
}

uint64_t rng_fresh_seed(void)
{
    uint64_t seed;
    ssize_t got;
    do {
        got = getrandom(&seed, sizeof(seed), 0);
    } while (got < 0 && errno == EINTR);
    ASSERT(got == (ssize_t)sizeof(seed)); /* so short a request is never cut */
    return seed;
}
