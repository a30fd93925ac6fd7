/*
 * hop: a message to another shard that comes home again.
 *
 * Home packs calls into it, the shard (whoever owns it then) runs them and writes their replies
 * into it, and it comes home by a lane. A hop travels either by lane alone, or as one part of an
 * order-log entry (tx.h). Calls of many connections share one hop: nothing is paid per command that
 * can be paid per turn.
 *
 * Ownership  a hop is lent and comes home: words lie in its arena, or in `pinned` input, and are
 * frozen until then. The far shard copies what it keeps. Home recycles it when all groups in it are
 * released.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/store/key.h"
#include "shards/call/command.h"

struct group;
struct home;
struct multi;

enum hop_kind {
    HOP_CALLS, /* run `calls` on the shard */
    HOP_LOOKS, /* run `calls` on the thread: they look at its connections */
    HOP_ADOPT, /* the thread takes over an accepted socket; does not come home */
    HOP_POST,  /* the thread calls `post`; does not come home */
};

/* One call as it travels: a cache line, its words behind it. */
struct hop_call {
    const struct command *command;
    struct bytes *args;
    uint32_t arg_count;
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags; /* CALL_* */
    uint64_t key_hash;
    uint16_t key_slot;
    uint16_t key_index;         /* of the first key among args, 0: none */
    uint32_t watch_epoch;       /* of its client's WATCHes */
    size_t reply_at, reply_len; /* in the hop's replies */
    uint64_t elapsed_ns;
    uint64_t client_id;
    struct hop *hop;
    struct multi *multi; /* EXEC: the queued calls */
    struct hop_call *next;
    struct group *group; /* home's; others may only look at `dropped` */
    int64_t wait_ms;     /* how long it may wait, 0: for ever */
    bool failed;
    bool waits; /* it blocks: there is no reply yet */
};

struct hop {
    struct hop *next; /* a list of its present owner: overflow, arrivals, pool */
    enum hop_kind kind;
    uint16_t home;
    uint16_t shard;
    bool is_done;     /* on its way home */
    bool is_together; /* of an entry of kind TX_TOGETHER */
    struct arena arena;
    struct hop_call *first, *last;
    uint32_t call_count;
    uint32_t word_bytes;
    struct buf replies;
    struct group **groups; /* those that have calls in it */
    uint32_t group_count, group_cap;
    uint32_t groups_left; /* not yet released */
    union {
        int fd;
        struct {
            void (*fn)(struct home *home, void *message);
            void *message;
        } post;
    };
};

/* An empty hop from the home's pool. Thread: home. */
struct hop *hop_take(struct home *home, enum hop_kind kind, uint16_t shard);
/* Gives it back to the pool. Thread: home. */
void hop_recycle(struct home *home, struct hop *hop);
void hop_destroy(struct hop *hop);

/* Adds `group` to those that wait for this hop, once. */
void hop_add_group(struct hop *hop, struct group *group);

/* A copy of a call with its words (`args`, copied into the hop). */
struct hop_call *hop_add_call(struct hop *hop, const struct bytes *args, uint32_t arg_count);
/* The same for words that stay where they are (they are pinned by the caller): only the vector is
 * made. */
struct hop_call *hop_add_call_vector(struct hop *hop, uint32_t arg_count);

static inline struct bytes hop_reply(const struct hop_call *call)
{
    return bytes_of(call->hop->replies.ptr + call->reply_at, call->reply_len);
}
