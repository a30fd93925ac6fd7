/*
 * hash: fields with a value each, and perhaps a time after which they are no more.
 *
 * A small hash is a pack of field, value, field, value, ...; one with many fields, or with a long
 * field or value, is a table of items that hold field and value in one block. A hash turns from
 * the one into the other by the limits that each change is given, and never back. The first time
 * to live that a field is given makes the hash a timed one, which it stays: only then does it pay
 * for times (hash_small.h, hash_large.h).
 *
 * Root       a `struct hash *` says by itself what it is, and so saves a block beside each pack. A
 *            change may make another of it: what changes a hash takes the address of the caller's
 *            pointer, who then calls value_set_root().
 * Time       a field whose time is before `now_ms` is absent to those who read, though it is still
 *            counted; hash_expire_some() deletes it. Functions that are given no `now_ms` see all.
 * Order      of a pack: as fields came, those with a time first; of a table: any.
 * Views      of fields and values are borrowed until the next change of the hash; a number in a
 *            pack is printed into the caller's scratch.
 * Memory     from the heap that each changing function is given, always the same.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/agenda.h"
#include "core/ds/pack.h"
#include "core/type/compound.h"

struct arena;
struct hash;
struct rng;

extern const struct compound_ops hash_ops;

#define HASH_NO_TTL ((int64_t)-1)   /* the field lasts for ever */
#define HASH_KEEP_TTL ((int64_t)-2) /* to be set: what it was, if there was one */
#define HASH_TTL_MAX ((INT64_C(1) << 48) - 1)
#define HASH_SEE_ALL INT64_MIN /* as `now_ms`: nothing has passed */

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
    int64_t expire_at_ms; /* since 1970, 1..HASH_TTL_MAX; or HASH_NO_TTL */
};

typedef void (*hash_visit_fn)(void *context, struct hash_pair pair);

/* Has this time passed? */
static inline bool hash_is_past(int64_t expire_at_ms, int64_t now_ms)
{
    return expire_at_ms != HASH_NO_TTL && expire_at_ms < now_ms;
}

/* An empty hash; freed by hash_ops.free_some(). */
struct hash *hash_create(struct heap *heap);

/* ---- Reading ---- */

size_t hash_count(const struct hash *hash); /* what has passed included. O(1) */
/* What has passed not included. O(fields) if anything may have passed. */
size_t hash_live_count(const struct hash *hash, int64_t now_ms);

/* False when there is no such field. `scratch` is for a value that is a number. */
MUST_CHECK bool hash_find(const struct hash *hash, int64_t now_ms, struct bytes field,
                          char scratch[PACK_SCRATCH], struct bytes *out_value);
bool hash_has(const struct hash *hash, int64_t now_ms, struct bytes field);

/* Calls `visit` for each field; it must not change the hash. */
void hash_each(const struct hash *hash, hash_visit_fn visit, void *context);
void hash_each_live(const struct hash *hash, int64_t now_ms, hash_visit_fn visit, void *context);

/* Visits about `count` fields of a table from `cursor` on (0: the first), all of a pack, less what
 * has passed. Returns the cursor to go on with, 0 after the last. Every field that is there
 * throughout a walk is visited, whatever else comes and goes. Any number is a cursor. */
uint64_t hash_scan(const struct hash *hash, int64_t now_ms, uint64_t cursor, uint64_t count,
                   hash_visit_fn visit, void *context);

/* Some field, each with the same chance; false when there is none. */
MUST_CHECK bool hash_random(const struct hash *hash, int64_t now_ms, struct rng *rng,
                            struct hash_scratch *scratch, struct hash_pair *out);
/* Visits `count` different fields of at least as many (hash_live_count()), by chance, in no special
 * order. `arena` is for scratch. */
void hash_sample(const struct hash *hash, int64_t now_ms, struct rng *rng, uint64_t count,
                 struct arena *arena, hash_visit_fn visit, void *context);

/* ---- Changing ---- */

/* Makes ready for the `word_count` fields and values that will be put: a pack that they would not
 * fit into becomes a table now. */
void hash_expect(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
                 const struct bytes *words, size_t word_count);
/* Sets `field`, which may not be borrowed from the hash, to `value`, for ever. True when it is a
 * new one. */
bool hash_put(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
              struct bytes field, struct bytes value);
/* The same with the pair's time, which may be HASH_KEEP_TTL. */
bool hash_put_pair(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
                   struct hash_pair pair);
/* True when there was one. */
bool hash_delete(struct hash **hash, struct heap *heap, struct bytes field);

/* ---- Times to live ---- */

/* False when there is no such field. The time may be HASH_NO_TTL. */
MUST_CHECK bool hash_find_ttl(const struct hash *hash, struct bytes field,
                              int64_t *out_expire_at_ms);
/* Gives a field that is there another time, or HASH_NO_TTL. */
void hash_set_ttl(struct hash **hash, struct heap *heap, struct bytes field, int64_t expire_at_ms);

/* Has a field of this hash ever had a time? */
bool hash_is_timed(const struct hash *hash);
/* How many have one now. O(those) in a pack. */
uint64_t hash_ttl_count(const struct hash *hash);
/* No field is due earlier; HASH_NO_TTL when none has a time. Exact in a pack, in a table just after
 * a round of hash_expire_some(). */
int64_t hash_first_expiry_ms(const struct hash *hash);

/* Called once before something is deleted, if anything is. `before_change` may be NULL. */
struct hash_notice {
    void (*before_change)(void *context);
    void *context;
};

/* Deletes fields whose time is before `now_ms`, looking at about `budget` fields of a table from
 * where the last call has ended, and at most that many of a pack. `*out_count`: how many it has
 * deleted. True when it has gone round. */
bool hash_expire_some(struct hash **hash, struct heap *heap, int64_t now_ms, uint64_t budget,
                      struct hash_notice notice, uint64_t *out_count);

/* By which the hash stands in an agenda of its keyspace; NULL unless it is timed. It stays where it
 * is until the hash is freed. A copy stands in none. */
struct agenda_item *hash_agenda_item(const struct hash *hash);
/* The hash that has this item. */
struct hash *hash_of_agenda_item(struct agenda_item *item);

/* ---- For dumps ---- */

/* The bytes of a small hash; NULL of a table. They are triples if the hash is timed: the third
 * entry is a time, or 0; the earliest first, those that last for ever last. */
const struct pack *hash_pack(const struct hash *hash);
/* A small hash of such bytes, which are sound (pack_is_valid()), name no field twice and are, if
 * `is_timed`, triples in that order. Takes the pack, which must be one of `heap`. */
struct hash *hash_of_pack(struct pack *pack, struct heap *heap, bool is_timed);
/* Are these entries such triples, whether or not a field is named twice? */
bool hash_triples_are_valid(const struct pack *pack);

/* Ends the process if what the hash holds contradicts itself. For tests. */
void hash_validate(const struct hash *hash);
