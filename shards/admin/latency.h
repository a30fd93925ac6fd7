/*
 * latency: when something took longer than latency-monitor-threshold, by kind of event.
 *
 * Per event: the longest time in each second, for the last seconds in which there was one.
 * The zero value has no events. Thread: home.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shards/call/tap.h"

struct home;

#define LATENCY_SAMPLES_MAX 160 /* seconds kept per event */
#define LATENCY_EVENTS_MAX 16   /* kinds of events; further ones are not kept */

struct latency_sample {
    int64_t at_s;
    uint32_t ms;
};

struct latency_event {
    const char *name; /* for ever */
    uint32_t all_time_max_ms;
    uint32_t count, next; /* samples kept, and where the next one goes */
    struct latency_sample samples[LATENCY_SAMPLES_MAX];
};

struct latency {
    struct latency_event events[LATENCY_EVENTS_MAX];
    uint32_t event_count;
};

/* Notes that `name` took `ms`, whatever the threshold. */
void latency_add(struct latency *latency, const char *name, int64_t now_s, uint32_t ms);

/* Notes the command of `event` if the settings of the home's shard ask for it. */
void latency_note(struct home *home, struct latency *latency, const struct tap_event *event);

/* The same for what the home's shard has noted of its own work, which it then forgets. */
void latency_note_work(struct home *home, struct latency *latency, int64_t now_s);

/* Forgets one event (false if there was none), or all. */
bool latency_forget(struct latency *latency, const char *name);
void latency_clear(struct latency *latency);

/* The i-th oldest sample kept. */
struct latency_sample latency_sample_at(const struct latency_event *event, uint32_t i);
