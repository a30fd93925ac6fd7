/*
 * watch: WATCH, on the keys of one shard: which clients' transactions a change spoils.
 *
 * A client's watches on a shard are one party; a change of any of its keys makes it dirty, also a
 * deletion by expiry or eviction. EXEC asks each shard and takes the watches away. What a client
 * has given up meanwhile (UNWATCH, DISCARD) may still lie here: `epoch` tells its old watches from
 * those of its next transaction. Thread: the shard's current owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct db;
struct key;
struct shard;
struct watches;

struct watches *watches_create(struct shard *shard);
void watches_destroy(struct watches *watches); /* accepts NULL */

/* Watches `key` for the client's transaction `epoch`; what it watched in an earlier one is
 * forgotten. */
void watch_add(struct watches *watches, uint64_t client_id, uint32_t epoch, struct db *db,
               const struct key *key);

/* Has any key that the client watches in `epoch` changed since? */
bool watch_is_dirty(struct watches *watches, uint64_t client_id, uint32_t epoch);

/* Forgets what the client watched up to and in `epoch`. */
void watch_drop(struct watches *watches, uint64_t client_id, uint32_t epoch);

/* Places held, by all clients, for INFO. */
uint64_t watch_count(const struct watches *watches);
