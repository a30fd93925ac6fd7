/*
 * set: strings, each once.
 *
 * A set of a few integers is an intset, another small one a pack, one with many or long members a
 * table of items, a block each. A set turns from one into the next by the limits that each change
 * is given, which are Redis 7.2's, and never back.
 *
 * Order      of an intset: by number; of a pack: as members came; of a table: any.
 * Views      of members are borrowed until the next change of the set; a number is printed into the
 *            caller's scratch.
 * Memory     from the heap that each changing function is given, always the same.
 * Empty      sets exist only within a command: who removes the last member deletes the key.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/pack.h"
#include "core/type/compound.h"

struct arena;
struct intset;
struct rng;
struct set;

extern const struct compound_ops set_ops;

/* How large intsets and packs may become. */
struct set_limits {
    uint64_t number_count; /* members of an intset */
    uint64_t text_count;   /* members of a pack */
    uint64_t text_len;     /* bytes of each of them */
};

typedef void (*set_visit_fn)(void *context, struct bytes member);

/* An empty set, an intset for now; freed by set_ops.free_some(). */
struct set *set_create(struct heap *heap);
/* An empty set that `count` members will be put into, `first` among them. */
struct set *set_create_for(struct heap *heap, const struct set_limits *limits, struct bytes first,
                           uint64_t count);

size_t set_count(const struct set *set);
bool set_has(const struct set *set, struct bytes member);

/* Calls `visit` for each member; it must not change the set. */
void set_each(const struct set *set, set_visit_fn visit, void *context);

/* Visits about `count` members of a table from `cursor` on (0: the first), all of others. Returns
 * the cursor to go on with, 0 after the last. Every member that is there throughout a walk is
 * visited, whatever else comes and goes. Any number is a cursor. */
uint64_t set_scan(const struct set *set, uint64_t cursor, uint64_t count, set_visit_fn visit,
                  void *context);

/* Some member of a set that has any, each with the same chance. */
struct bytes set_random(const struct set *set, struct rng *rng, char scratch[PACK_SCRATCH]);
/* Visits `count` different members of at least as many, by chance, in no special order. `arena` is
 * for scratch. */
void set_sample(const struct set *set, struct rng *rng, uint64_t count, struct arena *arena,
                set_visit_fn visit, void *context);

/* Makes ready for `count` members that will be put: an intset or pack that so many would not fit
 * into, even if it were empty, becomes a table now. */
void set_expect(struct set *set, struct heap *heap, const struct set_limits *limits,
                uint64_t count);
/* True when `member`, which may not be borrowed from the set, is a new one. */
bool set_add(struct set *set, struct heap *heap, const struct set_limits *limits,
             struct bytes member);
/* True when there was one. */
bool set_remove(struct set *set, struct heap *heap, struct bytes member);
/* Removes `count` members of more than that, by chance, and visits each just before it goes. */
void set_pop(struct set *set, struct heap *heap, struct rng *rng, uint64_t count,
             set_visit_fn visit, void *context);

/* ---- For dumps ---- */

/* The intset (the pack) that it is, or NULL. */
const struct intset *set_intset(const struct set *set);
const struct pack *set_pack(const struct set *set);
/* A set of an intset, or of a sound pack that names no member twice: taken, of `heap`. */
struct set *set_of_intset(struct intset *intset, struct heap *heap);
struct set *set_of_pack(struct pack *pack, struct heap *heap);

/* Ends the process if what the set holds contradicts itself. For tests. */
void set_validate(const struct set *set);
