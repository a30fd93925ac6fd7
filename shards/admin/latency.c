/* How: an array of events, each with a ring of samples. There are few kinds of events. */
#include "shards/admin/latency.h"

#include <string.h>

#include "shards/call/call.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"

static struct latency_event *find(struct latency *latency, const char *name)
{
    for (uint32_t i = 0; i < latency->event_count; i++) {
        if (strcmp(latency->events[i].name, name) == 0)
            return &latency->events[i];
    }
    return NULL;
}

void latency_add(struct latency *latency, const char *name, int64_t now_s, uint32_t ms)
{
    struct latency_event *event = find(latency, name);
    if (!event) {
        if (latency->event_count == LATENCY_EVENTS_MAX)
            return;
        event = &latency->events[latency->event_count++];
        *event = (struct latency_event){.name = name};
    }
    if (ms > event->all_time_max_ms)
        event->all_time_max_ms = ms;

    uint32_t last = (event->next + LATENCY_SAMPLES_MAX - 1) % LATENCY_SAMPLES_MAX;
    if (event->count > 0 && event->samples[last].at_s == now_s) {
        if (ms > event->samples[last].ms)
            event->samples[last].ms = ms;
        return;
    }
    event->samples[event->next] = (struct latency_sample){.at_s = now_s, .ms = ms};
    event->next = (event->next + 1) % LATENCY_SAMPLES_MAX;
    if (event->count < LATENCY_SAMPLES_MAX)
        event->count++;
}

void latency_note(struct home *home, struct latency *latency, const struct tap_event *event)
{
    int64_t threshold_ms = home->shard->config->latency_threshold_ms;
    uint32_t ms = event->elapsed_us / 1000;
    if (threshold_ms <= 0 || ms < threshold_ms)
        return;
    bool is_fast = event->call->command->flags & CMD_FAST;
    latency_add(latency, is_fast ? "fast-command" : "command", event->now_us / 1000000, ms);
}

/* Redis's names. */
static const char *const work_names[SLOW_WORK_COUNT] = {
    [SLOW_EXPIRE_CYCLE] = "expire-cycle",
    [SLOW_EXPIRE_DEL] = "expire-del",
    [SLOW_EVICTION_CYCLE] = "eviction-cycle",
    [SLOW_EVICTION_DEL] = "eviction-del",
};

void latency_note_work(struct home *home, struct latency *latency, int64_t now_s)
{
    struct slow *slow = &home->shard->slow;
    int64_t threshold_ms = home->shard->config->latency_threshold_ms;
    for (uint32_t work = 0; work < SLOW_WORK_COUNT; work++) {
        uint32_t ms = (uint32_t)(slow->longest_ns[work] / 1000000);
        if (threshold_ms > 0 && ms >= threshold_ms)
            latency_add(latency, work_names[work], now_s, ms);
    }
    *slow = (struct slow){0};
}

bool latency_forget(struct latency *latency, const char *name)
{
    struct latency_event *event = find(latency, name);
    if (!event)
        return false;
    *event = latency->events[--latency->event_count];
    return true;
}

void latency_clear(struct latency *latency)
{
    latency->event_count = 0;
}

struct latency_sample latency_sample_at(const struct latency_event *event, uint32_t i)
{
    uint32_t oldest = event->next + LATENCY_SAMPLES_MAX - event->count;
    return event->samples[(oldest + i) % LATENCY_SAMPLES_MAX];
}
