/*
 * config: the settings as plain values.
 *
 * Immutable once published: CONFIG SET makes a changed copy and sends every shard the pointer by an
 * entry of the order log. Names, types, ranges and error texts are known to admin/options.c only;
 * config.h of admin makes, copies and frees.
 *
 * Texts      are never NULL, "" means unset; they lie in `texts` and live as long as the object.
 * Kept       options that nothing reads in this version have no field here: admin keeps what was
 * set, so that CONFIG GET and REWRITE give it back. Thread     any may read the one its shard
 * points to.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/os/ring.h"
#include "core/type/hash.h"
#include "core/type/set.h"
#include "core/type/stream_node.h"
#include "core/type/zset.h"
#include "net/conn.h"

#define CONFIG_BIND_MAX 16
#define CONFIG_SAVE_POINTS_MAX 32
#define CONFIG_PERCENTILES_MAX 32
#define CONFIG_OOM_SCORES 3
#define CONFIG_FILES_RESERVED 32u /* descriptors that are not clients: logs, files */
#define CONFIG_FILES_PER_SHARD 8u /* rings, listeners */
#define CONFIG_OPTIONS_MAX 256    /* rows of admin/options.c */

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

/* enable-debug-command, enable-protected-configs: LOCAL is for clients of this machine. */
enum protected_word { PROTECTED_NO, PROTECTED_YES, PROTECTED_LOCAL };

enum supervised_word { SUPERVISED_NO, SUPERVISED_UPSTART, SUPERVISED_SYSTEMD, SUPERVISED_AUTO };

enum oom_score_word { OOM_SCORE_NO, OOM_SCORE_RELATIVE, OOM_SCORE_ABSOLUTE };

/* SHUTDOWN's words, and those of shutdown-on-sigint and -sigterm, where 0 is "default". */
#define CONFIG_SHUTDOWN_SAVE (1u << 0)
#define CONFIG_SHUTDOWN_NOSAVE (1u << 1)
#define CONFIG_SHUTDOWN_NOW (1u << 2)
#define CONFIG_SHUTDOWN_FORCE (1u << 3)

struct config {
    uint64_t generation; /* counts CONFIG SETs */

    /* Engine */
    uint32_t shards; /* 0: one per usable CPU */
    enum ring_backend io_backend;
    bool lend;          /* lend sleeping shards; no: always poke */
    uint64_t hash_seed; /* 0: drawn at start */
    uint32_t order_log_entries;
    const char *server_cpulist; /* CPUs to run on, as taskset has them; "": all usable */

    /* Network */
    const char *bind[CONFIG_BIND_MAX];
    uint32_t bind_count;
    uint16_t port;
    const char *unix_socket;
    uint32_t unix_socket_perm; /* 0: leave it to the umask */
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
    uint32_t maxmemory_eviction_tenacity;
    uint32_t lfu_log_factor, lfu_decay_time;
    uint32_t active_expire_effort;
    uint32_t hz; /* for INFO only */
    struct hash_limits hash_limits;
    struct zset_limits zset_limits;
    struct set_limits set_limits;
    struct stream_limits stream_limits;
    bool rdb_compression;       /* DUMP */
    const char *locale_collate; /* SORT ALPHA: its order; "": the environment says */
    int64_t hll_sparse_max_bytes;
    int64_t list_max_listpack_size; /* as core/type/list.h reads it */
    bool lazyfree_user_flush;       /* FLUSHALL, FLUSHDB without a word: ASYNC */

    /* Access */
    const char *requirepass;
    enum protected_word enable_debug_command, enable_protected_configs;

    /* Watching */
    int64_t slowlog_slower_than_us;
    uint64_t slowlog_max_len;
    int64_t latency_threshold_ms;
    bool latency_tracking;
    double latency_percentiles[CONFIG_PERCENTILES_MAX];
    uint32_t latency_percentile_count;

    /* The process */
    uint32_t loglevel; /* enum log_level */
    const char *logfile;
    bool syslog;
    const char *syslog_ident;
    uint32_t syslog_facility; /* LOG_LOCAL0, ... */
    bool daemonize;
    enum supervised_word supervised;
    const char *pidfile;
    const char *dir; /* absolute: the working directory */
    bool set_proc_title;
    const char *proc_title_template;
    enum oom_score_word oom_score_adj;
    int32_t oom_score_adj_values[CONFIG_OOM_SCORES]; /* the first is used: master, replica, child */
    struct config_save_point {
        int64_t seconds;
        int32_t changes;
    } save_points[CONFIG_SAVE_POINTS_MAX];
    uint32_t save_point_count;

    /* Where it came from */
    const char *config_file; /* absolute, "" without one */
    const char *executable;  /* absolute */
    const char *program;     /* argv[0]: as it was called */

    /* Admin's own: what options without a field were set to, by row, which rows were named at
     * start, and whether files are still being read (their save lines add up). */
    bool is_loading;
    union config_kept {
        int64_t number;
        const char *text;
    } kept[CONFIG_OPTIONS_MAX];
    uint64_t named[CONFIG_OPTIONS_MAX / 64];
    struct arena texts;
};
