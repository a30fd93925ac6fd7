/*
 * A node of the tree is a heap block of two words and a pointer; its rank is its place.
 *
 * The radix tree that we do not have: a key is a master id's 16 bytes, big-endian. Where keys part
 * there is a branch node, which takes a byte; what they share between two branches, or behind the
 * last one, is one node more, however long; so is each key's end. All this depends on the keys
 * alone, and a key that comes or goes changes little of it: its own end and what leads there from a
 * branch at the depth up to which its neighbours agree with it, and that branch, if no others part
 * there.
 */
#include "core/type/stream_index.h"

#include "core/base/heap.h"

#define KEY_LEN 16 /* bytes */

/* ---- Finding ------------------------------------------------------------------------------- */

uint64_t stream_index_count(const struct stream_index *index)
{
    return index->older.count + (index->last.pack != NULL);
}

struct stream_node *stream_index_get(const struct stream_index *index, uint64_t at)
{
    if (at < index->older.count)
        return tree_get(&index->older, at);
    ASSERT(at == index->older.count);
    return (struct stream_node *)&index->last;
}

static bool begins_by(const void *item, const void *id)
{
    const struct stream_node *node = item;
    return stream_id_compare(node->master, *(const struct stream_id *)id) <= 0;
}

bool stream_index_find(const struct stream_index *index, struct stream_id id, uint64_t *out_at)
{
    if (!index->last.pack)
        return false;
    if (begins_by(&index->last, &id)) {
        *out_at = index->older.count;
        return true;
    }
    uint64_t rank = tree_rank(&index->older, begins_by, &id);
    if (rank == 0)
        return false;
    *out_at = rank - 1;
    return true;
}

const struct stream_node *stream_index_seek(const struct stream_index *index, uint64_t at,
                                            struct tree_cursor *out)
{
    *out = tree_seek(&index->older, at);
    if (out->leaf)
        return tree_item(out);
    return at == index->older.count && index->last.pack ? &index->last : NULL;
}

const struct stream_node *stream_index_step(const struct stream_index *index, bool is_reverse,
                                            struct tree_cursor *cursor)
{
    if (!cursor->leaf) { /* the last node */
        if (is_reverse && index->older.count > 0)
            *cursor = tree_seek(&index->older, index->older.count - 1);
        return tree_item(cursor);
    }
    if (is_reverse) {
        tree_prev(cursor);
        return tree_item(cursor);
    }
    tree_next(cursor);
    return cursor->leaf ? tree_item(cursor) : &index->last;
}

/* ---- The radix tree's nodes ---------------------------------------------------------------- */

/* How many bytes of two keys are the same from the front. */
static int common_len(struct stream_id a, struct stream_id b)
{
    if (a.ms != b.ms)
        return __builtin_clzll(a.ms ^ b.ms) / 8;
    return a.seq == b.seq ? KEY_LEN : 8 + __builtin_clzll(a.seq ^ b.seq) / 8;
}

static struct stream_id key_at(const struct stream_index *index, uint64_t at)
{
    return stream_index_get(index, at)->master;
}

/* With how many bytes the keys at `at` - 1 and `at` agree; -1 beyond the ends. */
static int common_at(const struct stream_index *index, uint64_t at)
{
    if (at == 0 || at >= stream_index_count(index))
        return -1;
    return common_len(key_at(index, at - 1), key_at(index, at));
}

static uint64_t set_bits_behind(uint64_t word, int bytes)
{
    return bytes >= 8 ? word : bytes <= 0 ? UINT64_MAX : word | UINT64_MAX >> 8 * bytes;
}

/* The first and the last key that agree with that at `at` in so many bytes. */
static void find_kin(const struct stream_index *index, uint64_t at, int len, uint64_t *out_first,
                     uint64_t *out_last)
{
    struct stream_id key = key_at(index, at);
    struct stream_id high = {set_bits_behind(key.ms, len), set_bits_behind(key.seq, len - 8)};
    struct stream_id low = {~set_bits_behind(~key.ms, len), ~set_bits_behind(~key.seq, len - 8)};
    uint64_t before;
    bool has_before = stream_id_prev(low, &low) && stream_index_find(index, low, &before);
    *out_first = has_before ? before + 1 : 0;
    bool has_last = stream_index_find(index, high, out_last);
    ASSERT(has_last);
}

/* How many of the radix tree's nodes are there because of one key. */
static uint64_t count_own(const struct stream_index *index, uint64_t at)
{
    if (stream_index_count(index) == 1)
        return 1; /* its bytes; its end takes the place of the empty root */
    int left = common_at(index, at), right = common_at(index, at + 1);
    int depth = left > right ? left : right;
    uint64_t own = 1 + (KEY_LEN - depth - 1 > 0); /* the end, and what leads there */

    uint64_t first, last;
    find_kin(index, at, depth, &first, &last);
    int above_left = common_at(index, first), above_right = common_at(index, last + 1);
    int above = above_left > above_right ? above_left : above_right;
    first += first == at;
    last -= last == at;
    int below = common_len(key_at(index, first), key_at(index, last));
    if (below == depth)
        return own; /* the others part here too */
    /* A branch, in the middle of what was one node. */
    return own + 1 + (depth - above - 1 > 0) + (below - depth - 1 > 0) - 1;
}

uint64_t stream_index_radix_nodes(const struct stream_index *index)
{
    return 1 + index->radix_node_count;
}

/* ---- Changing ------------------------------------------------------------------------------ */

/* Puts a node at the end. */
static void put_last(struct stream_index *index, struct heap *heap, struct stream_node node)
{
    if (index->last.pack) {
        struct stream_node *older = heap_alloc(heap, sizeof *older);
        *older = index->last;
        tree_insert(&index->older, heap, index->older.count, older);
    }
    index->last = node;
}

struct stream_node *stream_index_append(struct stream_index *index, struct heap *heap,
                                        struct stream_node node)
{
    put_last(index, heap, node);
    index->radix_node_count += count_own(index, index->older.count);
    return &index->last;
}

static struct stream_node take_older(struct stream_index *index, struct heap *heap, uint64_t at)
{
    struct stream_node *older = tree_take(&index->older, heap, at);
    struct stream_node node = *older;
    heap_free(heap, older, sizeof *older);
    return node;
}

/* The last one of the others follows a last node that goes. */
static void free_last(struct stream_index *index, struct heap *heap)
{
    stream_node_free(&index->last, heap);
    if (index->older.count > 0)
        index->last = take_older(index, heap, index->older.count - 1);
}

void stream_index_drop(struct stream_index *index, struct heap *heap, uint64_t at)
{
    index->radix_node_count -= count_own(index, at);
    if (at < index->older.count) {
        struct stream_node node = take_older(index, heap, at);
        stream_node_free(&node, heap);
    } else {
        free_last(index, heap);
    }
}

bool stream_index_drain(struct stream_index *index, struct heap *heap, uint64_t *io_budget)
{
    while (index->last.pack && *io_budget > 0) {
        uint64_t gone = stream_node_length(&index->last) + 1;
        *io_budget -= gone < *io_budget ? gone : *io_budget;
        free_last(index, heap);
    }
    return !index->last.pack;
}

/* ---- Whole indexes ------------------------------------------------------------------------- */

size_t stream_index_bytes(const struct stream_index *index)
{
    size_t sum = index->older.node_bytes;
    struct tree_cursor cursor = tree_seek(&index->older, 0);
    for (const struct stream_node *node; (node = tree_item(&cursor)); tree_next(&cursor))
        sum += heap_usable(sizeof *node) + heap_usable(pack_bytes(node->pack));
    return index->last.pack ? sum + heap_usable(pack_bytes(index->last.pack)) : sum;
}

void stream_index_copy(struct stream_index *index, struct heap *heap,
                       const struct stream_index *from)
{
    struct tree_cursor cursor;
    const struct stream_node *node = stream_index_seek(from, 0, &cursor);
    for (; node; node = stream_index_step(from, false, &cursor))
        put_last(index, heap, (struct stream_node){node->master, pack_copy(node->pack, heap)});
    index->radix_node_count = from->radix_node_count;
}

void stream_index_validate(const struct stream_index *index)
{
    tree_validate(&index->older);
    ASSERT(index->last.pack || index->older.count == 0);
    uint64_t count = stream_index_count(index);
    for (uint64_t at = 1; at < count; at++)
        ASSERT(stream_id_compare(key_at(index, at - 1), key_at(index, at)) < 0);
    ASSERT((index->radix_node_count == 0) == (count == 0));
}
