/*
 * clock: the vDSO clocks, and the processor's own counter where it can be trusted.
 *
 * The counter is used when CPUID says that it runs at one rate in all power states. Its rate is
 * measured against CLOCK_MONOTONIC between program start and the first conversion, at least
 * CALIBRATION_NS apart, which makes the rate good to about 25 ns / CALIBRATION_NS.
 */
#include "core/os/clock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "core/base/check.h"

#define CALIBRATION_NS 2000000u /* error of the rate: about 1 in 80,000 */

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return (int64_t)(read_ns(CLOCK_REALTIME) / 1000);
}

uint64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

#if defined(__x86_64__)

/* Set once before main(), then read only. */
static bool has_counter;
static uint64_t start_ticks, start_ns;

/* ns per tick, times 2^32; 0 until measured. Written by whoever converts first; if two threads do,
 * each has measured well enough and either value serves. */
static _Atomic uint64_t scale;

__attribute__((constructor)) static void find_counter(void)
{
    unsigned a, b, c, d;
    has_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8)); /* invariant TSC */
    start_ns = clock_mono_ns();
    start_ticks = __rdtsc();
}

static uint64_t measure_scale(void)
{
    uint64_t ns, ticks;
    do {
        ns = clock_mono_ns() - start_ns;
        ticks = __rdtsc() - start_ticks;
    } while (ns < CALIBRATION_NS);
    uint64_t measured = (uint64_t)(((unsigned __int128)ns << 32) / ticks);
    atomic_store_explicit(&scale, measured, memory_order_relaxed);
    return measured;
}

uint64_t clock_ticks(void)
{
    return likely(has_counter) ? __rdtsc() : clock_mono_ns();
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    if (unlikely(!has_counter))
        return ticks;
    /* Relaxed: the value stands for itself. */
    uint64_t factor = atomic_load_explicit(&scale, memory_order_relaxed);
    if (unlikely(factor == 0))
        factor = measure_scale();
    return (uint64_t)(((unsigned __int128)ticks * factor) >> 32);
}

#else

uint64_t clock_ticks(void)
{
    return clock_mono_ns();
}

uint64_t clock_ticks_to_ns(uint64_t ticks)
{
    return ticks;
}

#endif
