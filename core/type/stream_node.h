/*
 * stream_node: some entries of a stream in one pack, of exactly Redis's bytes; stream_node.c has
 * the format.
 *
 * A node has entries as long as it lives, but they may all be tombstones: a deleted entry is only
 * marked, as Redis has it, and goes with the node. Memory: of the caller's heap. What is put in
 * must not be borrowed from the node itself. Views are valid until the node changes. Thread: the
 * owner's.
 */
#pragma once

#include "core/ds/pack.h"
#include "core/type/stream_id.h"

/* A node: `pack` holds the entries, whose ids it tells as distances from `master`, the id of the
 * first one ever. The zero value is no node. */
struct stream_node {
    struct stream_id master;
    struct pack *pack;
};

/* How large a node may grow: stream-node-max-bytes and -entries, 0 for no limit. */
struct stream_limits {
    uint64_t node_bytes;
    uint64_t node_entries;
};

/* Of `words`: field, value, field, value, ... `id` is larger than all in the node. */
void stream_node_create(struct stream_node *node, struct heap *heap, struct stream_id id,
                        const struct bytes *words, uint32_t pair_count);
void stream_node_append(struct stream_node *node, struct heap *heap, struct stream_id id,
                        const struct bytes *words, uint32_t pair_count);
/* Whether an entry of so many bytes of text may be appended. */
bool stream_node_has_room(const struct stream_node *node, const struct stream_limits *limits,
                          uint64_t text_bytes, uint32_t pair_count);
/* Whether a node can hold such an entry at all. */
bool stream_node_can_hold(uint64_t text_bytes, uint32_t pair_count);
void stream_node_free(struct stream_node *node, struct heap *heap); /* accepts none */

/* ---- Reading ---- */

/* An entry, and where its pairs are read from. */
struct stream_entry {
    struct stream_id id;
    const struct pack *pack;
    uint32_t start_at;   /* its first word */
    uint32_t pair_count; /* all of them */
    uint32_t at;         /* the next value, or the field before it */
    uint32_t field_at;   /* the next field of the node's own; PACK_NONE: the entry has its own */
    bool is_tombstone;
};

struct stream_pair {
    struct bytes field, value;
    char field_scratch[PACK_SCRATCH], value_scratch[PACK_SCRATCH]; /* where numbers are printed */
};

/* The entry's next pair; to be called pair_count times at most. Borrowed from the node and from
 * `out`. */
void stream_entry_step(struct stream_entry *entry, struct stream_pair *out);

/* All entries of a node, tombstones too, upwards or downwards. */
struct stream_node_walk {
    const struct pack *pack;
    struct stream_id master;
    uint32_t field_count, field_at;
    uint32_t at; /* upwards, the next entry's first word, downwards its last; PACK_NONE: the end */
    bool is_reverse;
};

void stream_node_walk(const struct stream_node *node, bool is_reverse,
                      struct stream_node_walk *out);
MUST_CHECK bool stream_node_step(struct stream_node_walk *walk, struct stream_entry *out);

uint64_t stream_node_length(const struct stream_node *node); /* without tombstones */
/* Tombstones counted in. */
struct stream_id stream_node_last_id(const struct stream_node *node);

/* ---- Deleting ---- */

/* Makes the entry that begins at `start_at`, and is none yet, a tombstone. Places stay valid. The
 * node's counts are put right by stream_node_bury() after one or more of these. */
void stream_node_mark(struct stream_node *node, struct heap *heap, uint32_t start_at);
void stream_node_bury(struct stream_node *node, struct heap *heap, uint64_t count);

/* Removes the tombstones at the end whose ids are larger than `id`; no other entry may have such a
 * one. False, and nothing changed, when that is all of the node. */
MUST_CHECK bool stream_node_cut(struct stream_node *node, struct heap *heap, struct stream_id id);

/* ---- Nodes of others ---- */

/* What a node holds. */
struct stream_node_facts {
    uint64_t length; /* entries, tombstones not counted */
    uint64_t tombstones;
    struct stream_id first_id, last_id; /* tombstones counted in */
};

/* True if `bytes`, of any origin, are a whole sound node with this master id: a pack, entries that
 * say what they hold, counts that are right, ids that rise from the master's on. */
MUST_CHECK bool stream_node_is_valid(struct stream_id master, struct bytes bytes,
                                     struct stream_node_facts *out);
