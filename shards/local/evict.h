/*
 * evict: keeps the server below maxmemory, by Redis's eight policies.
 *
 * One limit for all shards, and what counts is mem_used() of the whole process. Evicting a key
 * makes room for others of its size, but gives memory back only when all its slab is free. So what
 * lies ready inside slabs counts up to a 32nd of a heap (compact_leaves()), and what is more is not
 * evicted for but moved together. Evicting begins a 128th below maxmemory: between the two,
 * mem_used() may go up and down. No shard touches another's keys. A shard with its fair share of
 * the data or more evicts from its own; others ask the fullest, which evicts at its next turn or
 * tick. Work comes in slices: a command that finds the server over its limit pays for one and then
 * runs, the rest is a task of the shard. -OOM is answered only when no shard has anything left that
 * may go, or the policy is noeviction. Thread: the shard's current owner, except where marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/status.h"

struct evict;
struct shard;

struct evict *evict_create(struct shard *shard);
void evict_destroy(struct evict *evict); /* accepts NULL */

/* Makes `count` shards know of each other; a shard that was not introduced counts as the only one.
 * All must be destroyed together: the first to go takes what they share along, and none of them may
 * evict after that. Thread: any, at start. */
void evict_introduce(struct shard *const *shards, uint32_t count);

/* To be called before a command that needs memory: OK, or ERR_OOM. Nearly always a comparison or
 * two. */
MUST_CHECK enum status evict_make_room(struct shard *shard);

/* The shard that was asked to evict for us since the last call, or -1. It will do so at its next
 * tick; whoever can wake it makes that sooner, by evict_tick(). */
int evict_asked_shard(struct shard *shard);

/* Looks whether the limit is kept, starts the task if not, and tells the other shards how things
 * stand here. Ten times a second, and when this shard was asked. */
void evict_tick(struct evict *evict);

/* Bytes of mem_used() that do not count against maxmemory, since they are being given back (INFO
 * mem_not_counted_for_evict). Thread: any. */
size_t evict_not_counted(const struct shard *shard);
