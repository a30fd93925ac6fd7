/*
 * lazyfree: what a flush leaves behind, freed in slices as a task of the shard.
 *
 * Thread: the shard's current owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct keyspace;
struct lazyfree;
struct shard;
struct value;

struct lazyfree *lazyfree_create(struct shard *shard);
void lazyfree_destroy(struct lazyfree *lazyfree); /* frees all that is left; accepts NULL */

/* Takes over a keyspace that nobody can reach any more. */
void lazyfree_add(struct lazyfree *lazyfree, struct keyspace *keyspace);

/* Takes over a record that is in no table any more and has many elements. */
void lazyfree_add_record(struct lazyfree *lazyfree, struct value *record);

/* Frees until `deadline_ns` (clock_mono_ns). True while there is more. */
bool lazyfree_run(struct lazyfree *lazyfree, uint64_t deadline_ns);

/* Frees `keyspace` with all its records before it returns. */
void lazyfree_now(struct shard *shard, struct keyspace *keyspace);
