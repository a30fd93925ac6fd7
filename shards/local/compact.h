/*
 * compact: moves small blocks together when many slabs are half empty, and so gives memory back.
 *
 * Deleting, evicting and growing leave holes in slabs. New keys of the same size fill them; when
 * sizes change they do not, and memory is taken that holds nothing. Once COMPACT_SPARE_PART of the
 * heap is spare, a round through all databases moves what lies in the sparsest slabs, at 2.5 % of a
 * CPU at most.
 * Thread: the shard's current owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPACT_SPARE_PART 32u                /* spare: at least this part of what is used, */
#define COMPACT_SPARE_MIN ((size_t)128 << 10) /* and so many bytes */
#define COMPACT_LEAVES_PART 8u                /* of what is used: compact_leaves() at most */

struct compact;
struct shard;

struct compact *compact_create(struct shard *shard);
void compact_destroy(struct compact *compact); /* accepts NULL */

/* Bytes of what is spare that no round will give back: they are too few to be worth one, or the
 * last round has left them. */
size_t compact_leaves(const struct shard *shard);

/* Works on a thorough round, begun if need be, until `deadline_ns`. False: there is nothing to gain
 * for now. */
bool compact_now(struct compact *compact, uint64_t deadline_ns);

/* Looks whether a round is worth while, and gives one that is under way its share of the next tick;
 * to be called ten times a second. */
void compact_tick(struct compact *compact);
