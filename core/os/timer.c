/*
 * timer: a pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986).
 *
 * A tree in which no child is due before its parent, each node's children a doubly linked list. It
 * needs no array that grows, starting a timer is O(1), and most timers (timeouts of blocked
 * clients) are stopped before they are due, which costs a merge of the few children.
 */
#include "core/os/timer.h"

#include <stddef.h>

#include "core/base/check.h"

void timer_init(struct timer *timer, timer_fn run)
{
    *timer = (struct timer){.run = run};
}

static bool is_before(const struct timer *a, const struct timer *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->sequence < b->sequence;
}

/* Makes one tree of two roots, either of which may be NULL. */
static struct timer *meld(struct timer *a, struct timer *b)
{
    if (!a)
        return b;
    if (!b)
        return a;
    if (is_before(b, a)) {
        struct timer *swap = a;
        a = b;
        b = swap;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/* Makes one tree of a list of siblings, in the two passes that the amortised bound rests on: pairs
 * from the left, then all into one from the right. Iterative, for a list may be long. */
static struct timer *meld_siblings(struct timer *first)
{
    struct timer *pairs = NULL; /* linked by next, last pair first */
    while (first) {
        struct timer *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    struct timer *root = NULL;
    while (pairs) {
        struct timer *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        root = meld(root, pair);
    }
    return root;
}

void timer_stop(struct timer_list *list, struct timer *timer)
{
    if (!timer->running)
        return;
    struct timer *rest = meld_siblings(timer->child);
    if (timer == list->root) {
        list->root = rest;
    } else {
        if (timer->prev->child == timer)
            timer->prev->child = timer->next;
        else
            timer->prev->next = timer->next;
        if (timer->next)
            timer->next->prev = timer->prev;
        list->root = meld(list->root, rest);
    }
    timer->child = timer->next = timer->prev = NULL;
    timer->running = false;
}

void timer_start(struct timer_list *list, struct timer *timer, int64_t at_ms)
{
    ASSERT(timer->run);
    timer_stop(list, timer);
    timer->at_ms = list->in_run && at_ms <= list->run_ms ? list->run_ms + 1 : at_ms;
    timer->sequence = list->next_sequence++;
    timer->running = true;
    list->root = meld(list->root, timer);
}

bool timer_is_running(const struct timer *timer)
{
    return timer->running;
}

int64_t timer_list_next_ms(const struct timer_list *list)
{
    return list->root ? list->root->at_ms : TIMER_NEVER;
}

uint32_t timer_list_run(struct timer_list *list, int64_t now_ms)
{
    ASSERT(!list->in_run && now_ms < TIMER_NEVER);
    list->in_run = true; /* timer_start() now keeps its timers beyond this run: it always ends */
    list->run_ms = now_ms;
    uint32_t count = 0;
    while (list->root && list->root->at_ms <= now_ms) {
        struct timer *timer = list->root;
        timer_stop(list, timer);
        timer->run(timer, now_ms);
        count++;
    }
    list->in_run = false;
    return count;
}
