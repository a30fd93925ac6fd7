/*
 * expire: deletes keys whose time has come though nobody asks for them.
 *
 * A sweep goes round all databases of the shard, looking only at records that have a time to live.
 * Its pace follows what it finds: at most 1 % of a CPU while few of them are due, twice as much for
 * each tick that finds more than the tolerated share, up to 25 %. (Keys that are asked for are
 * deleted then and there: that is db.c's.) Beside it goes the sweep of hashes' fields,
 * field_sweep.h. Thread: the shard's current owner.
 */
#pragma once

struct expire;
struct shard;

struct expire *expire_create(struct shard *shard);
void expire_destroy(struct expire *expire); /* accepts NULL */

/* Gives the sweep its share of the next tick; to be called EXPIRE_TICKS_PER_S times a second. */
#define EXPIRE_TICKS_PER_S 10u
void expire_tick(struct expire *expire);
