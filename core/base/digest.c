/*
 * digest: OpenSSL's one-call functions, which choose the machine's SHA instructions by themselves.
 */
#include "core/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

void digest_sha1(struct bytes input, uint8_t out[DIGEST_SHA1_LEN])
{
    SHA1((const unsigned char *)input.ptr, input.len, out);
}

void digest_sha256(struct bytes input, uint8_t out[DIGEST_SHA256_LEN])
{
    SHA256((const unsigned char *)input.ptr, input.len, out);
}

void digest_xxh3(struct bytes input, uint8_t out[DIGEST_XXH3_LEN])
{
    XXH64_canonical_t canonical;
    XXH64_canonicalFromHash(&canonical, XXH3_64bits(input.ptr, input.len));
    memcpy(out, canonical.digest, DIGEST_XXH3_LEN);
}

void digest_hex(char *to, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        to[2 * i] = digits[bytes[i] >> 4];
        to[2 * i + 1] = digits[bytes[i] & 15];
    }
}

bool digest_equal(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
