/*
 * How: home_run() spells the turn out. Everything that arrives is taken first, then the log is
 * caught up with, then what was taken is run: remote calls before local ones, since others wait for
 * them.
 */
#include "shards/route/home.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/ds/histogram.h"
#include "core/os/clock.h"
#include "core/os/cpu.h"
#include "core/os/log.h"
#include "core/os/ring.h"
#include "core/os/task.h"
#include "net/listener.h"
#include "shards/local/shard.h"
#include "shards/route/blocked.h"
#include "shards/route/dispatch.h"
#include "shards/route/group.h"
#include "shards/route/hop.h"
#include "shards/route/mailbox.h"
#include "shards/route/packer.h"
#include "shards/route/run.h"
#include "shards/route/server.h"
#include "shards/route/together.h"
#include "shards/route/welcome.h"

#define CRON_MS 100          /* ten times a second, as Redis's default hz */
#define RECEIVE_BUFFERS 256u /* of RING_BUFFER_BYTES, shared by a thread's connections */
#define RETRY_NS 1000000u    /* how soon a full log is tried again: nobody tells when it has room */
#define STOP_POLL_NS 10000000 /* how often a stopping thread looks whether all have stopped */
#define OWN_ROUNDS_MAX 4      /* then the ring is looked at again */

struct home *home_create(struct server *server, uint16_t id, int node)
{
    struct home *home = mem_zalloc(sizeof(*home));
    home->id = id;
    home->node = (int8_t)node;
    home->cpu = -1;
    home->server = server;
    home->shard = server->shards[id];
    home->config = home->shard->config;
    home->now_ms = clock_wall_ms();
    home->dispatch = dispatch_create();
    home->mailbox = mailbox_create(home, server->lanes);
    home->packer = packer_create(home);
    home->runner = runner_create();
    ilist_init(&home->blocked);
    home->turn_times = mem_zalloc(sizeof(*home->turn_times));
    return home;
}

void home_destroy(struct home *home)
{
    if (!home)
        return;
    while (home->hop_pool) {
        struct hop *hop = home->hop_pool;
        home->hop_pool = hop->next;
        hop_destroy(hop);
    }
    while (home->group_pool) {
        struct group *group = home->group_pool;
        home->group_pool = group->next;
        group_destroy(group);
    }
    tx_reap(home, UINT64_MAX);
    while (home->tx_pool) {
        struct tx *tx = home->tx_pool;
        home->tx_pool = tx->next;
        mem_free(tx);
    }
    mem_free(home->turn_times);
    runner_destroy(home->runner);
    packer_destroy(home->packer);
    mailbox_destroy(home->mailbox);
    dispatch_destroy(home->dispatch);
    mem_free(home);
}

int home_open(struct home *home, char *out_error, size_t error_cap)
{
    struct ring_options options = {.backend = home->server->backend,
                                   .buffer_count = RECEIVE_BUFFERS};
    int result = ring_create(&options, &home->ring);
    if (result < 0) {
        snprintf(out_error, error_cap, "ring of thread %u: %s", home->id, strerror(-result));
        return result;
    }
    struct net_handler handler = dispatch_net_handler(home);
    home->conns = conns_create(home->ring, &handler, &home->config->conn);
    return welcome_listen(home, home->config, out_error, error_cap);
}

void home_close(struct home *home)
{
    listener_destroy(home->listener);
    home->listener = NULL;
    blocked_forget_all(home);
    conns_destroy(home->conns);
    home->conns = NULL;
    struct ring *ring = home->ring;
    home->ring = NULL;
    ring_destroy(ring);
}

/* ---- Sessions, for those above ---- */

void home_close_session(struct home *home, struct session *session, bool at_once)
{
    (void)home;
    if (at_once)
        conn_close(session->conn);
    else
        conn_finish(session->conn);
}

static struct session *first_from(struct conn *conn)
{
    while (conn && (!conn->owner || conn->closing))
        conn = conn->next;
    return conn ? conn->owner : NULL;
}

struct session *home_first_session(struct home *home)
{
    return first_from(conns_first(home->conns));
}

struct session *home_next_session(struct session *session)
{
    return first_from(session->conn->next);
}

void home_send_push(struct home *home, struct session *session, struct bytes encoded)
{
    (void)home;
    if (!session->conn->closing)
        buf_add_bytes(conn_output(session->conn), encoded);
}

void home_post(struct home *from, uint16_t to, void (*fn)(struct home *to, void *message),
               void *message)
{
    struct hop *hop = hop_take(from, HOP_POST, to);
    hop->post.fn = fn;
    hop->post.message = message;
    atomic_fetch_add_explicit(&from->server->posts_out, 1, memory_order_relaxed);
    mailbox_send(from->mailbox, to, hop);
}

/* ---- The turn ---- */

/* The shard's owner may have replaced the configuration: what the thread does by it follows. */
static void follow_config(struct home *home)
{
    const struct config *old = home->config, *new = home->shard->config;
    home->config_looks++;
    if (likely(old == new))
        return;
    home->config = new;
    conns_set_options(home->conns, &new->conn);
    welcome_follow_config(home, old, new);
    /* Who came since the last look was let in by settings that had been replaced by then. */
    for (struct session *session = home_first_session(home); session;
         session = home_next_session(session)) {
        if (session->opened_at_look + 1 == home->config_looks)
            session_let_in(session, new->requirepass[0] != 0);
    }
}

static void close_idle(struct home *home)
{
    int64_t since_ms = home->now_ms - (int64_t)home->config->timeout_s * 1000;
    struct session *next;
    for (struct session *session = home_first_session(home); session; session = next) {
        next = home_next_session(session);
        if (session->active_at_ms < since_ms && !session->group &&
            !(session->flags & SESSION_MONITOR))
            conn_close(session->conn);
    }
}

/* An orchestrator may change the cpuset while we run: the kernel then moves the thread, and a pin
 * is gone. */
static void follow_cpuset(struct home *home)
{
    if (home->cpu < 0)
        return;
    uint16_t cpu = cpu_allowed((uint16_t)home->cpu, home->id);
    if (cpu == home->cpu)
        return;
    int result = cpu_pin(cpu);
    log_warn("cpu.moved", "thread=%u from=%d to=%u pinned=%s: the cpuset has changed", home->id,
             home->cpu, cpu, result == 0 ? "yes" : "no");
    home->cpu = (int16_t)cpu;
}

static void cron(struct home *home)
{
    const struct conns_stats *net = conns_stats(home->conns);
    home->cron_at_ms = home->now_ms + CRON_MS;
    home->stats.net_input_bytes = net->bytes_in;
    home->stats.net_output_bytes = net->bytes_out;
    home->stats.client_query_limit_closed = net->query_limit_closed;
    home->stats.client_output_limit_closed = net->output_limit_closed;
    home->stats.lane_overflows = mailbox_overflows(home->mailbox);
    shard_cron(home->shard, home->now_ms);
    if (home->cron)
        home->cron(home, home->now_ms);
    if (home->config->timeout_s)
        close_idle(home);
    if (home->now_ms / 1000 != (home->now_ms - CRON_MS) / 1000) {
        follow_cpuset(home);
        home->stats.loop_p99_ns = histogram_percentile(home->turn_times, 99);
        memset(home->turn_times, 0, sizeof(*home->turn_times));
    }
}

static void end_pause(struct home *home)
{
    bool paused = home->pause_until_ms > home->now_ms;
    if (home->was_paused && !paused)
        dispatch_resume(home);
    home->was_paused = paused;
}

/* Hops taken before the log was caught up with are run and answered now. */
static void handle(struct home *home, struct hop *hops)
{
    while (hops) {
        struct hop *next = hops->next; /* the hop may be gone afterwards */
        dispatch_arrival(home, hops);
        hops = next;
    }
}

static void drain(struct home *home)
{
    struct hop *hops = NULL;
    mailbox_drain(home->mailbox, &hops);
    together_catch_up(home, home->now_ms);
    handle(home, hops);
}

static bool has_own_work(const struct home *home)
{
    return together_is_behind(home) || mailbox_has_own(home->mailbox);
}

/* How long the thread may sleep: 0 when there is work. */
static uint64_t sleep_ns(struct home *home, bool tasks_left)
{
    if (tasks_left || dispatch_is_busy(home) || mailbox_has_own(home->mailbox) ||
        packer_has_hops(home)) /* a connection that closed had something to say */
        return 0;
    if (packer_is_waiting(home))
        return RETRY_NS;
    if (server_is_stopping(home->server))
        return STOP_POLL_NS;
    int64_t until_ms = home->cron_at_ms;
    if (home->was_paused && home->pause_until_ms < until_ms)
        until_ms = home->pause_until_ms;
    int64_t timer_ms = timer_list_next_ms(&home->timers);
    if (timer_ms < until_ms)
        until_ms = timer_ms;
    return until_ms > home->now_ms ? (uint64_t)(until_ms - home->now_ms) * 1000000 : 0;
}

static void turn(struct home *home)
{
    ring_reap(home->ring);
    uint64_t from_ns = clock_mono_ns();
    home->now_ms = clock_wall_ms();
    drain(home);
    follow_config(
        home); /* after catching up: what CONFIG SET has answered holds for all that runs now */
    end_pause(home);
    timer_list_run(&home->timers, home->now_ms);
    if (!server_is_stopping(home->server))
        dispatch_run(home);
    packer_send(home);
    for (int round = 0; round < OWN_ROUNDS_MAX && has_own_work(home); round++) {
        drain(home);       /* our own parts of what was just published */
        packer_send(home); /* a walk that came home goes on to its next stop */
    }
    bool tasks_left = task_run(&home->shard->tasks, SLICE_US);
    if (home->shard->has_ready) /* what has expired was waited for */
        blocked_serve(home, home->shard);
    heap_tend(home->shard->heap);
    if (home->now_ms >= home->cron_at_ms)
        cron(home);
    if (home->tx_first)
        tx_reap(home, together_oldest(home->server->together));
    conns_flush(home->conns, home->now_ms);
    mailbox_flush(home->mailbox);

    uint64_t turn_ns = clock_mono_ns() - from_ns;
    histogram_add(home->turn_times, turn_ns, 1);
    if (turn_ns > home->stats.loop_max_ns)
        home->stats.loop_max_ns = turn_ns;
    home->stats.turns++;
    uint64_t timeout_ns = sleep_ns(home, tasks_left);
    if (timeout_ns)
        together_sleep(home, timeout_ns);
}

/* A thread may go only when all have nothing out any more: until then others may need its shard, or
 * post to it. (Nobody begins to post once all have stopped; a post may lead to the next one.) */
static bool may_end(struct home *home)
{
    struct server *server = home->server;
    if (!server_is_stopping(server))
        return false;
    if (!home->has_stopped && home->groups_out == 0 && !packer_is_waiting(home) &&
        !home->tx_first) {
        home->has_stopped = true;
        atomic_fetch_add_explicit(&server->stopped, 1, memory_order_acq_rel);
    }
    return atomic_load_explicit(&server->stopped, memory_order_acquire) == server->shard_count &&
           atomic_load_explicit(&server->posts_out, memory_order_acquire) == 0;
}

void home_run(struct home *home)
{
    while (!may_end(home))
        turn(home);
    conns_flush(home->conns, home->now_ms); /* the last replies */
    ring_reap(home->ring);
}

void home_io_only(struct home *home, uint64_t timeout_ns)
{
    ring_wait(home->ring, timeout_ns);
    dispatch_settle(home);
}
