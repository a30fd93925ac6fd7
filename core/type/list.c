/*
 * The root is two words: which encoding, and the pack; or the chain's own block. Small lists are
 * many, so the root has no room for a chain.
 */
#include "core/type/list.h"

#include "core/base/check.h"
#include "core/base/heap.h"

struct list {
    union {
        struct pack *pack;
        struct chain *chain;
    };
    bool is_chain;
};

#define ENTRY_EXTRA_LEN_MIN 2u /* head and tail of the shortest text in a pack */

/* list-max-listpack-size -1 to -5. */
static const uint32_t node_bytes[] = {4096, LIST_NODE_BYTES_DEFAULT, 16384, 32768, 65536};
#define NODE_BYTES_COUNT ((int64_t)(sizeof node_bytes / sizeof *node_bytes))

struct list_limits list_limits(int64_t max_listpack_size)
{
    struct list_limits limits;
    if (max_listpack_size >= 0) {
        uint32_t count = max_listpack_size < 1           ? 1
                         : max_listpack_size > INT32_MAX ? INT32_MAX
                                                         : (uint32_t)max_listpack_size;
        limits.node = (struct chain_limits){LIST_NODE_BYTES_DEFAULT, count};
        /* Only elements count when a list shrinks: a single long one makes a pack. */
        limits.small = (struct chain_limits){PACK_BYTES_MAX, count / 2};
    } else {
        int64_t level = max_listpack_size < -NODE_BYTES_COUNT ? NODE_BYTES_COUNT
                                                              : -max_listpack_size;
        limits.node = (struct chain_limits){node_bytes[level - 1], UINT32_MAX};
        limits.small = (struct chain_limits){node_bytes[level - 1] / 2, UINT32_MAX};
    }
    return limits;
}

/* ---- Whole lists --------------------------------------------------------------------------- */

struct list *list_create(struct heap *heap)
{
    struct list *list = heap_alloc(heap, sizeof *list);
    *list = (struct list){.pack = pack_create(heap)};
    return list;
}

const struct chain *list_chain(const struct list *list)
{
    return list->is_chain ? list->chain : NULL;
}

const struct pack *list_pack(const struct list *list)
{
    return list->is_chain ? NULL : list->pack;
}

uint64_t list_count(const struct list *list)
{
    return list->is_chain ? list->chain->count : pack_count(list->pack);
}

void list_validate(const struct list *list)
{
    if (list->is_chain)
        chain_validate(list->chain);
    else
        ASSERT(pack_is_valid(bytes_of(list->pack, pack_bytes(list->pack))));
}

/* ---- Encodings ----------------------------------------------------------------------------- */

static void make_chain(struct list *list, struct heap *heap)
{
    struct chain *chain = heap_alloc(heap, sizeof *chain);
    *chain = (struct chain){0};
    if (pack_is_empty(list->pack))
        pack_destroy(list->pack, heap);
    else
        chain_put_pack(chain, heap, list->pack);
    list->chain = chain;
    list->is_chain = true;
}

/* Before `count` texts of `text_bytes` in all are put in. Their heads and tails are not counted,
 * nor is what a replaced element gives back: so Redis draws the border, and clients see it. But one
 * push of very many short texts would make a pack of any size, each prepended at the cost of all
 * others: a pack stays below twice the limit or so. */
static void before_growing(struct list *list, struct heap *heap, const struct list_limits *limits,
                           size_t text_bytes, size_t count)
{
    if (list->is_chain)
        return;
    size_t bytes = pack_bytes(list->pack) + text_bytes;
    if (bytes > limits->node.node_bytes ||
        bytes + count * ENTRY_EXTRA_LEN_MIN > 2 * (size_t)limits->node.node_bytes ||
        pack_count(list->pack) + count > limits->node.node_count)
        make_chain(list, heap);
}

void list_put_pack(struct list *list, struct heap *heap, const struct list_limits *limits,
                   struct pack *pack)
{
    bool is_first = list_count(list) == 0;
    bool is_small = pack_bytes(pack) <= limits->node.node_bytes &&
                    pack_count(pack) <= limits->node.node_count;
    if (is_first && is_small && !list->is_chain) {
        pack_destroy(list->pack, heap);
        list->pack = pack;
        return;
    }
    if (!list->is_chain)
        make_chain(list, heap);
    chain_put_pack(list->chain, heap, pack);
}

static void after_shrinking(struct list *list, struct heap *heap, const struct list_limits *limits)
{
    if (!list->is_chain)
        return;
    struct chain *chain = list->chain;
    struct pack *pack = chain_take_pack(chain, heap, &limits->small);
    if (!pack)
        return;
    list->pack = pack;
    list->is_chain = false;
    heap_free(heap, chain, sizeof *chain);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static inline struct list_place in_pack(const struct pack *pack, uint32_t at)
{
    return (struct list_place){.pack = pack, .at = at, .in_pack = true};
}

static inline struct list_place in_chain(struct chain_place place)
{
    return (struct list_place){.node = place.node, .at = place.at};
}

/* Where it is in the chain; if it was found in a pack, that has become the chain's only node. */
static inline struct chain_place chain_place_of(const struct list *list, struct list_place place)
{
    struct chain_node *node = place.in_pack ? list->chain->first : place.node;
    return (struct chain_place){list_is_at(place) ? node : NULL, place.at};
}

struct list_place list_seek(const struct list *list, int64_t index)
{
    if (list->is_chain)
        return in_chain(chain_seek(list->chain, index));
    return in_pack(list->pack, pack_seek(list->pack, index));
}

struct list_place list_next(struct list_place place)
{
    if (place.in_pack)
        return in_pack(place.pack, pack_next(place.pack, place.at));
    return in_chain(chain_next((struct chain_place){place.node, place.at}));
}

struct list_place list_prev(struct list_place place)
{
    if (place.in_pack)
        return in_pack(place.pack, pack_prev(place.pack, place.at));
    return in_chain(chain_prev((struct chain_place){place.node, place.at}));
}

struct bytes list_view(struct list_place place, char scratch[PACK_SCRATCH])
{
    if (place.in_pack)
        return pack_view(place.pack, place.at, scratch);
    return chain_view((struct chain_place){place.node, place.at}, scratch);
}

bool list_equals(struct list_place place, struct bytes text)
{
    if (place.in_pack)
        return pack_equals(place.pack, place.at, text);
    return chain_equals((struct chain_place){place.node, place.at}, text);
}

struct list_place list_find(const struct list *list, struct bytes text, enum list_end from)
{
    struct list_place place = list_seek(list, from == LIST_FIRST ? 0 : -1);
    while (list_is_at(place) && !list_equals(place, text))
        place = from == LIST_FIRST ? list_next(place) : list_prev(place);
    return place;
}

/* ---- Changing ------------------------------------------------------------------------------ */

static void push_one(struct list *list, struct heap *heap, const struct list_limits *limits,
                     enum list_end end, struct bytes text)
{
    if (list->is_chain) {
        if (end == LIST_FIRST)
            chain_push_first(list->chain, heap, &limits->node, text);
        else
            chain_push_last(list->chain, heap, &limits->node, text);
    } else {
        if (end == LIST_FIRST)
            pack_prepend(&list->pack, heap, text);
        else
            pack_append(&list->pack, heap, text);
    }
}

void list_push(struct list *list, struct heap *heap, const struct list_limits *limits,
               enum list_end end, const struct bytes *texts, size_t count)
{
    size_t text_bytes = 0;
    for (size_t i = 0; i < count; i++)
        text_bytes += texts[i].len;
    before_growing(list, heap, limits, text_bytes, count);
    for (size_t i = 0; i < count; i++)
        push_one(list, heap, limits, end, texts[i]);
}

void list_insert(struct list *list, struct heap *heap, const struct list_limits *limits,
                 struct list_place place, struct bytes text)
{
    before_growing(list, heap, limits, text.len, 1);
    if (list->is_chain)
        chain_insert(list->chain, heap, &limits->node, chain_place_of(list, place), text);
    else
        (void)pack_insert(&list->pack, heap, place.at, text);
}

void list_replace(struct list *list, struct heap *heap, const struct list_limits *limits,
                  struct list_place place, struct bytes text)
{
    before_growing(list, heap, limits, text.len, 1);
    if (list->is_chain) {
        chain_replace(list->chain, heap, &limits->node, chain_place_of(list, place), text);
        after_shrinking(list, heap, limits);
    } else {
        pack_replace(&list->pack, heap, place.at, text);
    }
}

void list_delete(struct list *list, struct heap *heap, const struct list_limits *limits,
                 uint64_t index, uint64_t count)
{
    struct list_place place = list_seek(list, (int64_t)index);
    if (!list_is_at(place) || count == 0)
        return;
    if (list->is_chain) {
        (void)chain_delete(list->chain, heap, chain_place_of(list, place), count);
        after_shrinking(list, heap, limits);
    } else {
        uint32_t fitting = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
        (void)pack_delete(&list->pack, heap, place.at, fitting);
    }
}

/* Removes the element at `place`; returns the place of the one that followed. */
static struct list_place delete_at(struct list *list, struct heap *heap, struct list_place place)
{
    if (list->is_chain)
        return in_chain(chain_delete(list->chain, heap, chain_place_of(list, place), 1));
    uint32_t next = pack_delete(&list->pack, heap, place.at, 1);
    return in_pack(list->pack, next);
}

uint64_t list_remove(struct list *list, struct heap *heap, const struct list_limits *limits,
                     struct list_place place, struct bytes text, enum list_end from, uint64_t max)
{
    uint64_t removed = 0;
    while (list_is_at(place) && removed < max) {
        bool equal = list_equals(place, text);
        if (from == LIST_FIRST) {
            place = equal ? delete_at(list, heap, place) : list_next(place);
        } else {
            struct list_place prev = list_prev(place);
            if (equal)
                (void)delete_at(list, heap, place);
            if (prev.in_pack)
                prev.pack = list->pack; /* which has perhaps moved; the entry keeps its offset */
            place = prev;
        }
        removed += equal;
    }
    if (removed)
        after_shrinking(list, heap, limits);
    return removed;
}

/* ---- As a compound value ------------------------------------------------------------------- */

static const char *encoding(const void *root)
{
    const struct list *list = root;
    return list->is_chain ? "quicklist" : "listpack";
}

static size_t count(const void *root)
{
    return list_count(root);
}

static size_t bytes(const void *root)
{
    const struct list *list = root;
    size_t content = list->is_chain ? heap_usable(sizeof *list->chain) + chain_bytes(list->chain)
                                    : heap_usable(pack_bytes(list->pack));
    return heap_usable(sizeof *list) + content;
}

static void *copy(const void *root, struct heap *heap)
{
    const struct list *from = root;
    struct list *list = heap_alloc(heap, sizeof *list);
    list->is_chain = from->is_chain;
    if (from->is_chain) {
        list->chain = heap_alloc(heap, sizeof *list->chain);
        *list->chain = (struct chain){0};
        chain_copy(list->chain, heap, from->chain);
    } else {
        list->pack = pack_copy(from->pack, heap);
    }
    return list;
}

static bool free_some(void *root, struct heap *heap, size_t element_count)
{
    struct list *list = root;
    if (list->is_chain) {
        chain_free_some(list->chain, heap, element_count);
        if (list->chain->first)
            return false;
        heap_free(heap, list->chain, sizeof *list->chain);
    } else {
        pack_destroy(list->pack, heap);
    }
    heap_free(heap, list, sizeof *list);
    return true;
}

const struct compound_ops list_ops = {
    .encoding = encoding,
    .count = count,
    .bytes = bytes,
    .copy = copy,
    .free_some = free_some,
};
