/*
 * chain: a long list of strings and integers, kept as packs (pack.h) that are linked to each other.
 *
 * A node is a pack of bounded size, so that a change anywhere costs no more than moving one node's
 * bytes; a text that is too large for any node has a plain one of its own.
 *
 * Places     an element is named by its node and its offset there; valid until the next change.
 *            A place without a node is none: before the first element, behind the last.
 * Cost       ends: O(bytes of a node). An index: O(nodes) from the nearer end.
 * Memory     of the caller's heap, the same for all calls.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ds/pack.h"

/* How large a node may grow; one element always fits. */
struct chain_limits {
    uint32_t node_bytes; /* of a pack, all included */
    uint32_t node_count; /* elements, at least 1 */
};

struct chain_node;

struct chain {
    struct chain_node *first, *last;
    uint64_t count; /* elements */
    uint64_t node_count;
};

struct chain_place {
    struct chain_node *node; /* NULL: none */
    uint32_t at;             /* of the entry in a pack */
};

/* The zero value is an empty chain. */
void chain_fini(struct chain *chain, struct heap *heap);
/* `chain` is an empty one. */
void chain_copy(struct chain *chain, struct heap *heap, const struct chain *from);
/* Removes nodes from the front, with at least `element_count` elements or all that there are. */
void chain_free_some(struct chain *chain, struct heap *heap, size_t element_count);
/* Heap memory of all nodes. O(nodes). */
size_t chain_bytes(const struct chain *chain);
/* Of the packs and plain texts alone, as they would be dumped. O(nodes). */
size_t chain_data_bytes(const struct chain *chain);
/* Ends the process if the chain contradicts itself. For tests. */
void chain_validate(const struct chain *chain);

/* ---- Reading ---- */

/* The element at `index`, negative counting from the end (-1: the last). None outside. */
struct chain_place chain_seek(const struct chain *chain, int64_t index);
struct chain_place chain_next(struct chain_place place);
struct chain_place chain_prev(struct chain_place place);
/* The element's text, borrowed; a number is printed into `scratch`. */
struct bytes chain_view(struct chain_place place, char scratch[PACK_SCRATCH]);
bool chain_equals(struct chain_place place, struct bytes text);

/* ---- Nodes, for dumps ---- */

/* The node after `node`, NULL: the first one; NULL behind the last. */
const struct chain_node *chain_next_node(const struct chain *chain, const struct chain_node *node);
/* Its pack; or NULL, and its one plain text. */
const struct pack *chain_node_pack(const struct chain_node *node, struct bytes *out_plain);

/* ---- Changing ---- */

void chain_push_first(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                      struct bytes text);
void chain_push_last(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                     struct bytes text);
/* Before the element at `place`; none: at the end. */
void chain_insert(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                  struct chain_place place, struct bytes text);
void chain_replace(struct chain *chain, struct heap *heap, const struct chain_limits *limits,
                   struct chain_place place, struct bytes text);
/* Removes `count` elements from `place` on, or as many as there are. Returns the place of the
 * element that followed them; places before `place` stay valid. */
struct chain_place chain_delete(struct chain *chain, struct heap *heap, struct chain_place place,
                                uint64_t count);

/* ---- From and to one pack ---- */

/* Takes over a pack that is not empty, as the chain's last node. */
void chain_put_pack(struct chain *chain, struct heap *heap, struct pack *pack);
/* If one node holds all elements, and they are within `limits`: gives it away as a pack, and the
 * chain is empty. NULL, and nothing changed, otherwise. */
struct pack *chain_take_pack(struct chain *chain, struct heap *heap,
                             const struct chain_limits *limits);
