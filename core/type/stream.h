/*
 * stream: entries in the order of their ids, each a row of field-value pairs; added at the end
 * only.
 *
 * Entries lie in nodes: packs (core/ds/pack.h) of exactly Redis's bytes, so that a dump copies
 * them; stream.c has the format. A node is known by its master id, that of its first entry ever,
 * and lives in a tree by rank; the last node, where entries are added, in the stream itself. A
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
#include "core/ds/pack.h"
#include "core/ds/tree.h"
#include "core/type/compound.h"

#define STREAM_NODE_BYTES_DEFAULT 4096u   /* stream-node-max-bytes */
#define STREAM_NODE_ENTRIES_DEFAULT 100u  /* stream-node-max-entries */
#define STREAM_ENTRY_BYTES_MAX (1u << 30) /* of all an entry's fields and values */

struct stream_group_list;

/* ---- Ids ---- */

struct stream_id {
    uint64_t ms, seq;
};

#define STREAM_ID_MIN ((struct stream_id){0, 0})
#define STREAM_ID_MAX ((struct stream_id){UINT64_MAX, UINT64_MAX})
#define STREAM_ID_CAP 41u /* bytes that any id's text fits in */

/* Below, at or above zero as `a` comes before, is, or comes after `b`. */
static inline int stream_id_compare(struct stream_id a, struct stream_id b)
{
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

static inline bool stream_id_is_zero(struct stream_id id)
{
    return id.ms == 0 && id.seq == 0;
}

/* The id after `id` (before it). False, and nothing written, when there is none. */
MUST_CHECK bool stream_id_next(struct stream_id id, struct stream_id *out);
MUST_CHECK bool stream_id_prev(struct stream_id id, struct stream_id *out);

/* "ms-seq", without a terminator; returns its length. */
size_t stream_id_write(char to[STREAM_ID_CAP], struct stream_id id);

/* ---- Whole streams ---- */

/* A node: `pack` holds the entries whose ids it tells as distances from `master`. */
struct stream_node {
    struct stream_id master;
    struct pack *pack;
};

/* The counters are for all to read. Besides the functions here, XSETID and loaders write last_id,
 * max_deleted_id and entries_added; stream_group.h owns what `groups` points to. */
struct stream {
    uint64_t length;                 /* entries, tombstones not counted */
    uint64_t entries_added;          /* ever */
    struct stream_id first_id;       /* of the first entry; 0-0 when empty */
    struct stream_id last_id;        /* the largest that was ever given */
    struct stream_id max_deleted_id; /* of the largest entry that XDEL took; 0-0: none */
    struct stream_group_list *groups; /* NULL: there was never one */
    struct stream_node tail;         /* the last node; pack NULL: there are no nodes */
    struct tree older;               /* of struct stream_node, all before `tail` */
};

/* How large a node may grow: stream-node-max-bytes and -entries, 0 for no limit. */
struct stream_limits {
    uint64_t node_bytes;
    uint64_t node_entries;
};

extern const struct compound_ops stream_ops;

/* An empty stream; freed by stream_ops.free_some(). */
struct stream *stream_create(struct heap *heap);

/* Ends the process if what the stream holds contradicts itself. For tests. */
void stream_validate(const struct stream *stream);

/* ---- Reading ---- */

/* An entry, and where its pairs are read from. */
struct stream_entry {
    struct stream_id id;
    uint32_t pair_count; /* all of them */
    uint32_t at;         /* the next value, or the field before it */
    uint32_t field_at;   /* the next field of the node's master entry; PACK_NONE: the entry has
                            its own */
    const struct pack *pack;
};

struct stream_pair {
    struct bytes field, value;
    char field_scratch[PACK_SCRATCH], value_scratch[PACK_SCRATCH]; /* where numbers are printed */
};

/* The entry's next pair; to be called pair_count times at most. Borrowed from the stream and from
 * `out`. */
void stream_entry_step(struct stream_entry *entry, struct stream_pair *out);

struct stream_cursor {
    const struct stream *stream;
    struct stream_id low, high; /* the range; shrinks from the side that the cursor comes from */
    struct stream_id master;
    const struct pack *pack; /* of the node; NULL: the end */
    struct tree_cursor node; /* without a leaf: the stream's tail */
    uint32_t at;             /* forwards, of the next entry's flags; backwards, of its last word */
    uint32_t master_field_count, master_field_at;
    bool is_reverse;
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

/* Whether entries of so many bytes of fields and values, in all, can be added. */
static inline bool stream_has_room(uint64_t text_bytes)
{
    return text_bytes <= STREAM_ENTRY_BYTES_MAX;
}

/* Adds an entry; `id` is larger than last_id. `words`: field, value, field, value, ... */
void stream_append(struct stream *stream, struct heap *heap, const struct stream_limits *limits,
                   struct stream_id id, const struct bytes *words, uint32_t pair_count);

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

uint64_t stream_node_count(const struct stream *stream);
/* The node at `index` < node count, borrowed. O(log n). */
struct stream_node stream_node_at(const struct stream *stream, uint64_t index);

/* What a node of a dump holds. */
struct stream_node_facts {
    uint64_t length; /* entries, tombstones not counted */
    uint64_t tombstones;
    struct stream_id first_id, last_id; /* tombstones counted in */
};

/* True if `bytes`, of any origin, are a whole sound node with this master id: a pack, entries that
 * say what they hold, counts that are right, ids that rise. `out` may be NULL. */
MUST_CHECK bool stream_node_is_valid(struct stream_id master, struct bytes bytes,
                                     struct stream_node_facts *out);

/* Appends a node that stream_node_is_valid() has let through with these facts: length and first_id
 * grow with it, last_id, max_deleted_id and entries_added are the loader's to write. False, and
 * nothing changed, when its ids are not larger than those of the nodes before. */
MUST_CHECK bool stream_put_node(struct stream *stream, struct heap *heap, struct stream_id master,
                                struct bytes bytes, const struct stream_node_facts *facts);
