#include "core/os/timer.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>

#define TIMERS 2000

struct alarm {
    struct timer timer;
    struct timer_list *list;
    int64_t ran_at_ms;
    int order; /* among all that ran; 0: did not */
    int64_t again_ms;
    struct alarm *stops;
};

static int runs;

static void ring_bell(struct timer *timer, int64_t now_ms)
{
    struct alarm *alarm = (struct alarm *)timer;
    cr_assert_not(timer_is_running(timer));
    alarm->ran_at_ms = now_ms;
    alarm->order = ++runs;
    if (alarm->again_ms)
        timer_start(alarm->list, timer, now_ms + alarm->again_ms - 1);
    if (alarm->stops)
        timer_stop(alarm->list, &alarm->stops->timer);
}

static void init(struct alarm *alarm, struct timer_list *list)
{
    *alarm = (struct alarm){.list = list};
    timer_init(&alarm->timer, ring_bell);
}

Test(timer, an_empty_list_is_never_due)
{
    struct timer_list list = {0};
    cr_assert_eq(timer_list_next_ms(&list), TIMER_NEVER);
    cr_assert_eq(timer_list_run(&list, 1000), 0);
}

Test(timer, runs_when_due_and_not_before)
{
    struct timer_list list = {0};
    struct alarm a;
    init(&a, &list);
    timer_start(&list, &a.timer, 100);
    cr_assert_eq(timer_list_next_ms(&list), 100);
    cr_assert_eq(timer_list_run(&list, 99), 0);
    cr_assert(timer_is_running(&a.timer));
    cr_assert_eq(timer_list_run(&list, 100), 1);
    cr_assert_eq(a.ran_at_ms, 100);
    cr_assert_eq(timer_list_run(&list, 200), 0, "a timer runs once");
}

Test(timer, those_of_one_instant_run_in_the_order_of_their_start)
{
    struct timer_list list = {0};
    static struct alarm alarms[TIMERS];
    for (int i = 0; i < TIMERS; i++) {
        init(&alarms[i], &list);
        timer_start(&list, &alarms[i].timer, 7);
    }
    cr_assert_eq(timer_list_run(&list, 7), TIMERS);
    for (int i = 0; i < TIMERS; i++)
        cr_assert_eq(alarms[i].order, i + 1);
}

Test(timer, any_mix_of_starting_moving_and_stopping_runs_in_order_of_time)
{
    struct timer_list list = {0};
    static struct alarm alarms[TIMERS];
    static int64_t due_ms[TIMERS]; /* TIMER_NEVER: stopped */
    uint32_t random = 1;
    for (int i = 0; i < TIMERS; i++) {
        init(&alarms[i], &list);
        due_ms[i] = TIMER_NEVER;
    }
    for (int step = 0; step < 10 * TIMERS; step++) {
        random = random * 1664525u + 1013904223u;
        int i = (int)(random >> 8) % TIMERS;
        if (random >> 30) {
            due_ms[i] = (random >> 4) % 5000;
            timer_start(&list, &alarms[i].timer, due_ms[i]);
        } else {
            due_ms[i] = TIMER_NEVER;
            timer_stop(&list, &alarms[i].timer);
        }
        if (step % 100 == 0) {
            int64_t next_ms = TIMER_NEVER;
            for (int k = 0; k < TIMERS; k++)
                next_ms = due_ms[k] < next_ms ? due_ms[k] : next_ms;
            cr_assert_eq(timer_list_next_ms(&list), next_ms);
        }
    }
    for (int64_t now_ms = 0; now_ms <= 5000; now_ms += 10)
        timer_list_run(&list, now_ms);
    for (int i = 0; i < TIMERS; i++) {
        if (due_ms[i] == TIMER_NEVER)
            cr_assert_eq(alarms[i].order, 0);
        else
            cr_assert_eq(alarms[i].ran_at_ms, (due_ms[i] + 9) / 10 * 10);
        for (int k = 0; k < i; k++)
            if (alarms[i].order && alarms[k].order && due_ms[i] < due_ms[k])
                cr_assert_lt(alarms[i].order, alarms[k].order);
    }
    cr_assert_eq(timer_list_next_ms(&list), TIMER_NEVER);
}

Test(timer, one_that_starts_itself_for_now_waits_for_the_next_call)
{
    struct timer_list list = {0};
    struct alarm a, b;
    init(&a, &list);
    init(&b, &list);
    a.again_ms = 1; /* due at the very instant of its run */
    timer_start(&list, &a.timer, 10);
    timer_start(&list, &b.timer, 10);
    cr_assert_eq(timer_list_run(&list, 10), 2);
    cr_assert_eq(timer_list_next_ms(&list), 11);
    cr_assert_eq(timer_list_run(&list, 11), 1);
}

Test(timer, one_may_stop_another_that_is_due)
{
    struct timer_list list = {0};
    struct alarm a, b;
    init(&a, &list);
    init(&b, &list);
    a.stops = &b;
    timer_start(&list, &a.timer, 10);
    timer_start(&list, &b.timer, 10);
    cr_assert_eq(timer_list_run(&list, 10), 1);
    cr_assert_eq(b.order, 0);
}

static void free_timer(struct timer *timer, int64_t now_ms)
{
    (void)now_ms;
    free(timer);
}

Test(timer, one_may_free_itself)
{
    struct timer_list list = {0};
    struct timer *timer = malloc(sizeof(*timer));
    timer_init(timer, free_timer);
    timer_start(&list, timer, 1);
    cr_assert_eq(timer_list_run(&list, 1), 1);
}
