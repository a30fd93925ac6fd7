#include "core/base/fingerprint.h"

#include <errno.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/check.h"
#include "core/base/rng.h"

static uint64_t secret[XXH3_SECRET_SIZE_MIN > 192 ? XXH3_SECRET_SIZE_MIN / 8 : 192 / 8];

uint64_t fingerprint(struct bytes bytes)
{
    return XXH3_64bits_withSecret(bytes.ptr, bytes.len, secret, sizeof secret);
}

void fingerprint_seed(uint64_t seed)
{
    if (seed) {
        struct rng rng;
        rng_init(&rng, seed);
        for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++)
            secret[i] = rng_next(&rng);
        return;
    }
    size_t done = 0;
    while (done < sizeof secret) {
        ssize_t got = getrandom((char *)secret + done, sizeof secret - done, 0);
        ASSERT(got >= 0 || errno == EINTR);
        done += got > 0 ? (size_t)got : 0;
    }
}
