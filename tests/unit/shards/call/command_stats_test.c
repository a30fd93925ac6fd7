#include "shards/call/command_stats.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "shards/call/command_table.h"

static const struct command family[] = {
    {.name = "get", .arity = 2}, {.name = "set", .arity = 3}, {0}};

static struct command_stats *create(void)
{
    static const struct command *const families[] = {family, NULL};
    static const char *const groups[] = {"test", NULL};
    command_table_build(families, groups);
    return command_stats_create();
}

Test(command_stats, counts_calls_time_and_failures_of_each_command)
{
    struct command_stats *stats = create();
    command_stats_count(stats, 0, 100, false);
    command_stats_count(stats, 0, 300, true);
    command_stats_count_rejected(stats, 1);
    cr_assert_eq(stats->commands[0].calls, 2);
    cr_assert_eq(stats->commands[0].ns, 400);
    cr_assert_eq(stats->commands[0].failed, 1);
    cr_assert_eq(stats->commands[1].calls, 0);
    cr_assert_eq(stats->commands[1].rejected, 1);
    command_stats_destroy(stats);
}

Test(command_stats, counts_a_batch_as_calls_of_equal_length)
{
    struct command_stats *stats = create();
    command_stats_add(stats, 0, 16, 1600);
    cr_assert_eq(stats->commands[0].calls, 16);
    cr_assert_eq(stats->latency[0]->total, 16);
    cr_assert_eq(histogram_percentile(stats->latency[0], 50), 100);
    command_stats_destroy(stats);
}

Test(command_stats, keeps_no_histogram_of_what_is_not_called_or_not_tracked)
{
    struct command_stats *stats = create();
    stats->tracks_latency = false;
    command_stats_count(stats, 0, 100, false);
    cr_assert_null(stats->latency[0]);
    stats->tracks_latency = true;
    command_stats_count(stats, 0, 100, false);
    cr_assert_eq(stats->latency[0]->total, 1);
    cr_assert_null(stats->latency[1]);
    command_stats_destroy(stats);
}

Test(command_stats, counts_errors_by_their_first_word)
{
    struct command_stats *stats = create();
    command_stats_count_error(stats, BYTES("ERR no such key"));
    command_stats_count_error(stats, BYTES("WRONGTYPE Operation"));
    command_stats_count_error(stats, BYTES("ERR syntax error"));
    command_stats_count_error(stats, BYTES("ERRX"));
    cr_assert_eq(stats->error_count, 3);
    cr_assert_str_eq(stats->errors[0].code, "ERR");
    cr_assert_eq(stats->errors[0].count, 2);
    cr_assert_str_eq(stats->errors[1].code, "WRONGTYPE");
    cr_assert_eq(stats->errors_total, 4);
    command_stats_destroy(stats);
}

Test(command_stats, keeps_a_bounded_number_of_error_codes)
{
    struct command_stats *stats = create();
    for (int i = 0; i < 2 * COMMAND_STATS_ERRORS_MAX; i++) {
        char text[64];
        int len = snprintf(text, sizeof(text), "CODE%d text", i);
        command_stats_count_error(stats, bytes_of(text, (size_t)len));
    }
    cr_assert_eq(stats->error_count, COMMAND_STATS_ERRORS_MAX);
    cr_assert_eq(stats->errors_total, 2 * COMMAND_STATS_ERRORS_MAX);
    command_stats_count_error(stats, BYTES("CODE0 again"));
    cr_assert_eq(stats->errors[0].count, 2, "a known code is still counted");
    command_stats_destroy(stats);
}

Test(command_stats, cuts_a_code_that_is_too_long)
{
    struct command_stats *stats = create();
    char text[2 * COMMAND_STATS_CODE_MAX];
    memset(text, 'X', sizeof(text));
    command_stats_count_error(stats, bytes_of(text, sizeof(text)));
    cr_assert_eq(strlen(stats->errors[0].code), COMMAND_STATS_CODE_MAX - 1);
    command_stats_destroy(stats);
}

Test(command_stats, forgets_all_on_reset)
{
    struct command_stats *stats = create();
    command_stats_count(stats, 0, 100, true);
    command_stats_count_error(stats, BYTES("ERR x"));
    command_stats_reset(stats);
    cr_assert_eq(stats->commands[0].calls, 0);
    cr_assert_null(stats->latency[0]);
    cr_assert_eq(stats->error_count, 0);
    cr_assert_eq(stats->errors_total, 0);
    command_stats_destroy(stats);
}
