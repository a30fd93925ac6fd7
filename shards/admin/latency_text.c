/*
 * How: a graph is GRAPH_ROWS lines high and each line tells three levels apart, so a column has a
 * height of 0..GRAPH_LEVELS-1 levels above the smallest sample. Ages are written downwards.
 */
#include "shards/admin/latency_text.h"

#include <stdio.h>

#include "shards/local/config.h"

#define GRAPH_COLUMNS 80u
#define GRAPH_ROWS 4u
#define GRAPH_STEPS 3u /* levels in a line: "_o#" */
#define GRAPH_LEVELS (GRAPH_ROWS * GRAPH_STEPS)
#define LABEL_CAP 16u

static void age_label(char label[LABEL_CAP], int64_t seconds)
{
    const int64_t minute = 60, hour = 3600, day = 86400;
    if (seconds < minute)
        snprintf(label, LABEL_CAP, "%ds", (int)seconds);
    else if (seconds < hour)
        snprintf(label, LABEL_CAP, "%dm", (int)(seconds / minute));
    else if (seconds < day)
        snprintf(label, LABEL_CAP, "%dh", (int)(seconds / hour));
    else
        snprintf(label, LABEL_CAP, "%dd", (int)(seconds / day));
}

struct range {
    uint32_t low, high;
};

static struct range range_of(const struct latency_series *series)
{
    struct range range = {series->samples[0].ms, series->samples[0].ms};
    for (uint32_t i = 1; i < series->count; i++) {
        uint32_t ms = series->samples[i].ms;
        range.low = ms < range.low ? ms : range.low;
        range.high = ms > range.high ? ms : range.high;
    }
    return range;
}

static char bar_at(uint32_t ms, struct range range, uint32_t row)
{
    uint64_t spread = range.high > range.low ? range.high - range.low : 1;
    uint64_t level = (uint64_t)(ms - range.low) * GRAPH_LEVELS / spread;
    if (level >= GRAPH_LEVELS)
        level = GRAPH_LEVELS - 1;
    uint32_t floor = (GRAPH_ROWS - 1 - row) * GRAPH_STEPS;
    if (level < floor)
        return ' ';
    return level < floor + GRAPH_STEPS ? "_o#"[level - floor] : '|';
}

/* The columns from `first` on that fit into one drawing. */
static void draw(struct buf *text, const struct latency_series *series, struct range range,
                 uint32_t first, uint32_t columns, int64_t now_s)
{
    for (uint32_t row = 0; row < GRAPH_ROWS; row++) {
        for (uint32_t i = first; i < first + columns; i++)
            buf_add_char(text, bar_at(series->samples[i].ms, range, row));
        buf_add_char(text, '\n');
    }
    for (uint32_t i = 0; i < columns; i++)
        buf_add_char(text, ' ');
    buf_add_char(text, '\n');
    for (uint32_t row = 0;; row++) {
        char line[GRAPH_COLUMNS];
        bool any = false;
        for (uint32_t i = 0; i < columns; i++) {
            char label[LABEL_CAP];
            age_label(label, now_s - series->samples[first + i].at_s);
            line[i] = row < strlen(label) ? label[row] : ' ';
            any |= line[i] != ' ';
        }
        if (!any)
            break;
        buf_add(text, line, columns);
        buf_add_char(text, '\n');
    }
}

void latency_text_graph(struct buf *text, const struct latency_series *series, int64_t now_s)
{
    struct range range = range_of(series);
    buf_add_format(text, "%.*s - high %u ms, low %u ms (all time high %u ms)\n",
                   (int)series->name.len, series->name.ptr, range.high, range.low,
                   series->all_time_max_ms);
    for (uint32_t i = 0; i < GRAPH_COLUMNS; i++)
        buf_add_char(text, '-');
    buf_add_char(text, '\n');
    for (uint32_t first = 0; first < series->count; first += GRAPH_COLUMNS) {
        uint32_t columns = series->count - first;
        if (first > 0)
            buf_add_char(text, '\n');
        draw(text, series, range, first, columns < GRAPH_COLUMNS ? columns : GRAPH_COLUMNS, now_s);
    }
}

/* ---- DOCTOR ---- */

static void add_event(struct buf *text, uint32_t number, const struct latency_series *series)
{
    uint64_t sum = 0, deviation = 0;
    for (uint32_t i = 0; i < series->count; i++)
        sum += series->samples[i].ms;
    uint64_t mean = sum / series->count;
    for (uint32_t i = 0; i < series->count; i++) {
        uint32_t ms = series->samples[i].ms;
        deviation += ms > mean ? ms - mean : mean - ms;
    }
    int64_t seconds = series->samples[series->count - 1].at_s - series->samples[0].at_s;
    buf_add_format(text,
                   "%u. %.*s: %u samples over %lld s (mean %llu ms, mean deviation %llu ms). "
                   "The longest ever took %u ms.\n",
                   number, (int)series->name.len, series->name.ptr, series->count,
                   (long long)seconds, (unsigned long long)mean,
                   (unsigned long long)(deviation / series->count), series->all_time_max_ms);
}

struct advice {
    const char *event;
    const char *text;
};

static const struct advice advices[] = {
    {"command",
     "- Look at SLOWLOG GET for the commands that took long, and at the sizes of the values "
     "they work on.\n"},
    {"fast-command",
     "- Commands that do little work took long: the threads did not get their CPUs. Look "
     "for other work on this machine, a CPU quota, or more shards than CPUs.\n"},
    {"expire-cycle", "- Many keys expired at the same time. Spread their times to live, or lower "
                     "active-expire-effort.\n"},
    {"eviction-cycle", "- Much memory had to be freed at once. Raise maxmemory, or lower "
                       "maxmemory-eviction-tenacity.\n"},
};

static bool names_event(const struct latency_series *series, uint32_t count, const char *event)
{
    for (uint32_t i = 0; i < count; i++) {
        if (bytes_is(series[i].name, event))
            return true;
    }
    return false;
}

static bool add_slowlog_advice(struct buf *text, const struct config *config)
{
    long long threshold_us = (long long)config->latency_threshold_ms * 1000;
    if (config->slowlog_slower_than_us >= 0 && config->slowlog_slower_than_us <= threshold_us)
        return false;
    buf_add_format(text,
                   "- The slow log does not see what is sampled here: CONFIG SET "
                   "slowlog-log-slower-than %lld makes it.\n",
                   threshold_us);
    return true;
}

void latency_text_report(struct buf *text, const struct latency_series *series, uint32_t count,
                         const struct config *config)
{
    if (count == 0 && config->latency_threshold_ms <= 0) {
        buf_add_text(text, "Latency is not being watched. CONFIG SET latency-monitor-threshold "
                           "<milliseconds> begins.\n");
        return;
    }
    if (count == 0) {
        buf_add_format(text, "Nothing has taken %lld ms or longer.\n",
                       (long long)config->latency_threshold_ms);
        return;
    }
    buf_add_text(text, "These took long:\n\n");
    for (uint32_t i = 0; i < count; i++)
        add_event(text, i + 1, &series[i]);

    size_t head = text->len;
    buf_add_text(text, "\nWhat may help:\n\n");
    bool any = false;
    if (names_event(series, count, "command"))
        any |= add_slowlog_advice(text, config);
    for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
        if (!names_event(series, count, advices[i].event))
            continue;
        buf_add_text(text, advices[i].text);
        any = true;
    }
    if (!any)
        text->len = head;
}
