/*
 * server: the process: its shards, its threads, and what they all share and never change.
 *
 * Thread: any may read; what changes is marked.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/os/cpu.h"
#include "core/os/ring.h"

struct config;
struct home;
struct shard;

struct server {
    uint32_t shard_count;
    struct shard **shards; /* [shard_count] */
    struct home **homes;   /* [shard_count] */
    struct together *together;
    struct lanes *lanes;
    uint16_t *slot_map; /* [SLOT_COUNT] shard of each slot; immutable in this version */
    struct cpu_plan cpus;
    enum ring_backend backend;
    char backend_reason[256]; /* why not io_uring */
    char run_id[41];
    char executable[512], config_file[512];
    int64_t started_at_ms;
    _Atomic int stop_reason;  /* 0: running; else the signal that ended it, SIGTERM for SHUTDOWN */
    _Atomic uint32_t stopped; /* threads that have nothing out any more, once stopping */
    _Atomic uint32_t posts_out; /* posts and sockets on their way from thread to thread */
    _Atomic uint64_t next_session_id;
    _Atomic uint64_t slowlog_next_id; /* of all homes' slow logs together */
    struct server_count {
        _Alignas(128) _Atomic uint32_t sessions;
    } * counts; /* [shard_count] clients of each thread, for even spreading */
};

/* Begins a clean shutdown: every thread stops taking commands and ends when nothing is out any
 * more. Thread: any, also a signal handler. */
void server_stop(struct server *server, int reason);
static inline int server_is_stopping(const struct server *server)
{
    return atomic_load_explicit(&server->stop_reason, memory_order_relaxed);
}

/* Clients of all threads together. Thread: any. */
uint32_t server_session_count(const struct server *server);
