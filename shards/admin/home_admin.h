/*
 * home_admin: what a thread keeps for those who look at it: slow log, latency samples, monitors,
 * rates.
 *
 * Everything here belongs to one home and is filled by listeners on its tap; commands that show it
 * visit all homes and merge what they find.
 * Thread: home, except where marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/conn.h"
#include "shards/admin/latency.h"
#include "shards/admin/monitor.h"
#include "shards/admin/rate.h"
#include "shards/admin/slowlog.h"

struct home;

#define HOME_ADMIN_CRON_MS 100 /* how often home_admin_cron() is to be called */

struct home_admin {
    struct slowlog slowlog;
    struct latency latency;
    struct monitor monitor;
    struct rate commands_rate, input_rate, output_rate, turns_rate;
    size_t startup_used_bytes;     /* mem_used() at the first cron; 0: not yet */
    uint64_t denied_auth;          /* wrong passwords */
    struct conns_stats net_before; /* what the connections had done at the last reset */
};

/* Sets home->admin, home->command_stats and home->cron and listens on home->tap. After
 * command_table_build(); before the thread runs. */
void home_admin_create(struct home *home);
void home_admin_destroy(struct home *home); /* accepts a home without */

/* Samples the rates, looks at the memory, so that its peak is known, and at the monitors; every
 * HOME_ADMIN_CRON_MS.
 */
void home_admin_cron(struct home *home, int64_t now_ms);

/* What the home's connections have done since the last reset. */
struct conns_stats home_admin_net(const struct home *home);

/* CONFIG RESETSTAT, on this thread: commands, errors, connections, keyspace hits, the memory peak.
 */
void home_admin_reset_stats(struct home *home);
