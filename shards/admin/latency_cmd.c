/*
 * How: every thread sends all its events with their samples; the merge joins events of one name,
 * keeping the longest time of each second and at most the last LATENCY_SAMPLES_MAX seconds, as if
 * one thread had seen them all. The histograms of commands are added up bucket by bucket.
 */
#include <stdlib.h>

#include "core/base/mem.h"
#include "shards/admin/histogram_part.h"
#include "shards/admin/home_admin.h"
#include "shards/admin/latency_text.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/command_stats.h"
#include "shards/call/command_table.h"
#include "shards/call/help.h"
#include "shards/route/home.h"

/* ---- Events ---- */

static enum status send_events(struct call *call)
{
    const struct latency *latency = &call->home->admin->latency;
    struct buf content = {0};
    for (uint32_t i = 0; i < latency->event_count; i++) {
        const struct latency_event *event = &latency->events[i];
        part_add_bytes(&content, bytes_from_text(event->name));
        part_add(&content, &event->all_time_max_ms, sizeof(event->all_time_max_ms));
        part_add(&content, &event->count, sizeof(event->count));
        for (uint32_t k = 0; k < event->count; k++) {
            struct latency_sample sample = latency_sample_at(event, k);
            part_add(&content, &sample, sizeof(sample));
        }
    }
    part_write(call, &content);
    return OK;
}

static struct latency_series *find_or_add(struct latency_series *series, uint32_t *count,
                                          struct bytes name)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (bytes_equal(series[i].name, name))
            return &series[i];
    }
    struct latency_series *added = &series[(*count)++];
    *added = (struct latency_series){.name = name};
    return added;
}

static int oldest_first(const void *a, const void *b)
{
    const struct latency_sample *left = a, *right = b;
    return left->at_s < right->at_s ? -1 : left->at_s > right->at_s;
}

/* Sorts, joins samples of the same second, drops what is too old. */
static void tidy(struct latency_series *series)
{
    qsort(series->samples, series->count, sizeof(*series->samples), oldest_first);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < series->count; i++) {
        struct latency_sample *last = kept ? &series->samples[kept - 1] : NULL;
        if (!last || last->at_s != series->samples[i].at_s)
            series->samples[kept++] = series->samples[i];
        else if (series->samples[i].ms > last->ms)
            last->ms = series->samples[i].ms;
    }
    if (kept > LATENCY_SAMPLES_MAX) {
        series->samples += kept - LATENCY_SAMPLES_MAX;
        kept = LATENCY_SAMPLES_MAX;
    }
    series->count = kept;
}

/* The events of all parts, in the order in which they were met. */
static struct latency_series *join_events(struct call *call, const struct bytes *parts,
                                          uint32_t part_count, uint32_t *out_count)
{
    size_t series_cap = (size_t)part_count * LATENCY_EVENTS_MAX;
    struct latency_series *series = arena_alloc(call->arena, series_cap * sizeof(*series));
    uint32_t count = 0;
    for (uint32_t i = 0; i < part_count; i++) {
        struct bytes content = part_open(parts[i]);
        while (content.len) {
            struct latency_series *one = find_or_add(series, &count, part_take_bytes(&content));
            uint32_t max_ms, more;
            part_take(&content, &max_ms, sizeof(max_ms));
            part_take(&content, &more, sizeof(more));
            if (max_ms > one->all_time_max_ms)
                one->all_time_max_ms = max_ms;
            struct latency_sample *samples = arena_alloc(call->arena,
                                                         (one->count + more) * sizeof(*samples));
            if (one->count)
                memcpy(samples, one->samples, one->count * sizeof(*samples));
            part_take(&content, samples + one->count, more * sizeof(*samples));
            one->samples = samples;
            one->count += more;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        tidy(&series[i]);
    *out_count = count;
    return series;
}

static const struct latency_series *find_series(const struct latency_series *series, uint32_t count,
                                                struct bytes name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes_equal(series[i].name, name))
            return &series[i];
    }
    return NULL;
}

static void merge_latest(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t count;
    const struct latency_series *series = join_events(call, parts, part_count, &count);
    reply_array(call->reply, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct latency_sample *last = &series[i].samples[series[i].count - 1];
        reply_array(call->reply, 4);
        reply_bulk(call->reply, series[i].name);
        reply_int(call->reply, last->at_s);
        reply_int(call->reply, last->ms);
        reply_int(call->reply, series[i].all_time_max_ms);
    }
}

static void merge_history(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t count;
    const struct latency_series *series = join_events(call, parts, part_count, &count);
    const struct latency_series *one = find_series(series, count, call_arg(call, 2));
    reply_array(call->reply, one ? one->count : 0);
    for (uint32_t i = 0; one && i < one->count; i++) {
        reply_array(call->reply, 2);
        reply_int(call->reply, one->samples[i].at_s);
        reply_int(call->reply, one->samples[i].ms);
    }
}

static void merge_graph(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t count;
    const struct latency_series *series = join_events(call, parts, part_count, &count);
    const struct latency_series *one = find_series(series, count, call_arg(call, 2));
    if (!one) {
        struct bytes name = call_arg(call, 2);
        call_write_error(call, call_fail_text(call, "ERR No samples available for event '%.*s'",
                                              (int)name.len, name.ptr));
        return;
    }
    struct buf text = {0};
    latency_text_graph(&text, one, call_now_ms(call) / 1000);
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
}

static void merge_doctor(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint32_t count;
    const struct latency_series *series = join_events(call, parts, part_count, &count);
    struct buf text = {0};
    latency_text_report(&text, series, count, call->config);
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
}

/* ---- RESET ---- */

/* The part: the names of what was forgotten. */
static enum status cmd_reset(struct call *call)
{
    struct latency *latency = &call->home->admin->latency;
    struct buf content = {0};
    for (uint32_t i = latency->event_count; i-- > 0;) {
        const char *name = latency->events[i].name;
        bool wanted = call->arg_count == 2;
        for (uint32_t k = 2; k < call->arg_count; k++)
            wanted |= call_arg_is(call, k, name);
        if (wanted && latency_forget(latency, name))
            part_add_bytes(&content, bytes_from_text(name));
    }
    part_write(call, &content);
    return OK;
}

static void merge_reset(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    size_t cap = (size_t)part_count * LATENCY_EVENTS_MAX;
    struct latency_series *names = arena_alloc(call->arena, cap * sizeof(*names));
    uint32_t count = 0;
    for (uint32_t i = 0; i < part_count; i++) {
        struct bytes content = part_open(parts[i]);
        while (content.len)
            find_or_add(names, &count, part_take_bytes(&content));
    }
    reply_int(call->reply, count);
}

/* ---- HISTOGRAM ---- */

static enum status cmd_histogram(struct call *call)
{
    struct buf content = {0};
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct histogram *latency = call->home->command_stats->latency[id];
        if (latency)
            histogram_part_add(&content, (uint16_t)id, latency);
    }
    part_write(call, &content);
    return OK;
}

/* Redis's form: for each power of two of nanoseconds from 1024 on up to which there is something
 * new, how many calls were not longer. */
static void reply_distribution(struct reply *reply, const struct histogram *latency)
{
    reply_map(reply, 2);
    reply_bulk_text(reply, "calls");
    reply_int(reply, (int64_t)latency->total);
    reply_bulk_text(reply, "histogram_usec");
    size_t mark = reply_mark(reply);
    size_t steps = 0;
    uint64_t before = 0;
    for (uint64_t ns = 1024; before < latency->total; ns *= 2) {
        uint64_t count = histogram_count_to(latency, ns);
        if (count == before)
            continue;
        reply_int(reply, (int64_t)(histogram_bucket_top(histogram_bucket(ns)) / 1000));
        reply_int(reply, (int64_t)count);
        before = count;
        steps++;
    }
    reply_map_at(reply, mark, steps);
}

/* The command's distribution, if it has one; returns how many were written. */
static size_t reply_command(struct reply *reply, struct histogram **sums,
                            const struct command *command)
{
    if (!sums[command->id])
        return 0;
    reply_bulk_text(reply, command_full_name(command));
    reply_distribution(reply, sums[command->id]);
    return 1;
}

static void merge_histogram(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct histogram **sums = mem_zalloc((command_count() + 1) * sizeof(*sums));
    for (uint32_t i = 0; i < part_count; i++) {
        struct bytes content = part_open(parts[i]);
        while (content.len)
            histogram_part_take(&content, sums);
    }
    size_t mark = reply_mark(call->reply);
    size_t count = 0;
    for (uint32_t id = 0; call->arg_count == 2 && id < command_count(); id++)
        count += reply_command(call->reply, sums, command_at(id));
    for (uint32_t i = 2; i < call->arg_count; i++) {
        const struct command *command = command_find_full(call_arg(call, i));
        if (!command)
            continue;
        count += reply_command(call->reply, sums, command);
        for (const struct command *row = command->subcommands; row && row->name; row++)
            count += reply_command(call->reply, sums, row);
    }
    reply_map_at(call->reply, mark, count);
    for (uint32_t id = 0; id < command_count(); id++)
        mem_free(sums[id]);
    mem_free(sums);
}

#define LOOKS (CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_LOOKS)
#define TIPS "nondeterministic_output,request_policy:all_nodes,response_policy:special"

/* clang-format off */
static const struct command latency_subcommands[] = {
    {.name = "doctor", .arity = 2, .run = send_events, .plan = PLAN_ALL, .merge = merge_doctor,
     .flags = LOOKS, .syntax = "", .since = "2.8.13", .cost = "O(1)", .tips = TIPS,
     .brief = "Says in plain words what was slow, and what may help."},
    {.name = "graph", .arity = 3, .run = send_events, .plan = PLAN_ALL, .merge = merge_graph,
     .flags = LOOKS, .syntax = "event", .since = "2.8.13", .cost = "O(1)", .tips = TIPS,
     .brief = "Draws the samples of one kind of event."},
    {.name = "histogram", .arity = -2, .run = cmd_histogram, .plan = PLAN_ALL,
     .merge = merge_histogram, .flags = LOOKS, .syntax = "[COMMAND/string [COMMAND ...]]",
     .since = "7.0.0", .tips = TIPS,
     .cost = "O(N) where N is the number of commands with latency information being retrieved.",
     .brief = "Tells how long calls of the commands, or of all, have taken."},
    {.name = "history", .arity = 3, .run = send_events, .plan = PLAN_ALL, .merge = merge_history,
     .flags = LOOKS, .syntax = "event", .since = "2.8.13", .cost = "O(1)", .tips = TIPS,
     .brief = "Lists the samples of one kind of event, by the second."},
    {.name = "latest", .arity = 2, .run = send_events, .plan = PLAN_ALL, .merge = merge_latest,
     .flags = LOOKS, .syntax = "", .since = "2.8.13", .cost = "O(1)", .tips = TIPS,
     .brief = "Lists the last sample of every kind of event, and the longest ever."},
    {.name = "reset", .arity = -2, .run = cmd_reset, .plan = PLAN_ALL, .merge = merge_reset,
     .flags = LOOKS, .syntax = "[event [event ...]]", .since = "2.8.13", .cost = "O(1)",
     .tips = "request_policy:all_nodes,response_policy:agg_sum",
     .brief = "Forgets the samples of the kinds of events, or of all; answers how many."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE, .syntax = "", .since = "2.8.13", .cost = "O(1)",
     .brief = "Shows this list."},
    {0},
};

const struct command latency_commands[] = {
    {.name = "latency", .arity = -2, .subcommands = latency_subcommands,
     .syntax = "", .since = "2.8.13", .cost = "Depends on subcommand.",
     .brief = "Groups the commands for what took long."},
    {0},
};
/* clang-format on */
