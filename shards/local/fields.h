/*
 * fields: the times to live that fields of a hash have, as those see it who hold its key.
 *
 * Which field is due when is the hash's matter (core/type/hash.h), in which hash something is due
 * the keyspace's (its agenda). Here both are kept together, and what is due is deleted: then the
 * observers are told, it is counted, and with its last field a hash ceases to be a key.
 * Thread: the shard's current owner.
 */
#pragma once

#include "shards/local/db.h"

struct hash;

/* To be told after a change of the hash that db_edit() or db_put_root() has given, with what has
 * become of it: puts it back, and deletes the key if no field is left. */
void fields_put_back(struct db *db, const struct key *key, struct value *value, struct hash *hash);

/* Deletes `field` of the hash at `key` if its time has passed. Returns what is left there, or NULL.
 */
const struct hash *fields_drop_due(struct db *db, const struct key *key, const struct hash *hash,
                                   struct bytes field);
/* The same for the due ones among the first `budget` fields, or the next ones if such a walk is
 * under way; with FIELDS_ALL, for all that are due. */
#define FIELDS_ALL UINT64_MAX
const struct hash *fields_drop_some_due(struct db *db, const struct key *key,
                                        const struct hash *hash, uint64_t budget);

/* May those who only read delete what is due? Not while expiry is paused. */
bool fields_may_drop(const struct db *db);

/* A step of deleting what is due in the hash where something has been due for longest: looks at
 * about `budget` fields. Returns how many, 0 when nothing is due; `*out_count` of them are deleted.
 */
uint64_t fields_expire_some(struct db *db, uint64_t budget, uint64_t *out_count);
