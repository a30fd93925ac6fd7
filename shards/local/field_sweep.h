/*
 * field_sweep: deletes fields of hashes whose time has come though nobody asks for them.
 *
 * It takes the hash where something has been due for longest, of each database in turn, until
 * nothing is due or the tick's share of the CPU is used up: 1 %, twice as much for each tick that
 * was not enough and was well spent, up to 25 %.
 * Thread: the shard's current owner.
 */
#pragma once

struct field_sweep;
struct shard;

struct field_sweep *field_sweep_create(struct shard *shard);
void field_sweep_destroy(struct field_sweep *sweep); /* accepts NULL */

/* Gives the sweep its share of the next tick (EXPIRE_TICKS_PER_S); or takes it away. */
void field_sweep_tick(struct field_sweep *sweep);
void field_sweep_rest(struct field_sweep *sweep);
