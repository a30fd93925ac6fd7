/*
 * stream_index: the nodes of a stream, in the order of their master ids.
 *
 * The last node, where entries are added, stands in the index itself: small streams have no tree,
 * and adding an entry touches none. Memory: of the caller's heap, always the same.
 * Thread: the owner's.
 */
#pragma once

#include "core/ds/tree.h"
#include "core/type/stream_node.h"

/* The zero value is an empty index. */
struct stream_index {
    struct stream_node last;   /* pack NULL: there are no nodes */
    struct tree older;         /* of struct stream_node, all before `last` */
    uint64_t radix_node_count; /* of stream_index_radix_nodes(), but for the root */
};

uint64_t stream_index_count(const struct stream_index *index);
/* The node at `at`, below the count. Its entries may change, its master id must not. */
struct stream_node *stream_index_get(const struct stream_index *index, uint64_t at);
/* The last node that begins at `id` or before. False when all begin behind it. */
MUST_CHECK bool stream_index_find(const struct stream_index *index, struct stream_id id,
                                  uint64_t *out_at);

/* Takes over a node with a larger master id than all others; returns where it is. */
struct stream_node *stream_index_append(struct stream_index *index, struct heap *heap,
                                        struct stream_node node);
/* Frees a node. */
void stream_index_drop(struct stream_index *index, struct heap *heap, uint64_t at);
/* Frees nodes until about `*io_budget` entries are gone, and takes off how many; true when the
 * index is empty. For those who free all: nothing else may be asked of the index afterwards. */
bool stream_index_drain(struct stream_index *index, struct heap *heap, uint64_t *io_budget);

/* Walking: the node at `at`, NULL outside; then the next one, or the one before, NULL at the end.
 */
const struct stream_node *stream_index_seek(const struct stream_index *index, uint64_t at,
                                            struct tree_cursor *out);
const struct stream_node *stream_index_step(const struct stream_index *index, bool is_reverse,
                                            struct tree_cursor *cursor);

/* How many nodes a radix tree over the bytes of the master ids has, which is how Redis keeps them
 * and tells its clients. */
uint64_t stream_index_radix_nodes(const struct stream_index *index);

size_t stream_index_bytes(const struct stream_index *index); /* of heap memory; O(nodes) */
/* `index` is an empty one. */
void stream_index_copy(struct stream_index *index, struct heap *heap,
                       const struct stream_index *from);
/* Ends the process if the index contradicts itself; looks at no entries. For tests. */
void stream_index_validate(const struct stream_index *index);
