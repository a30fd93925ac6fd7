/*
 * Nodes are linked both ways and know how many elements they hold, so that an index is found
 * without touching packs on the way.
 *
 * A node that is full is not made larger: what goes in at its edge goes into the neighbour there if
 * that has room, else into a new node; what goes into its middle splits it first. The halves of a
 * split are joined with their neighbours where both fit into one node, so that inserting at hostile
 * places cannot leave a chain of nearly empty nodes. Deleting joins nothing: nodes shrink alike.
 */
#include "core/ds/chain.h"

#include "core/base/check.h"
#include "core/base/heap.h"

/* Head and tail of a text in a pack, for texts below 64 KiB. Numbers take less than their text and
 * this. */
#define ENTRY_EXTRA_LEN 8u

#define PLAIN_AT 1u /* where the element of a plain node is: any place but PACK_NONE */

struct plain {
    size_t len;
    char bytes[];
};

struct chain_node {
    struct chain_node *prev, *next;
    union {
        struct pack *pack;   /* not empty */
        struct plain *plain; /* one element */
    };
    uint32_t count;
    bool is_plain;
};

/* ---- Nodes --------------------------------------------------------------------------------- */

static bool is_too_large(const struct chain_limits *limits, struct bytes text)
{
    return text.len + ENTRY_EXTRA_LEN + PACK_EMPTY_LEN > limits->node_bytes;
}

static bool has_room(const struct chain_node *node, const struct chain_limits *limits,
                     struct bytes text)
{
    return node && !node->is_plain && node->count < limits->node_count &&
           pack_bytes(node->pack) + text.len + ENTRY_EXTRA_LEN <= limits->node_bytes;
}

/* Makes a node behind `prev`, NULL: at the front. Its content is for the caller to set. */
static struct chain_node *add_node(struct chain *chain, struct heap *heap, struct chain_node *prev)
{
    struct chain_node *node = heap_alloc(heap, sizeof *node);
    struct chain_node *next = prev ? prev->next : chain->first;
    *node = (struct chain_node){.prev = prev, .next = next};
    *(prev ? &prev->next : &chain->first) = node;
    *(next ? &next->prev : &chain->last) = node;
    chain->node_count++;
    return node;
}

const struct chain_node *chain_next_node(const struct chain *chain, const struct chain_node *node)
{
    return node ? node->next : chain->first;
}

const struct pack *chain_node_pack(const struct chain_node *node, struct bytes *out_plain)
{
    if (!node->is_plain)
        return node->pack;
    *out_plain = bytes_of(node->plain->bytes, node->plain->len);
    return NULL;
}

static void free_content(struct chain_node *node, struct heap *heap)
{
    if (node->is_plain)
        heap_free(heap, node->plain, sizeof *node->plain + node->plain->len);
    else
        pack_destroy(node->pack, heap);
}

/* The content is gone already. */
static void unlink_node(struct chain *chain, struct heap *heap, struct chain_node *node)
{
    *(node->prev ? &node->prev->next : &chain->first) = node->next;
    *(node->next ? &node->next->prev : &chain->last) = node->prev;
    chain->node_count--;
    heap_free(heap, node, sizeof *node);
}

static void drop_node(struct chain *chain, struct heap *heap, struct chain_node *node)
{
    chain->count -= node->count;
    free_content(node, heap);
    unlink_node(chain, heap, node);
}

static struct plain *make_plain(struct heap *heap, struct bytes text)
{
    struct plain *plain = heap_alloc(heap, sizeof *plain + text.len);
    plain->len = text.len;
    memcpy(plain->bytes, text.ptr, text.len);
    return plain;
}

static struct bytes plain_text(const struct plain *plain)
{
    return bytes_of(plain->bytes, plain->len);
}

/* A node of its own for `text`, behind `prev`. */
static void add_text(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                     struct chain_node *prev, struct bytes text)
{
    struct chain_node *node = add_node(chain, heap, prev);
    node->count = 1;
    node->is_plain = is_too_large(limits, text);
    if (node->is_plain) {
        node->plain = make_plain(heap, text);
    } else {
        node->pack = pack_create(heap);
        pack_append(&node->pack, heap, text);
    }
    chain->count++;
}

/* Puts `text` into the gap between two neighbours, either of which may be NULL. */
static void fill_gap(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                     struct chain_node *left, struct chain_node *right, struct bytes text)
{
    if (has_room(left, limits, text)) {
        pack_append(&left->pack, heap, text);
        left->count++;
        chain->count++;
    } else if (has_room(right, limits, text)) {
        pack_prepend(&right->pack, heap, text);
        right->count++;
        chain->count++;
    } else {
        add_text(chain, heap, limits, left, text);
    }
}

/* Joins two neighbours if both fit into the left one. */
static void join_if_small(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                          struct chain_node *left, struct chain_node *right)
{
    if (!left || !right || left->is_plain || right->is_plain ||
        left->count + right->count > limits->node_count ||
        pack_bytes(left->pack) + pack_bytes(right->pack) - PACK_EMPTY_LEN > limits->node_bytes)
        return;
    pack_join(&left->pack, heap, right->pack);
    left->count += right->count;
    pack_destroy(right->pack, heap);
    unlink_node(chain, heap, right);
}

/* ---- Whole chains -------------------------------------------------------------------------- */

void chain_fini(struct chain *chain, struct heap *heap)
{
    chain_free_some(chain, heap, SIZE_MAX);
}

void chain_free_some(struct chain *chain, struct heap *heap, size_t element_count)
{
    for (size_t freed = 0; chain->first && freed < element_count;) {
        freed += chain->first->count;
        drop_node(chain, heap, chain->first);
    }
}

void chain_copy(struct chain *chain, struct heap *heap, const struct chain *from)
{
    for (const struct chain_node *node = from->first; node; node = node->next) {
        struct chain_node *copy = add_node(chain, heap, chain->last);
        copy->count = node->count;
        copy->is_plain = node->is_plain;
        if (node->is_plain)
            copy->plain = make_plain(heap, plain_text(node->plain));
        else
            copy->pack = pack_copy(node->pack, heap);
    }
    chain->count = from->count;
}

size_t chain_bytes(const struct chain *chain)
{
    size_t bytes = 0;
    for (const struct chain_node *node = chain->first; node; node = node->next) {
        size_t content_bytes = node->is_plain ? sizeof *node->plain + node->plain->len
                                              : pack_bytes(node->pack);
        bytes += heap_usable(sizeof *node) + heap_usable(content_bytes);
    }
    return bytes;
}

size_t chain_data_bytes(const struct chain *chain)
{
    size_t bytes = 0;
    for (const struct chain_node *node = chain->first; node; node = node->next)
        bytes += node->is_plain ? node->plain->len : pack_bytes(node->pack);
    return bytes;
}

void chain_validate(const struct chain *chain)
{
    uint64_t count = 0, node_count = 0;
    const struct chain_node *prev = NULL;
    for (const struct chain_node *node = chain->first; node; prev = node, node = node->next) {
        ASSERT(node->prev == prev);
        ASSERT(node->count > 0);
        if (node->is_plain) {
            ASSERT(node->count == 1);
        } else {
            ASSERT(pack_is_valid(bytes_of(node->pack, pack_bytes(node->pack))));
            ASSERT(pack_count(node->pack) == node->count);
        }
        count += node->count;
        node_count++;
    }
    ASSERT(chain->last == prev);
    ASSERT(chain->count == count);
    ASSERT(chain->node_count == node_count);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static struct chain_place first_of(struct chain_node *node)
{
    if (!node)
        return (struct chain_place){0};
    return (struct chain_place){node, node->is_plain ? PLAIN_AT : pack_first(node->pack)};
}

static struct chain_place last_of(struct chain_node *node)
{
    if (!node)
        return (struct chain_place){0};
    return (struct chain_place){node, node->is_plain ? PLAIN_AT : pack_last(node->pack)};
}

struct chain_place chain_seek(const struct chain *chain, int64_t index)
{
    uint64_t count = chain->count;
    uint64_t from_first = index >= 0 ? (uint64_t)index : count - (0 - (uint64_t)index);
    if (from_first >= count) /* a negative index below the first wraps around to a large one */
        return (struct chain_place){0};

    struct chain_node *node;
    if (from_first <= count / 2) {
        for (node = chain->first; from_first >= node->count; node = node->next)
            from_first -= node->count;
    } else {
        uint64_t behind = count - from_first; /* elements from the wanted one on */
        for (node = chain->last; behind > node->count; node = node->prev)
            behind -= node->count;
        from_first = node->count - behind;
    }
    if (node->is_plain)
        return (struct chain_place){node, PLAIN_AT};
    return (struct chain_place){node, pack_seek(node->pack, (int64_t)from_first)};
}

struct chain_place chain_next(struct chain_place place)
{
    if (!place.node->is_plain) {
        uint32_t at = pack_next(place.node->pack, place.at);
        if (at != PACK_NONE)
            return (struct chain_place){place.node, at};
    }
    return first_of(place.node->next);
}

struct chain_place chain_prev(struct chain_place place)
{
    if (!place.node->is_plain) {
        uint32_t at = pack_prev(place.node->pack, place.at);
        if (at != PACK_NONE)
            return (struct chain_place){place.node, at};
    }
    return last_of(place.node->prev);
}

struct bytes chain_view(struct chain_place place, char scratch[PACK_SCRATCH])
{
    if (place.node->is_plain)
        return plain_text(place.node->plain);
    return pack_view(place.node->pack, place.at, scratch);
}

bool chain_equals(struct chain_place place, struct bytes text)
{
    if (place.node->is_plain)
        return bytes_equal(plain_text(place.node->plain), text);
    return pack_equals(place.node->pack, place.at, text);
}

/* ---- Changing ------------------------------------------------------------------------------ */

void chain_push_first(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                      struct bytes text)
{
    fill_gap(chain, heap, limits, NULL, chain->first, text);
}

void chain_push_last(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                     struct bytes text)
{
    fill_gap(chain, heap, limits, chain->last, NULL, text);
}

/* Moves the elements from `at` on, which is not the first, into a node of their own. */
static struct chain_node *split(struct chain *chain, struct heap *heap, struct chain_node *node,
                                uint32_t at)
{
    struct chain_node *right = add_node(chain, heap, node);
    right->pack = pack_split(&node->pack, heap, at);
    right->count = pack_count(right->pack);
    node->count -= right->count;
    return right;
}

void chain_insert(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                  struct chain_place place, struct bytes text)
{
    struct chain_node *node = place.node;
    if (!node) {
        chain_push_last(chain, heap, limits, text);
    } else if (has_room(node, limits, text)) {
        (void)pack_insert(&node->pack, heap, place.at, text);
        node->count++;
        chain->count++;
    } else if (node->is_plain || place.at == pack_first(node->pack)) {
        fill_gap(chain, heap, limits, node->prev, node, text);
    } else {
        struct chain_node *right = split(chain, heap, node, place.at);
        fill_gap(chain, heap, limits, node, right, text);
        join_if_small(chain, heap, limits, right, right->next);
        join_if_small(chain, heap, limits, node->prev, node);
    }
}

void chain_replace(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                   struct chain_place place, struct bytes text)
{
    struct chain_node *node = place.node;
    char scratch[PACK_SCRATCH];
    size_t old_len = chain_view(place, scratch).len;
    if (!node->is_plain && !is_too_large(limits, text) &&
        (text.len <= old_len ||
         pack_bytes(node->pack) + text.len - old_len + ENTRY_EXTRA_LEN <= limits->node_bytes)) {
        pack_replace(&node->pack, heap, place.at, text);
        return;
    }
    place = chain_delete(chain, heap, place, 1);
    chain_insert(chain, heap, limits, place, text);
}

struct chain_place chain_delete(struct chain *chain, struct heap *heap, struct chain_place place,
                                uint64_t count)
{
    while (place.node && count > 0) {
        struct chain_node *node = place.node, *next = node->next;
        bool is_first = node->is_plain || place.at == pack_first(node->pack);
        if (is_first && node->count <= count) {
            count -= node->count;
            drop_node(chain, heap, node);
            place = first_of(next);
            continue;
        }
        uint32_t before = node->count;
        uint32_t wanted = count < before ? (uint32_t)count : before;
        place.at = pack_delete(&node->pack, heap, place.at, wanted);
        node->count = pack_count(node->pack);
        chain->count -= before - node->count;
        count -= before - node->count;
        if (place.at == PACK_NONE)
            place = first_of(next);
    }
    return place;
}

/* ---- From and to one pack ------------------------------------------------------------------ */

void chain_put_pack(struct chain *chain, struct heap *heap, struct pack *pack)
{
    struct chain_node *node = add_node(chain, heap, chain->last);
    node->pack = pack;
    node->count = pack_count(pack);
    chain->count += node->count;
}

struct pack *chain_take_pack(struct chain *chain, struct heap *heap,
                             const struct chain_limits *limits)
{
    struct chain_node *node = chain->first;
    if (chain->node_count != 1 || node->count > limits->node_count)
        return NULL;
    struct pack *pack;
    if (!node->is_plain) {
        if (pack_bytes(node->pack) > limits->node_bytes)
            return NULL;
        pack = node->pack;
    } else {
        if (is_too_large(limits, plain_text(node->plain)))
            return NULL;
        pack = pack_create(heap);
        pack_append(&pack, heap, plain_text(node->plain));
        free_content(node, heap);
    }
    chain->count = 0;
    unlink_node(chain, heap, node);
    return pack;
}
