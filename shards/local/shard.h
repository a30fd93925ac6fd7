/*
 * shard: one part of the keyspace, alone: what a handler works against.
 *
 * Knows no other shard, no thread and no connection. Everything that a command touches hangs off
 * it, so that whoever owns the shard at the moment can run commands on it.
 * Thread: the current owner.
 */
#pragma once

#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/os/task.h"
#include "shards/local/config.h"
#include "shards/local/slow.h"
#include "shards/local/stats.h"

struct db;
struct db_observer;
struct expire;
struct compact;
struct evict;
struct lazyfree;
struct waits;
struct watches;

struct shard {
    uint16_t id;
    int64_t now_ms; /* wall clock of the last catch-up check; never goes back */
    const struct config *config;
    struct heap *heap;
    struct db **dbs;         /* config->databases of them; SWAPDB exchanges what they hold */
    struct task giving_back; /* of memory to the system */
    bool gives_all_back;     /* what is kept for the next need too */
    struct task_list tasks;  /* expiry, eviction, rehash, lazy freeing */
    struct expire *expire;
    struct evict *evict;
    struct lazyfree *lazyfree;
    struct compact *compact;
    struct db_observer *observers;
    struct watches *watches;
    struct waits *waits;
    bool has_ready; /* waits: a key that somebody waits for has changed */
    struct rng rng;
    struct shard_stats stats;
    struct slow slow;
    int64_t
        keeps_expired_until_ms; /* CLIENT PAUSE: till then only writers delete what has expired */
    bool no_touch;              /* the call being run leaves access times alone (CLIENT NO-TOUCH) */
    bool active_expire;         /* DEBUG SET-ACTIVE-EXPIRE */
    bool is_cron_paused;        /* DEBUG PAUSE-CRON */
};

/* A shard with empty databases; memory on NUMA node `node`. Thread: any, at start. */
struct shard *shard_create(uint16_t id, int node, const struct config *config);
void shard_destroy(struct shard *shard);

/* What is due from time to time: expiry, eviction, taking memory home. To be called
 * EXPIRE_TICKS_PER_S (10) times a second or so, also while nothing else happens. */
void shard_cron(struct shard *shard, int64_t now_ms);

/* Gives memory that holds nothing back to the system, in slices as a task; `all`: also what is
 * usually kept for the next need (MEMORY PURGE). */
void shard_give_back(struct shard *shard, bool all);

/* Moves the shard's clock to `now_ms` if that is later. */
void shard_tick(struct shard *shard, int64_t now_ms);
