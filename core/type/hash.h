/*
 * hash: fields with a value each.
 *
 * A small hash is a pack of field, value, field, value, ...; one with many fields, or with a long
 * field or value, is a table of items that hold field and value in one block. A hash turns from
 * the one into the other by the limits that each change is given, and never back.
 *
 * Root       a `struct hash *` says by itself which of the two it is, and so saves a block beside
 *            each pack. A change may make another of it: what changes a hash takes the address of
 *            the caller's pointer, who then calls value_set_root().
 * Order      of a pack: as fields came; of a table: any.
 * Views      of fields and values are borrowed until the next change of the hash; a number in a
 *            pack is printed into the caller's scratch.
 * Memory     from the heap that each changing function is given, always the same.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/pack.h"
#include "core/type/compound.h"

struct arena;
struct hash;
struct rng;

extern const struct compound_ops hash_ops;

/* How large a pack may become. */
struct hash_limits {
    uint64_t field_count;
    uint64_t text_len; /* bytes of each field and value */
};

struct hash_scratch {
    char field[PACK_SCRATCH];
    char value[PACK_SCRATCH];
};

struct hash_pair {
    struct bytes field, value;
};

typedef void (*hash_visit_fn)(void *context, struct hash_pair pair);

/* An empty hash; freed by hash_ops.free_some(). */
struct hash *hash_create(struct heap *heap);

size_t hash_count(const struct hash *hash);

/* False when there is no such field. `scratch` is for a value that is a number. */
MUST_CHECK bool hash_find(const struct hash *hash, struct bytes field, char scratch[PACK_SCRATCH],
                          struct bytes *out_value);
bool hash_has(const struct hash *hash, struct bytes field);

/* Calls `visit` for each field; it must not change the hash. */
void hash_each(const struct hash *hash, hash_visit_fn visit, void *context);

/* Visits about `count` fields of a table from `cursor` on (0: the first), all of a pack. Returns
 * the cursor to go on with, 0 after the last. Every field that is there throughout a walk is
 * visited, whatever else comes and goes. Any number is a cursor. */
uint64_t hash_scan(const struct hash *hash, uint64_t cursor, uint64_t count, hash_visit_fn visit,
                   void *context);

/* Some field of a hash that has any, each with the same chance. */
struct hash_pair hash_random(const struct hash *hash, struct rng *rng,
                             struct hash_scratch *scratch);
/* Visits `count` different fields of at least as many, by chance, in no special order. `arena` is
 * for scratch. */
void hash_sample(const struct hash *hash, struct rng *rng, uint64_t count, struct arena *arena,
                 hash_visit_fn visit, void *context);

/* Makes ready for the `word_count` fields and values that will be put: a pack that they would not
 * fit into becomes a table now. */
void hash_expect(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
                 const struct bytes *words, size_t word_count);
/* Sets `field`, which may not be borrowed from the hash, to `value`. True when it is a new one. */
bool hash_put(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
              struct bytes field, struct bytes value);
/* True when there was one. */
bool hash_delete(struct hash **hash, struct heap *heap, struct bytes field);

/* Ends the process if what the hash holds contradicts itself. For tests. */
void hash_validate(const struct hash *hash);
