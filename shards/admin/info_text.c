/*
 * How: one function a section, one line a field, with the names and order of Redis 7.2. Fields of
 * what this server does not have (forks, scripts, replicas, tracking, defragmentation) are there
 * and 0, so that what collects them finds them.
 */
#include "shards/admin/info_text.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/limits.h"
#include "core/os/usage.h"
#include "shards/admin/options.h"
#include "shards/call/command_table.h"
#include "shards/local/evict.h"
#include "shards/local/version.h"
#include "shards/route/server.h"

#define NO_REPLICATION_ID "0000000000000000000000000000000000000000"
#define LRU_CLOCK_MAX ((1u << 24) - 1)

static void number(struct buf *text, const char *name, uint64_t value)
{
    buf_add_format(text, "%s:%llu\r\n", name, (unsigned long long)value);
}

static void word(struct buf *text, const char *name, const char *value)
{
    buf_add_format(text, "%s:%s\r\n", name, value);
}

/* Each of the space-separated names, with 0. */
static void zeros(struct buf *text, const char *names)
{
    while (*names) {
        size_t len = strcspn(names, " ");
        buf_add(text, names, len);
        buf_add_text(text, ":0\r\n");
        names += len + (names[len] == ' ');
    }
}

/* An option's value, as CONFIG GET shows it. */
static void option(struct buf *text, const char *name, const char *option_name,
                   const struct config *config)
{
    buf_add_format(text, "%s:", name);
    option_get(option_find(bytes_from_text(option_name)), config, text);
    buf_add_text(text, "\r\n");
}

/* "1.50M": a number of bytes as people read it. */
static void human(struct buf *text, const char *name, uint64_t bytes)
{
    static const char units[] = "KMGTP";
    if (bytes < 1024) {
        buf_add_format(text, "%s:%lluB\r\n", name, (unsigned long long)bytes);
        return;
    }
    double value = (double)bytes / 1024;
    const char *unit = units;
    for (; value >= 1024 && unit[1]; unit++)
        value /= 1024;
    buf_add_format(text, "%s:%.2f%c\r\n", name, value, *unit);
}

static void number_and_human(struct buf *text, const char *name, uint64_t bytes)
{
    char human_name[64];
    snprintf(human_name, sizeof(human_name), "%s_human", name);
    number(text, name, bytes);
    human(text, human_name, bytes);
}

static double ratio(double a, double b)
{
    return b != 0 ? a / b : 0;
}

/* ---- Sections ---- */

static void write_listeners(struct buf *text, const struct config *config)
{
    uint32_t index = 0;
    if (config->port) {
        buf_add_format(text, "listener%u:name=tcp", index++);
        for (uint32_t i = 0; i < config->bind_count; i++)
            buf_add_format(text, ",bind=%s", config->bind[i]);
        buf_add_format(text, ",port=%u\r\n", config->port);
    }
    if (config->unix_socket[0])
        buf_add_format(text, "listener%u:name=unix,bind=%s\r\n", index, config->unix_socket);
}

static void write_server(struct buf *text, const struct info *info)
{
    const struct server *server = info->server;
    int64_t uptime_s = (info->now_us / 1000 - server->started_at_ms) / 1000;
    char system[USAGE_SYSTEM_CAP];
    usage_system_name(system);

    word(text, "redis_version", REDIS_VERSION);
    word(text, "sherd_version", SHERD_VERSION);
    word(text, "redis_git_sha1", "00000000");
    zeros(text, "redis_git_dirty redis_build_id");
    word(text, "redis_mode", "standalone");
    word(text, "os", system);
    number(text, "arch_bits", sizeof(void *) * 8);
    word(text, "monotonic_clock", "POSIX clock_gettime");
    word(text, "multiplexing_api", server->backend == RING_BACKEND_IO_URING ? "io_uring" : "epoll");
    word(text, "atomicvar_api", "c11-builtin");
    buf_add_format(text, "gcc_version:%d.%d.%d\r\n", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
    number(text, "process_id", (uint64_t)getpid());
    option(text, "process_supervised", "supervised", info->config);
    word(text, "run_id", server->run_id);
    number(text, "tcp_port", info->config->port);
    number(text, "server_time_usec", (uint64_t)info->now_us);
    number(text, "uptime_in_seconds", (uint64_t)uptime_s);
    number(text, "uptime_in_days", (uint64_t)uptime_s / 86400);
    number(text, "hz", info->config->hz);
    number(text, "configured_hz", info->config->hz);
    number(text, "lru_clock", (uint64_t)(info->now_us / 1000000) & LRU_CLOCK_MAX);
    word(text, "executable", server->executable);
    word(text, "config_file", server->config_file);
    zeros(text, "io_threads_active");
    write_listeners(text, info->config);
}

static void write_clients(struct buf *text, const struct info *info)
{
    const struct info_numbers *all = &info->sums->all;
    number(text, "connected_clients", all->clients);
    zeros(text, "cluster_connections");
    number(text, "maxclients", info->config->maxclients);
    number(text, "client_recent_max_input_buffer", all->max_input_bytes);
    number(text, "client_recent_max_output_buffer", all->max_output_bytes);
    number(text, "blocked_clients", (uint64_t)all->home.blocked_clients + all->paused_clients);
    zeros(text, "tracking_clients clients_in_timeout_table");
    number(text, "total_blocking_keys", all->waited_keys);
    number(text, "total_blocking_keys_on_nokey", all->waited_keys_any_change);
}

static void write_fragmentation(struct buf *text, const struct memory_use *use)
{
    const struct mem_allocator_stats *allocator = &use->allocator;
    double resident = (double)use->resident_bytes;
    buf_add_format(text, "allocator_frag_ratio:%.2f\r\n",
                   ratio((double)allocator->active, (double)allocator->allocated));
    number(text, "allocator_frag_bytes", allocator->active - allocator->allocated);
    buf_add_format(text, "allocator_rss_ratio:%.2f\r\n",
                   ratio((double)allocator->resident, (double)allocator->active));
    buf_add_format(text, "allocator_rss_bytes:%lld\r\n",
                   (long long)allocator->resident - (long long)allocator->active);
    buf_add_format(text, "rss_overhead_ratio:%.2f\r\n",
                   ratio(resident, (double)allocator->resident));
    buf_add_format(text, "rss_overhead_bytes:%lld\r\n",
                   (long long)use->resident_bytes - (long long)allocator->resident);
    buf_add_format(text, "mem_fragmentation_ratio:%.2f\r\n",
                   ratio(resident, (double)use->used_bytes));
    buf_add_format(text, "mem_fragmentation_bytes:%lld\r\n",
                   (long long)use->resident_bytes - (long long)use->used_bytes);
}

/* "jemalloc-5.3.0", without what it says of its build. */
static void write_allocator_name(struct buf *text)
{
    const char *name = mem_allocator_name();
    size_t len = strcspn(name, "-");
    if (name[len])
        len += 1 + strcspn(name + len + 1, "-");
    buf_add_format(text, "mem_allocator:%.*s\r\n", (int)len, name);
}

static void write_memory(struct buf *text, const struct info *info)
{
    const struct info_numbers *all = &info->sums->all;
    struct memory_use use = memory_use_of(&all->memory);

    number_and_human(text, "used_memory", use.used_bytes);
    number_and_human(text, "used_memory_rss", use.resident_bytes);
    number_and_human(text, "used_memory_peak", use.peak_bytes);
    buf_add_format(text, "used_memory_peak_perc:%.2f%%\r\n", memory_use_peak_percent(&use));
    number(text, "used_memory_overhead", use.overhead_bytes);
    number(text, "used_memory_startup", use.parts.startup_bytes);
    number(text, "used_memory_dataset", use.dataset_bytes);
    buf_add_format(text, "used_memory_dataset_perc:%.2f%%\r\n", memory_use_dataset_percent(&use));
    number(text, "allocator_allocated", use.allocator.allocated);
    number(text, "allocator_active", use.allocator.active);
    number(text, "allocator_resident", use.allocator.resident);
    number_and_human(text, "total_system_memory", limits_memory_bytes(""));
    zeros(text, "used_memory_lua used_memory_vm_eval");
    human(text, "used_memory_lua_human", 0);
    zeros(text, "used_memory_scripts_eval number_of_cached_scripts number_of_functions "
                "number_of_libraries used_memory_vm_functions");
    number_and_human(text, "used_memory_vm_total", 0);
    zeros(text, "used_memory_functions");
    number_and_human(text, "used_memory_scripts", 0);
    number_and_human(text, "maxmemory", info->config->maxmemory);
    option(text, "maxmemory_policy", "maxmemory-policy", info->config);
    write_fragmentation(text, &use);
    number(text, "mem_not_counted_for_evict", evict_not_counted(info->server->shards[0]));
    zeros(text, "mem_replication_backlog mem_total_replication_buffers mem_clients_slaves");
    number(text, "mem_clients_normal", use.parts.client_bytes);
    zeros(text, "mem_cluster_links mem_aof_buffer");
    write_allocator_name(text);
    zeros(text, "active_defrag_running");
    number(text, "lazyfree_pending_objects", all->shard.lazyfree_pending_objects);
    number(text, "lazyfreed_objects", all->shard.lazyfreed_objects);
}

static void write_persistence(struct buf *text, const struct info *info)
{
    zeros(text, "loading async_loading current_cow_peak current_cow_size current_cow_size_age");
    word(text, "current_fork_perc", "0.00");
    zeros(text, "current_save_keys_processed current_save_keys_total rdb_changes_since_last_save "
                "rdb_bgsave_in_progress");
    number(text, "rdb_last_save_time", (uint64_t)info->server->started_at_ms / 1000);
    word(text, "rdb_last_bgsave_status", "ok");
    word(text, "rdb_last_bgsave_time_sec", "-1");
    word(text, "rdb_current_bgsave_time_sec", "-1");
    zeros(text, "rdb_saves rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded "
                "aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled");
    word(text, "aof_last_rewrite_time_sec", "-1");
    word(text, "aof_current_rewrite_time_sec", "-1");
    word(text, "aof_last_bgrewrite_status", "ok");
    zeros(text, "aof_rewrites aof_rewrites_consecutive_failures");
    word(text, "aof_last_write_status", "ok");
    zeros(text, "aof_last_cow_size module_fork_in_progress module_fork_last_cow_size");
}

static void write_stats(struct buf *text, const struct info *info)
{
    const struct info_numbers *all = &info->sums->all;
    number(text, "total_connections_received", all->home.connections_received);
    number(text, "total_commands_processed", all->home.commands);
    number(text, "instantaneous_ops_per_sec", all->rates[INFO_RATE_COMMANDS]);
    number(text, "total_net_input_bytes", all->net.bytes_in);
    number(text, "total_net_output_bytes", all->net.bytes_out);
    zeros(text, "total_net_repl_input_bytes total_net_repl_output_bytes");
    buf_add_format(text, "instantaneous_input_kbps:%.2f\r\ninstantaneous_output_kbps:%.2f\r\n",
                   (double)all->rates[INFO_RATE_INPUT] / 1024,
                   (double)all->rates[INFO_RATE_OUTPUT] / 1024);
    word(text, "instantaneous_input_repl_kbps", "0.00");
    word(text, "instantaneous_output_repl_kbps", "0.00");
    number(text, "rejected_connections", all->home.connections_rejected);
    zeros(text, "sync_full sync_partial_ok sync_partial_err");
    number(text, "expired_subkeys", all->shard.expired_subkeys);
    number(text, "expired_keys", all->shard.expired_keys);
    buf_add_format(text, "expired_stale_perc:%.2f\r\n",
                   (double)all->shard.expired_stale_perc_x100 / 100 / info->sums->thread_count);
    zeros(text, "expired_time_cap_reached_count");
    number(text, "expire_cycle_cpu_milliseconds", all->shard.active_expire_us / 1000);
    number(text, "evicted_keys", all->shard.evicted_keys);
    zeros(text, "evicted_clients");
    number(text, "total_eviction_exceeded_time", all->shard.eviction_us / 1000);
    zeros(text, "current_eviction_exceeded_time");
    number(text, "keyspace_hits", all->shard.keyspace_hits);
    number(text, "keyspace_misses", all->shard.keyspace_misses);
    zeros(text, "pubsub_channels pubsub_patterns pubsubshard_channels latest_fork_usec total_forks "
                "migrate_cached_sockets slave_expires_tracked_keys active_defrag_hits "
                "active_defrag_misses active_defrag_key_hits active_defrag_key_misses "
                "total_active_defrag_time current_active_defrag_time tracking_total_keys "
                "tracking_total_items tracking_total_prefixes");
    number(text, "unexpected_error_replies", all->home.unexpected_errors);
    number(text, "total_error_replies", all->errors_total);
    zeros(text, "dump_payload_sanitizations");
    number(text, "total_reads_processed", all->net.receives);
    number(text, "total_writes_processed", all->net.sends);
    zeros(text, "io_threaded_reads_processed io_threaded_writes_processed reply_buffer_shrinks "
                "reply_buffer_expands");
    number(text, "eventloop_cycles", all->home.turns);
    zeros(text, "eventloop_duration_sum eventloop_duration_cmd_sum");
    number(text, "instantaneous_eventloop_cycles_per_sec", all->rates[INFO_RATE_TURNS]);
    zeros(text, "instantaneous_eventloop_duration_usec");
    number(text, "acl_access_denied_auth", all->denied_auth);
    zeros(text, "acl_access_denied_cmd acl_access_denied_key acl_access_denied_channel");
}

static void write_replication(struct buf *text, const struct info *info)
{
    word(text, "role", "master");
    zeros(text, "connected_slaves");
    word(text, "master_failover_state", "no-failover");
    word(text, "master_replid", info->server->run_id);
    word(text, "master_replid2", NO_REPLICATION_ID);
    zeros(text, "master_repl_offset");
    word(text, "second_repl_offset", "-1");
    zeros(text, "repl_backlog_active");
    option(text, "repl_backlog_size", "repl-backlog-size", info->config);
    zeros(text, "repl_backlog_first_byte_offset repl_backlog_histlen");
}

static void write_cpu_pair(struct buf *text, const char *suffix, struct usage_cpu cpu)
{
    buf_add_format(text, "used_cpu_sys%s:%lld.%06lld\r\n", suffix,
                   (long long)cpu.system_us / 1000000, (long long)cpu.system_us % 1000000);
    buf_add_format(text, "used_cpu_user%s:%lld.%06lld\r\n", suffix,
                   (long long)cpu.user_us / 1000000, (long long)cpu.user_us % 1000000);
}

static void write_cpu(struct buf *text, const struct info *info)
{
    (void)info;
    write_cpu_pair(text, "", usage_process_cpu());
    write_cpu_pair(text, "_children", usage_children_cpu());
    write_cpu_pair(text, "_main_thread", usage_thread_cpu());
}

static void write_modules(struct buf *text, const struct info *info)
{
    (void)text;
    (void)info;
}

static void write_command_stats(struct buf *text, const struct info *info)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct command_stat *stat = &info->sums->commands[id];
        if (!stat->calls && !stat->rejected && !stat->failed)
            continue;
        unsigned long long usec = stat->ns / 1000;
        buf_add_format(text,
                       "cmdstat_%s:calls=%llu,usec=%llu,usec_per_call=%.2f,rejected_calls=%llu,"
                       "failed_calls=%llu\r\n",
                       command_full_name(command_at(id)), (unsigned long long)stat->calls, usec,
                       ratio((double)stat->ns / 1000, (double)stat->calls),
                       (unsigned long long)stat->rejected, (unsigned long long)stat->failed);
    }
}

static void write_error_stats(struct buf *text, const struct info *info)
{
    for (uint32_t i = 0; i < info->sums->error_count; i++) {
        const struct command_error *error = &info->sums->errors[i];
        buf_add_text(text, "errorstat_");
        /* A code is what a client's words may have become; what would break the line must not. */
        for (const char *c = error->code; *c; c++)
            buf_add_char(text, strchr("#:\r\n", *c) ? '_' : *c);
        buf_add_format(text, ":count=%llu\r\n", (unsigned long long)error->count);
    }
}

/* "99.9": no zeros at the end. */
static void add_percentile_name(struct buf *text, double percentile)
{
    char digits[64];
    int len = snprintf(digits, sizeof(digits), "%f", percentile);
    while (len > 0 && digits[len - 1] == '0')
        len--;
    if (len > 0 && digits[len - 1] == '.')
        len--;
    buf_add_format(text, "p%.*s", len, digits);
}

static void write_latency_stats(struct buf *text, const struct info *info)
{
    const struct config *config = info->config;
    for (uint32_t id = 0; config->latency_tracking && id < command_count(); id++) {
        const struct histogram *latency = info->sums->latencies[id];
        if (!latency)
            continue;
        buf_add_format(text, "latency_percentiles_usec_%s:", command_full_name(command_at(id)));
        for (uint32_t i = 0; i < config->latency_percentile_count; i++) {
            double percentile = config->latency_percentiles[i];
            if (i > 0)
                buf_add_char(text, ',');
            add_percentile_name(text, percentile);
            buf_add_format(text, "=%.3f", (double)histogram_percentile(latency, percentile) / 1000);
        }
        buf_add_text(text, "\r\n");
    }
}

static void write_cluster(struct buf *text, const struct info *info)
{
    (void)info;
    zeros(text, "cluster_enabled");
}

static void write_keyspace(struct buf *text, const struct info *info)
{
    for (uint32_t i = 0; i < info->sums->db_count; i++) {
        const struct info_db *db = &info->sums->dbs[i];
        if (db->keys == 0)
            continue;
        buf_add_format(text, "db%u:keys=%llu,expires=%llu,avg_ttl=%lld", i,
                       (unsigned long long)db->keys, (unsigned long long)db->expires,
                       (long long)ratio(db->ttl_sum_ms, (double)db->expires));
        /* Of later versions of Redis, which always have it: not all readers know of it. */
        if (db->subexpires)
            buf_add_format(text, ",subexpiry=%llu", (unsigned long long)db->subexpires);
        buf_add_text(text, "\r\n");
    }
}

static void write_shards(struct buf *text, const struct info *info)
{
    number(text, "shards", info->sums->thread_count);
    for (uint32_t i = 0; i < info->sums->thread_count; i++) {
        const struct info_numbers *one = &info->sums->threads[i];
        buf_add_format(
            text,
            "shard%u:keys=%llu,ops=%llu,remote_in=%llu,log_entries=%llu,park_us=%llu,"
            "loop_p99_us=%llu,loop_max_us=%llu,ops_per_sec=%llu,clients=%llu,"
            "used_memory=%llu,hops_sent=%llu,entries_published=%llu,"
            "lane_overflows=%llu,lent_runs=%llu,turns=%llu,sleeps=%llu,wakes_sent=%llu,cpu=%lld"
            "\r\n",
            i, (unsigned long long)one->memory.keys, (unsigned long long)one->shard.commands,
            (unsigned long long)one->shard.remote_in, (unsigned long long)one->shard.log_entries,
            (unsigned long long)one->shard.park_us,
            (unsigned long long)one->home.loop_p99_ns / 1000,
            (unsigned long long)one->home.loop_max_ns / 1000,
            (unsigned long long)one->rates[INFO_RATE_COMMANDS], (unsigned long long)one->clients,
            (unsigned long long)one->heap_bytes, (unsigned long long)one->home.hops_sent,
            (unsigned long long)one->home.entries_published,
            (unsigned long long)one->home.lane_overflows, (unsigned long long)one->home.lent_runs,
            (unsigned long long)one->home.turns, (unsigned long long)one->home.sleeps,
            (unsigned long long)one->home.wakes_sent, (long long)one->cpu);
    }
}

/* clang-format off */
const struct info_section info_sections[] = {
    {"server",       "Server",       true,  0,                    write_server},
    {"clients",      "Clients",      true,  0,                    write_clients},
    {"memory",       "Memory",       true,  0,                    write_memory},
    {"persistence",  "Persistence",  true,  0,                    write_persistence},
    {"stats",        "Stats",        true,  0,                    write_stats},
    {"replication",  "Replication",  true,  0,                    write_replication},
    {"cpu",          "CPU",          true,  0,                    write_cpu},
    {"modules",      "Modules",      true,  0,                    write_modules},
    {"commandstats", "Commandstats", false, INFO_WANTS_COMMANDS,  write_command_stats},
    {"errorstats",   "Errorstats",   true,  0,                    write_error_stats},
    {"latencystats", "Latencystats", false, INFO_WANTS_LATENCIES, write_latency_stats},
    {"cluster",      "Cluster",      true,  0,                    write_cluster},
    {"keyspace",     "Keyspace",     true,  0,                    write_keyspace},
    {"shards",       "Shards",       true,  0,                    write_shards},
    {0},
};
/* clang-format on */
