/*
 * order: the global, append-only log of everything that involves two shards or more.
 *
 * A position of the log is the commit order of its entry. All shards walk the log in the same
 * order, each with a cursor of its own (together.h). The log itself is a ring of slots that
 * are filled strictly in order, without holes, by one 16-byte compare-and-swap; a slot says by its
 * lap whether it is filled, so slots are never emptied.
 *
 * The contract that makes it right is the catch-up rule: after taking a request and before running
 * it, a shard runs every published entry that involves it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shards/route/shard_set.h"

struct tx;
struct order;

/* A log of `capacity` entries, a power of two. Thread: any, at start. */
struct order *order_create(uint32_t capacity);
void order_destroy(struct order *order); /* accepts NULL */
uint32_t order_capacity(const struct order *order);

/* Publishes `tx`, which is fully built and from now on shared, for the shards in `set`. `oldest` is
 * a lower bound of all cursors: when the log is full with respect to it nothing is done and false
 * is returned. The caller then wakes sleepers (together_publish() does both). Thread: any shard
 * thread. */
bool order_publish(struct order *order, struct tx *tx, const struct shard_set *set, uint64_t oldest,
                   uint64_t *out_position);

/* Is position `at` filled? If so the entry, and the folded set of its shards. `at` must not be
 * behind the caller's own cursor. Thread: any. */
bool order_read(const struct order *order, uint64_t at, struct tx **out_tx, uint64_t *out_fold);

/* The cheap form for the hot path: one load. */
bool order_is_filled(const struct order *order, uint64_t at);

/* Behind the last filled position, or a little less. Thread: any. */
uint64_t order_tail(const struct order *order);
