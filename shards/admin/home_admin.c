/*
 * How: two listeners on the tap, one for commands and one for sessions that end; the rest is filled
 * by the cron.
 */
#include "shards/admin/home_admin.h"

#include "core/base/mem.h"
#include "shards/call/command_stats.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"

static void after_command(void *context, const struct tap_event *event)
{
    struct home *home = context;
    if (event->rejected)
        return;
    slowlog_note(home, &home->admin->slowlog, event);
    latency_note(home, &home->admin->latency, event);
}

static void session_closed(void *context, struct session *session)
{
    monitor_stop(context, session);
}

void home_admin_create(struct home *home)
{
    home->admin = mem_zalloc(sizeof(*home->admin));
    home->command_stats = command_stats_create();
    home->cron = home_admin_cron;
    tap_add_after(&home->tap, after_command, home);
    tap_add_closed(&home->tap, session_closed, home);
}

void home_admin_destroy(struct home *home)
{
    if (!home->admin)
        return;
    slowlog_clear(&home->admin->slowlog);
    mem_free(home->admin);
    command_stats_destroy(home->command_stats);
    home->admin = NULL;
    home->command_stats = NULL;
    home->cron = NULL;
}

void home_admin_cron(struct home *home, int64_t now_ms)
{
    struct home_admin *admin = home->admin;
    rate_sample(&admin->commands_rate, home->stats.commands, now_ms);
    rate_sample(&admin->input_rate, conns_stats(home->conns)->bytes_in, now_ms);
    rate_sample(&admin->output_rate, conns_stats(home->conns)->bytes_out, now_ms);
    rate_sample(&admin->turns_rate, home->stats.turns, now_ms);
    monitor_tend(home, now_ms);
    latency_note_work(home, &admin->latency, now_ms / 1000);
    size_t used = mem_used();
    if (admin->startup_used_bytes == 0)
        admin->startup_used_bytes = used;
    home->command_stats->tracks_latency = home->config->latency_tracking;
}

struct conns_stats home_admin_net(const struct home *home)
{
    struct conns_stats net = *conns_stats(home->conns);
    const struct conns_stats *before = &home->admin->net_before;
    net.bytes_in -= before->bytes_in;
    net.bytes_out -= before->bytes_out;
    net.receives -= before->receives;
    net.sends -= before->sends;
    net.query_limit_closed -= before->query_limit_closed;
    net.output_limit_closed -= before->output_limit_closed;
    return net;
}

void home_admin_reset_stats(struct home *home)
{
    struct home_admin *admin = home->admin;
    int64_t blocked = home->stats.blocked_clients; /* a state, not a count of events */
    home->stats = (struct home_stats){.blocked_clients = blocked};
    home->shard->stats.keyspace_hits = home->shard->stats.keyspace_misses = 0;
    home->shard->stats.expired_keys = home->shard->stats.evicted_keys = 0;
    home->shard->stats.expired_subkeys = 0;
    home->shard->stats.active_expire_us = home->shard->stats.eviction_us = 0;
    home->shard->stats.lazyfreed_objects = 0;
    command_stats_reset(home->command_stats);
    admin->commands_rate = admin->input_rate = admin->output_rate = admin->turns_rate =
        (struct rate){0};
    admin->denied_auth = 0;
    admin->net_before = *conns_stats(home->conns);
}
