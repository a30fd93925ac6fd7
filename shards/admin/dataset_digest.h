/*
 * dataset_digest: a number for all that is stored, the same as redis-server's for the same data, in
 * whatever order keys were made and on however many shards they lie.
 *
 * Thread: the owner of the shard concerned.
 */
#pragma once

#include "core/base/digest.h"
#include "shards/local/db.h"

struct dataset_digest {
    uint8_t bytes[DIGEST_SHA1_LEN];
};

/* Mixes a value and whether it expires into `digest`. */
void dataset_digest_mix_value(struct dataset_digest *digest, const struct value *value);

/* The sum of the digests of all keys of a database on one shard; sums of shards are added up by
 * dataset_digest_add(). */
void dataset_digest_of_db(struct db *db, struct dataset_digest *out_sum);
void dataset_digest_add(struct dataset_digest *sum, const struct dataset_digest *more);

/* Mixes the sum of database `index`, which is not empty, into the digest of all: in order of index.
 */
void dataset_digest_mix_db(struct dataset_digest *digest, uint32_t index,
                           const struct dataset_digest *sum);

void dataset_digest_hex(const struct dataset_digest *digest, char out[2 * DIGEST_SHA1_LEN + 1]);
