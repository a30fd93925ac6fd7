#include "shards/admin/option_special.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <unistd.h>

#include "shards/admin/config_copy.h"

static struct config *config;
static struct option_error error;
static struct buf text;

static void begin(void)
{
    config = config_default();
}

static void end(void)
{
    config_free(config);
    buf_fini(&text);
}

TestSuite(option_special, .init = begin, .fini = end);

static const struct option *row(const char *name)
{
    return option_find(bytes_from_text(name));
}

static const char *shown(const char *name)
{
    text.len = 0;
    option_get(row(name), config, &text);
    buf_add_char(&text, '\0');
    return text.ptr;
}

static void expect_taken(const char *name, const char *value, const char *wanted)
{
    cr_assert(option_set_value(row(name), config, bytes_from_text(value), &error), "%s",
              error.text);
    cr_assert_str_eq(shown(name), wanted);
}

static void expect_refused(const char *name, const char *value, const char *reason)
{
    cr_assert_not(option_set_value(row(name), config, bytes_from_text(value), &error), "%s", value);
    cr_assert_str_eq(error.text, reason);
}

static void put(void *context, const struct option *option, struct bytes line, bool is_forced)
{
    buf_add_format(&text, "%c%.*s\n", is_forced ? '!' : '?', (int)line.len, line.ptr);
}

static const char *written(const char *name)
{
    struct option_sink sink = {.put = put};
    text.len = 0;
    option_rewrite(row(name), config, &sink);
    buf_add_char(&text, '\0');
    return text.ptr;
}

Test(option_special, bind_takes_up_to_its_maximum_of_addresses)
{
    cr_assert_str_eq(shown("bind"), "* -::*");
    cr_assert_str_eq(written("bind"), "");
    expect_taken("bind", "127.0.0.1 -::1", "127.0.0.1 -::1");
    cr_assert_str_eq(written("bind"), "!bind 127.0.0.1 -::1\n");
    expect_taken("bind", "", "");
    cr_assert_str_eq(written("bind"), "!bind \"\"\n");
    expect_taken("bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
                 "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16");
    expect_refused("bind", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
                   "Too many bind addresses specified.");
}

Test(option_special, output_limits_change_only_the_classes_they_name)
{
    const char *option = "client-output-buffer-limit";
    expect_taken(option, "normal 1mb 2kb 3",
                 "normal 1048576 2048 3 slave 268435456 67108864 60 pubsub "
                 "33554432 8388608 60");
    expect_taken(option, "REPLICA 0 0 0 pubsub 1 2 3",
                 "normal 1048576 2048 3 slave 0 0 0 pubsub 1 2 3");
    cr_assert_eq(config->conn.output[CONN_PUBSUB].soft_s, 3);
    expect_refused(option, "normal 1 2",
                   "Wrong number of arguments in buffer limit configuration.");
    expect_refused(option, "master 1 2 3",
                   "Invalid client class specified in buffer limit configuration.");
    expect_refused(option, "normal 1 2 -3",
                   "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
    expect_refused(option, "normal x 2 3",
                   "Error in hard, soft or soft_seconds setting in buffer limit configuration.");
}

Test(option_special, output_limits_are_written_one_class_a_line)
{
    expect_taken("client-output-buffer-limit", "pubsub 1mb 2kb 3",
                 "normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2048 3");
    cr_assert_str_eq(written("client-output-buffer-limit"),
                     "?client-output-buffer-limit normal 0 0 0\n"
                     "?client-output-buffer-limit replica 256mb 64mb 60\n"
                     "!client-output-buffer-limit pubsub 1mb 2kb 3\n");
}

Test(option_special, oom_values_are_three_numbers)
{
    expect_taken("oom-score-adj-values", "-2000 0 2000", "-2000 0 2000");
    cr_assert_str_eq(written("oom-score-adj-values"), "!oom-score-adj-values -2000 0 2000\n");
    expect_refused("oom-score-adj-values", "1 2", "wrong number of arguments");
    expect_refused("oom-score-adj-values", "1 2 2001",
                   "Invalid oom-score-adj-values, elements must be between -2000 and 2000.");
}

Test(option_special, percentiles_are_shown_without_trailing_zeros)
{
    const char *option = "latency-tracking-info-percentiles";
    expect_taken(option, "50.0 99.90 100 0", "50 99.9 100 0");
    cr_assert_eq(config->latency_percentile_count, 4);
    expect_refused(option, "100.1",
                   "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]");
    expect_refused(option, "x", "Invalid latency-tracking-info-percentiles parameters");
    expect_taken(option, "", "");
    cr_assert_str_eq(written(option), "!latency-tracking-info-percentiles \"\"\n");
}

Test(option_special, percentiles_have_a_maximum)
{
    struct bytes words[CONFIG_PERCENTILES_MAX + 1];
    for (size_t i = 0; i <= CONFIG_PERCENTILES_MAX; i++)
        words[i] = BYTES("1");
    const struct option *option = row("latency-tracking-info-percentiles");
    cr_assert(option_set(option, config, words, CONFIG_PERCENTILES_MAX, &error));
    cr_assert_not(option_set(option, config, words, CONFIG_PERCENTILES_MAX + 1, &error));
}

Test(option_special, keyspace_events_are_shown_in_their_shortest_form)
{
    const char *option = "notify-keyspace-events";
    expect_taken(option, "KEA", "AKE");
    expect_taken(option, "Ex", "xE");
    expect_taken(option, "Kg$lshzxetd", "AK");
    expect_taken(option, "gn", "gn");
    expect_taken(option, "AnKm", "AKm");
    expect_refused(option, "KQ", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
    cr_assert_str_eq(written(option), "!notify-keyspace-events \"AKm\"\n");
    expect_taken(option, "", "");
    cr_assert_str_eq(written(option), "?notify-keyspace-events \"\"\n");
}

Test(option_special, save_points_replace_each_other)
{
    cr_assert_str_eq(shown("save"), "3600 1 300 100 60 10000");
    expect_taken("save", "900 1 60 0", "900 1 60 0");
    cr_assert_str_eq(written("save"), "!save 900 1\n!save 60 0\n");
    expect_taken("save", "", "");
    cr_assert_str_eq(written("save"), "!save \"\"\n");
    expect_refused("save", "900", "Invalid save parameters");
    expect_refused("save", "0 1", "Invalid save parameters");
    expect_refused("save", "1 -1", "Invalid save parameters");
}

Test(option_special, save_points_of_several_lines_of_a_file_add_up)
{
    const struct option *save = row("save");
    struct bytes first[] = {BYTES("900"), BYTES("1")}, second[] = {BYTES("60"), BYTES("2")};
    config->is_loading = true;
    cr_assert(option_set(save, config, first, 2, &error));
    config->named[option_index(save) / 64] |= UINT64_C(1) << (option_index(save) % 64);
    cr_assert(option_set(save, config, second, 2, &error));
    cr_assert_str_eq(shown("save"), "900 1 60 2");
    struct bytes none = BYTES("");
    cr_assert(option_set(save, config, &none, 1, &error));
    cr_assert_str_eq(shown("save"), "");
}

Test(option_special, save_points_have_a_maximum)
{
    struct bytes words[2 * CONFIG_SAVE_POINTS_MAX + 2];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        words[i] = BYTES("1");
    cr_assert(option_set(row("save"), config, words, 2 * CONFIG_SAVE_POINTS_MAX, &error));
    cr_assert_not(option_set(row("save"), config, words, 2 * CONFIG_SAVE_POINTS_MAX + 2, &error));
}

Test(option_special, dir_becomes_the_working_directory_by_its_absolute_name)
{
    char path[PATH_MAX];
    expect_taken("dir", "/tmp/..//tmp", "/tmp");
    cr_assert_str_eq(getcwd(path, sizeof path), "/tmp");
    cr_assert_str_eq(written("dir"), "!dir \"/tmp\"\n");
    expect_refused("dir", "/nowhere/at/all", "No such file or directory");
    cr_assert_str_eq(getcwd(path, sizeof path), "/tmp");
}

Test(option_special, replicaof_takes_nobody_for_an_answer)
{
    expect_taken("replicaof", "no one", "");
    expect_refused("replicaof", "host", "wrong number of arguments");
    expect_refused("replicaof", "host x", "Invalid master port");
    expect_refused("replicaof", "host 65536", "Invalid master port");
    expect_refused("replicaof", "host 6379", "replication is not built yet");
    cr_assert_str_eq(written("replicaof"), "");
}

Test(option_special, title_template_must_give_something)
{
    const char *const wrong[] = {"", " ", "{foo}", "{title", "{", "{unixsocket}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_refused("proc-title-template", wrong[i],
                       "template format is invalid or contains unknown variables");
    expect_taken("proc-title-template", "x {title} {{y", "x {title} {{y");
}
