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
#include "core/base/check.h"
#include "core/base/ilist.h"
#include "core/os/timer.h"
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
    uint64_t commands; /* answered */
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
    int8_t node; /* NUMA node of its CPU, -1: unknown */
    int16_t cpu; /* that the thread is pinned to, -1: none */
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
    int64_t now_ms;                                  /* wall clock of this turn */
    int64_t cron_at_ms;                              /* when the next cron is due */
    void (*cron)(struct home *home, int64_t now_ms); /* what admin does then, 10 times a second */
    uint32_t groups_out;
    uint64_t config_looks; /* how often the thread has looked for new settings */
    bool was_paused, has_stopped;
    struct histogram *turn_times; /* ns of the turns since the last cron second */

    /* The way to the shards, each module's own. */
    struct dispatch *dispatch;
    struct packer *packer;
    struct mailbox *mailbox;
    struct runner *runner;
    struct hop *hop_pool;
    uint32_t hop_pool_count;
    struct tx *tx_pool, *tx_first, *tx_last;
    struct group *group_pool;
    struct timer_list timers; /* in ms of wall time */
    struct ilist blocked;     /* groups whose commands wait */
    bool is_serving;          /* those who wait, right now */
};

/* A thread's state, before the thread is there; the tap may then be listened to. */
struct home *home_create(struct server *server, uint16_t id, int node);
void home_destroy(struct home *home);

/* On the thread itself: makes its ring and listens. 0 or a negative errno, with one line in
 * `out_error`. */
MUST_CHECK int home_open(struct home *home, char *out_error, size_t error_cap);
/* The loop, until the server stops. All homes are open. */
void home_run(struct home *home);
/* Closes connections and ring. */
void home_close(struct home *home);

/* While the shard is somebody else's: input is received and kept, output is sent, nothing is run.
 */
void home_io_only(struct home *home, uint64_t timeout_ns);

/* Calls `fn(to, message)` on another thread (or, next turn, this one). The message is handed over.
 * Messages between two homes keep their order. */
void home_post(struct home *from, uint16_t to, void (*fn)(struct home *to, void *message),
               void *message);

/* Takes over an accepted socket that was counted for this home already. */
void home_adopt(struct home *home, int fd);

/* For dispatch: a connection begins, a session ends. */
void home_welcome(struct home *home, struct conn *conn);
void home_forget_session(struct home *home, struct session *session);

/* The session's connection is closed once its reply has left (or at once). Safe from within a
 * handler that runs for that very session. */
void home_close_session(struct home *home, struct session *session, bool at_once);
struct session *home_first_session(struct home *home);
struct session *home_next_session(struct session *session);

/* Sends bytes (an encoded push or a MONITOR line) to a session of this home, between its replies.
 */
void home_send_push(struct home *home, struct session *session, struct bytes encoded);
