/*
 * stream_group: the consumer groups of a stream, and what their consumers were given and have not
 * acknowledged.
 *
 * A stream has groups by name, a group consumers by name. Each entry that a group has given away
 * is pending until it is acknowledged: it belongs to one consumer, and is found by its id in the
 * group's list and in its consumer's, which share one record. An entry may be pending that the
 * stream has lost.
 *
 * Order      groups and consumers by the bytes of their names, pending entries by id; each is
 *            found, added and taken out in O(log n).
 * Reading    fields of the structs below may be read; they change by the functions only, but for
 *            those marked free.
 * Memory     from the heap that each changing function is given, always the same. Pointers stay
 *            valid as long as what they point to exists.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/ds/tree.h"
#include "core/type/stream.h"

struct heap;

#define STREAM_GROUP_READ_UNKNOWN ((int64_t)-1) /* a group's entries_read that nobody can tell */
#define STREAM_GROUP_NEVER_MS ((int64_t)-1) /* a consumer's active_at_ms before it got anything */

/* All groups of a stream, which points to it; made with the first one. */
struct stream_group_list {
    struct tree groups; /* by name */
};

struct stream_group {
    struct tree pending;      /* of struct stream_group_pending, by id */
    struct tree consumers;    /* of struct stream_group_consumer, by name */
    struct stream_id last_id; /* the last one that was given away; free */
    int64_t entries_read;     /* of all that the stream ever had, up to last_id; free */
    size_t name_len;
    char name[];
};

struct stream_group_consumer {
    struct tree pending;  /* its own */
    int64_t seen_at_ms;   /* when it last asked; free */
    int64_t active_at_ms; /* when it last got something, STREAM_GROUP_NEVER_MS; free */
    size_t name_len;
    char name[];
};

struct stream_group_pending {
    struct stream_id id;
    int64_t delivered_at_ms; /* free */
    uint64_t delivery_count; /* free */
    struct stream_group_consumer *consumer;
};

/* ---- Groups ---- */

uint64_t stream_group_count(const struct stream *stream);
/* NULL where there is none. */
const struct stream_group *stream_group_find(const struct stream *stream, struct bytes name);
struct stream_group *stream_group_edit(struct stream *stream, struct bytes name);
/* The one at `index`, below stream_group_count(). */
const struct stream_group *stream_group_at(const struct stream *stream, uint64_t index);
struct bytes stream_group_name(const struct stream_group *group);

/* NULL if the name is taken. */
struct stream_group *stream_group_create(struct stream *stream, struct heap *heap,
                                         struct bytes name, struct stream_id last_id,
                                         int64_t entries_read);
/* Takes a group out of its stream. Returns a list of its own that holds it, to be freed, or given
 * to another stream that has none. */
struct stream_group_list *stream_group_detach(struct stream *stream, struct heap *heap,
                                              struct stream_group *group);

/* ---- Consumers ---- */

const struct stream_group_consumer *stream_group_find_consumer(const struct stream_group *group,
                                                               struct bytes name);
struct stream_group_consumer *stream_group_edit_consumer(struct stream_group *group,
                                                         struct bytes name);
const struct stream_group_consumer *stream_group_consumer_at(const struct stream_group *group,
                                                             uint64_t index);
struct bytes stream_group_consumer_name(const struct stream_group_consumer *consumer);

/* Seen now, never active. NULL if the name is taken. */
struct stream_group_consumer *stream_group_create_consumer(struct stream_group *group,
                                                           struct heap *heap, struct bytes name,
                                                           int64_t now_ms);
/* With all that is pending for it. O(pending of the group) at most. */
void stream_group_destroy_consumer(struct stream_group *group, struct heap *heap,
                                   struct stream_group_consumer *consumer);

/* ---- Pending entries ---- */

/* NULL when nothing of that id is pending. */
const struct stream_group_pending *stream_group_find_pending(const struct stream_group *group,
                                                             struct stream_id id);
struct stream_group_pending *stream_group_edit_pending(struct stream_group *group,
                                                       struct stream_id id);

/* The first pending entry with at least this id: in the list of the group, or of one of its
 * consumers. Then tree_item() of `struct stream_group_pending` and tree_next(). */
struct tree_cursor stream_group_seek_pending(const struct tree *list, struct stream_id id);

/* Gives an entry away, now and for the first time; what is pending already is taken from whom it
 * belongs to. */
void stream_group_deliver(struct stream_group *group, struct heap *heap,
                          struct stream_group_consumer *consumer, struct stream_id id,
                          int64_t now_ms);
/* The same for an id that is not pending, with the count and the time to be filled in. */
struct stream_group_pending *stream_group_add_pending(struct stream_group *group, struct heap *heap,
                                                      struct stream_group_consumer *consumer,
                                                      struct stream_id id);
/* Makes a pending entry another consumer's, or its own again. */
void stream_group_reassign(struct heap *heap, struct stream_group_pending *pending,
                           struct stream_group_consumer *consumer);
/* Nothing of that id is pending any more. True if there was something. */
bool stream_group_acknowledge(struct stream_group *group, struct heap *heap, struct stream_id id);

/* ---- What a group has read ---- */

/* The group has given away the entry `id` of its stream: moves last_id, unless it is beyond, and
 * counts. */
void stream_group_advance(struct stream_group *group, const struct stream *stream,
                          struct stream_id id);
/* How many entries of the stream are still to be given away. False when nobody can tell. */
MUST_CHECK bool stream_group_lag(const struct stream_group *group, const struct stream *stream,
                                 int64_t *out_count);

/* ---- What groups hold of a stream's entry ---- */

/* Must some group still be given this entry, or acknowledge it? */
bool stream_group_needs(const struct stream *stream, struct stream_id id);
/* No group has this id pending any more. */
void stream_group_forget(struct stream *stream, struct heap *heap, struct stream_id id);
/* Makes a trim obey `refs`: fills in its release. */
void stream_group_guard_trim(struct stream_trim *trim, enum stream_refs refs, struct heap *heap);

/* ---- Building from a dump, which trusts nothing ---- */

/* Adds a pending entry that belongs to nobody yet. False for an id that is there. */
MUST_CHECK bool stream_group_load_pending(struct stream_group *group, struct heap *heap,
                                          struct stream_id id, int64_t delivered_at_ms,
                                          uint64_t delivery_count);
/* Makes it the consumer's. False if there is no such id, or it belongs to somebody. */
MUST_CHECK bool stream_group_load_owner(struct stream_group *group, struct heap *heap,
                                        struct stream_group_consumer *consumer,
                                        struct stream_id id);
/* Does everything that is pending belong to somebody? O(consumers). Until then nothing but the two
 * functions above, creating consumers and freeing may be asked of the group. */
bool stream_group_is_whole(const struct stream_group *group);

/* ---- For stream.c, as a part of its value: `list` may be NULL ---- */

size_t stream_group_list_bytes(
    const struct stream_group_list *list); /* of heap memory; O(consumers) */
/* A deep copy in `heap`; NULL of NULL. */
struct stream_group_list *stream_group_list_copy(const struct stream_group_list *list,
                                                 struct heap *heap);
/* Frees until about `*io_budget` groups, consumers and pending entries are gone, and takes off
 * how many. True when all is gone, the list too. A list that is being freed may only be freed on.
 */
bool stream_group_list_free_some(struct stream_group_list *list, struct heap *heap,
                                 uint64_t *io_budget);

/* Ends the process if lists, owners or orders contradict each other. For tests. */
void stream_group_validate(const struct stream *stream);
