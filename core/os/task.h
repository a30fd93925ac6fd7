/*
 * task: long work in slices.
 *
 * A task is called once a turn while it has work, each time with a budget of thread time, and
 * returns when the budget is spent. Tasks of a shard are part of the shard: whoever owns the
 * shard may run them. The list is intrusive; the zero value is an empty list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SLICE_US 100u /* the longest a slice may take */

struct task;

/* Works until `deadline_ns` (clock_mono_ns) at most. True while there is more to do now;
 * false puts the task to rest until task_start(). */
typedef bool (*task_fn)(struct task *task, uint64_t deadline_ns);

struct task {
    task_fn run;
    struct task *next; /* the list's */
    bool active;
};

struct task_list {
    struct task *first;
    struct task *last;
};

/* Starts (or keeps running) `task`, whose `run` is set. */
void task_start(struct task_list *list, struct task *task);
void task_stop(struct task_list *list, struct task *task);

/* Gives each active task one slice, all together at most `budget_us`. True while any has more. */
bool task_run(struct task_list *list, uint32_t budget_us);
