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
    size_t peak_used_bytes; /* the most mem_used() this thread has seen */
    uint64_t denied_auth;   /* wrong passwords */
};

/* Sets home->admin and home->command_stats and listens on home->tap. After command_table_build();
 * before the thread runs. */
void home_admin_create(struct home *home);
void home_admin_destroy(struct home *home); /* accepts a home without */

/* Samples the rates and the memory peak; every HOME_ADMIN_CRON_MS. */
void home_admin_cron(struct home *home, int64_t now_ms);

/* CONFIG RESETSTAT, on this thread: commands, errors, connections, keyspace hits, the memory peak.
 */
void home_admin_reset_stats(struct home *home);
