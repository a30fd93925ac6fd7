/*
 * table: a hash table of pointers that stays small, dense and smooth at any size.
 *
 * Holds items that the caller owns and that know their own hash (table_ops). An item is a pointer
 * to a multiple of 8 below 2^48. Each has one bit for the caller, the mark, which can be looked at
 * without touching the item.
 *
 * Cells      where a table keeps an item, 8 bytes: pointer, mark, 15 bits of the hash. The caller
 *            gets pointers to cells, valid until the next change of the table.
 * Order      buckets stand in the order of their items' hashes, whatever their number. So a place
 *            in the order, a hash prefix, stays meaningful across all resizing (table_scan()).
 * Smooth     a change moves at most TABLE_LEAF_BUCKETS_MAX * 8 cells, and none of them costs a look
 *            at the item but for a few, and when a leaf is split or merged.
 * Memory     comes from the heap that each changing function is given, always the same. The zero
 *            value is an empty table.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/heap.h"

#define TABLE_LEAF_BUCKETS_MAX 128u
#define TABLE_BUCKET_CELLS 8u
#define TABLE_FANOUT_BITS 4u

#define TABLE_MARK UINT64_C(2) /* the caller's bit in a cell */

/* The rest of a cell, for the inline functions below. */
#define TABLE_USED (UINT64_C(1) << 48) /* holds an item; a pointer without it links to overflow */
#define TABLE_ITEM_MASK UINT64_C(0x0000fffffffffff8)
#define TABLE_TAG_SHIFT 49 /* the 15 highest bits of the hash, below what the tree has used */
#define TABLE_IS_NODE UINT64_C(1) /* in `root`, never in a cell */

/* Only these bits of a hash say where an item belongs: a place in the order fits 32 bits. */
#define TABLE_ORDER_MASK UINT64_C(0xffffffff00000000)

struct table {
    uint64_t root;         /* a leaf's buckets, or the only cell of one without; or a node's 16
                              tables | TABLE_IS_NODE */
    uint32_t bucket_count; /* of a leaf */
    uint32_t count;        /* items */
};

struct table_bucket {
    uint64_t cells[TABLE_BUCKET_CELLS];
} __attribute__((aligned(64)));

struct table_ops {
    uint64_t (*hash)(const void *item);
};

typedef bool (*table_equal_fn)(const void *item, const void *wanted);
typedef void (*table_visit_fn)(void *context, uint64_t *cell);

static inline void *table_item(uint64_t cell)
{
    return (void *)(uintptr_t)(cell & TABLE_ITEM_MASK);
}

/* Puts another item of the same hash into `cell`. */
static inline void table_replace(uint64_t *cell, void *item, bool mark)
{
    *cell = (*cell & ~(TABLE_ITEM_MASK | TABLE_MARK)) | (uintptr_t)item | (mark ? TABLE_MARK : 0);
}

static inline void table_set_mark(uint64_t *cell, bool mark)
{
    *cell = (*cell & ~TABLE_MARK) | (mark ? TABLE_MARK : 0);
}

static inline bool table_is_link(uint64_t cell)
{
    return !(cell & TABLE_USED) && (cell & TABLE_ITEM_MASK);
}

/* The leaf that `*hash` belongs to; `*hash` loses the bits that led there, and those that do not
 * matter. */
static inline const struct table *table_leaf(const struct table *table, uint64_t *hash)
{
    *hash &= TABLE_ORDER_MASK;
    while (__builtin_expect(table->root & TABLE_IS_NODE, 0)) {
        const struct table *tables = (const struct table *)(uintptr_t)(table->root - TABLE_IS_NODE);
        table = &tables[*hash >> (64 - TABLE_FANOUT_BITS)];
        *hash <<= TABLE_FANOUT_BITS;
    }
    return table;
}

/* The bucket of a leaf that has buckets. */
static inline struct table_bucket *table_bucket(const struct table *leaf, uint64_t hash)
{
    uint64_t index = (hash >> 32) * leaf->bucket_count >> 32;
    return (struct table_bucket *)(uintptr_t)leaf->root + index;
}

/* Bit i is set when cell i holds an item whose 15 bits are those of `hash`. */
static inline uint32_t table_match(const struct table_bucket *bucket, uint64_t hash)
{
    uint32_t wanted = (uint32_t)(hash >> TABLE_TAG_SHIFT) << 1 | 1; /* with TABLE_USED */
#ifdef __SSE2__
    const __m128i *cells = (const __m128i *)bucket->cells;
    /* The upper 16 bits of each cell as a signed 32-bit number, four to a register. */
    __m128i ab = _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(cells)),
                                                 _mm_castsi128_ps(_mm_load_si128(cells + 1)),
                                                 _MM_SHUFFLE(3, 1, 3, 1)));
    __m128i cd = _mm_castps_si128(_mm_shuffle_ps(_mm_castsi128_ps(_mm_load_si128(cells + 2)),
                                                 _mm_castsi128_ps(_mm_load_si128(cells + 3)),
                                                 _MM_SHUFFLE(3, 1, 3, 1)));
    __m128i tags = _mm_packs_epi32(_mm_srai_epi32(ab, 16), _mm_srai_epi32(cd, 16));
    __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)wanted));
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
#else
    uint32_t found = 0;
    for (uint32_t i = 0; i < TABLE_BUCKET_CELLS; i++)
        found |= (uint32_t)(bucket->cells[i] >> (TABLE_TAG_SHIFT - 1) == wanted) << i;
    return found;
#endif
}

/* What a cell links to, a run of cells, or NULL. Its last cell may be a link again. */
#define TABLE_OVERFLOW_CELLS 4u
static inline uint64_t *table_overflow(uint64_t cell)
{
    return table_is_link(cell) ? table_item(cell) : NULL;
}

/* The cell of the item with `hash` for which `equal` says true, or NULL. `equal` should be an
 * inline function: it is called for about one item. */
__attribute__((always_inline)) static inline uint64_t *table_find(const struct table *table,
                                                                  uint64_t hash,
                                                                  table_equal_fn equal,
                                                                  const void *wanted)
{
    const struct table *leaf = table_leaf(table, &hash);
    uint64_t top = hash >> TABLE_TAG_SHIFT << 1 | 1; /* with TABLE_USED */
    uint64_t last = leaf->root;
    if (__builtin_expect(leaf->bucket_count != 0, 1)) {
        struct table_bucket *bucket = table_bucket(leaf, hash);
        for (uint32_t found = table_match(bucket, hash); found; found &= found - 1) {
            uint64_t *cell = &bucket->cells[__builtin_ctz(found)];
            if (__builtin_expect(equal(table_item(*cell), wanted), 1))
                return cell;
        }
        last = bucket->cells[TABLE_BUCKET_CELLS - 1];
    } else if (last >> (TABLE_TAG_SHIFT - 1) == top && equal(table_item(last), wanted)) {
        return (uint64_t *)&leaf->root;
    }
    uint64_t *run = table_overflow(last);
    for (; __builtin_expect(run != NULL, 0); run = table_overflow(run[TABLE_OVERFLOW_CELLS - 1])) {
        for (uint32_t i = 0; i < TABLE_OVERFLOW_CELLS; i++) {
            if (run[i] >> (TABLE_TAG_SHIFT - 1) == top && equal(table_item(run[i]), wanted))
                return &run[i];
        }
    }
    return NULL;
}

/* Brings the bucket for `hash` nearer; a table's own struct must be near. */
static inline void table_prefetch_bucket(const struct table *table, uint64_t hash)
{
    const struct table *leaf = table_leaf(table, &hash);
    __builtin_prefetch(leaf->bucket_count ? (void *)table_bucket(leaf, hash)
                                          : table_item(leaf->root));
}

/* Brings the item nearer that `hash` probably means, or the overflow that may tell; the bucket must
 * be near. (A further step for items in the overflow, a tenth of all, cost as much as it saved.) */
static inline void table_prefetch_item(const struct table *table, uint64_t hash)
{
    const struct table *leaf = table_leaf(table, &hash);
    if (__builtin_expect(leaf->bucket_count != 0, 1)) {
        const struct table_bucket *bucket = table_bucket(leaf, hash);
        uint32_t found = table_match(bucket, hash);
        uint32_t guess = found ? (uint32_t)__builtin_ctz(found) : TABLE_BUCKET_CELLS - 1;
        __builtin_prefetch(table_item(bucket->cells[guess]));
        return;
    }
    const uint64_t *run = table_overflow(leaf->root);
    for (uint32_t i = 0; run && i < TABLE_OVERFLOW_CELLS; i++)
        __builtin_prefetch(table_item(run[i]));
}

/* Adds an item that is not in the table. */
void table_insert(struct table *table, struct heap *heap, const struct table_ops *ops,
                  uint64_t hash, void *item, bool mark);

/* Takes the item out whose cell table_find() gave for `hash`. */
void table_remove(struct table *table, struct heap *heap, const struct table_ops *ops,
                  uint64_t hash, uint64_t *cell);

/* Visits whole buckets in the order of hashes, from the one that `from` falls into on, until
 * `*io_budget` cells were visited or buckets passed. Returns where the next bucket begins, within
 * TABLE_ORDER_MASK, TABLE_SCAN_END after the last. `visit` may change items and marks, not the
 * table. */
#define TABLE_SCAN_END UINT64_C(0)
uint64_t table_scan(const struct table *table, uint64_t from, uint64_t *io_budget,
                    table_visit_fn visit, void *context);

/* The same, and moves buckets out of sparse slabs on the way (heap_compact()). `visit` may move
 * items likewise, by table_replace(). */
uint64_t table_compact(struct table *table, struct heap *heap, uint64_t from, uint64_t *io_budget,
                       table_visit_fn visit, void *context);

/* Visits all cells. */
void table_each(const struct table *table, table_visit_fn visit, void *context);

/* The cells of the bucket that `hash` falls into: up to `max` of them; returns how many. With a
 * random hash, a fair sample. */
uint32_t table_sample(const struct table *table, uint64_t hash, uint64_t **out_cells, uint32_t max);

/* How many items share the bucket that `hash` falls into. */
uint32_t table_sample_len(const struct table *table, uint64_t hash);

/* Frees what the table takes, calling `visit` for each cell, whose item is then the caller's.
 * Stops after `*io_budget` cells or empty buckets; true when the table is empty. A table that is
 * being drained may only be drained on. */
bool table_drain(struct table *table, struct heap *heap, uint64_t *io_budget, table_visit_fn visit,
                 void *context);

#define TABLE_STATS_LEN_MAX 16u
struct table_stats {
    uint64_t items, leaves, buckets, overflows;
    uint64_t bytes;                                /* without items and the table's own struct */
    uint64_t bucket_lens[TABLE_STATS_LEN_MAX + 1]; /* buckets by items, the last: and more */
};

/* Adds this table's numbers to `stats`. */
void table_add_stats(const struct table *table, struct table_stats *stats);

/* Ends the process unless each item is where its hash says and all counts agree. For tests. */
void table_validate(const struct table *table, const struct table_ops *ops);
