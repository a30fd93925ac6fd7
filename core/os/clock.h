/*
 * clock: what time it is, for the wall and for measuring.
 *
 * Code that decides by time takes it as an argument; only loops and tests read the clock.
 * Thread: any.
 */
#pragma once

#include <stdint.h>

uint64_t clock_mono_ns(void); /* CLOCK_MONOTONIC */
int64_t clock_wall_us(void);  /* since 1970 */
static inline int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}
uint64_t clock_thread_cpu_ns(void); /* CPU time of the calling thread */

/* A cheap counter for timing commands (the TSC where it is invariant, else CLOCK_MONOTONIC). */
uint64_t clock_ticks(void);
uint64_t clock_ticks_to_ns(uint64_t ticks);
