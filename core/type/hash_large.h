/*
 * hash_large: the fields of a large hash, in a table of items. For hash.c.
 *
 * A cell of the table whose mark is set is that of a field with a time to live. Only a timed table
 * can have such; it also knows how many there are and when the first may be due.
 *
 * Memory, views and threads are hash.h's.
 */
#pragma once

#include "core/ds/table.h"
#include "core/type/hash.h"

struct hash_large {
    struct table table;
    uint64_t item_bytes; /* of all items, as the heap counts them */
};

struct hash_timed {
    struct hash_large large; /* first: a timed table is used as any other */
    uint64_t ttl_count;      /* fields with a time */
    int64_t first_at_ms;     /* no field is due earlier; INT64_MAX while there is none */

    /* The round of hash_large_expire_some(). */
    uint64_t position;         /* in the table's order; 0: none is under way */
    int64_t round_first_at_ms; /* the earliest time that it has passed by, or that was set since */
};

struct hash_large *hash_large_create(struct heap *heap, bool is_timed);
/* The same fields in a timed table; the old one is gone. */
struct hash_timed *hash_large_widen(struct hash_large *large, struct heap *heap);
struct hash_large *hash_large_copy(const struct hash_large *large, struct heap *heap,
                                   bool is_timed);
/* Frees about `*io_budget` fields; true when all is gone. */
bool hash_large_free_some(struct hash_large *large, struct heap *heap, bool is_timed,
                          uint64_t *io_budget);
size_t hash_large_bytes(const struct hash_large *large, bool is_timed);

/* The cell of a field, NULL where there is none; and what a cell holds. */
uint64_t *hash_large_find(const struct hash_large *large, struct bytes field);
struct hash_pair hash_large_pair(uint64_t cell);

void hash_large_each(const struct hash_large *large, hash_visit_fn visit, void *context);
uint64_t hash_large_scan(const struct hash_large *large, uint64_t cursor, uint64_t count,
                         hash_visit_fn visit, void *context);

/* A cell by chance, each with the same chance. */
uint64_t hash_large_random(const struct hash_large *large, struct rng *rng);
/* Visits `count` different ones of many more. */
void hash_large_sample(const struct hash_large *large, struct rng *rng, uint64_t count,
                       struct arena *arena, hash_visit_fn visit, void *context);

/* Puts the pair, whose time may be HASH_KEEP_TTL; true when the field is new. */
bool hash_large_put(struct hash_large *large, struct heap *heap, struct hash_pair pair);
/* The same for a field that is not there yet. */
void hash_large_add(struct hash_large *large, struct heap *heap, struct hash_pair pair);
bool hash_large_delete(struct hash_large *large, struct heap *heap, struct bytes field);
void hash_large_set_ttl(struct hash_timed *timed, struct heap *heap, uint64_t *cell,
                        int64_t expire_at_ms);

/* One step of a round over the table that deletes what is due, as hash_expire_some(). */
bool hash_large_expire_some(struct hash_timed *timed, struct heap *heap, int64_t now_ms,
                            uint64_t budget, struct hash_notice notice, uint64_t *out_count);

/* Ends the process if counts, times or the table are wrong. For tests. */
void hash_large_validate(const struct hash_large *large, bool is_timed);
