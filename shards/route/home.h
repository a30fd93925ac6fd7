/*
 * home: one thread: its ring, its connections, and its way to the shards.
 *
 * Each home is the owner of one shard (same id), which it may lend while it sleeps; the rest of
 * this struct never leaves the thread. home_run() is the loop: one turn is reap, drain, catch up,
 * run, slice, flush, submit, wake, sleep.
 * Thread: its own, except where marked.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "net/conn.h"
#include "shards/call/session.h"
#include "shards/call/tap.h"
#include "shards/local/config.h"

struct server;
struct shard;
struct ring;
struct listener;
struct home_admin; /* slow log, latency, monitors: admin's own part */
struct command_stats;

/* What a thread counts for INFO. */
struct home_stats {
    uint64_t connections_received, connections_rejected;
    uint64_t commands;           /* answered */
    uint64_t net_input_bytes, net_output_bytes;
    uint64_t errors_replied;
    uint64_t unexpected_errors;
    uint64_t turns, sleeps, wakes_sent;
    uint64_t hops_sent, entries_published, lane_overflows, lent_runs;
    uint64_t loop_max_ns, loop_p99_ns; /* time of one turn, waiting excluded */
    uint64_t client_query_limit_closed, client_output_limit_closed;
    int64_t blocked_clients;
};

struct home {
    uint16_t id;
    struct server *server;
    struct shard *shard;         /* owned; lent while asleep */
    const struct config *config; /* as of this turn */
    struct ring *ring;
    struct conns *conns; /* conn->owner is a struct session */
    struct listener *listener;
    struct tap tap;
    struct home_stats stats;
    struct home_admin *admin;            /* by home_admin_create(), with the next */
    struct command_stats *command_stats; /* counted by dispatch */
    int64_t pause_until_ms;              /* CLIENT PAUSE; 0: not paused */
    bool pause_writes_only;
    struct dispatch *dispatch;
    struct mailbox *mailbox;
};

/* The session's connection is closed once its reply has left (or at once). Safe from within a handler
 * that runs for that very session. */
void home_close_session(struct home *home, struct session *session, bool at_once);
struct session *home_first_session(struct home *home);
struct session *home_next_session(struct session *session);

/* Sends bytes (an encoded push or a MONITOR line) to a session of this home, between its replies. */
void home_send_push(struct home *home, struct session *session, struct bytes encoded);
