/*
 * config: the settings as plain values.
 *
 * Immutable once published: CONFIG SET makes a new one and sends every shard the pointer by an
 * entry of the order log. Names, types, ranges and texts are known to admin/options.c only.
 * Thread: any may read the one its shard points to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/conn.h"

#define CONFIG_BIND_MAX 16

enum maxmemory_policy {
    MAXMEMORY_NOEVICTION,
    MAXMEMORY_ALLKEYS_LRU,
    MAXMEMORY_ALLKEYS_LFU,
    MAXMEMORY_ALLKEYS_RANDOM,
    MAXMEMORY_VOLATILE_LRU,
    MAXMEMORY_VOLATILE_LFU,
    MAXMEMORY_VOLATILE_RANDOM,
    MAXMEMORY_VOLATILE_TTL,
};

enum protected_word { PROTECTED_NO, PROTECTED_YES, PROTECTED_LOCAL }; /* enable-debug-command */

struct config {
    uint64_t generation; /* counts CONFIG SETs */

    /* Engine */
    uint32_t shards; /* 0: one per usable CPU */
    const char *io_backend;
    bool lend; /* lend sleeping shards; no: always poke */
    uint64_t hash_seed;
    uint32_t order_log_entries;

    /* Network */
    const char *bind[CONFIG_BIND_MAX];
    uint32_t bind_count;
    uint16_t port;
    const char *unix_socket;
    uint32_t unix_socket_perm;
    uint32_t tcp_backlog;
    uint32_t timeout_s;
    uint32_t maxclients;
    bool protected_mode;
    struct conn_options conn; /* query-buffer, bulk, keepalive, output limits */

    /* Data */
    uint32_t databases;
    uint64_t maxmemory; /* bytes, 0: none */
    enum maxmemory_policy maxmemory_policy;
    uint32_t maxmemory_samples;
    uint32_t lfu_log_factor, lfu_decay_time;
    uint32_t active_expire_effort;
    uint32_t hz;

    /* Server */
    const char *requirepass; /* "" for none */
    enum protected_word enable_debug_command;
    int64_t slowlog_slower_than_us;
    uint32_t slowlog_max_len;
    uint32_t latency_threshold_ms;
    bool latency_tracking;
    /* More is added by admin/options.c's owner as options come. */
};
