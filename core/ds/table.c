/*
 * A table is a tree whose leaves are small hash tables of at most 128 buckets, nearly always just
 * one leaf. A leaf that would outgrow that becomes a node with 16 leaves, one for each value of the
 * next four bits of the hash; a node that has shrunk becomes a leaf again. That bounds every single
 * piece of work and every single allocation, without a state of "being resized" that each function
 * would have to know.
 *
 * Within a leaf, bucket = hash * buckets / 2^64: monotone in the hash, so the number of buckets
 * need not be a power of two, and follows the size classes of the heap (steps of 12 to 33 %)
 * instead, which keeps buckets 72 to 90 % full. A cell's 15 bits of hash are the highest ones, not
 * yet used by the tree: they say which bucket of any number of buckets the item belongs to, so
 * resizing moves cells without looking at items, unless a border between buckets falls into the
 * 2^-15 that the bits leave open. They still tell items of a bucket apart: with 128 buckets, 8 of
 * the 15 bits are free, so one lookup in 30 compares with a wrong item.
 *
 * A bucket is a cache line of 8 cells. When a ninth item comes, the last cell becomes a link to a
 * run of 4 cells from the heap, whose last cell may again become a link. Cells are filled from the
 * front; taking one out moves the last one into the hole, and a run with one cell left
 * is dissolved. So a bucket's items end at the first empty cell.
 *
 * A leaf of few items has no bucket but a single cell, its root, which holds an item or a link like
 * the last cell of a bucket: one item takes no memory beside the table's head, four take one run.
 * Most tables of a database with few keys are of this kind.
 */
#include "core/ds/table.h"

#include <assert.h>
#include <string.h>

#include "core/base/check.h"

#define FANOUT (1u << TABLE_FANOUT_BITS)
#define DEPTH_MAX 6u /* with 7 bits for the bucket, 31 of the 32 that matter; then leaves chain */
#define LONE_MAX 4u  /* items of a leaf without buckets: what one run holds */
#define OVERFLOW_BYTES (TABLE_OVERFLOW_CELLS * sizeof(uint64_t))
#define MERGE_BELOW 256u /* items of a node: a quarter of what a leaf holds */
#define TAG_BITS 15u

/* Numbers of buckets that fill a size class of the heap, from none on. */
static const uint8_t leaf_sizes[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  10, 12,  14, 16,
                                     20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128};
static_assert(sizeof(struct table) == 16, "a table's head is small");

static struct table *node_tables(const struct table *node)
{
    return (struct table *)(uintptr_t)(node->root - TABLE_IS_NODE);
}

static bool is_node(const struct table *table)
{
    return table->root & TABLE_IS_NODE;
}

static struct table_bucket *leaf_buckets(const struct table *leaf)
{
    return (struct table_bucket *)(uintptr_t)leaf->root;
}

/* The most items that a leaf of so many buckets takes before it grows. */
static uint32_t leaf_limit(uint32_t bucket_count)
{
    if (bucket_count <= 1)
        return bucket_count ? TABLE_BUCKET_CELLS : LONE_MAX;
    return bucket_count * 36 / 5; /* 90 % */
}

static uint32_t leaf_size_above(uint32_t bucket_count)
{
    uint32_t i = 0;
    while (leaf_sizes[i] <= bucket_count)
        i++;
    return leaf_sizes[i];
}

/* The size that `count` items fill to at most 75 %. */
static uint32_t leaf_size_for(uint32_t count)
{
    if (count < LONE_MAX)
        return 0;
    uint32_t i = 1;
    while (leaf_sizes[i] * 6u < count && i + 1 < sizeof leaf_sizes)
        i++;
    return leaf_sizes[i];
}

static bool is_too_sparse(const struct table *leaf)
{
    if (leaf->bucket_count <= 1)
        return leaf->bucket_count && leaf->count < LONE_MAX;
    return leaf->count < leaf->bucket_count * 16 / 5; /* 40 % */
}

static uint64_t cell_make(uint64_t hash, void *item, bool mark)
{
    DEBUG_ASSERT(((uintptr_t)item & ~TABLE_ITEM_MASK) == 0);
    return hash >> TABLE_TAG_SHIFT << TABLE_TAG_SHIFT | TABLE_USED | (uintptr_t)item |
           (mark ? TABLE_MARK : 0);
}

static uint64_t cell_with_hash(uint64_t cell, uint64_t hash)
{
    return cell_make(hash, table_item(cell), cell & TABLE_MARK);
}

static uint64_t order_of(const struct table_ops *ops, const void *item)
{
    return ops->hash(item) & TABLE_ORDER_MASK;
}

/* ---- Buckets ---- */

/* A run of cells: a bucket or what overflowed from it. */
struct run {
    uint64_t *cells;
    uint32_t cap;
};

/* Buckets of a leaf, its root counted as one if it has none. */
static uint32_t leaf_run_count(const struct table *leaf)
{
    return leaf->bucket_count ? leaf->bucket_count : 1;
}

/* The first cells of bucket `index`. */
static struct run leaf_run(const struct table *leaf, uint32_t index)
{
    if (unlikely(leaf->bucket_count == 0))
        return (struct run){(uint64_t *)&leaf->root, 1};
    return (struct run){leaf_buckets(leaf)[index].cells, TABLE_BUCKET_CELLS};
}

/* The first cells of the bucket that `hash` falls into. */
static struct run leaf_run_at(const struct table *leaf, uint64_t hash)
{
    return leaf_run(leaf, (uint32_t)((hash >> 32) * leaf->bucket_count >> 32));
}

/* Moves on to the next run; false at the end. */
static bool run_next(struct run *run)
{
    uint64_t *overflow = table_overflow(run->cells[run->cap - 1]);
    if (!overflow)
        return false;
    *run = (struct run){overflow, TABLE_OVERFLOW_CELLS};
    return true;
}

/* Items in this run alone: its used cells, which stand in front. */
static uint32_t run_len(const struct run *run)
{
    uint32_t len = 0;
    while (len < run->cap && run->cells[len] & TABLE_USED)
        len++;
    return len;
}

static void run_append(struct run run, struct heap *heap, uint64_t cell)
{
    while (run_next(&run))
        continue;
    uint32_t len = run_len(&run);
    if (likely(len < run.cap)) {
        run.cells[len] = cell;
        return;
    }
    uint64_t *overflow = heap_alloc(heap, OVERFLOW_BYTES);
    memset(overflow, 0, OVERFLOW_BYTES);
    overflow[0] = run.cells[len - 1];
    overflow[1] = cell;
    run.cells[len - 1] = (uintptr_t)overflow;
}

static void run_remove(struct run run, struct heap *heap, uint64_t *cell)
{
    uint64_t *link = NULL;
    for (;;) {
        uint64_t *last = &run.cells[run.cap - 1];
        if (!run_next(&run))
            break;
        link = last;
    }
    uint64_t *tail = &run.cells[run_len(&run) - 1];
    *cell = *tail;
    *tail = 0;
    if (link && tail == &run.cells[1]) {
        *link = run.cells[0];
        heap_free(heap, run.cells, OVERFLOW_BYTES);
    }
}

static void run_free_overflow(struct run run, struct heap *heap)
{
    uint64_t *overflow = table_overflow(run.cells[run.cap - 1]);
    while (overflow) {
        uint64_t *next = table_overflow(overflow[TABLE_OVERFLOW_CELLS - 1]);
        heap_free(heap, overflow, OVERFLOW_BYTES);
        overflow = next;
    }
}

/* Calls `visit` for the items of one bucket; returns how many. */
static inline uint32_t run_visit(struct run run, table_visit_fn visit, void *context)
{
    uint32_t count = 0;
    do {
        for (uint32_t i = 0; i < run.cap && run.cells[i] & TABLE_USED; i++, count++)
            visit(context, &run.cells[i]);
    } while (run_next(&run));
    return count;
}

static void run_prefetch_items(struct run run)
{
    do {
        for (uint32_t i = 0; i < run.cap && run.cells[i] & TABLE_USED; i++)
            __builtin_prefetch(table_item(run.cells[i]));
    } while (run_next(&run));
}

/* ---- Leaves ---- */

static void leaf_init(struct table *leaf, struct heap *heap, uint32_t bucket_count)
{
    *leaf = (struct table){.bucket_count = bucket_count};
    if (bucket_count == 0)
        return;
    size_t bytes = bucket_count * sizeof(struct table_bucket);
    void *buckets = heap_alloc(heap, bytes);
    memset(buckets, 0, bytes);
    leaf->root = (uintptr_t)buckets;
}

static void leaf_free(struct table *leaf, struct heap *heap)
{
    for (uint32_t i = 0; i < leaf_run_count(leaf); i++)
        run_free_overflow(leaf_run(leaf, i), heap);
    if (leaf->bucket_count)
        heap_free(heap, leaf_buckets(leaf), leaf->bucket_count * sizeof(struct table_bucket));
}

static void leaf_append(struct table *leaf, struct heap *heap, uint64_t hash, uint64_t cell)
{
    run_append(leaf_run_at(leaf, hash), heap, cell);
    leaf->count++;
}

/* Moves the cells of a leaf whose items have lost `used_bits` of their hash to the tree. */
static void leaf_resize(struct table *leaf, struct heap *heap, const struct table_ops *ops,
                        uint32_t used_bits, uint32_t bucket_count)
{
    struct table resized;
    leaf_init(&resized, heap, bucket_count);
    for (uint32_t i = 0; i < leaf_run_count(leaf); i++) {
        struct run run = leaf_run(leaf, i);
        do {
            for (uint32_t k = 0; k < run.cap && run.cells[k] & TABLE_USED; k++) {
                uint64_t cell = run.cells[k];
                uint64_t lowest = cell >> TABLE_TAG_SHIFT << TABLE_TAG_SHIFT;
                uint64_t highest = lowest | ((UINT64_C(1) << TABLE_TAG_SHIFT) - 1);
                if (unlikely(table_bucket(&resized, lowest) != table_bucket(&resized, highest)))
                    lowest = order_of(ops, table_item(cell)) << used_bits;
                leaf_append(&resized, heap, lowest, cell);
            }
        } while (run_next(&run));
    }
    leaf_free(leaf, heap);
    *leaf = resized;
}

/* Appends all items of `from` to leaf `to`, or to the one of 16 leaves `to` that four more bits
 * of their hash say. Their cells are made anew, which takes a look at each item. */
static void leaf_rehash(const struct table *from, struct table *to, bool split, struct heap *heap,
                        const struct table_ops *ops, uint32_t used_bits)
{
    for (uint32_t i = 0; i < leaf_run_count(from); i++) {
        if (i == 0)
            run_prefetch_items(leaf_run(from, 0));
        if (i + 1 < leaf_run_count(from))
            run_prefetch_items(leaf_run(from, i + 1));
        struct run run = leaf_run(from, i);
        do {
            for (uint32_t k = 0; k < run.cap && run.cells[k] & TABLE_USED; k++) {
                uint64_t hash = order_of(ops, table_item(run.cells[k])) << used_bits;
                struct table *leaf = to;
                if (split) {
                    leaf = &to[hash >> (64 - TABLE_FANOUT_BITS)];
                    hash <<= TABLE_FANOUT_BITS;
                }
                leaf_append(leaf, heap, hash, cell_with_hash(run.cells[k], hash));
            }
        } while (run_next(&run));
    }
}

/* A leaf becomes a node of 16 leaves. */
static void leaf_split(struct table *leaf, struct heap *heap, const struct table_ops *ops,
                       uint32_t used_bits)
{
    uint32_t counts[FANOUT] = {0};
    for (uint32_t i = 0; i < leaf_run_count(leaf); i++) {
        struct run run = leaf_run(leaf, i);
        do {
            for (uint32_t k = 0; k < run.cap && run.cells[k] & TABLE_USED; k++)
                counts[run.cells[k] >> (64 - TABLE_FANOUT_BITS)]++;
        } while (run_next(&run));
    }
    struct table *tables = heap_alloc(heap, FANOUT * sizeof *tables);
    for (uint32_t i = 0; i < FANOUT; i++)
        leaf_init(&tables[i], heap, leaf_size_for(counts[i]));
    leaf_rehash(leaf, tables, true, heap, ops, used_bits);
    uint32_t count = leaf->count;
    leaf_free(leaf, heap);
    *leaf = (struct table){.root = (uintptr_t)tables | TABLE_IS_NODE, .count = count};
}

/* Moves all items below `from` to leaf `to`, whose items have lost `used_bits` of their hash. */
static void tree_move(struct table *from, struct table *to, struct heap *heap,
                      const struct table_ops *ops, uint32_t used_bits)
{
    if (!is_node(from)) {
        leaf_rehash(from, to, false, heap, ops, used_bits);
        leaf_free(from, heap);
        return;
    }
    struct table *tables = node_tables(from);
    for (uint32_t i = 0; i < FANOUT; i++)
        tree_move(&tables[i], to, heap, ops, used_bits);
    heap_free(heap, tables, FANOUT * sizeof *tables);
}

/* A node becomes a leaf. */
static void node_merge(struct table *node, struct heap *heap, const struct table_ops *ops,
                       uint32_t used_bits)
{
    struct table merged;
    leaf_init(&merged, heap, leaf_size_for(node->count));
    tree_move(node, &merged, heap, ops, used_bits);
    *node = merged;
}

/* ---- Changing ---- */

void table_insert(struct table *table, struct heap *heap, const struct table_ops *ops,
                  uint64_t hash, void *item, bool mark)
{
    uint32_t depth = 0;
    struct table *leaf = table;
    hash &= TABLE_ORDER_MASK;
    for (;;) {
        if (likely(!is_node(leaf))) {
            if (likely(leaf->count < leaf_limit(leaf->bucket_count)))
                break;
            uint32_t used_bits = depth * TABLE_FANOUT_BITS;
            if (leaf->bucket_count < TABLE_LEAF_BUCKETS_MAX) {
                leaf_resize(leaf, heap, ops, used_bits, leaf_size_above(leaf->bucket_count));
                break;
            }
            if (depth == DEPTH_MAX)
                break;
            leaf_split(leaf, heap, ops, used_bits);
        }
        leaf->count++;
        leaf = &node_tables(leaf)[hash >> (64 - TABLE_FANOUT_BITS)];
        hash <<= TABLE_FANOUT_BITS;
        depth++;
    }
    leaf_append(leaf, heap, hash, cell_make(hash, item, mark));
}

void table_remove(struct table *table, struct heap *heap, const struct table_ops *ops,
                  uint64_t hash, uint64_t *cell)
{
    struct table *leaf = table;
    struct table *sparse_node = NULL;
    uint32_t depth = 0, sparse_depth = 0;
    hash &= TABLE_ORDER_MASK;
    while (unlikely(is_node(leaf))) {
        if (--leaf->count < MERGE_BELOW && !sparse_node) {
            sparse_node = leaf;
            sparse_depth = depth;
        }
        leaf = &node_tables(leaf)[hash >> (64 - TABLE_FANOUT_BITS)];
        hash <<= TABLE_FANOUT_BITS;
        depth++;
    }
    run_remove(leaf_run_at(leaf, hash), heap, cell);
    leaf->count--;

    if (unlikely(sparse_node)) {
        node_merge(sparse_node, heap, ops, sparse_depth * TABLE_FANOUT_BITS);
    } else if (unlikely(is_too_sparse(leaf))) {
        leaf_resize(leaf, heap, ops, depth * TABLE_FANOUT_BITS, leaf_size_for(leaf->count));
    }
}

/* ---- Walking ---- */

/* An empty bucket costs as much as an item. */
static void spend(uint64_t *io_budget, uint32_t visited)
{
    uint32_t cost = visited ? visited : 1;
    *io_budget -= *io_budget < cost ? *io_budget : cost;
}

static void compact_leaf(struct table *leaf, struct heap *heap)
{
    if (leaf->bucket_count)
        leaf->root = (uintptr_t)heap_compact(heap, leaf_buckets(leaf),
                                             leaf->bucket_count * sizeof(struct table_bucket));
}

static void compact_overflow(struct run run, struct heap *heap)
{
    do {
        uint64_t *last = &run.cells[run.cap - 1];
        if (table_is_link(*last))
            *last = (uintptr_t)heap_compact(heap, table_item(*last), OVERFLOW_BYTES);
    } while (run_next(&run));
}

/* Scans; compacts on the way if there is a `heap`. */
static uint64_t scan(struct table *table, struct heap *heap, uint64_t from, uint64_t *io_budget,
                     table_visit_fn visit, void *context)
{
    for (;;) {
        uint64_t hash = from;
        uint32_t used_bits = 0;
        struct table *leaf = table;
        while (is_node(leaf)) {
            leaf = &node_tables(leaf)[hash >> (64 - TABLE_FANOUT_BITS)];
            hash <<= TABLE_FANOUT_BITS;
            used_bits += TABLE_FANOUT_BITS;
        }
        if (heap)
            compact_leaf(leaf, heap);
        uint64_t base = from - (hash >> used_bits); /* where the leaf begins */
        uint32_t run_count = leaf_run_count(leaf);
        uint32_t index = (uint32_t)((hash >> 32) * run_count >> 32);
        for (; index < run_count; index++) {
            if (*io_budget == 0) {
                /* The lowest hash for which table_bucket() gives this bucket: rounded up, also to
                 * the bits that a hash has left this deep in the tree. */
                uint64_t high = (((uint64_t)index << 32) + run_count - 1) / run_count;
                uint64_t unit = (UINT64_C(1) << used_bits) - 1;
                return base + (((high + unit) & ~unit) << 32 >> used_bits);
            }
            if (heap)
                compact_overflow(leaf_run(leaf, index), heap);
            spend(io_budget, run_visit(leaf_run(leaf, index), visit, context));
        }
        if (used_bits == 0)
            return TABLE_SCAN_END;
        from = base + (UINT64_C(1) << (64 - used_bits));
        if (from == 0)
            return TABLE_SCAN_END;
        if (*io_budget == 0)
            return from;
    }
}

uint64_t table_scan(const struct table *table, uint64_t from, uint64_t *io_budget,
                    table_visit_fn visit, void *context)
{
    return scan((struct table *)table, NULL, from, io_budget, visit, context);
}

uint64_t table_compact(struct table *table, struct heap *heap, uint64_t from, uint64_t *io_budget,
                       table_visit_fn visit, void *context)
{
    return scan(table, heap, from, io_budget, visit, context);
}

void table_each(const struct table *table, table_visit_fn visit, void *context)
{
    if (is_node(table)) {
        for (uint32_t i = 0; i < FANOUT; i++)
            table_each(&node_tables(table)[i], visit, context);
        return;
    }
    for (uint32_t i = 0; i < leaf_run_count(table); i++)
        run_visit(leaf_run(table, i), visit, context);
}

uint32_t table_sample(const struct table *table, uint64_t hash, uint64_t **out_cells, uint32_t max)
{
    const struct table *leaf = table_leaf(table, &hash);
    uint32_t count = 0;
    struct run run = leaf_run_at(leaf, hash);
    do {
        for (uint32_t i = 0; i < run.cap && run.cells[i] & TABLE_USED && count < max; i++)
            out_cells[count++] = &run.cells[i];
    } while (run_next(&run));
    return count;
}

uint32_t table_sample_len(const struct table *table, uint64_t hash)
{
    const struct table *leaf = table_leaf(table, &hash);
    uint32_t count = 0;
    struct run run = leaf_run_at(leaf, hash);
    do {
        count += run_len(&run);
    } while (run_next(&run));
    return count;
}

/*
 * While a table is drained, `count` is the number of buckets of a leaf, or of tables of a node,
 * that are not yet done. DRAINING in the root says that this has begun. A leaf without buckets is
 * done in one go.
 */
#define DRAINING UINT64_C(4)

static bool drain_node(struct table *node, struct heap *heap, uint64_t *io_budget,
                       table_visit_fn visit, void *context)
{
    struct table *tables = (struct table *)(uintptr_t)(node->root & ~(DRAINING | TABLE_IS_NODE));
    for (; node->count > 0; node->count--) {
        if (!table_drain(&tables[node->count - 1], heap, io_budget, visit, context))
            return false;
    }
    heap_free(heap, tables, FANOUT * sizeof *tables);
    *node = (struct table){0};
    return true;
}

static bool drain_buckets(struct table *leaf, struct heap *heap, uint64_t *io_budget,
                          table_visit_fn visit, void *context)
{
    struct table_bucket *buckets = (struct table_bucket *)(uintptr_t)(leaf->root & ~DRAINING);
    while (leaf->count > 0) {
        if (*io_budget == 0)
            return false;
        struct run run = {buckets[--leaf->count].cells, TABLE_BUCKET_CELLS};
        if (leaf->count > 0)
            run_prefetch_items((struct run){buckets[leaf->count - 1].cells, TABLE_BUCKET_CELLS});
        spend(io_budget, run_visit(run, visit, context));
        run_free_overflow(run, heap);
    }
    heap_free(heap, buckets, leaf->bucket_count * sizeof *buckets);
    *leaf = (struct table){0};
    return true;
}

bool table_drain(struct table *table, struct heap *heap, uint64_t *io_budget, table_visit_fn visit,
                 void *context)
{
    if (!is_node(table) && table->bucket_count == 0) {
        if (table->count > 0)
            spend(io_budget, run_visit(leaf_run(table, 0), visit, context));
        leaf_free(table, heap);
        *table = (struct table){0};
        return true;
    }
    if (!(table->root & DRAINING)) {
        table->count = is_node(table) ? FANOUT : table->bucket_count;
        table->root |= DRAINING;
    }
    return is_node(table) ? drain_node(table, heap, io_budget, visit, context)
                          : drain_buckets(table, heap, io_budget, visit, context);
}

/* ---- Looking at it ---- */

void table_add_stats(const struct table *table, struct table_stats *stats)
{
    if (is_node(table)) {
        stats->bytes += FANOUT * sizeof(struct table);
        for (uint32_t i = 0; i < FANOUT; i++)
            table_add_stats(&node_tables(table)[i], stats);
        return;
    }
    if (table->count == 0)
        return;
    stats->items += table->count;
    stats->leaves++;
    stats->buckets += leaf_run_count(table);
    if (table->bucket_count)
        stats->bytes += heap_usable(table->bucket_count * sizeof(struct table_bucket));
    for (uint32_t i = 0; i < leaf_run_count(table); i++) {
        uint32_t len = 0;
        struct run run = leaf_run(table, i);
        do {
            if (run.cap == TABLE_OVERFLOW_CELLS) {
                stats->overflows++;
                stats->bytes += heap_usable(OVERFLOW_BYTES);
            }
            len += run_len(&run);
        } while (run_next(&run));
        stats->bucket_lens[len < TABLE_STATS_LEN_MAX ? len : TABLE_STATS_LEN_MAX]++;
    }
}

static void validate_bucket(const struct table *leaf, uint32_t index, const struct table_ops *ops,
                            uint32_t used_bits, uint32_t *io_count)
{
    struct run run = leaf_run(leaf, index);
    const uint64_t *first = run.cells;
    bool more;
    do {
        uint32_t len = run_len(&run);
        for (uint32_t k = 0; k < len; k++) {
            uint64_t hash = order_of(ops, table_item(run.cells[k])) << used_bits;
            ASSERT(leaf_run_at(leaf, hash).cells == first);
            ASSERT(run.cells[k] == cell_with_hash(run.cells[k], hash));
        }
        *io_count += len;
        bool is_overflow = run.cap == TABLE_OVERFLOW_CELLS;
        ASSERT(!is_overflow || len >= 2);
        bool linked = table_is_link(run.cells[run.cap - 1]);
        ASSERT(!linked || len == run.cap - 1);
        for (uint32_t k = len; k < run.cap - linked; k++)
            ASSERT(run.cells[k] == 0);
        more = run_next(&run);
    } while (more);
}

static uint32_t validate(const struct table *table, const struct table_ops *ops, uint32_t depth)
{
    uint32_t count = 0;
    if (is_node(table)) {
        ASSERT(depth < DEPTH_MAX);
        for (uint32_t i = 0; i < FANOUT; i++)
            count += validate(&node_tables(table)[i], ops, depth + 1);
        ASSERT(count >= MERGE_BELOW);
    } else {
        for (uint32_t i = 0; i < leaf_run_count(table); i++)
            validate_bucket(table, i, ops, depth * TABLE_FANOUT_BITS, &count);
        ASSERT(!is_too_sparse(table));
        ASSERT(count <= leaf_limit(table->bucket_count) ||
               (depth == DEPTH_MAX && table->bucket_count == TABLE_LEAF_BUCKETS_MAX));
    }
    ASSERT(count == table->count);
    return count;
}

void table_validate(const struct table *table, const struct table_ops *ops)
{
    validate(table, ops, 0);
}
