/*
 * key_batch: the keys of a command that has many, a batch at a time, near when they are needed.
 *
 * A lookup that misses the cache waits for memory two or three times; for a batch these waits
 * overlap. The keys of a batch may lie on several shards when those stand together.
 * Thread: the owner of the keys' shards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;
struct db;
struct key;

#define KEY_BATCH_MAX 16u /* keys whose lines fit the first cache and the memory queue at once */

struct key_batch {
    uint32_t first; /* word of the first key */
    uint32_t count;
    const struct key *keys[KEY_BATCH_MAX];
    struct db *dbs[KEY_BATCH_MAX];
};

/* Fills `batch` with the keys from word `*at` on, each `step`-th before the word `end`, and moves
 * `*at` past them. False when there is none left. */
bool key_batch_before(struct key_batch *batch, struct call *call, uint32_t *at, uint32_t end,
                      uint32_t step);
/* The same up to the last word. */
bool key_batch_next(struct key_batch *batch, struct call *call, uint32_t *at, uint32_t step);
