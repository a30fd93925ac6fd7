/*
 * zset: members with a score each, in the order of scores, equal scores in the order of members.
 *
 * A small sorted set is a pack of member, score, member, score, ... in order; one with many
 * members, or with a long one, is a table by member and a tree by order over the same elements. It
 * turns from the one into the other by the limits that each change is given, and never back.
 *
 * Ranks      count from 0, the lowest score. Ranges of scores and of members become ranges of ranks
 *            by zset_rank_of_score() and zset_rank_of_member().
 * Views      of members are borrowed until the next change; a number in a pack is printed into
 *            scratch of the caller, or of the cursor.
 * Scores     are never NaN: the caller sees to that.
 * Memory     from the heap that each changing function is given, always the same.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/pack.h"
#include "core/ds/tree.h"
#include "core/type/compound.h"

struct arena;
struct rng;
struct zset;

extern const struct compound_ops zset_ops;

/* How large a pack may become. */
struct zset_limits {
    uint64_t member_count;
    uint64_t text_len; /* bytes of each member */
};

struct zset_entry {
    struct bytes member;
    double score;
};

struct zset_cursor {
    const struct pack *pack; /* NULL: in a tree */
    struct tree_cursor place;
    uint32_t at;
    bool is_reverse;
    char scratch[PACK_SCRATCH];
};

typedef void (*zset_visit_fn)(void *context, struct zset_entry entry);

/* An empty sorted set; freed by zset_ops.free_some(). */
struct zset *zset_create(struct heap *heap);

uint64_t zset_count(const struct zset *zset);

/* False when there is no such member. */
MUST_CHECK bool zset_find(const struct zset *zset, struct bytes member, double *out_score);
/* The same with its rank. */
MUST_CHECK bool zset_find_rank(const struct zset *zset, struct bytes member, uint64_t *out_rank,
                               double *out_score);

/* The rank of the first element with at least this score; with `after`, of the first with more. */
uint64_t zset_rank_of_score(const struct zset *zset, double score, bool after);
/* The same by members alone: useful where all scores are equal. */
uint64_t zset_rank_of_member(const struct zset *zset, struct bytes member, bool after);

/* Walks from `rank` on, upwards or downwards. The set must not change meanwhile. */
void zset_seek(const struct zset *zset, uint64_t rank, bool is_reverse,
               struct zset_cursor *out_cursor);
/* The entry at the cursor, which moves on; false at the end. The entry is valid until then. */
MUST_CHECK bool zset_step(struct zset_cursor *cursor, struct zset_entry *out);

/* Visits about `count` members of a table from `cursor` on (0: the first), all of a pack. Returns
 * the cursor to go on with, 0 after the last. Every member that is there throughout a walk is
 * visited, whatever else comes and goes. Any number is a cursor. */
uint64_t zset_scan(const struct zset *zset, uint64_t cursor, uint64_t count, zset_visit_fn visit,
                   void *context);

/* Visits `count` different elements of at least as many, by chance, in no special order. `arena` is
 * for scratch. */
void zset_sample(const struct zset *zset, struct rng *rng, uint64_t count, struct arena *arena,
                 zset_visit_fn visit, void *context);

/* Makes ready for `count` members that will be put: a pack that they would not fit into becomes a
 * table now. */
void zset_expect(struct zset *zset, struct heap *heap, const struct zset_limits *limits,
                 uint64_t count);
/* Gives `member`, which may not be borrowed from the set, this score. True when it is a new one. */
bool zset_put(struct zset *zset, struct heap *heap, const struct zset_limits *limits,
              struct bytes member, double score);
/* True when there was one. */
bool zset_delete(struct zset *zset, struct heap *heap, struct bytes member);
/* Deletes `count` elements from `rank` on, which must exist. */
void zset_delete_range(struct zset *zset, struct heap *heap, uint64_t rank, uint64_t count);

/* ---- For dumps ---- */

/* The bytes of a small sorted set, NULL of a table. */
const struct pack *zset_pack(const struct zset *zset);
/* Are these entries members with a score each, in order, whether or not one is named twice? */
bool zset_pairs_are_valid(const struct pack *pack);
/* A sorted set of such a pack, which names no member twice: taken, of `heap`. */
struct zset *zset_of_pack(struct pack *pack, struct heap *heap);

/* Ends the process if what the set holds contradicts itself. For tests. */
void zset_validate(const struct zset *zset);
