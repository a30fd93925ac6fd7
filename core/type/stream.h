/*
 * stream: rows of field-value pairs in the order of their ids, added at the end only.
 *
 * Entries lie in nodes (stream_node.h) of exactly Redis's bytes, so that a dump copies them. A
 * deleted entry stays as a tombstone until its whole node goes, as Redis has it.
 *
 * Ids        are larger than all before; `last_id` may be larger than the last entry's.
 * Groups     of consumers hang off the stream and are stream_group.h's business. stream.c calls it
 *            when a stream is measured, copied or freed, and nowhere else.
 * Empty      streams exist: a stream without entries is still a key.
 * Memory     from the heap that each changing function is given, always the same. What is put in
 *            must not be borrowed from the stream itself.
 * Views      and cursors are valid until the next change.
 * Thread: the owner's.
 */
#pragma once

#include "core/base/check.h"
#include "core/type/compound.h"
#include "core/type/stream_id.h"
#include "core/type/stream_index.h"
#include "core/type/stream_node.h"

#define STREAM_NODE_BYTES_DEFAULT 4096u  /* stream-node-max-bytes */
#define STREAM_NODE_ENTRIES_DEFAULT 100u /* stream-node-max-entries */

struct stream_group_list;

/* ---- Whole streams ---- */

/* The counters are for all to read. Besides the functions here, XSETID and loaders write
 * max_deleted_id and entries_added; stream_group.h owns what `groups` points to. */
struct stream {
    uint64_t length;                  /* entries, tombstones not counted */
    uint64_t entries_added;           /* ever */
    struct stream_id first_id;        /* of the first entry; 0-0 when empty */
    struct stream_id last_id;         /* the largest that was ever given */
    struct stream_id max_deleted_id;  /* of the largest entry that XDEL took; 0-0: none */
    struct stream_group_list *groups; /* NULL: there was never one */
    struct stream_index nodes;
};

extern const struct compound_ops stream_ops;

/* An empty stream; freed by stream_ops.free_some(). */
struct stream *stream_create(struct heap *heap);

/* Ends the process if what the stream holds contradicts itself. For tests. */
void stream_validate(const struct stream *stream);

/* ---- Reading ---- */

struct stream_cursor {
    const struct stream *stream;
    struct stream_id low, high; /* the range */
    struct tree_cursor node;    /* as stream_index.h has it */
    struct stream_node_walk walk;
};

/* Entries from `low` to `high`, both included, upwards, or downwards if `is_reverse`. */
void stream_seek(const struct stream *stream, struct stream_id low, struct stream_id high,
                 bool is_reverse, struct stream_cursor *out);
/* The next entry of the range, tombstones passed over; false at the end. */
MUST_CHECK bool stream_step(struct stream_cursor *cursor, struct stream_entry *out);

/* The entry with this id; false when there is none, or a tombstone. */
MUST_CHECK bool stream_find(const struct stream *stream, struct stream_id id,
                            struct stream_entry *out);
/* The id of the last entry; 0-0 when empty. */
struct stream_id stream_last_entry_id(const struct stream *stream);

/* ---- Changing ---- */

/* Whether a stream can hold an entry of `words`: field, value, field, value, ... */
bool stream_can_hold(const struct bytes *words, uint32_t pair_count);
/* Adds such an entry; `id` is larger than last_id. */
void stream_append(struct stream *stream, struct heap *heap, const struct stream_limits *limits,
                   struct stream_id id, const struct bytes *words, uint32_t pair_count);
/* The next ids will be larger than `id`, which is not below the last entry's. */
void stream_set_last_id(struct stream *stream, struct heap *heap, struct stream_id id);

/* Deletes an entry, as XDEL does: max_deleted_id tells of it. False when there is none. Groups are
 * left alone: stream_group.h decides about them before. */
bool stream_delete(struct stream *stream, struct heap *heap, struct stream_id id);

/* What becomes of what groups know about an entry that is to go. */
enum stream_refs {
    STREAM_REFS_KEEP,   /* KEEPREF: pending entries outlive the entry */
    STREAM_REFS_DELETE, /* DELREF: they go, too */
    STREAM_REFS_ACKED,  /* ACKED: it goes only if every group has read and acknowledged it */
};

/* Asked for each entry about to be trimmed: false keeps it. May change groups, nothing else. */
typedef bool (*stream_release_fn)(void *context, struct stream *stream, struct stream_id id);

enum stream_trim_by { STREAM_TRIM_NONE, STREAM_TRIM_LENGTH, STREAM_TRIM_ID };

struct stream_trim {
    enum stream_trim_by by;
    uint64_t max_len;          /* STREAM_TRIM_LENGTH: keep the last so many */
    struct stream_id min_id;   /* STREAM_TRIM_ID: keep those from here on */
    bool is_approximate;       /* whole nodes only */
    uint64_t limit;            /* entries to trim at most, whole nodes; 0: no limit */
    stream_release_fn release; /* NULL: all may go, and nobody asks */
    void *release_context;
};

/* Removes entries from the front; returns how many. max_deleted_id stays. */
uint64_t stream_trim(struct stream *stream, struct heap *heap, const struct stream_trim *trim);

/* ---- Nodes, for dumps ---- */

/* All nodes are in `nodes`, to be read: stream_index.h. */

/* Appends a node that stream_node_is_valid() has let through with these facts: length and first_id
 * grow with it, last_id becomes that of its last entry. The rest is the loader's: it hands a larger
 * last_id to stream_set_last_id(), and writes max_deleted_id and entries_added. False, and nothing
 * changed, when the node's ids are not larger than last_id. */
MUST_CHECK bool stream_put_node(struct stream *stream, struct heap *heap, struct stream_id master,
                                struct bytes bytes, const struct stream_node_facts *facts);
