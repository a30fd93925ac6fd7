/*
 * db_data: what a database is made of, for the files of this folder: db, expire, evict, lazyfree.
 */
#pragma once

#include "core/store/keyspace.h"
#include "shards/local/db.h"
#include "shards/local/shard.h"

struct db {
    struct shard *shard;
    struct keyspace *keyspace;
    int64_t avg_ttl_ms; /* as sampled by the active expiry */
    uint16_t index;
};

struct db *db_create(struct shard *shard, uint16_t index);
void db_destroy(struct db *db); /* frees all that it holds; accepts NULL */

/* Deletes a record that is due, for the reason that the caller counts. */
void db_remove_record(struct db *db, struct value *record);

/* Tells the observers of a change that is about to be made to the value at `key`, in place. */
void db_announce(struct db *db, const struct key *key);
