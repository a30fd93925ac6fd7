/*
 * group: what one connection has out: a run of its commands, and the replies they wait for.
 *
 * A connection has at most one group out; what it sends meanwhile forms the next. That keeps its
 * program order over any number of shards. Calls join a group while they are planned, travel in
 * hops that other groups share, and the group is released, its replies merged and written in order,
 * when the last of its hops has come home. Thread: home.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "shards/call/command.h"
#include "shards/route/hop.h"
#include "shards/route/shard_set.h"

#define GROUP_CALLS_MAX 256u             /* commands of one group */
#define GROUP_WORD_BYTES_MAX (64u << 10) /* and their words, bytes (one command may be larger) */

#define GROUP_REPLY_BYTES (1u << 20) /* replies of a group that make the next one smaller */

struct blocked;
struct call;
struct multi;
struct session;

/* One command of a group, as home remembers it. */
struct group_call {
    struct group_call *next;
    const struct command *command;
    struct bytes *args; /* all words: of the hop if it travels whole, else of the group's arena */
    uint32_t arg_count;
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags;
    bool silent; /* CLIENT REPLY: not answered */
    bool merges; /* its parts' replies are merged, else its one part's reply is its own */
    uint32_t part_count, part_cap;
    struct hop_call **parts; /* in order of shards (of WALK: of visits) */
    struct hop_call *one;    /* room for the usual single part */
};

struct group {
    struct group *next; /* pool */
    struct session *session;
    struct arena arena;
    struct group_call *first, *last;
    uint32_t call_count;
    uint32_t hops_out;
    struct hop **hops; /* to be given back with it */
    uint32_t hop_count, hop_cap;
    struct buf pinned;       /* input of the connection that words lie in */
    struct multi *multi;     /* EXEC */
    struct shard_set shards; /* of a command that travels alone */
    struct blocked *blocked; /* its command waits */
    _Atomic bool claimed;    /* its command waits, and one of its shards serves it. Thread: any that
                                owns a shard where it waits */
    _Atomic bool dropped;    /* nobody waits for its replies any more. Thread: any may read */
};

/* An empty group for `session`, which is frozen until group_give(). */
struct group *group_take(struct home *home, struct session *session);
void group_give(struct home *home, struct group *group);
void group_destroy(struct group *group);

/* Its client is gone: reads of it that have not run yet need not run. */
void group_drop(struct group *group);

/* Remembers a command; its parts are added by group_add_part(). */
struct group_call *group_add(struct group *group, const struct command *command);
void group_add_part(struct group *group, struct group_call *call, struct hop_call *part);

/* Notes that `group` has calls in `hop` (once for each hop). */
void group_join(struct group *group, struct hop *hop);

/* Appends one call's reply to `out`, and fires what listens. */
void group_write_reply(struct home *home, struct group *group, struct group_call *from,
                       struct buf *out);

/* Writes the replies of all its calls, in order, to the session's output, and fires what listens.
 */
void group_write_replies(struct home *home, struct group *group);

/* Its hops are not needed any more: what they hold of the first command's words is copied. */
void group_let_go(struct home *home, struct group *group);

/* Tells who listens that a command of the group is done. */
void group_fire_after(struct home *home, struct group *group, const struct group_call *from,
                      uint64_t ns, bool failed);

/* Makes a call of what home remembers, for merges and listeners: not to be run. */
void group_whole_call(struct home *home, const struct group_call *from, struct call *out_call);
