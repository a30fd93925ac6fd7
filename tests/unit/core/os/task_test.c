#include "core/os/task.h"

#include <criterion/criterion.h>
#include <stdint.h>

#include "core/os/clock.h"

#define AMPLE_US 10000000u /* a budget that no test uses up */

/* A task that wants to run some more times and writes down when it did. */
struct worker {
    struct task task;
    struct task_list *list;
    char name;
    int left;
    bool burns_its_slice;
    struct worker *starts, *stops;
};

static char log_text[64];
static int log_len;

static bool work(struct task *task, uint64_t deadline_ns)
{
    struct worker *worker = (struct worker *)task;
    log_text[log_len++] = worker->name;
    log_text[log_len] = 0;
    while (worker->burns_its_slice && clock_mono_ns() < deadline_ns)
        ;
    if (worker->starts)
        task_start(worker->list, &worker->starts->task);
    if (worker->stops)
        task_stop(worker->list, &worker->stops->task);
    return --worker->left > 0;
}

static struct worker worker_of(struct task_list *list, char name, int runs)
{
    return (struct worker){.task.run = work, .list = list, .name = name, .left = runs};
}

Test(task, an_empty_list_has_nothing_to_do)
{
    struct task_list list = {0};
    cr_assert_not(task_run(&list, AMPLE_US));
}

Test(task, each_task_gets_one_slice_a_turn_until_it_rests)
{
    struct task_list list = {0};
    struct worker a = worker_of(&list, 'a', 3), b = worker_of(&list, 'b', 1);
    task_start(&list, &a.task);
    task_start(&list, &b.task);
    cr_assert(task_run(&list, AMPLE_US));
    cr_assert_str_eq(log_text, "ab");
    cr_assert_not(b.task.active);
    cr_assert(task_run(&list, AMPLE_US));
    cr_assert_not(task_run(&list, AMPLE_US));
    cr_assert_str_eq(log_text, "abaa");
}

Test(task, starting_twice_is_starting_once)
{
    struct task_list list = {0};
    struct worker a = worker_of(&list, 'a', 1);
    task_start(&list, &a.task);
    task_start(&list, &a.task);
    cr_assert_not(task_run(&list, AMPLE_US));
    cr_assert_str_eq(log_text, "a");
    a.left = 1;
    task_start(&list, &a.task);
    task_run(&list, AMPLE_US);
    cr_assert_str_eq(log_text, "aa");
}

Test(task, stops_first_middle_and_last)
{
    for (int stopped = 0; stopped < 3; stopped++) {
        struct task_list list = {0};
        struct worker workers[] = {worker_of(&list, 'a', 1), worker_of(&list, 'b', 1),
                                   worker_of(&list, 'c', 1)};
        static const char *const expected[] = {"bc", "ac", "ab"};
        for (int i = 0; i < 3; i++)
            task_start(&list, &workers[i].task);
        task_stop(&list, &workers[stopped].task);
        task_stop(&list, &workers[stopped].task);
        cr_assert_not(workers[stopped].task.active);
        log_len = 0;
        cr_assert_not(task_run(&list, AMPLE_US));
        cr_assert_str_eq(log_text, expected[stopped]);
        task_start(&list, &workers[0].task);
        cr_assert_eq(list.first, &workers[0].task);
        cr_assert_eq(list.last, &workers[0].task);
    }
}

Test(task, whom_the_budget_did_not_reach_is_first_in_the_next_turn)
{
    struct task_list list = {0};
    struct worker a = worker_of(&list, 'a', 9), b = worker_of(&list, 'b', 9);
    task_start(&list, &a.task);
    task_start(&list, &b.task);
    cr_assert(task_run(&list, 0), "no time, but work is left");
    cr_assert_eq(log_len, 0);
    /* The first task takes all of one turn's budget that is left to it and to all others. */
    a.burns_its_slice = b.burns_its_slice = true;
    task_stop(&list, &b.task);
    task_run(&list, 50);
    task_start(&list, &b.task);
    cr_assert_eq(list.first, &a.task);
    log_len = 0;
    task_run(&list, 200);
    cr_assert_str_eq(log_text, "ab", "each had its share");
}

Test(task, a_task_may_start_and_stop_others_and_itself)
{
    struct task_list list = {0};
    struct worker a = worker_of(&list, 'a', 1), b = worker_of(&list, 'b', 1),
                  c = worker_of(&list, 'c', 1);
    a.starts = &b;
    a.stops = &c;
    task_start(&list, &a.task);
    task_start(&list, &c.task);
    cr_assert_not(task_run(&list, AMPLE_US));
    cr_assert_str_eq(log_text, "ab");

    log_len = 0;
    a = worker_of(&list, 'a', 1);
    a.starts = &a;
    task_start(&list, &a.task);
    cr_assert(task_run(&list, AMPLE_US), "it has started itself, so false is not the last word");
    cr_assert_str_eq(log_text, "a");
}
