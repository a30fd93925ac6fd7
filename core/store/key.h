/*
 * key: a name with what is computed from it once: its hash slot and its hash.
 *
 * slot = crc16(hashtag(name)) mod 16384, as in Redis Cluster, in every mode. The hash is XXH3
 * with a secret drawn at start (an option fixes it). Both are computed at home and travel with
 * the call. Thread: any.
 */
#pragma once

#include "core/base/bytes.h"

#define SLOT_COUNT 16384u

struct key {
    struct bytes name;
    uint64_t hash;
    uint16_t slot;
};

/* CRC16-CCITT (XMODEM) of the part between the first '{' and the next '}', if that is not empty,
 * else of the whole name; mod SLOT_COUNT. */
uint16_t key_slot(struct bytes name);

uint64_t key_hash(struct bytes name);

/* Sets the secret of key_hash() from `seed`; 0 draws it from getrandom(). Before the first key. */
void key_seed(uint64_t seed);

static inline struct key key_make(struct bytes name)
{
    return (struct key){.name = name, .hash = key_hash(name), .slot = key_slot(name)};
}
