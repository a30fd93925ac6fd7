/*
 * How: an operation's parts travel as calls of a made-up command whose words are the operation
 * itself; the far side finds there what to run, home finds there what was answered. Calls are
 * marked as parts, so that nobody counts or merges them.
 */
#include "tests/support/herd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/admin/config_copy.h"
#include "shards/local/evict.h"
#include "shards/route/home.h"
#include "shards/route/hop.h"
#include "shards/route/mailbox.h"
#include "shards/route/run.h"
#include "shards/route/server.h"
#include "shards/route/together.h"
#include "shards/route/tx.h"

#define SLEEP_NS 20000000000u /* only a wake ends a sleep in time: one that is lost shows */
#define RETRY_NS 1000000u

struct herd_op {
    struct herd_op *next; /* in the pool */
    herd_part_fn part;
    struct shard_set set;
    uint64_t number;
    uint64_t issued_ns;
    uint32_t left; /* parts that are not home yet; home's */
    bool is_together;
};

struct herd {
    const struct herd_options *options;
    struct server server;
    struct config *config;
    struct herd_thread *threads;
    pthread_barrier_t barrier;
    _Atomic uint32_t finished;
};

static enum status run_op(struct call *call)
{
    const struct herd_op *op = (const struct herd_op *)(const void *)call_arg(call, 0).ptr;
    op->part(call->shard->id, &op->set, op->number);
    return OK;
}

static const struct command herd_command = {.name = "herd", .arity = 1, .run = run_op};

/* ---- issuing -------------------------------------------------------------------------------- */

static struct herd_op *take_op(struct herd_thread *thread, herd_part_fn part, uint64_t number)
{
    struct herd_op *op = thread->free_ops;
    if (op)
        thread->free_ops = op->next;
    else
        op = mem_alloc(sizeof(*op));
    *op = (struct herd_op){.part = part, .number = number, .issued_ns = clock_mono_ns()};
    thread->issued++;
    return op;
}

static struct hop *make_hop(struct herd_thread *thread, struct herd_op *op, uint32_t shard)
{
    struct hop *hop = hop_take(thread->home, HOP_CALLS, (uint16_t)shard);
    struct hop_call *call = hop_add_call_vector(hop, 1);
    call->args[0] = bytes_of((const char *)op, sizeof(*op));
    call->command = &herd_command;
    call->flags = CALL_PART | CALL_ROOM_MADE;
    hop->is_together = op->is_together;
    op->left++;
    return hop;
}

void herd_alone(struct herd_thread *thread, uint32_t shard, herd_part_fn part, uint64_t number)
{
    struct hop *hop = make_hop(thread, take_op(thread, part, number), shard);
    if (shard == thread->id || !together_lend(thread->home, hop))
        mailbox_send(thread->home->mailbox, (uint16_t)shard, hop);
}

static void publish(struct herd_thread *thread, struct tx *tx)
{
    tx->part_count = shard_set_count(&tx->set);
    if (!together_publish(thread->home, tx))
        thread->waiting = tx;
}

void herd_scatter(struct herd_thread *thread, const struct shard_set *set, herd_part_fn part,
                  uint64_t number)
{
    struct herd_op *op = take_op(thread, part, number);
    struct tx *tx = tx_take(thread->home, TX_SCATTER);
    op->set = tx->set = *set;
    SHARD_SET_EACH(shard, set)
    {
        tx->parts[shard] = make_hop(thread, op, shard);
    }
    publish(thread, tx);
}

void herd_together(struct herd_thread *thread, const struct shard_set *set, herd_part_fn part,
                   uint64_t number)
{
    struct herd_op *op = take_op(thread, part, number);
    struct tx *tx = tx_take(thread->home, TX_TOGETHER);
    op->is_together = true;
    op->set = tx->set = *set;
    tx->hop = make_hop(thread, op, shard_set_next(set, 0));
    publish(thread, tx);
}

/* ---- the turn ------------------------------------------------------------------------------- */

static void come_home(struct herd_thread *thread, struct hop *hop)
{
    struct herd_op *op = (struct herd_op *)(uintptr_t)hop->first->args[0].ptr;
    hop_recycle(thread->home, hop);
    if (--op->left > 0)
        return;
    uint64_t took_ns = clock_mono_ns() - op->issued_ns;
    thread->latency_ns_sum += took_ns;
    if (took_ns > thread->latency_ns_max)
        thread->latency_ns_max = took_ns;
    thread->answered++;
    op->next = thread->free_ops;
    thread->free_ops = op;
}

static void drain(struct herd_thread *thread)
{
    struct home *home = thread->home;
    struct hop *hops = NULL;
    mailbox_drain(home->mailbox, &hops);
    together_catch_up(home, home->now_ms);
    while (hops) {
        struct hop *hop = hops;
        hops = hop->next;
        if (hop->is_done) {
            come_home(thread, hop);
            continue;
        }
        run_hop(home, home->shard, hop);
        mailbox_send(home->mailbox, hop->home, hop);
    }
}

static void ask(struct herd_thread *thread)
{
    if (thread->waiting) {
        struct tx *tx = thread->waiting;
        thread->waiting = NULL;
        publish(thread, tx);
    }
    while (!thread->waiting && !thread->has_no_more &&
           thread->issued - thread->answered < thread->options->depth)
        thread->has_no_more = !thread->options->work(thread);
}

static bool has_own_work(const struct herd_thread *thread)
{
    return together_is_behind(thread->home) || mailbox_has_own(thread->home->mailbox);
}

/* A thread stays until all have what they asked for: others may need its shard. */
static void tell_when_finished(struct herd_thread *thread)
{
    struct herd *herd = thread->herd;
    if (thread->has_told || !thread->has_no_more || thread->issued != thread->answered)
        return;
    thread->has_told = true;
    atomic_fetch_add(&herd->finished, 1);
    for (uint32_t id = 0; id < herd->server.shard_count; id++)
        if (id != thread->id)
            ring_wake(NULL, herd->server.homes[id]->ring);
}

static bool all_finished(struct herd *herd)
{
    return atomic_load(&herd->finished) == herd->server.shard_count;
}

static void turn(struct herd_thread *thread)
{
    struct home *home = thread->home;
    ring_reap(home->ring);
    home->now_ms = clock_wall_ms();
    drain(thread);
    ask(thread);
    if (has_own_work(thread))
        drain(thread);
    if (home->tx_first)
        tx_reap(home, together_oldest(home->server->together));
    mailbox_flush(home->mailbox);
    tell_when_finished(thread);
    bool has_room = !thread->has_no_more &&
                    thread->issued - thread->answered < thread->options->depth;
    /* The last look at `finished` comes after the reap, which may have taken the wake that told of
     * it. */
    if (!has_own_work(thread) && (!has_room || thread->waiting) && !all_finished(thread->herd))
        together_sleep(home, thread->waiting ? RETRY_NS : SLEEP_NS);
}

static void *live(void *context)
{
    struct herd_thread *thread = context;
    struct ring_options ring = {.backend = thread->options->backend, .buffer_count = 64};
    if (ring_create(&ring, &thread->home->ring) < 0) {
        fprintf(stderr, "herd: no ring\n");
        exit(2);
    }
    pthread_barrier_wait(&thread->herd->barrier);
    while (!all_finished(thread->herd))
        turn(thread);
    pthread_barrier_wait(&thread->herd->barrier); /* nobody wakes a ring that is gone */
    ring_destroy(thread->home->ring);
    thread->home->ring = NULL;
    return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void make_server(struct herd *herd)
{
    struct server *server = &herd->server;
    uint32_t count = server->shard_count = herd->options->shard_count;
    herd->config = config_default();
    server->backend = herd->options->backend;
    server->slot_map = mem_zalloc(SLOT_COUNT * sizeof(*server->slot_map));
    server->lanes = lanes_create(count);
    server->shards = mem_zalloc(count * sizeof(*server->shards));
    server->homes = mem_zalloc(count * sizeof(*server->homes));
    for (uint16_t id = 0; id < count; id++)
        server->shards[id] = shard_create(id, -1, herd->config);
    evict_introduce(server->shards, count);
    server->together = together_create(server, herd->options->log_entries, herd->options->lend);
    for (uint16_t id = 0; id < count; id++)
        server->homes[id] = home_create(server, id, -1);
}

static void destroy_server(struct herd *herd)
{
    struct server *server = &herd->server;
    for (uint32_t id = 0; id < server->shard_count; id++) {
        struct hop *hops = NULL; /* what came home in the last turn of all */
        mailbox_drain(server->homes[id]->mailbox, &hops);
        ASSERT(!hops);
        home_destroy(server->homes[id]);
    }
    for (uint32_t id = 0; id < server->shard_count; id++)
        shard_destroy(server->shards[id]);
    together_destroy(server->together);
    lanes_destroy(server->lanes);
    mem_free(server->homes);
    mem_free(server->shards);
    mem_free(server->slot_map);
    config_free(herd->config);
}

static double cpu_now(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void add_up(struct herd *herd, struct herd_result *result)
{
    for (uint32_t id = 0; id < herd->server.shard_count; id++) {
        struct herd_thread *thread = &herd->threads[id];
        const struct home_stats *stats = &thread->home->stats;
        result->operations += thread->answered;
        result->entries += stats->entries_published;
        result->lent_runs += stats->lent_runs;
        result->lane_overflows += mailbox_overflows(thread->home->mailbox);
        result->wakes += stats->wakes_sent;
        result->sleeps += stats->sleeps;
        result->latency_us += (double)thread->latency_ns_sum / 1e3;
        if ((double)thread->latency_ns_max / 1e3 > result->latency_us_max)
            result->latency_us_max = (double)thread->latency_ns_max / 1e3;
        while (thread->free_ops) {
            struct herd_op *op = thread->free_ops;
            thread->free_ops = op->next;
            mem_free(op);
        }
    }
    const struct herd_thread *asker = &herd->threads[0];
    if (asker->answered)
        result->asker_latency_us = (double)asker->latency_ns_sum / 1e3 / (double)asker->answered;
    if (result->operations)
        result->latency_us /= (double)result->operations;
}

struct herd_result herd_run(const struct herd_options *options)
{
    struct herd herd = {.options = options};
    make_server(&herd);
    uint32_t count = options->shard_count;
    herd.threads = mem_zalloc(count * sizeof(*herd.threads));
    pthread_barrier_init(&herd.barrier, NULL, count + 1);
    pthread_t *ids = mem_alloc(count * sizeof(*ids));
    for (uint32_t id = 0; id < count; id++) {
        struct herd_thread *thread = &herd.threads[id];
        *thread = (struct herd_thread){
            .id = id, .options = options, .home = herd.server.homes[id], .herd = &herd};
        rng_init(&thread->rng, id + 1);
        ASSERT(pthread_create(&ids[id], NULL, live, thread) == 0);
    }
    pthread_barrier_wait(&herd.barrier);
    uint64_t from_ns = clock_mono_ns();
    double from_cpu = cpu_now();
    pthread_barrier_wait(&herd.barrier);
    struct herd_result result = {.seconds = (double)(clock_mono_ns() - from_ns) / 1e9,
                                 .cpu_seconds = cpu_now() - from_cpu};
    for (uint32_t id = 0; id < count; id++)
        pthread_join(ids[id], NULL);
    add_up(&herd, &result);
    destroy_server(&herd);
    pthread_barrier_destroy(&herd.barrier);
    mem_free(ids);
    mem_free(herd.threads);
    return result;
}
