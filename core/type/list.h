/*
 * list: strings in a row, changed mostly at its ends.
 *
 * One pack while it is small ("listpack"), a chain of packs beyond ("quicklist"): the borders are
 * Redis 7.2's, drawn by list-max-listpack-size. A list becomes a chain before it would grow over
 * the limit, and a pack again when it has shrunk to half of it.
 *
 * Places     as in chain.h: valid until the next change. list_is_at() tells an element from none.
 * Memory     of the caller's heap. Values put in must not be borrowed from the list itself.
 * Empty      lists exist only within a command: who removes the last element deletes the key.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/chain.h"
#include "core/type/compound.h"

#define LIST_NODE_BYTES_DEFAULT 8192u /* bytes: list-max-listpack-size -2 */

struct list;

/* What list-max-listpack-size says: how large a pack may be, and to what a chain must have shrunk
 * to become one again. */
struct list_limits {
    struct chain_limits node, small;
};

/* Of any value: n > 0, n elements (and LIST_NODE_BYTES_DEFAULT); 0, one; -1 to -5 and below, 4 KiB
 * to 64 KiB. */
struct list_limits list_limits(int64_t max_listpack_size);

enum list_end { LIST_FIRST, LIST_LAST };

/* Small enough to be passed in registers. */
struct list_place {
    union {
        const struct pack *pack;
        struct chain_node *node;
    };
    uint32_t at;
    bool in_pack;
};

extern const struct compound_ops list_ops;

struct list *list_create(struct heap *heap); /* an empty one */
uint64_t list_count(const struct list *list);
/* NULL while it is one pack. For those who look inside. */
const struct chain *list_chain(const struct list *list);
const struct pack *list_pack(const struct list *list); /* NULL of a chain */
/* Ends the process if the list contradicts itself. For tests. */
void list_validate(const struct list *list);

/* ---- Reading ---- */

static inline bool list_is_at(struct list_place place)
{
    return place.at != PACK_NONE;
}

/* The element at `index`, negative counting from the end (-1: the last). None outside. */
struct list_place list_seek(const struct list *list, int64_t index);
struct list_place list_next(struct list_place place);
struct list_place list_prev(struct list_place place);
/* The element's text, borrowed; a number is printed into `scratch`. */
struct bytes list_view(struct list_place place, char scratch[PACK_SCRATCH]);
bool list_equals(struct list_place place, struct bytes text);
/* The element equal to `text` that is nearest to an end. None, if there is none. */
struct list_place list_find(const struct list *list, struct bytes text, enum list_end from);

/* ---- Changing ---- */

/* One text after another: the last one pushed stands outermost. */
void list_push(struct list *list, struct heap *heap, const struct list_limits *limits,
               enum list_end end, const struct bytes *texts, size_t count);
/* At the end: all elements of a sound pack that is not empty, and is the list's from now on. It
 * stays a node of its own, unless the list is empty and it is small. */
void list_put_pack(struct list *list, struct heap *heap, const struct list_limits *limits,
                   struct pack *pack);
/* Before the element at `place`; none: at the end. */
void list_insert(struct list *list, struct heap *heap, const struct list_limits *limits,
                 struct list_place place, struct bytes text);
void list_replace(struct list *list, struct heap *heap, const struct list_limits *limits,
                  struct list_place place, struct bytes text);
/* Removes elements from `index` (>= 0) on. */
void list_delete(struct list *list, struct heap *heap, const struct list_limits *limits,
                 uint64_t index, uint64_t count);
/* Removes up to `max` elements equal to `text`, from `place` on towards the other end than `from`.
 * Returns how many. */
uint64_t list_remove(struct list *list, struct heap *heap, const struct list_limits *limits,
                     struct list_place place, struct bytes text, enum list_end from, uint64_t max);
