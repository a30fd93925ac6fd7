/*
 * multi: MULTI, EXEC, DISCARD, WATCH: a transaction from the first word to the last reply.
 *
 * Commands are queued at home, with their words copied. EXEC takes three steps. First all queued
 * commands that touch keys run as one call, on one shard or together over the shards of all their
 * keys and of what is watched; if a watched key has changed nothing runs at all. Then, at home,
 * those that touch no key run in their order (SELECT, HELLO, CLIENT, PING, CONFIG ...); what they
 * will make of the session was foreseen for the commands behind them. Last come those that look at
 * threads (INFO). Their replies take their places among the others. What touches no key cannot tell
 * the difference, and a session never leaves its thread. Thread: home; multi_run() by whoever runs
 * the EXEC, to whom the queue is handed over meanwhile.
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

/* What a client watches. */
struct watching {
    struct shard_set shards; /* that have watches of it */
};

struct multi_call {
    struct multi_call *next;
    const struct command *command;
    struct bytes *args;
    uint32_t arg_count;
    bool at_home; /* runs in the second step, or in the last */
    bool answered;
    /* The session as the commands before it in the queue will leave it. */
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
    uint32_t flags;            /* CMD_* of all queued commands, or-ed */
    struct watching *watching; /* or NULL */
    uint32_t watch_epoch;
    bool is_spoilt; /* a watched key has changed: nothing was run */
    bool has_run_at_home;
    struct buf replies;
};

/* MULTI. */
void multi_begin(struct session *session);
/* Forgets queue, flags and watches: DISCARD, RESET, a closed connection. Accepts a session without.
 */
void multi_discard(struct session *session);
void multi_destroy(struct multi *multi);

/* WATCH: the session has watches on these shards from now on. */
void multi_watch(struct session *session, const struct shard_set *shards);
/* UNWATCH: gives all of them up; the shards are told. */
void multi_unwatch(struct session *session);

/* Queues a command: its words are copied. */
void multi_queue(struct session *session, const struct command *command, const struct bytes *args,
                 uint32_t arg_count);

/* EXEC: which shards the queue and the watches involve (none: empty set). */
void multi_plan(struct home *home, struct session *session, struct shard_set *out_set);

/* EXEC's handler: what it answers when nothing can be executed. */
enum status multi_exec_handler(struct call *call);

/* The first step: runs all queued commands that touch keys; their shards are owned by this
 * thread. */
enum status multi_run(struct home *home, struct call *call);
