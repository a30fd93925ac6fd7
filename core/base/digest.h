/*
 * digest: SHA-1 and SHA-256, for names that are digests (scripts, datasets, passwords), and XXH3,
 * for comparing only: fast, and easily forged.
 *
 * One call, whole input. Thread: any.
 */
#pragma once

#include "core/base/bytes.h"

#define DIGEST_SHA1_LEN 20u   /* bytes */
#define DIGEST_SHA256_LEN 32u /* bytes */
#define DIGEST_XXH3_LEN 8u    /* bytes */

void digest_sha1(struct bytes input, uint8_t out[DIGEST_SHA1_LEN]);
void digest_sha256(struct bytes input, uint8_t out[DIGEST_SHA256_LEN]);
/* Without a seed, the highest byte first: everybody's digest of the same bytes is the same. */
void digest_xxh3(struct bytes input, uint8_t out[DIGEST_XXH3_LEN]);

/* Two lower-case digits a byte, no terminator; `to` has 2 * len bytes. */
void digest_hex(char *to, const uint8_t *bytes, size_t len);

/* Compares in time that depends on `len` alone: for secrets. */
bool digest_equal(const void *a, const void *b, size_t len);
