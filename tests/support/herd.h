/*
 * herd: the threads of a server without its sockets: shards, rings, lanes and the order log, and
 * nothing but entries and hops that a test or a measurement makes up.
 *
 * Each thread turns as home_run() does: reap, drain, catch up, run, publish, flush, sleep. What it
 * asks for is up to the `work` of the options, called each turn while the thread has room for more.
 *
 * Thread: herd_run() the caller's; all else the thread that `work` or `run` was called on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"
#include "core/os/ring.h"
#include "shards/call/call.h"
#include "shards/route/shard_set.h"

struct herd_thread;

/* What an operation does where it runs: one part on `shard` (SCATTER, or alone on a shard), or,
 * TOGETHER, once for all shards of `set`, which are then all this thread's. */
typedef void (*herd_part_fn)(uint32_t shard, const struct shard_set *set, uint64_t number);

struct herd_options {
    uint32_t shard_count;
    uint32_t log_entries;
    bool lend;
    enum ring_backend backend;
    uint32_t depth; /* operations that a thread has out at most */
    /* Issues one operation by herd_*(), or returns false when this thread has no more to ask for.
     */
    bool (*work)(struct herd_thread *thread);
    void *context;
};

struct herd_thread {
    uint32_t id;
    const struct herd_options *options;
    struct rng rng;
    uint64_t issued, answered;
    uint64_t latency_ns_sum, latency_ns_max;
    struct home *home;
    struct herd *herd;
    bool has_no_more, has_told;
    struct tx *waiting; /* could not be published: the log was full */
    struct herd_op *free_ops;
};

/* Issue an operation; its parts get `number`. */
void herd_alone(struct herd_thread *thread, uint32_t shard, herd_part_fn part, uint64_t number);
void herd_scatter(struct herd_thread *thread, const struct shard_set *set, herd_part_fn part,
                  uint64_t number);
void herd_together(struct herd_thread *thread, const struct shard_set *set, herd_part_fn part,
                   uint64_t number);

/* What all threads together did. */
struct herd_result {
    uint64_t operations, entries, lent_runs, lane_overflows, wakes, sleeps;
    double seconds, cpu_seconds;
    double latency_us, latency_us_max;
    double asker_latency_us; /* of thread 0's operations */
};

/* Runs the threads until each has no more to ask for and everything is answered. */
struct herd_result herd_run(const struct herd_options *options);
