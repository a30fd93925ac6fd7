/*
 * multi: MULTI, EXEC, DISCARD: a transaction from the first word to the last reply.
 *
 * Commands are queued at home, with their words copied. EXEC takes three steps. First, at home, the
 * queued commands that touch no key run in their order (SELECT, HELLO, CLIENT, PING, CONFIG ...),
 * and the others learn how they leave the session: its database, its protocol, whether it is
 * answered. Then all that touch keys run as one call, on one shard or together over the shards of
 * all their keys. Last come those that look at threads (INFO). Their replies take their places
 * among the others. What touches no key cannot tell the difference, and a session never leaves its
 * thread. Thread: home; multi_run() by whoever runs the EXEC, to whom the queue is handed over
 * meanwhile.
 */
#pragma once

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/status.h"
#include "shards/call/command.h"
#include "shards/route/shard_set.h"

#define MULTI_KEEP_BYTES 4096u

struct call;
struct home;
struct session;

struct multi_call {
    struct multi_call *next;
    const struct command *command;
    struct bytes *args;
    uint32_t arg_count;
    bool at_home; /* runs in the first step, or in the last */
    bool answered;
    /* The session as the commands before it in the queue leave it. */
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags;              /* CALL_* */
    bool is_muted;              /* CLIENT REPLY; of that command itself: as it leaves it */
    size_t reply_at, reply_len; /* in `replies` */
    uint64_t elapsed_ns;
};

struct multi {
    struct arena arena;
    struct multi_call *first, *last;
    uint32_t count;
    uint32_t flags; /* CMD_* of all queued commands, or-ed */
    struct buf replies;
};

/* MULTI. */
void multi_begin(struct session *session);
/* Forgets queue and flags: DISCARD, RESET, a closed connection. Accepts a session without one. */
void multi_discard(struct session *session);
void multi_destroy(struct multi *multi);

/* Queues a command: its words are copied. */
void multi_queue(struct session *session, const struct command *command, const struct bytes *args,
                 uint32_t arg_count);

/* EXEC: which shards the queue involves (none: empty set). */
void multi_plan(struct home *home, struct session *session, struct shard_set *out_set);

/* EXEC's handler: what it answers when nothing can be executed. */
enum status multi_exec_handler(struct call *call);

/* The second step: runs all queued commands that touch keys; their shards are owned by this
 * thread. */
enum status multi_run(struct home *home, struct call *call);
