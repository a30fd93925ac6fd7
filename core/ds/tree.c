/*
 * Leaves hold up to 61 items and are linked to their neighbours; an only leaf begins small and
 * doubles, since most trees of a consumer group hold a few items. An inner node holds for each
 * child how many items are below it, and the first of them: so a question is put to items only, and
 * mostly to those that few inner nodes hold, which stay in the cache.
 *
 * A node that is full is split in the middle, or, when what comes goes behind its end, at its end:
 * items that come in their order leave full leaves behind. A node that could share with a
 * neighbour what MERGE_PERCENT of one node hold, does so; nothing is borrowed. Therefore two
 * neighbours are never both nearly empty, and a node that was just made is far from either limit.
 *
 * Insertion and removal go down along a path of (node, child) pairs and mend it on the way back.
 */
#include "core/ds/tree.h"

#include <assert.h>
#include <string.h>

#include "core/base/check.h"
#include "core/base/heap.h"

#define HEIGHT_MAX 16u
#define MERGE_PERCENT 75u

struct tree_leaf {
    struct tree_leaf *prev, *next;
    uint32_t len, cap;
    void *items[];
};

#define FIRST_LEAF_ITEMS 5u
#define LEAF_BYTES(cap) (sizeof(struct tree_leaf) + (cap) * sizeof(void *))
/* A leaf grows to twice its bytes; the largest fills its size class too. */
#define GROWN(cap) (2 * (cap) + 3)
static_assert(LEAF_BYTES(FIRST_LEAF_ITEMS) == 64, "the first leaf fills a line");
static_assert(LEAF_BYTES(TREE_LEAF_ITEMS) == 512, "a leaf fills its size class");
static_assert(GROWN(GROWN(GROWN(FIRST_LEAF_ITEMS))) == TREE_LEAF_ITEMS, "it grows to just that");

struct inner {
    uint64_t len;
    void *firsts[TREE_FANOUT];
    void *children[TREE_FANOUT];
    uint64_t counts[TREE_FANOUT];
};

struct step {
    struct inner *inner;
    uint32_t index; /* of the child */
};

/* The way from the root to a leaf: `steps[level]`, the root's at `height` - 1. */
struct path {
    struct step steps[HEIGHT_MAX];
    struct tree_leaf *leaf;
    uint32_t index; /* in the leaf */
};

static void *create_node(struct tree *tree, struct heap *heap, size_t bytes)
{
    tree->node_bytes += heap_usable(bytes);
    return heap_alloc(heap, bytes);
}

static void free_node(struct tree *tree, struct heap *heap, void *node, size_t bytes)
{
    tree->node_bytes -= heap_usable(bytes);
    heap_free(heap, node, bytes);
}

/* Opens a gap of one at `index` in a run of `len` words. */
#define OPEN(words, index, len)                                                                    \
    memmove((words) + (index) + 1, (words) + (index), ((len) - (index)) * sizeof *(words))
/* Closes the gap at `index`. */
#define CLOSE(words, index, len)                                                                   \
    memmove((words) + (index), (words) + (index) + 1, ((len) - (index)-1) * sizeof *(words))

/* ---- Finding ------------------------------------------------------------------------------- */

/* How many of `len` items come before; they are in order. */
static uint32_t count_before(void *const *items, uint32_t len, tree_is_before_fn is_before,
                             const void *context)
{
    uint32_t low = 0, high = len;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (is_before(items[middle], context))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t tree_rank(const struct tree *tree, tree_is_before_fn is_before, const void *context)
{
    if (!tree->count)
        return 0;
    uint64_t rank = 0;
    const void *node = tree->root;
    for (uint32_t level = tree->height; level > 0; level--) {
        const struct inner *inner = node;
        uint32_t index = count_before(inner->firsts, (uint32_t)inner->len, is_before, context);
        if (index > 0)
            index--; /* the border is in the last child that begins before it */
        for (uint32_t i = 0; i < index; i++)
            rank += inner->counts[i];
        node = inner->children[index];
    }
    const struct tree_leaf *leaf = node;
    return rank + count_before(leaf->items, (uint32_t)leaf->len, is_before, context);
}

/* The path to the item with this rank; with `to_insert`, to where one goes that shall have it. */
static void find_path(const struct tree *tree, uint64_t rank, bool to_insert, struct path *path)
{
    void *node = tree->root;
    for (uint32_t level = tree->height; level-- > 0;) {
        struct inner *inner = node;
        uint32_t index = 0;
        while (rank >= inner->counts[index] + to_insert)
            rank -= inner->counts[index++];
        path->steps[level] = (struct step){inner, index};
        node = inner->children[index];
    }
    path->leaf = node;
    path->index = (uint32_t)rank;
}

struct tree_cursor tree_seek(const struct tree *tree, uint64_t rank)
{
    if (rank >= tree->count)
        return (struct tree_cursor){0};
    struct path path;
    find_path(tree, rank, false, &path);
    return (struct tree_cursor){path.leaf, path.index};
}

void *tree_item(const struct tree_cursor *cursor)
{
    return cursor->leaf ? cursor->leaf->items[cursor->index] : NULL;
}

void *tree_get(const struct tree *tree, uint64_t rank)
{
    ASSERT(rank < tree->count);
    struct tree_cursor cursor = tree_seek(tree, rank);
    return tree_item(&cursor);
}

void tree_next(struct tree_cursor *cursor)
{
    if (!cursor->leaf || ++cursor->index < cursor->leaf->len)
        return;
    *cursor = (struct tree_cursor){cursor->leaf->next, 0};
    if (cursor->leaf)
        __builtin_prefetch(cursor->leaf->next);
}

void tree_prev(struct tree_cursor *cursor)
{
    if (!cursor->leaf || cursor->index-- > 0)
        return;
    struct tree_leaf *prev = cursor->leaf->prev;
    *cursor = (struct tree_cursor){prev, prev ? (uint32_t)prev->len - 1 : 0};
}

/* ---- Inserting ----------------------------------------------------------------------------- */

/* How many of a full node's entries stay when one comes at `index`. */
static uint32_t split_point(uint32_t len, uint32_t index)
{
    return index == len ? len : len / 2;
}

static struct tree_leaf *create_leaf(struct tree *tree, struct heap *heap, uint32_t cap)
{
    struct tree_leaf *leaf = create_node(tree, heap, LEAF_BYTES(cap));
    *leaf = (struct tree_leaf){.cap = cap};
    return leaf;
}

static void free_leaf(struct tree *tree, struct heap *heap, struct tree_leaf *leaf)
{
    free_node(tree, heap, leaf, LEAF_BYTES(leaf->cap));
}

/* Makes room in a tree that is one leaf, or none, if that is not as large as leaves are. */
static void grow_only_leaf(struct tree *tree, struct heap *heap)
{
    struct tree_leaf *old = tree->root;
    if (old && (old->len < old->cap || old->cap == TREE_LEAF_ITEMS))
        return;
    struct tree_leaf *leaf = create_leaf(tree, heap, old ? GROWN(old->cap) : FIRST_LEAF_ITEMS);
    if (old) {
        leaf->len = old->len;
        memcpy(leaf->items, old->items, old->len * sizeof *old->items);
        free_leaf(tree, heap, old);
    }
    tree->root = leaf;
}

static struct tree_leaf *create_leaf_after(struct tree *tree, struct heap *heap,
                                           struct tree_leaf *leaf)
{
    struct tree_leaf *right = create_leaf(tree, heap, TREE_LEAF_ITEMS);
    right->prev = leaf;
    right->next = leaf->next;
    if (right->next)
        right->next->prev = right;
    leaf->next = right;
    return right;
}

static void put_item(struct tree_leaf *leaf, uint32_t index, void *item)
{
    OPEN(leaf->items, index, leaf->len);
    leaf->items[index] = item;
    leaf->len++;
}

/* Puts an item into a leaf, which is split if it is full: then the new leaf to its right is
 * returned. */
static struct tree_leaf *insert_in_leaf(struct tree *tree, struct heap *heap,
                                        struct tree_leaf *leaf, uint32_t index, void *item)
{
    if (leaf->len < TREE_LEAF_ITEMS) {
        put_item(leaf, index, item);
        return NULL;
    }
    struct tree_leaf *right = create_leaf_after(tree, heap, leaf);
    /* Only at the very end do more items follow in their order. */
    uint32_t stay = right->next ? TREE_LEAF_ITEMS / 2 : split_point(TREE_LEAF_ITEMS, index);
    right->len = TREE_LEAF_ITEMS - stay;
    memcpy(right->items, leaf->items + stay, right->len * sizeof *right->items);
    leaf->len = stay;
    if (index > stay || right->len == 0)
        put_item(right, index - stay, item);
    else
        put_item(leaf, index, item);
    return right;
}

struct child {
    void *node, *first;
    uint64_t count;
};

static struct child child_of_leaf(struct tree_leaf *leaf)
{
    return (struct child){leaf, leaf->items[0], leaf->len};
}

static struct child child_of_inner(struct inner *inner)
{
    struct child child = {inner, inner->firsts[0], 0};
    for (uint32_t i = 0; i < inner->len; i++)
        child.count += inner->counts[i];
    return child;
}

static void set_child(struct inner *inner, uint32_t index, struct child child)
{
    inner->firsts[index] = child.first;
    inner->children[index] = child.node;
    inner->counts[index] = child.count;
}

static void put_child(struct inner *inner, uint32_t index, struct child child)
{
    OPEN(inner->firsts, index, inner->len);
    OPEN(inner->children, index, inner->len);
    OPEN(inner->counts, index, inner->len);
    inner->len++;
    set_child(inner, index, child);
}

/* Appends the children of `from`, from the one at `index` on, to `to`. */
static void move_children(struct inner *to, struct inner *from, uint32_t index)
{
    size_t moved = from->len - index;
    memcpy(to->firsts + to->len, from->firsts + index, moved * sizeof *to->firsts);
    memcpy(to->children + to->len, from->children + index, moved * sizeof *to->children);
    memcpy(to->counts + to->len, from->counts + index, moved * sizeof *to->counts);
    to->len += moved;
    from->len = index;
}

/* As insert_in_leaf(). */
static struct inner *insert_in_inner(struct tree *tree, struct heap *heap, struct inner *inner,
                                     uint32_t index, struct child child)
{
    if (inner->len < TREE_FANOUT) {
        put_child(inner, index, child);
        return NULL;
    }
    struct inner *right = create_node(tree, heap, sizeof *right);
    right->len = 0;
    uint32_t stay = split_point(TREE_FANOUT, index);
    move_children(right, inner, stay);
    if (index > stay || right->len == 0)
        put_child(right, index - stay, child);
    else
        put_child(inner, index, child);
    return right;
}

static void add_root(struct tree *tree, struct heap *heap, struct child left, struct child right)
{
    ASSERT(tree->height < HEIGHT_MAX);
    struct inner *root = create_node(tree, heap, sizeof *root);
    root->len = 2;
    set_child(root, 0, left);
    set_child(root, 1, right);
    tree->root = root;
    tree->height++;
}

void tree_insert(struct tree *tree, struct heap *heap, uint64_t rank, void *item)
{
    ASSERT(rank <= tree->count);
    if (tree->height == 0)
        grow_only_leaf(tree, heap);
    struct path path;
    find_path(tree, rank, true, &path);
    tree->count++;
    struct tree_leaf *new_leaf = insert_in_leaf(tree, heap, path.leaf, path.index, item);
    struct child left = child_of_leaf(path.leaf);
    struct child right = new_leaf ? child_of_leaf(new_leaf) : (struct child){0};

    for (uint32_t level = 0; level < tree->height; level++) {
        struct step step = path.steps[level];
        if (!right.node) { /* no more than counts and perhaps a first item */
            step.inner->firsts[step.index] = left.first;
            step.inner->counts[step.index]++;
            left.first = step.inner->firsts[0];
            continue;
        }
        set_child(step.inner, step.index, left);
        struct inner *new_inner = insert_in_inner(tree, heap, step.inner, step.index + 1, right);
        left = child_of_inner(step.inner);
        right = new_inner ? child_of_inner(new_inner) : (struct child){0};
    }
    if (right.node)
        add_root(tree, heap, left, right);
}

/* ---- Removing ------------------------------------------------------------------------------ */

static void unlink_leaf(struct tree *tree, struct heap *heap, struct tree_leaf *leaf)
{
    if (leaf->prev)
        leaf->prev->next = leaf->next;
    if (leaf->next)
        leaf->next->prev = leaf->prev;
    free_leaf(tree, heap, leaf);
}

static void drop_child(struct inner *inner, uint32_t index)
{
    CLOSE(inner->firsts, index, inner->len);
    CLOSE(inner->children, index, inner->len);
    CLOSE(inner->counts, index, inner->len);
    inner->len--;
}

static uint64_t node_len(const void *node, bool is_leaf)
{
    return is_leaf ? ((const struct tree_leaf *)node)->len : ((const struct inner *)node)->len;
}

/* Moves all of the child at `index` + 1 into the one at `index`. */
static void merge_children(struct tree *tree, struct heap *heap, struct inner *inner,
                           uint32_t index, bool is_leaf)
{
    void *right = inner->children[index + 1];
    if (is_leaf) {
        struct tree_leaf *to = inner->children[index], *from = right;
        memcpy(to->items + to->len, from->items, from->len * sizeof *to->items);
        to->len += from->len;
        unlink_leaf(tree, heap, from);
    } else {
        move_children(inner->children[index], right, 0);
        free_node(tree, heap, right, sizeof(struct inner));
    }
    inner->counts[index] += inner->counts[index + 1];
    drop_child(inner, index + 1);
}

static bool can_merge(const struct inner *inner, uint32_t index, bool is_leaf)
{
    uint64_t cap = is_leaf ? TREE_LEAF_ITEMS : TREE_FANOUT;
    return node_len(inner->children[index], is_leaf) +
               node_len(inner->children[index + 1], is_leaf) <=
           cap * MERGE_PERCENT / 100;
}

/* Mends a node one of whose children has lost an item. */
static void mend(struct tree *tree, struct heap *heap, struct step step, bool is_leaf)
{
    struct inner *inner = step.inner;
    uint32_t index = step.index;
    void *child = inner->children[index];
    if (--inner->counts[index] == 0) { /* an only child, or its neighbours are full */
        if (is_leaf)
            unlink_leaf(tree, heap, child);
        else
            free_node(tree, heap, child, sizeof(struct inner));
        drop_child(inner, index);
        return;
    }
    inner->firsts[index] = is_leaf ? ((struct tree_leaf *)child)->items[0]
                                   : ((struct inner *)child)->firsts[0];
    if (index + 1 < inner->len && can_merge(inner, index, is_leaf))
        merge_children(tree, heap, inner, index, is_leaf);
    else if (index > 0 && can_merge(inner, index - 1, is_leaf))
        merge_children(tree, heap, inner, index - 1, is_leaf);
}

/* A root of one child gives way to it; an empty leaf, to nothing. */
static void lower_root(struct tree *tree, struct heap *heap)
{
    while (tree->height > 0 && ((struct inner *)tree->root)->len == 1) {
        struct inner *root = tree->root;
        tree->root = root->children[0];
        tree->height--;
        free_node(tree, heap, root, sizeof *root);
    }
    if (tree->count == 0) {
        free_leaf(tree, heap, tree->root);
        tree->root = NULL;
    }
}

void *tree_take(struct tree *tree, struct heap *heap, uint64_t rank)
{
    ASSERT(rank < tree->count);
    struct path path;
    find_path(tree, rank, false, &path);
    struct tree_leaf *leaf = path.leaf;
    void *item = leaf->items[path.index];
    CLOSE(leaf->items, path.index, leaf->len);
    leaf->len--;
    tree->count--;
    for (uint32_t level = 0; level < tree->height; level++)
        mend(tree, heap, path.steps[level], level == 0);
    lower_root(tree, heap);
    return item;
}

/* Drops the last leaf. */
static uint64_t drop_last_leaf(struct tree *tree, struct heap *heap)
{
    struct path path;
    find_path(tree, tree->count - 1, false, &path);
    uint64_t dropped = path.leaf->len;
    tree->count -= dropped;
    if (tree->height > 0)
        unlink_leaf(tree, heap, path.leaf);
    bool is_gone = true; /* the child that the path leads to */
    for (uint32_t level = 0; level < tree->height; level++) {
        struct inner *inner = path.steps[level].inner;
        if (is_gone)
            inner->len--;
        else
            inner->counts[inner->len - 1] -= dropped;
        is_gone = inner->len == 0;
        if (is_gone && level + 1 < tree->height)
            free_node(tree, heap, inner, sizeof *inner);
    }
    lower_root(tree, heap);
    return dropped;
}

bool tree_drain(struct tree *tree, struct heap *heap, uint64_t item_count)
{
    while (tree->count > 0 && item_count > 0) {
        uint64_t dropped = drop_last_leaf(tree, heap);
        item_count -= dropped < item_count ? dropped : item_count;
    }
    return tree->count == 0;
}

/* ---- For tests ----------------------------------------------------------------------------- */

struct audit {
    const struct tree_leaf *last;
    uint64_t node_bytes;
};

static uint64_t audit_node(struct audit *audit, const void *node, uint32_t level)
{
    if (level == 0) {
        const struct tree_leaf *leaf = node;
        ASSERT(leaf->len > 0 && leaf->len <= leaf->cap);
        ASSERT(leaf->cap == TREE_LEAF_ITEMS || (!leaf->prev && !leaf->next));
        ASSERT(leaf->prev == audit->last);
        ASSERT(!audit->last || audit->last->next == leaf);
        audit->last = leaf;
        audit->node_bytes += heap_usable(LEAF_BYTES(leaf->cap));
        return leaf->len;
    }
    const struct inner *inner = node;
    ASSERT(inner->len > 0 && inner->len <= TREE_FANOUT);
    audit->node_bytes += heap_usable(sizeof *inner);
    uint64_t total = 0;
    for (uint32_t i = 0; i < inner->len; i++) {
        const void *child = inner->children[i];
        void *first = level == 1 ? ((const struct tree_leaf *)child)->items[0]
                                 : ((const struct inner *)child)->firsts[0];
        ASSERT(inner->firsts[i] == first);
        ASSERT(inner->counts[i] == audit_node(audit, child, level - 1));
        total += inner->counts[i];
    }
    return total;
}

void tree_validate(const struct tree *tree)
{
    struct audit audit = {0};
    if (!tree->root) {
        ASSERT(tree->count == 0 && tree->height == 0 && tree->node_bytes == 0);
        return;
    }
    ASSERT(tree->height == 0 || ((const struct inner *)tree->root)->len > 1);
    ASSERT(audit_node(&audit, tree->root, tree->height) == tree->count);
    ASSERT(audit.last->next == NULL);
    ASSERT(audit.node_bytes == tree->node_bytes);
}
