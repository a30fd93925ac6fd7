#include "shards/admin/latency_text.h"

#include <criterion/criterion.h>

#include "shards/local/config.h"

static struct latency_sample samples[] = {{100, 10}, {150, 22}, {200, 5}};

static struct latency_series series = {
    .name = {"command", 7}, .all_time_max_ms = 99, .count = 3, .samples = samples};

Test(latency_text, draws_samples_as_columns_with_their_age_below)
{
    struct buf text = {0};
    latency_text_graph(&text, &series, 210);
    buf_add_char(&text, '\0');
    cr_assert_str_eq(text.ptr, "command - high 22 ms, low 5 ms (all time high 99 ms)\n"
                               "--------------------------------------------------------------"
                               "------------------\n"
                               " # \n"
                               " | \n"
                               "_| \n"
                               "||_\n"
                               "   \n"
                               "111\n"
                               "mm0\n"
                               "  s\n");
    buf_fini(&text);
}

static bool report_contains(const struct config *config, uint32_t count, const char *what)
{
    struct buf text = {0};
    latency_text_report(&text, &series, count, config);
    bool found = bytes_find(buf_bytes(&text), bytes_from_text(what)) != SIZE_MAX;
    buf_fini(&text);
    return found;
}

Test(latency_text, says_that_nothing_is_watched_or_nothing_was_slow)
{
    static struct config config;
    cr_assert(report_contains(&config, 0, "latency-monitor-threshold"));
    config.latency_threshold_ms = 50;
    cr_assert(report_contains(&config, 0, "50 ms"));
    cr_assert_not(report_contains(&config, 0, "What may help"));
}

Test(latency_text, sums_events_up_and_gives_advice)
{
    static struct config config;
    config.latency_threshold_ms = 5;
    config.slowlog_slower_than_us = 10000;
    cr_assert(report_contains(&config, 1,
                              "1. command: 3 samples over 100 s (mean 12 ms, mean "
                              "deviation 6 ms). The longest ever took 99 ms."));
    cr_assert(report_contains(&config, 1, "SLOWLOG GET"));
    cr_assert(report_contains(&config, 1, "slowlog-log-slower-than 5000"));
    config.slowlog_slower_than_us = 5000;
    cr_assert_not(report_contains(&config, 1, "slowlog-log-slower-than 5000"));
}
