/*
 * tree: a long sequence of pointers in which every place can be found, filled and emptied fast.
 *
 * A B+-tree that counts: each item has a rank, 0 for the first. The tree never looks at an item; an
 * order is what the caller keeps by inserting at the rank that tree_rank() finds for a question
 * that is true for the items at the front and false for the others.
 *
 * Cost       O(log n) for each function unless said otherwise, one step along a cursor O(1).
 * Memory     comes from the heap that each changing function is given, always the same. About 9 to
 *            13 bytes an item. The zero value is an empty tree.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;
struct tree_leaf;

/* Items of a leaf, at most: 512 bytes, a size class of the heap. An only leaf is smaller, down to
 * 64 bytes for 5 items. */
#define TREE_LEAF_ITEMS 61u
#define TREE_FANOUT 31u /* children of an inner node, at most */

struct tree {
    void *root; /* a leaf if `height` is 0, else an inner node; NULL when empty */
    uint64_t count;
    uint64_t node_bytes; /* of all nodes, as the heap counts them */
    uint32_t height;     /* levels of inner nodes */
};

/* A place in a tree, until its next change. */
struct tree_cursor {
    struct tree_leaf *leaf; /* NULL: beyond either end */
    uint32_t index;
};

/* Is `item` one of those at the front? */
typedef bool (*tree_is_before_fn)(const void *item, const void *context);

/* How many items `is_before` is true for. */
uint64_t tree_rank(const struct tree *tree, tree_is_before_fn is_before, const void *context);

/* The item with this rank, which must exist. */
void *tree_get(const struct tree *tree, uint64_t rank);

/* Inserts before the item that has the rank now; `rank` <= count. */
void tree_insert(struct tree *tree, struct heap *heap, uint64_t rank, void *item);

/* Takes the item with this rank out, which must exist. */
void *tree_take(struct tree *tree, struct heap *heap, uint64_t rank);

/* The place of a rank; at `count` and above: beyond the end. */
struct tree_cursor tree_seek(const struct tree *tree, uint64_t rank);
void *tree_item(const struct tree_cursor *cursor); /* NULL beyond the ends */
void tree_next(struct tree_cursor *cursor);        /* no effect beyond the ends */
void tree_prev(struct tree_cursor *cursor);

/* Drops at least `item_count` items, as far as there are, from the end; true when the tree is
 * empty. O(items dropped): what a tree needs that is given up. */
bool tree_drain(struct tree *tree, struct heap *heap, uint64_t item_count);

/* Ends the process if counts, links or first items are wrong. For tests. */
void tree_validate(const struct tree *tree);
