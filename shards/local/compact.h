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

#include <stddef.h>
#include <stdint.h>

#define COMPACT_SPARE_PART 32u                /* spare: at least this part of what is used, */
#define COMPACT_SPARE_MIN ((size_t)512 << 10) /* and so many bytes */

struct compact;
struct shard;

struct compact *compact_create(struct shard *shard);
void compact_destroy(struct compact *compact); /* accepts NULL */

/* Looks whether a round is worth while, and gives one that is under way its share of the next tick;
 * to be called ten times a second. */
void compact_tick(struct compact *compact);
