/*
 * tap: where commands can be watched going by.
 *
 * Dispatch fires one event before a command is run or sent out and one when its reply is complete,
 * both at home, in the client's order; and one when a session is about to be freed. Slow log,
 * latency monitor, MONITOR and command statistics listen; dispatch knows none of them. A tap
 * belongs to one home. Thread: home.
 */
#pragma once

#include "core/base/status.h"
#include "shards/local/config.h"

struct call;
struct session;

struct tap_event {
    const struct call *call; /* words included; valid during the call */
    const struct session *session;
    int64_t now_us;      /* wall clock */
    uint32_t elapsed_us; /* after only: time on the shard that ran it (sum over parts) */
    bool failed;         /* after only: answered with an error */
    bool rejected;       /* after only: refused before it ran (arity, permission, OOM) */
};

typedef void (*tap_fn)(void *context, const struct tap_event *event);

typedef void (*tap_session_fn)(void *context, struct session *session);

#define TAP_LISTENERS_MAX 4

struct tap {
    struct tap_listener {
        tap_fn fn;
        void *context;
    } before[TAP_LISTENERS_MAX], after[TAP_LISTENERS_MAX];
    struct tap_session_listener {
        tap_session_fn fn;
        void *context;
    } closed[TAP_LISTENERS_MAX];
    uint32_t before_count, after_count, closed_count;
};

void tap_add_before(struct tap *tap, tap_fn fn, void *context);
void tap_add_after(struct tap *tap, tap_fn fn, void *context);
void tap_add_closed(struct tap *tap, tap_session_fn fn, void *context);
void tap_remove_before(struct tap *tap, tap_fn fn);
void tap_remove_after(struct tap *tap, tap_fn fn);

/* Does a command that took `ns` concern any listener to `after`? None below the thresholds of slow
 * log and latency monitor: the hot path asks this before it makes an event. */
static inline bool tap_wants_after(const struct tap *tap, const struct config *config, uint64_t ns)
{
    uint64_t us = ns / 1000; /* a threshold of -1 is none */
    return tap->after_count &&
           (us >= (uint64_t)config->slowlog_slower_than_us ||
            (config->latency_threshold_ms && us / 1000 >= (uint64_t)config->latency_threshold_ms));
}

static inline void tap_fire_before(const struct tap *tap, const struct tap_event *event)
{
    for (uint32_t i = 0; i < tap->before_count; i++)
        tap->before[i].fn(tap->before[i].context, event);
}

static inline void tap_fire_after(const struct tap *tap, const struct tap_event *event)
{
    for (uint32_t i = 0; i < tap->after_count; i++)
        tap->after[i].fn(tap->after[i].context, event);
}

static inline void tap_fire_closed(const struct tap *tap, struct session *session)
{
    for (uint32_t i = 0; i < tap->closed_count; i++)
        tap->closed[i].fn(tap->closed[i].context, session);
}
