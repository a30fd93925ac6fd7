#include "shards/admin/latency.h"

#include <criterion/criterion.h>

#include "tests/unit/shards/admin/watched.h"

static struct latency latency;

Test(latency, keeps_the_longest_of_each_second)
{
    latency_add(&latency, "command", 100, 20);
    latency_add(&latency, "command", 100, 50);
    latency_add(&latency, "command", 100, 30);
    latency_add(&latency, "command", 101, 10);
    cr_assert_eq(latency.event_count, 1);
    const struct latency_event *event = &latency.events[0];
    cr_assert_eq(event->count, 2);
    cr_assert_eq(latency_sample_at(event, 0).at_s, 100);
    cr_assert_eq(latency_sample_at(event, 0).ms, 50);
    cr_assert_eq(latency_sample_at(event, 1).ms, 10);
    cr_assert_eq(event->all_time_max_ms, 50);
}

Test(latency, forgets_the_oldest_seconds_but_not_the_longest_ever)
{
    for (int second = 0; second < LATENCY_SAMPLES_MAX + 5; second++)
        latency_add(&latency, "command", 1000 + second, second == 0 ? 999 : 1);
    const struct latency_event *event = &latency.events[0];
    cr_assert_eq(event->count, LATENCY_SAMPLES_MAX);
    cr_assert_eq(latency_sample_at(event, 0).at_s, 1005);
    cr_assert_eq(latency_sample_at(event, LATENCY_SAMPLES_MAX - 1).at_s,
                 1000 + LATENCY_SAMPLES_MAX + 4);
    cr_assert_eq(event->all_time_max_ms, 999);
}

Test(latency, keeps_a_bounded_number_of_kinds)
{
    static char names[LATENCY_EVENTS_MAX + 1][16];
    for (int i = 0; i <= LATENCY_EVENTS_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "e%d", i);
        latency_add(&latency, names[i], 100, 1);
    }
    cr_assert_eq(latency.event_count, LATENCY_EVENTS_MAX);
}

Test(latency, forgets_on_request)
{
    latency_add(&latency, "command", 100, 1);
    latency_add(&latency, "fast-command", 100, 2);
    cr_assert(latency_forget(&latency, "command"));
    cr_assert_not(latency_forget(&latency, "command"));
    cr_assert_eq(latency.event_count, 1);
    cr_assert_str_eq(latency.events[0].name, "fast-command");
    latency_clear(&latency);
    cr_assert_eq(latency.event_count, 0);
}

Test(latency, notes_commands_from_the_threshold_on_if_there_is_one)
{
    static struct watched watched;
    watched_init(&watched, "get");
    watched.event.elapsed_us = 25999;
    latency_note(&watched.home, &latency, &watched.event);
    cr_assert_eq(latency.event_count, 0, "a threshold of 0 switches it off");
    watched.config.latency_threshold_ms = 26;
    latency_note(&watched.home, &latency, &watched.event);
    cr_assert_eq(latency.event_count, 0);
    watched.config.latency_threshold_ms = 25;
    latency_note(&watched.home, &latency, &watched.event);
    cr_assert_eq(latency.event_count, 1);
    cr_assert_str_eq(latency.events[0].name, "command");
    cr_assert_eq(latency.events[0].all_time_max_ms, 25);
    watched.command.flags = CMD_FAST;
    latency_note(&watched.home, &latency, &watched.event);
    cr_assert_str_eq(latency.events[1].name, "fast-command");
}

Test(latency, notes_what_a_shard_did_by_itself_and_lets_it_forget)
{
    static struct watched watched;
    watched_init(&watched, "get");
    struct slow *slow = &watched.shard.slow;
    slow_note(slow, SLOW_EXPIRE_CYCLE, 7000000);
    slow_note(slow, SLOW_EVICTION_CYCLE, 12000000);
    slow_note(slow, SLOW_EVICTION_CYCLE, 11000000);
    latency_note_work(&watched.home, &latency, 100);
    cr_assert_eq(latency.event_count, 0, "there is no threshold");

    watched.config.latency_threshold_ms = 10;
    latency_note_work(&watched.home, &latency, 100);
    cr_assert_eq(latency.event_count, 0, "that is forgotten");
    slow_note(slow, SLOW_EXPIRE_CYCLE, 7000000);
    slow_note(slow, SLOW_EVICTION_CYCLE, 12000000);
    slow_note(slow, SLOW_EVICTION_CYCLE, 11000000);
    latency_note_work(&watched.home, &latency, 101);
    cr_assert_eq(latency.event_count, 1);
    cr_assert_str_eq(latency.events[0].name, "eviction-cycle");
    cr_assert_eq(latency_sample_at(&latency.events[0], 0).ms, 12);
    cr_assert_eq(latency_sample_at(&latency.events[0], 0).at_s, 101);
}
