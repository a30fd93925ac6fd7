/*
 * options: the table, and finding a row in it.
 *
 * Rows stand in groups by subject. Options without a field keep their value in config->kept under
 * their row's number, so such a row costs nothing else.
 */
#include "shards/admin/options.h"

#include <assert.h>
#include <limits.h>
#include <locale.h>
#include <syslog.h>

#include "core/os/log.h"
#include "shards/admin/option_special.h"

#define FIELD(member)                                                                              \
    .offset = offsetof(struct config, member), .width = sizeof(((struct config *)0)->member)
#define RANGE(lowest, highest) .low = (lowest), .high = (highest)

#define MAX_MEMORY_UNSIGNED ((int64_t)UINT64_MAX) /* read as unsigned */

/* ---- Words --------------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct option_word maxmemory_policy_words[] = {
    {"volatile-lru", MAXMEMORY_VOLATILE_LRU}, {"volatile-lfu", MAXMEMORY_VOLATILE_LFU},
    {"volatile-random", MAXMEMORY_VOLATILE_RANDOM}, {"volatile-ttl", MAXMEMORY_VOLATILE_TTL},
    {"allkeys-lru", MAXMEMORY_ALLKEYS_LRU}, {"allkeys-lfu", MAXMEMORY_ALLKEYS_LFU},
    {"allkeys-random", MAXMEMORY_ALLKEYS_RANDOM}, {"noeviction", MAXMEMORY_NOEVICTION}, {NULL, 0},
};
static const struct option_word syslog_facility_words[] = {
    {"user", LOG_USER}, {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1}, {"local2", LOG_LOCAL2},
    {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4}, {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6},
    {"local7", LOG_LOCAL7}, {NULL, 0},
};
static const struct option_word loglevel_words[] = {
    {"debug", LOG_LEVEL_DEBUG}, {"verbose", LOG_LEVEL_VERBOSE}, {"notice", LOG_LEVEL_NOTICE},
    {"warning", LOG_LEVEL_WARNING}, {"nothing", LOG_LEVEL_NOTHING}, {NULL, 0},
};
static const struct option_word supervised_words[] = {
    {"upstart", SUPERVISED_UPSTART}, {"systemd", SUPERVISED_SYSTEMD}, {"auto", SUPERVISED_AUTO},
    {"no", SUPERVISED_NO}, {NULL, 0},
};
static const struct option_word protected_words[] = {
    {"no", PROTECTED_NO}, {"yes", PROTECTED_YES}, {"local", PROTECTED_LOCAL}, {NULL, 0},
};
static const struct option_word oom_score_words[] = { /* shown as the first that fits */
    {"no", OOM_SCORE_NO}, {"yes", OOM_SCORE_RELATIVE}, {"relative", OOM_SCORE_RELATIVE},
    {"absolute", OOM_SCORE_ABSOLUTE}, {NULL, 0},
};
static const struct option_word shutdown_words[] = {
    {"default", 0}, {"save", CONFIG_SHUTDOWN_SAVE}, {"nosave", CONFIG_SHUTDOWN_NOSAVE},
    {"now", CONFIG_SHUTDOWN_NOW}, {"force", CONFIG_SHUTDOWN_FORCE}, {NULL, 0},
};
static const struct option_word io_backend_words[] = {
    {"auto", RING_BACKEND_AUTO}, {"io_uring", RING_BACKEND_IO_URING}, {"epoll", RING_BACKEND_EPOLL}, {NULL, 0},
};
/* Of options that only keep their value the numbers mean nothing. */
static const struct option_word appendfsync_words[] = {{"everysec", 0}, {"always", 1}, {"no", 2}, {NULL, 0}};
static const struct option_word diskless_load_words[] = {
    {"disabled", 0}, {"on-empty-db", 1}, {"swapdb", 2}, {NULL, 0},
};
static const struct option_word tls_auth_words[] = {{"no", 0}, {"yes", 1}, {"optional", 2}, {NULL, 0}};
static const struct option_word pubsub_default_words[] = {{"allchannels", 1}, {"resetchannels", 0}, {NULL, 0}};
static const struct option_word sanitize_words[] = {{"no", 0}, {"yes", 1}, {"clients", 2}, {NULL, 0}};
static const struct option_word endpoint_words[] = {
    {"ip", 0}, {"hostname", 1}, {"unknown-endpoint", 2}, {NULL, 0},
};
static const struct option_word propagation_words[] = {
    {"ignore", 0}, {"panic", 1}, {"panic-on-replicas", 2}, {NULL, 0},
};
/* clang-format on */

/* ---- Why an option is not obeyed ----------------------------------------------------------------
 */

#define SNAPSHOTS "snapshots are not built yet"
#define JOURNAL "the append-only file is not built yet"
#define REPLICAS "replication is not built yet"
#define CLUSTER "cluster mode is not built yet"
#define TLS "TLS is not built yet"
#define ACL_RULES "ACL rules are not built yet"
#define SCRIPTS "scripts are not built yet"
#define MODULES "modules are not supported"
#define PUBSUB "channels are not built yet"
#define TRACKING "client-side caching is not built yet"
#define NO_COMPRESSION "lists are not compressed in memory"
#define DEFRAG "defragmentation is not built yet"
#define SLICES "long work is always done in slices beside the commands"
#define THREADS "every shard's thread does its own input and output"
#define CRASHES "crash reports are not built yet"
#define DUMPS "every payload is checked in full, whoever sends it"
#define MARKS "sockets are not marked"
#define OUTGOING "this version opens no connection of its own"
#define CLIENT_MEMORY "clients are not evicted for their memory in this version"
#define NO_CHILD "no child process or background thread is ever started"
#define NO_WAIT "there is nothing to save, and no replica to wait for"
#define PACE "each shard looks after its keys ten times a second, and paces itself by what it finds"
#define NO_FORK "without a fork huge pages do no harm, and the tables want them"
#define NO_KERNEL_BUG "the warnings that it silences do not exist here"
#define NO_LOGO "there is no logo in the log"
#define DEBUGGING "it is for debugging Redis itself"

/* ---- Conditions ---------------------------------------------------------------------------------
 */

#define HZ_MIN 1
#define HZ_MAX 500
#define BACKLOG_MIN 16384 /* bytes */
#define SHUTDOWN_BOTH (CONFIG_SHUTDOWN_SAVE | CONFIG_SHUTDOWN_NOSAVE)
#define HOST_NAME_MAX_LEN 256u /* bytes, one less is allowed */

/* Out of range is no error here: Redis takes the nearest pace that it can keep. */
static bool clamp_hz(int64_t *number, struct option_error *error)
{
    *number = *number < HZ_MIN ? HZ_MIN : *number > HZ_MAX ? HZ_MAX : *number;
    return true;
}

/* The same for the backlog, which Redis never makes smaller than this. */
static bool clamp_backlog(int64_t *number, struct option_error *error)
{
    if (*number < BACKLOG_MIN)
        *number = BACKLOG_MIN;
    return true;
}

/* Whoever wants a snapshot at the end must not be let down silently; FORCE means: if it can be had.
 */
static bool check_shutdown(int64_t *number, struct option_error *error)
{
    if ((*number & SHUTDOWN_BOTH) == SHUTDOWN_BOTH)
        return option_fail(error, "shutdown options SAVE and NOSAVE can't be used simultaneously");
    if (*number & CONFIG_SHUTDOWN_SAVE && !(*number & CONFIG_SHUTDOWN_FORCE))
        return option_fail(error, SNAPSHOTS);
    return true;
}

static bool check_power_of_two(int64_t *number, struct option_error *error)
{
    if (*number & (*number - 1))
        return option_fail(error, "argument must be a power of two");
    return true;
}

static bool is_base_name(struct bytes text)
{
    return memchr(text.ptr, '/', text.len) == NULL && memchr(text.ptr, '\\', text.len) == NULL;
}

static bool check_dbfilename(struct bytes text, struct option_error *error)
{
    if (text.len && !is_base_name(text))
        return option_fail(error, "dbfilename can't be a path, just a filename");
    return true;
}

static bool check_appendfilename(struct bytes text, struct option_error *error)
{
    if (text.len == 0)
        return option_fail(error, "appendfilename can't be empty");
    if (!is_base_name(text))
        return option_fail(error, "appendfilename can't be a path, just a filename");
    return true;
}

static bool check_appenddirname(struct bytes text, struct option_error *error)
{
    if (text.len == 0)
        return option_fail(error, "appenddirname can't be empty");
    if (!is_base_name(text))
        return option_fail(error, "appenddirname can't be a path, just a dirname");
    return true;
}

static bool check_hostname(struct bytes text, struct option_error *error)
{
    if (text.len >= HOST_NAME_MAX_LEN)
        return option_fail(error, "Hostnames must be less than %u characters", HOST_NAME_MAX_LEN);
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i], lower = (char)(c | 0x20);
        if (!(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.')
            return option_fail(error, "Hostnames may only contain alphanumeric characters, "
                                      "hyphens or dots");
    }
    return true;
}

static bool check_nodename(struct bytes text, struct option_error *error)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 33 || text.ptr[i] > 126 || strchr("!#$%&()*+:;<>?@[]^{|}~", text.ptr[i]))
            return option_fail(error, "Announced human node name contained invalid character");
    return true;
}

static bool check_locale(struct bytes text, struct option_error *error)
{
    char name[64] = "";
    locale_t locale = (locale_t)0;
    if (text.len < sizeof name) {
        memcpy(name, text.ptr, text.len);
        locale = newlocale(LC_COLLATE_MASK, name, (locale_t)0);
    }
    if (!locale)
        return option_fail(error, "Invalid locale name");
    freelocale(locale);
    return true;
}

/* ---- The table ----------------------------------------------------------------------------------
 */

/* clang-format off */
#define IM OPTION_IMMUTABLE
#define ID OPTION_IDLE
#define RF OPTION_REFUSED
#define HI OPTION_HIDDEN
#define US OPTION_UNSET
#define UN OPTION_UNSIGNED
static const struct option rows[] = {
    /* Ours. */
    {"shards", NULL, OPTION_NUMBER, IM | OPTION_OURS, FIELD(shards), RANGE(0, 256)},
    {"io-backend", NULL, OPTION_WORD, IM | OPTION_OURS, FIELD(io_backend), .words = io_backend_words},
    {"lend", NULL, OPTION_BOOL, IM | OPTION_OURS, FIELD(lend), .number = true},
    {"hash-seed", NULL, OPTION_NUMBER, IM | UN | OPTION_OURS, FIELD(hash_seed), RANGE(0, INT64_MAX)},
    {"order-log-entries", NULL, OPTION_NUMBER, IM | OPTION_OURS, FIELD(order_log_entries), RANGE(64, 1 << 26),
     .number = 1 << 16, .check_number = check_power_of_two},

    /* Network. */
    {"bind", NULL, OPTION_SPECIAL, OPTION_MULTI, .special = &option_bind, .text = "* -::*"},
    {"port", NULL, OPTION_NUMBER, 0, FIELD(port), RANGE(0, 65535), .number = 6379},
    {"unixsocket", NULL, OPTION_TEXT, IM | US, FIELD(unix_socket)},
    {"unixsocketperm", NULL, OPTION_OCTAL, IM | UN, FIELD(unix_socket_perm), RANGE(0, 0777)},
    {"tcp-backlog", NULL, OPTION_NUMBER, IM, FIELD(tcp_backlog), RANGE(0, INT_MAX), .number = 511},
    {"tcp-keepalive", NULL, OPTION_NUMBER, 0, FIELD(conn.keepalive_s), RANGE(0, INT_MAX), .number = 300},
    {"timeout", NULL, OPTION_NUMBER, 0, FIELD(timeout_s), RANGE(0, INT_MAX)},
    {"maxclients", NULL, OPTION_NUMBER, UN, FIELD(maxclients), RANGE(1, UINT_MAX), .number = 10000},
    {"protected-mode", NULL, OPTION_BOOL, 0, FIELD(protected_mode), .number = true},
    {"client-query-buffer-limit", NULL, OPTION_MEMORY, UN, FIELD(conn.query_buffer_max), RANGE(1 << 20, LONG_MAX), .number = 1 << 30},
    {"proto-max-bulk-len", NULL, OPTION_MEMORY, 0, FIELD(conn.bulk_max), RANGE(1 << 20, LONG_MAX), .number = 512 << 20},
    {"client-output-buffer-limit", NULL, OPTION_SPECIAL, OPTION_MULTI, .special = &option_output_limit,
     .text = "normal 0 0 0 replica 256mb 64mb 60 pubsub 32mb 8mb 60"},
    {"maxmemory-clients", NULL, OPTION_MEMORY_PERCENT, ID, RANGE(-100, LONG_MAX), .note = CLIENT_MEMORY},
    {"socket-mark-id", NULL, OPTION_NUMBER, IM | UN | ID, RANGE(0, UINT_MAX), .note = MARKS},
    {"bind-source-addr", NULL, OPTION_TEXT, US | ID, .note = OUTGOING},
    {"io-threads", NULL, OPTION_NUMBER, IM | ID, RANGE(1, 128), .number = 1, .note = THREADS},
    {"io-threads-do-reads", NULL, OPTION_BOOL, IM | ID, .note = THREADS},
    {"tracking-table-max-keys", NULL, OPTION_NUMBER, UN | ID, RANGE(0, LONG_MAX), .number = 1000000, .note = TRACKING},

    /* TLS. */
    {"tls-port", NULL, OPTION_NUMBER, RF, RANGE(0, 65535), .note = TLS},
    {"tls-cluster", NULL, OPTION_BOOL, RF, .note = TLS},
    {"tls-replication", NULL, OPTION_BOOL, RF, .note = TLS},
    {"tls-auth-clients", NULL, OPTION_WORD, ID, .words = tls_auth_words, .number = 1, .note = TLS},
    {"tls-prefer-server-ciphers", NULL, OPTION_BOOL, ID, .note = TLS},
    {"tls-session-caching", NULL, OPTION_BOOL, ID, .number = true, .note = TLS},
    {"tls-session-cache-size", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 20480, .note = TLS},
    {"tls-session-cache-timeout", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 300, .note = TLS},
    {"tls-cert-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-key-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-key-file-pass", NULL, OPTION_TEXT, US | ID | OPTION_SENSITIVE, .note = TLS},
    {"tls-client-cert-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-client-key-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-client-key-file-pass", NULL, OPTION_TEXT, US | ID | OPTION_SENSITIVE, .note = TLS},
    {"tls-dh-params-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-ca-cert-file", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-ca-cert-dir", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-protocols", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-ciphers", NULL, OPTION_TEXT, US | ID, .note = TLS},
    {"tls-ciphersuites", NULL, OPTION_TEXT, US | ID, .note = TLS},

    /* Access. */
    {"requirepass", NULL, OPTION_TEXT, US | OPTION_SENSITIVE, FIELD(requirepass)},
    {"enable-debug-command", NULL, OPTION_WORD, IM, FIELD(enable_debug_command), .words = protected_words},
    {"enable-protected-configs", NULL, OPTION_WORD, IM, FIELD(enable_protected_configs), .words = protected_words},
    {"enable-module-command", NULL, OPTION_WORD, IM | ID, .words = protected_words, .note = MODULES},
    {"aclfile", NULL, OPTION_TEXT, IM | RF, .note = ACL_RULES},
    {"acl-pubsub-default", NULL, OPTION_WORD, ID, .words = pubsub_default_words, .note = ACL_RULES},
    {"acllog-max-len", NULL, OPTION_NUMBER, UN | ID, RANGE(0, LONG_MAX), .number = 128, .note = ACL_RULES},

    /* The process. */
    {"daemonize", NULL, OPTION_BOOL, IM, FIELD(daemonize)},
    {"supervised", NULL, OPTION_WORD, IM, FIELD(supervised), .words = supervised_words, .number = SUPERVISED_NO},
    {"pidfile", NULL, OPTION_TEXT, IM | US, FIELD(pidfile)},
    {"dir", NULL, OPTION_SPECIAL, OPTION_PROTECTED, .special = &option_dir},
    {"loglevel", NULL, OPTION_WORD, 0, FIELD(loglevel), .words = loglevel_words, .number = LOG_LEVEL_NOTICE},
    {"logfile", NULL, OPTION_TEXT, IM, FIELD(logfile)},
    {"syslog-enabled", NULL, OPTION_BOOL, IM, FIELD(syslog)},
    {"syslog-ident", NULL, OPTION_TEXT, IM, FIELD(syslog_ident), .text = "redis"},
    {"syslog-facility", NULL, OPTION_WORD, IM, FIELD(syslog_facility), .words = syslog_facility_words, .number = LOG_LOCAL0},
    {"always-show-logo", NULL, OPTION_BOOL, IM | ID, .note = NO_LOGO},
    {"set-proc-title", NULL, OPTION_BOOL, IM, FIELD(set_proc_title), .number = true},
    {"proc-title-template", NULL, OPTION_TEXT, 0, FIELD(proc_title_template),
     .text = "{title} {listen-addr} {server-mode}", .check_text = option_check_title},
    {"oom-score-adj", NULL, OPTION_WORD, 0, FIELD(oom_score_adj), .words = oom_score_words, .number = OOM_SCORE_NO},
    {"oom-score-adj-values", NULL, OPTION_SPECIAL, OPTION_MULTI, .special = &option_oom_values, .text = "0 200 800"},
    {"disable-thp", NULL, OPTION_BOOL, IM | ID, .number = true, .note = NO_FORK},
    {"jemalloc-bg-thread", NULL, OPTION_BOOL, ID, .number = true, .note = NO_CHILD},
    {"server_cpulist", NULL, OPTION_TEXT, IM | US, FIELD(server_cpulist)},
    {"bio_cpulist", NULL, OPTION_TEXT, IM | US | ID, .note = NO_CHILD},
    {"aof_rewrite_cpulist", NULL, OPTION_TEXT, IM | US | ID, .note = NO_CHILD},
    {"bgsave_cpulist", NULL, OPTION_TEXT, IM | US | ID, .note = NO_CHILD},
    {"crash-log-enabled", NULL, OPTION_BOOL, ID, .number = true, .note = CRASHES},
    {"crash-memcheck-enabled", NULL, OPTION_BOOL, ID, .number = true, .note = CRASHES},
    {"use-exit-on-panic", NULL, OPTION_BOOL, HI | ID, .note = DEBUGGING},
    {"watchdog-period", NULL, OPTION_NUMBER, HI | ID, RANGE(0, INT_MAX), .note = DEBUGGING},
    {"ignore-warnings", NULL, OPTION_TEXT, ID, .note = NO_KERNEL_BUG},
    {"locale-collate", NULL, OPTION_TEXT, 0, FIELD(locale_collate), .check_text = check_locale},
    {"shutdown-timeout", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 10, .note = REPLICAS},
    {"shutdown-on-sigint", NULL, OPTION_WORDS, OPTION_MULTI | ID, .words = shutdown_words, .check_number = check_shutdown, .note = NO_WAIT},
    {"shutdown-on-sigterm", NULL, OPTION_WORDS, OPTION_MULTI | ID, .words = shutdown_words, .check_number = check_shutdown, .note = NO_WAIT},

    /* Data. */
    {"databases", NULL, OPTION_NUMBER, IM, FIELD(databases), RANGE(1, INT_MAX), .number = 16},
    {"maxmemory", NULL, OPTION_MEMORY, UN, FIELD(maxmemory), RANGE(0, MAX_MEMORY_UNSIGNED)},
    {"maxmemory-policy", NULL, OPTION_WORD, 0, FIELD(maxmemory_policy), .words = maxmemory_policy_words, .number = MAXMEMORY_NOEVICTION},
    {"maxmemory-samples", NULL, OPTION_NUMBER, 0, FIELD(maxmemory_samples), RANGE(1, INT_MAX), .number = 5},
    {"maxmemory-eviction-tenacity", NULL, OPTION_NUMBER, 0, FIELD(maxmemory_eviction_tenacity), RANGE(0, 100), .number = 10},
    {"lfu-log-factor", NULL, OPTION_NUMBER, 0, FIELD(lfu_log_factor), RANGE(0, INT_MAX), .number = 10},
    {"lfu-decay-time", NULL, OPTION_NUMBER, 0, FIELD(lfu_decay_time), RANGE(0, INT_MAX), .number = 1},
    {"active-expire-effort", NULL, OPTION_NUMBER, 0, FIELD(active_expire_effort), RANGE(1, 10), .number = 1},
    {"hz", NULL, OPTION_NUMBER, ID, FIELD(hz), RANGE(0, INT_MAX), .number = 10, .check_number = clamp_hz, .note = PACE},
    {"dynamic-hz", NULL, OPTION_BOOL, ID, .number = true, .note = SLICES},
    {"activerehashing", NULL, OPTION_BOOL, ID, .number = true, .note = SLICES},
    {"lazyfree-lazy-eviction", NULL, OPTION_BOOL, ID, .note = SLICES},
    {"lazyfree-lazy-expire", NULL, OPTION_BOOL, ID, .note = SLICES},
    {"lazyfree-lazy-server-del", NULL, OPTION_BOOL, ID, .note = SLICES},
    {"lazyfree-lazy-user-del", NULL, OPTION_BOOL, ID, .note = SLICES},
    {"lazyfree-lazy-user-flush", NULL, OPTION_BOOL, 0, FIELD(lazyfree_user_flush)},
    {"activedefrag", NULL, OPTION_BOOL, RF, .note = DEFRAG},
    {"active-defrag-cycle-min", NULL, OPTION_NUMBER, ID, RANGE(1, 99), .number = 1, .note = DEFRAG},
    {"active-defrag-cycle-max", NULL, OPTION_NUMBER, ID, RANGE(1, 99), .number = 25, .note = DEFRAG},
    {"active-defrag-threshold-lower", NULL, OPTION_NUMBER, ID, RANGE(0, 1000), .number = 10, .note = DEFRAG},
    {"active-defrag-threshold-upper", NULL, OPTION_NUMBER, ID, RANGE(0, 1000), .number = 100, .note = DEFRAG},
    {"active-defrag-max-scan-fields", NULL, OPTION_NUMBER, UN | ID, RANGE(1, LONG_MAX), .number = 1000, .note = DEFRAG},
    {"active-defrag-ignore-bytes", NULL, OPTION_MEMORY, UN | ID, RANGE(1, LLONG_MAX), .number = 100 << 20, .note = DEFRAG},
    {"hash-max-listpack-entries", "hash-max-ziplist-entries", OPTION_NUMBER, UN, FIELD(hash_limits.field_count), RANGE(0, LONG_MAX), .number = 512},
    {"hash-max-listpack-value", "hash-max-ziplist-value", OPTION_MEMORY, UN, FIELD(hash_limits.text_len), RANGE(0, LONG_MAX), .number = 64},
    {"list-max-listpack-size", "list-max-ziplist-size", OPTION_NUMBER, 0, FIELD(list_max_listpack_size), RANGE(INT_MIN, INT_MAX), .number = -2},
    {"list-compress-depth", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .note = NO_COMPRESSION},
    {"set-max-intset-entries", NULL, OPTION_NUMBER, UN, FIELD(set_limits.number_count), RANGE(0, LONG_MAX), .number = 512},
    {"set-max-listpack-entries", NULL, OPTION_NUMBER, UN, FIELD(set_limits.text_count), RANGE(0, LONG_MAX), .number = 128},
    {"set-max-listpack-value", NULL, OPTION_NUMBER, UN, FIELD(set_limits.text_len), RANGE(0, LONG_MAX), .number = 64},
    {"zset-max-listpack-entries", "zset-max-ziplist-entries", OPTION_NUMBER, UN, FIELD(zset_limits.member_count), RANGE(0, LONG_MAX), .number = 128},
    {"zset-max-listpack-value", "zset-max-ziplist-value", OPTION_MEMORY, UN, FIELD(zset_limits.text_len), RANGE(0, LONG_MAX), .number = 64},
    {"hll-sparse-max-bytes", NULL, OPTION_MEMORY, UN, FIELD(hll_sparse_max_bytes), RANGE(0, LONG_MAX), .number = 3000},
    {"stream-node-max-bytes", NULL, OPTION_MEMORY, UN, FIELD(stream_limits.node_bytes), RANGE(0, LONG_MAX), .number = 4096},
    {"stream-node-max-entries", NULL, OPTION_NUMBER, 0, FIELD(stream_limits.node_entries), RANGE(0, LLONG_MAX), .number = 100},
    {"notify-keyspace-events", NULL, OPTION_SPECIAL, ID, .special = &option_keyspace_events, .note = PUBSUB},
    {"sanitize-dump-payload", NULL, OPTION_WORD, ID, .words = sanitize_words, .note = DUMPS},

    /* Watching. */
    {"slowlog-log-slower-than", NULL, OPTION_NUMBER, 0, FIELD(slowlog_slower_than_us), RANGE(-1, LLONG_MAX), .number = 10000},
    {"slowlog-max-len", NULL, OPTION_NUMBER, UN, FIELD(slowlog_max_len), RANGE(0, LONG_MAX), .number = 128},
    {"latency-monitor-threshold", NULL, OPTION_NUMBER, 0, FIELD(latency_threshold_ms), RANGE(0, LLONG_MAX)},
    {"latency-tracking", NULL, OPTION_BOOL, 0, FIELD(latency_tracking), .number = true},
    {"latency-tracking-info-percentiles", NULL, OPTION_SPECIAL, OPTION_MULTI, .special = &option_percentiles, .text = "50 99 99.9"},

    /* Snapshots. */
    {"save", NULL, OPTION_SPECIAL, OPTION_MULTI | ID, .special = &option_save, .text = "3600 1 300 100 60 10000", .note = SNAPSHOTS},
    {"dbfilename", NULL, OPTION_TEXT, OPTION_PROTECTED | ID, .text = "dump.rdb", .check_text = check_dbfilename, .note = SNAPSHOTS},
    {"rdbcompression", NULL, OPTION_BOOL, 0, FIELD(rdb_compression), .number = true},
    {"rdbchecksum", NULL, OPTION_BOOL, IM | ID, .number = true, .note = SNAPSHOTS},
    {"rdb-del-sync-files", NULL, OPTION_BOOL, ID, .note = SNAPSHOTS},
    {"rdb-save-incremental-fsync", NULL, OPTION_BOOL, ID, .number = true, .note = SNAPSHOTS},
    {"stop-writes-on-bgsave-error", NULL, OPTION_BOOL, ID, .number = true, .note = SNAPSHOTS},
    {"rdb-key-save-delay", NULL, OPTION_NUMBER, HI | ID, RANGE(INT_MIN, INT_MAX), .note = DEBUGGING},
    {"key-load-delay", NULL, OPTION_NUMBER, HI | ID, RANGE(INT_MIN, INT_MAX), .note = DEBUGGING},
    {"loading-process-events-interval-bytes", NULL, OPTION_NUMBER, HI | ID, RANGE(1024, INT_MAX), .number = 2 << 20, .note = SNAPSHOTS},

    /* The append-only file. */
    {"appendonly", NULL, OPTION_BOOL, RF, .note = JOURNAL},
    {"appendfilename", NULL, OPTION_TEXT, IM | ID, .text = "appendonly.aof", .check_text = check_appendfilename, .note = JOURNAL},
    {"appenddirname", NULL, OPTION_TEXT, IM | ID, .text = "appendonlydir", .check_text = check_appenddirname, .note = JOURNAL},
    {"appendfsync", NULL, OPTION_WORD, ID, .words = appendfsync_words, .note = JOURNAL},
    {"no-appendfsync-on-rewrite", NULL, OPTION_BOOL, ID, .note = JOURNAL},
    {"auto-aof-rewrite-percentage", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 100, .note = JOURNAL},
    {"auto-aof-rewrite-min-size", NULL, OPTION_MEMORY, ID, RANGE(0, LLONG_MAX), .number = 64 << 20, .note = JOURNAL},
    {"aof-load-truncated", NULL, OPTION_BOOL, ID, .number = true, .note = JOURNAL},
    {"aof-use-rdb-preamble", NULL, OPTION_BOOL, ID, .number = true, .note = JOURNAL},
    {"aof-timestamp-enabled", NULL, OPTION_BOOL, ID, .note = JOURNAL},
    {"aof-rewrite-incremental-fsync", NULL, OPTION_BOOL, ID, .number = true, .note = JOURNAL},
    {"aof-disable-auto-gc", NULL, OPTION_BOOL, HI | ID, .note = JOURNAL},

    /* Replication. */
    {"replicaof", "slaveof", OPTION_SPECIAL, IM | RF | OPTION_MULTI, .special = &option_replicaof, .note = REPLICAS},
    {"masterauth", NULL, OPTION_TEXT, US | ID | OPTION_SENSITIVE, .note = REPLICAS},
    {"masteruser", NULL, OPTION_TEXT, US | ID | OPTION_SENSITIVE, .note = REPLICAS},
    {"min-replicas-to-write", "min-slaves-to-write", OPTION_NUMBER, RF, RANGE(0, INT_MAX), .note = REPLICAS},
    {"min-replicas-max-lag", "min-slaves-max-lag", OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 10, .note = REPLICAS},
    {"replica-announce-ip", "slave-announce-ip", OPTION_TEXT, US | ID, .note = REPLICAS},
    {"replica-announce-port", "slave-announce-port", OPTION_NUMBER, ID, RANGE(0, 65535), .note = REPLICAS},
    {"replica-announced", NULL, OPTION_BOOL, ID, .number = true, .note = REPLICAS},
    {"replica-ignore-disk-write-errors", NULL, OPTION_BOOL, ID, .note = REPLICAS},
    {"replica-ignore-maxmemory", "slave-ignore-maxmemory", OPTION_BOOL, ID, .number = true, .note = REPLICAS},
    {"replica-lazy-flush", "slave-lazy-flush", OPTION_BOOL, ID, .note = REPLICAS},
    {"replica-priority", "slave-priority", OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 100, .note = REPLICAS},
    {"replica-read-only", "slave-read-only", OPTION_BOOL, ID, .number = true, .note = REPLICAS},
    {"replica-serve-stale-data", "slave-serve-stale-data", OPTION_BOOL, ID, .number = true, .note = REPLICAS},
    {"repl-backlog-size", NULL, OPTION_MEMORY, ID, RANGE(1, LLONG_MAX), .number = 1 << 20, .check_number = clamp_backlog, .note = REPLICAS},
    {"repl-backlog-ttl", NULL, OPTION_NUMBER, ID, RANGE(0, LONG_MAX), .number = 3600, .note = REPLICAS},
    {"repl-disable-tcp-nodelay", NULL, OPTION_BOOL, ID, .note = REPLICAS},
    {"repl-diskless-load", NULL, OPTION_WORD, ID, .words = diskless_load_words, .note = REPLICAS},
    {"repl-diskless-sync", NULL, OPTION_BOOL, ID, .number = true, .note = REPLICAS},
    {"repl-diskless-sync-delay", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 5, .note = REPLICAS},
    {"repl-diskless-sync-max-replicas", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .note = REPLICAS},
    {"repl-ping-replica-period", "repl-ping-slave-period", OPTION_NUMBER, ID, RANGE(1, INT_MAX), .number = 10, .note = REPLICAS},
    {"repl-timeout", NULL, OPTION_NUMBER, ID, RANGE(1, INT_MAX), .number = 60, .note = REPLICAS},
    {"propagation-error-behavior", NULL, OPTION_WORD, ID, .words = propagation_words, .note = REPLICAS},

    /* Cluster. */
    {"cluster-enabled", NULL, OPTION_BOOL, IM | RF, .note = CLUSTER},
    {"cluster-config-file", NULL, OPTION_TEXT, IM | ID, .text = "nodes.conf", .note = CLUSTER},
    {"cluster-node-timeout", NULL, OPTION_NUMBER, ID, RANGE(0, LLONG_MAX), .number = 15000, .note = CLUSTER},
    {"cluster-ping-interval", NULL, OPTION_NUMBER, HI | ID, RANGE(0, LLONG_MAX), .note = CLUSTER},
    {"cluster-port", NULL, OPTION_NUMBER, IM | ID, RANGE(0, 65535), .note = CLUSTER},
    {"cluster-announce-ip", NULL, OPTION_TEXT, US | ID, .note = CLUSTER},
    {"cluster-announce-hostname", NULL, OPTION_TEXT, US | ID, .check_text = check_hostname, .note = CLUSTER},
    {"cluster-announce-human-nodename", NULL, OPTION_TEXT, US | ID, .check_text = check_nodename, .note = CLUSTER},
    {"cluster-announce-port", NULL, OPTION_NUMBER, ID, RANGE(0, 65535), .note = CLUSTER},
    {"cluster-announce-bus-port", NULL, OPTION_NUMBER, ID, RANGE(0, 65535), .note = CLUSTER},
    {"cluster-announce-tls-port", NULL, OPTION_NUMBER, ID, RANGE(0, 65535), .note = CLUSTER},
    {"cluster-preferred-endpoint-type", NULL, OPTION_WORD, ID, .words = endpoint_words, .note = CLUSTER},
    {"cluster-replica-validity-factor", "cluster-slave-validity-factor", OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 10, .note = CLUSTER},
    {"cluster-replica-no-failover", "cluster-slave-no-failover", OPTION_BOOL, ID, .note = CLUSTER},
    {"cluster-migration-barrier", NULL, OPTION_NUMBER, ID, RANGE(0, INT_MAX), .number = 1, .note = CLUSTER},
    {"cluster-require-full-coverage", NULL, OPTION_BOOL, ID, .number = true, .note = CLUSTER},
    {"cluster-allow-reads-when-down", NULL, OPTION_BOOL, ID, .note = CLUSTER},
    {"cluster-allow-pubsubshard-when-down", NULL, OPTION_BOOL, ID, .number = true, .note = CLUSTER},
    {"cluster-allow-replica-migration", NULL, OPTION_BOOL, ID, .number = true, .note = CLUSTER},
    {"cluster-link-sendbuf-limit", NULL, OPTION_MEMORY, UN | ID, RANGE(0, MAX_MEMORY_UNSIGNED), .note = CLUSTER},

    /* Scripts. */
    {"busy-reply-threshold", "lua-time-limit", OPTION_NUMBER, ID, RANGE(0, LONG_MAX), .number = 5000, .note = SCRIPTS},
    {"lua-enable-deprecated-api", NULL, OPTION_BOOL, IM | HI | ID, .note = SCRIPTS},
};
#undef IM
#undef ID
#undef RF
#undef HI
#undef US
#undef UN
/* clang-format on */

#define ROW_COUNT (sizeof rows / sizeof rows[0])
static_assert(ROW_COUNT <= CONFIG_OPTIONS_MAX, "struct config has too little room to keep values");

/* ---- Finding ------------------------------------------------------------------------------------
 */

uint32_t option_count(void)
{
    return (uint32_t)ROW_COUNT;
}

const struct option *option_at(uint32_t index)
{
    ASSERT(index < ROW_COUNT);
    return &rows[index];
}

uint32_t option_index(const struct option *option)
{
    return (uint32_t)(option - rows);
}

/* Linear: a file has some hundred lines, and CONFIG is not on the data path. */
const struct option *option_find(struct bytes name)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (bytes_is(name, rows[i].name) || (rows[i].alias && bytes_is(name, rows[i].alias)))
            return &rows[i];
    return NULL;
}
