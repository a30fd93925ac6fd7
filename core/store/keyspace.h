/*
 * keyspace: the records of one database on one shard, a table for each hash slot.
 *
 * Plain data: knows records by name, whether they have a time to live, and nothing of time. All
 * functions that change it are given the heap that its memory comes from, always the same.
 * Cells are table.h's; a cell's mark says that its record has a time to live.
 * Thread: the shard's current owner.
 */
#pragma once

#include "core/base/rng.h"
#include "core/ds/agenda.h"
#include "core/ds/table.h"
#include "core/store/key.h"
#include "core/type/record.h"

#define KEYSPACE_GROUP_SLOTS 64u
#define KEYSPACE_GROUPS (SLOT_COUNT / KEYSPACE_GROUP_SLOTS)

/* The tables of 64 slots: only those that hold something, in the order of slots. */
struct keyspace_group {
    uint64_t present; /* bit i: the i-th slot has a table */
    struct table *tables;
};

struct keyspace_groups {
    struct keyspace_group groups[KEYSPACE_GROUPS];
    uint32_t counts[KEYSPACE_GROUPS]; /* records of each */
};

struct keyspace {
    uint64_t count;                 /* records */
    uint64_t ttl_count;             /* of those, with a time to live */
    size_t table_bytes;             /* that the tables and their heads take */
    struct keyspace_groups *groups; /* NULL until the first record comes */
    struct agenda agenda;           /* hashes by when their first field may be due */
    uint32_t drained;               /* groups that keyspace_drain() has done */
};

struct keyspace *keyspace_create(struct heap *heap);
/* The keyspace must be empty. Accepts NULL. */
void keyspace_destroy(struct keyspace *keyspace, struct heap *heap);

/* The table of `slot`, or NULL when it is empty. */
static inline struct table *keyspace_table(const struct keyspace *keyspace, uint32_t slot)
{
    if (__builtin_expect(!keyspace->groups, 0))
        return NULL;
    const struct keyspace_group *group = &keyspace->groups->groups[slot / KEYSPACE_GROUP_SLOTS];
    uint64_t bit = UINT64_C(1) << slot % KEYSPACE_GROUP_SLOTS;
    if (__builtin_expect(!(group->present & bit), 0))
        return NULL;
    return &group->tables[__builtin_popcountll(group->present & (bit - 1))];
}

static inline bool keyspace_is_named(const void *item, const void *wanted)
{
    const struct key *key = wanted;
    return record_is_named(item, key->name);
}

/* The cell of the record at `key`, or NULL. Valid until the next change. */
static inline uint64_t *keyspace_find(const struct keyspace *keyspace, const struct key *key)
{
    const struct table *table = keyspace_table(keyspace, key->slot);
    return table ? table_find(table, key->hash, keyspace_is_named, key) : NULL;
}

/* Brings what keyspace_find() will touch nearer: each step from 0 on for all keys of a batch. */
#define KEYSPACE_PREFETCH_STEPS 3
static inline void keyspace_prefetch(const struct keyspace *keyspace, const struct key *key,
                                     int step)
{
    const struct table *table = keyspace_table(keyspace, key->slot);
    if (!table)
        return;
    if (step == 0)
        __builtin_prefetch(table);
    else if (step == 1)
        table_prefetch_bucket(table, key->hash);
    else
        table_prefetch_item(table, key->hash);
}

/* Adds a record whose name is `key`'s and is not there. */
void keyspace_insert(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                     struct value *record);

/* Puts another record of the same name into `cell`; what was there is the caller's. If the value is
 * another one too, the caller calls keyspace_unschedule() before and keyspace_schedule() after. */
void keyspace_replace(struct keyspace *keyspace, uint64_t *cell, struct value *record);

/* To be told when a record has got or lost its time to live without moving. */
void keyspace_ttl_changed(struct keyspace *keyspace, uint64_t *cell);

/* Takes the record at `key` out, which keyspace_find() found in `cell`. It is the caller's. */
struct value *keyspace_remove(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                              uint64_t *cell);

/* To be told when the first of the times of a hash's fields may have become another, or that the
 * record at `key` has another value. No effect on what has no fields. */
void keyspace_schedule(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                       struct value *record);
/* To be told before a value leaves its record. */
void keyspace_unschedule(struct keyspace *keyspace, struct heap *heap, struct value *record);
/* The hash whose field is the first to be due, if that is before `now_ms`; else NULL. */
struct value *keyspace_first_due(const struct keyspace *keyspace, int64_t now_ms);

/* Positions of a walk over all records, in the order of slot and hash: `slot << 32 | highest 32
 * bits of the hash`, so they stay meaningful while tables grow and shrink. */
#define KEYSPACE_END UINT64_MAX

/* Visits records from `from` on, whole buckets, for about `budget` cells or empty buckets; returns
 * where to go on, KEYSPACE_END at the end. A record present all the while is visited by the walk;
 * some may be visited twice. `visit` may not change the keyspace, save records in place. */
uint64_t keyspace_scan(const struct keyspace *keyspace, uint64_t from, uint64_t budget,
                       table_visit_fn visit, void *context);

/* A step of the same walk that moves records and tables out of sparse slabs (heap_compact()). */
uint64_t keyspace_compact(struct keyspace *keyspace, struct heap *heap, uint64_t from,
                          uint64_t budget);

/* Visits all records. The same rule for `visit`. */
void keyspace_each(const struct keyspace *keyspace, table_visit_fn visit, void *context);

/* A table chosen by size and a random hash: table_sample() of it is a fair sample of the keyspace,
 * which must not be empty. */
struct table *keyspace_random_table(const struct keyspace *keyspace, struct rng *rng,
                                    uint64_t *out_hash);

/* The cell of a random record, each with the same chance; NULL when there is none. */
uint64_t *keyspace_random(const struct keyspace *keyspace, struct rng *rng);

/* Empties it, calling `visit` for each cell, whose record is then the caller's; at most about
 * `budget` cells or empty buckets. True when the keyspace is empty. One that is being drained may
 * only be drained on. */
bool keyspace_drain(struct keyspace *keyspace, struct heap *heap, uint64_t budget,
                    table_visit_fn visit, void *context);

/* Keys of one slot. */
uint32_t keyspace_slot_count(const struct keyspace *keyspace, uint32_t slot);

/* Adds up the tables; bytes count tables' own structs too. */
void keyspace_add_stats(const struct keyspace *keyspace, struct table_stats *stats);

/* Ends the process unless all tables, counts and marks agree. For tests. */
void keyspace_validate(const struct keyspace *keyspace);
