/*
 * hash_small: the fields of a small hash, in a pack. For hash.c, which knows how wide it is:
 *
 *     HASH_PAIRS      field, value, field, value, ...; in the order in which they came
 *     HASH_TRIPLES    field, value, time, ...; by time, those that last for ever (0) at the end
 *
 * as Redis's listpack and listpackex, so that dumps are plain copies. `at` is where a field is.
 * Memory, views and threads are hash.h's.
 */
#pragma once

#include "core/ds/pack.h"
#include "core/type/hash.h"

#define HASH_PAIRS 2u
#define HASH_TRIPLES 3u
#define HASH_SMALL_LASTS 0 /* in the place of a time */

/* Bytes that a triple may take beyond its field and value. */
#define HASH_SMALL_EXTRA_MAX ((size_t)3 * PACK_ENTRY_EXTRA_MAX)

/* PACK_NONE: no such field. */
uint32_t hash_small_find(const struct pack *pack, uint32_t width, struct bytes field);

int64_t hash_small_expire_at(const struct pack *pack, uint32_t width, uint32_t at);

/* The pair at `at`; `*out_next` is where the next is, or PACK_NONE. */
struct hash_pair hash_small_pair(const struct pack *pack, uint32_t width, uint32_t at,
                                 uint32_t *out_next, struct hash_scratch *scratch);

/* Visits all. */
void hash_small_each(const struct pack *pack, uint32_t width, hash_visit_fn visit, void *context);

/* How many fields of triples have a time; how many, one before `now_ms`. O(those). */
uint64_t hash_small_ttl_count(const struct pack *pack);
uint64_t hash_small_due_count(const struct pack *pack, int64_t now_ms);

/* Puts the pair, whose time may be HASH_KEEP_TTL; true when the field is new. */
bool hash_small_put(struct pack **pack, struct heap *heap, uint32_t width, struct hash_pair pair);
/* Gives the field at `at`, which reads as `field`, another time. For triples. */
void hash_small_set_ttl(struct pack **pack, struct heap *heap, uint32_t at, struct bytes field,
                        int64_t expire_at_ms);
/* Deletes `count` fields from the one at `at` on. */
void hash_small_delete(struct pack **pack, struct heap *heap, uint32_t width, uint32_t at,
                       uint64_t count);

/* Makes pairs triples. There must be room for HASH_SMALL_EXTRA_MAX more bytes a field. */
void hash_small_widen(struct pack **pack, struct heap *heap);
