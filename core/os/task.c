/*
 * task: a queue of tasks that want to run; each turn serves as many as the budget allows, from the
 * front, and puts those with more to do at the back. Whom one turn did not reach is thus first in
 * the next.
 *
 * A task leaves the queue before it runs, so it may start or stop any task, itself included, and
 * one that returns false may have freed itself.
 */
#include "core/os/task.h"

#include <stddef.h>

#include "core/base/check.h"
#include "core/os/clock.h"

void task_start(struct task_list *list, struct task *task)
{
    ASSERT(task->run);
    if (task->active)
        return;
    task->active = true;
    task->next = NULL;
    if (list->last)
        list->last->next = task;
    else
        list->first = task;
    list->last = task;
}

void task_stop(struct task_list *list, struct task *task)
{
    if (!task->active)
        return;
    task->active = false;
    struct task *previous = NULL;
    for (struct task *each = list->first; each != task; each = each->next) {
        ASSERT(each); /* an active task is on the list that it was started on */
        previous = each;
    }
    if (previous)
        previous->next = task->next;
    else
        list->first = task->next;
    if (list->last == task)
        list->last = previous;
    task->next = NULL;
}

bool task_run(struct task_list *list, uint32_t budget_us)
{
    if (!list->first)
        return false;
    uint32_t left = 0;
    for (const struct task *each = list->first; each; each = each->next)
        left++;

    uint64_t now = clock_mono_ns();
    const uint64_t end = now + (uint64_t)budget_us * 1000;
    /* Fair shares of what is left of the budget: a task that needs less leaves more to the rest. */
    for (; left > 0 && list->first && now < end; left--) {
        struct task *task = list->first;
        task_stop(list, task);
        if (task->run(task, now + (end - now) / left))
            task_start(list, task);
        now = clock_mono_ns();
    }
    return list->first != NULL;
}
