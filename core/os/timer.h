/*
 * timer: what is to happen at a time.
 *
 * A `struct timer` lives in its owner; the list allocates nothing, and any number of timers may be
 * running. Time is the caller's argument, in ms of whatever clock the caller keeps to. Timers of
 * one instant run in the order in which they were started. The zero value is an empty list.
 * Thread: the list's owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TIMER_NEVER INT64_MAX /* ms */

struct timer;

/* Called once when the time has come, with the timer at rest: it may be started again, or freed. */
typedef void (*timer_fn)(struct timer *timer, int64_t now_ms);

struct timer {
    timer_fn run; /* set by timer_init() */
    /* The rest belongs to the list. */
    int64_t at_ms;
    uint64_t sequence; /* order among equals */
    struct timer *child, *next;
    struct timer *prev; /* elder sibling, or the parent of a first child */
    bool running;
};

struct timer_list {
    struct timer *root;
    uint64_t next_sequence;
    int64_t run_ms; /* of the run in progress */
    bool in_run;
};

void timer_init(struct timer *timer, timer_fn run);

/* Starts `timer`, or moves it when it is running. O(1), or O(log n) amortised to move. */
void timer_start(struct timer_list *list, struct timer *timer, int64_t at_ms);

/* Does nothing to a timer at rest. O(log n) amortised. */
void timer_stop(struct timer_list *list, struct timer *timer);

bool timer_is_running(const struct timer *timer);

/* When the next timer is due, or TIMER_NEVER. O(1). */
int64_t timer_list_next_ms(const struct timer_list *list);

/* Runs every timer that is due at `now_ms`, earliest first; returns how many. One that is started
 * meanwhile is due after `now_ms`, 1 ms at least, so that a timer which starts itself again cannot
 * hold the caller. */
uint32_t timer_list_run(struct timer_list *list, int64_t now_ms);
