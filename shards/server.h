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
    uint16_t *slot_map; /* [SLOT_COUNT] shard of each slot; immutable in this version */
    struct cpu_plan cpus;
    enum ring_backend backend;
    char backend_reason[256]; /* why not io_uring */
    char run_id[41];
    char executable[512], config_file[512];
    int64_t started_at_ms;
    _Atomic uint64_t next_session_id;
    _Atomic int shutdown_signal;     /* set by SIGTERM, SIGINT, SHUTDOWN */
    _Atomic uint32_t *session_count; /* [shard_count * 16], one cache line each: for even spreading */
};
