/*
 * schedule: who runs next.
 *
 * Simulated threads run one at a time and may be interrupted at every step(): before each access
 * to memory that another thread may see. A seed decides every choice, so a schedule can be run
 * again. Memory is sequentially consistent: weaker orders are the business of tests/race.
 *
 * Chance     each schedule draws a manner of its own: even chances at every step, long bursts of
 * one thread, priorities that change now and then, or very unequal speeds. Threads freeze for long
 * stretches. Time       is the number of steps so far. The end    comes when no thread can run and
 * the world has nothing to deliver: well if the world is done, otherwise somebody was not woken. A
 * schedule that does not end is a deadlock too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/rng.h"

#define SIM_THREADS_MAX 5u
#define SIM_STEPS_MAX 60000u /* a schedule that takes longer does not end (the usual: 4,000) */

/* What the schedule needs to know of the world around the threads. Deliver: let one thing happen
 * outside (a client sends something); false when there is nothing to happen. */
struct schedule_world {
    bool (*deliver)(struct rng *rng);
    bool (*has_input)(uint32_t thread); /* bytes wait in a socket of this thread */
    bool (*is_done)(void);
    void (*run)(uint32_t thread); /* a thread's life; does not return */
};

enum wake { WAKE_TOKEN, WAKE_INPUT, WAKE_TIMER, WAKE_CRON };

/* What went wrong; NULL as `kind` when nothing did. */
struct verdict {
    const char *kind; /* one of a few constant texts */
    char text[256];
    uint64_t steps;
};

/* Runs one schedule from beginning to end; its manner is drawn unless `unequal_speeds`. */
struct verdict schedule_run(const struct schedule_world *world, uint64_t seed, uint32_t threads,
                            bool unequal_speeds);
void schedule_fini(void);

/* ---- for the threads ---- */

void step(void);         /* another thread may run here */
void step_polling(void); /* the same, from a loop that watches a word: others go first */
uint64_t now(void);      /* steps so far */
uint32_t self(void);     /* which thread runs */

/* The one wait of a thread's ring, with or without a timer. */
enum wake ring_wait(bool timed);
void ring_wake(uint32_t thread);

/* Ends the schedule with this verdict. */
_Noreturn void fail(const char *kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

extern bool trace_is_on;
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define trace(...)                                                                                 \
    do {                                                                                           \
        if (__builtin_expect(trace_is_on, 0))                                                      \
            trace_line(__VA_ARGS__);                                                               \
    } while (0)
