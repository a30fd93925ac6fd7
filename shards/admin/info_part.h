/*
 * info_part: the numbers behind INFO: taken on every thread, added up at home.
 *
 * Thread: home.
 */
#pragma once

#include <stdint.h>

#include "core/base/buf.h"
#include "core/ds/histogram.h"
#include "shards/admin/memory_use.h"
#include "shards/call/command_stats.h"
#include "shards/local/stats.h"
#include "shards/route/home.h"

#define INFO_RATES 4

enum info_rate { INFO_RATE_COMMANDS, INFO_RATE_INPUT, INFO_RATE_OUTPUT, INFO_RATE_TURNS };

/* What the parts carry beyond the plain numbers. */
#define INFO_WANTS_COMMANDS (1u << 0)
#define INFO_WANTS_LATENCIES (1u << 1)

/* Of one thread and its shard, or of all of them together. */
struct info_numbers {
    struct home_stats home;
    int64_t cpu; /* that the thread is pinned to, -1: none */
    struct shard_stats shard;
    struct conns_stats net;
    struct memory_parts memory;
    uint64_t clients;
    uint64_t paused_clients;                    /* held back by CLIENT PAUSE */
    uint64_t waited_keys;                       /* that blocked clients wait for */
    uint64_t waited_keys_any_change;            /* of those, even for their going */
    uint64_t max_input_bytes, max_output_bytes; /* the largest of any client now */
    uint64_t rates[INFO_RATES];                 /* per second */
    uint64_t denied_auth;
    uint64_t errors_total;
    uint64_t heap_bytes; /* of the shards' data */
};

struct info_db {
    uint64_t keys, expires;
    uint64_t subexpires; /* hashes with fields that expire */
    double ttl_sum_ms;   /* average of a shard times its number of keys that expire */
};

struct info_sums {
    struct info_numbers all;
    struct info_numbers *threads; /* [thread_count] */
    uint32_t thread_count;
    struct info_db *dbs; /* [db_count] */
    uint32_t db_count;
    struct command_stat *commands; /* [command_count()] */
    struct histogram **latencies;  /* [command_count()], NULL where there is none */
    struct command_error *errors;  /* in order of their codes */
    uint32_t error_count;
};

/* Appends what the home has; `wants`: INFO_WANTS_*. */
void info_part_write(struct buf *content, struct home *home, uint32_t wants);

/* Adds the parts up. */
void info_sums_init(struct info_sums *sums, const struct bytes *contents, uint32_t count);
void info_sums_fini(struct info_sums *sums);
