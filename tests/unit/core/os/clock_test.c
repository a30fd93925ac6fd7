#include "core/os/clock.h"

#include <criterion/criterion.h>
#include <stdlib.h>

Test(clock, monotonic_time_and_ticks_do_not_go_back)
{
    uint64_t ns = clock_mono_ns(), ticks = clock_ticks();
    for (int i = 0; i < 10000; i++) {
        uint64_t later_ns = clock_mono_ns(), later_ticks = clock_ticks();
        cr_assert_geq(later_ns, ns);
        cr_assert_geq(later_ticks, ticks);
        ns = later_ns;
        ticks = later_ticks;
    }
}

Test(clock, ticks_measure_what_the_monotonic_clock_measures)
{
    /* The shortest of several tries: only what both readings saw is left. */
    double best = 1;
    for (int i = 0; i < 20; i++) {
        uint64_t ns = clock_mono_ns(), ticks = clock_ticks();
        while (clock_mono_ns() - ns < 1000000)
            ;
        uint64_t ticked = clock_ticks_to_ns(clock_ticks() - ticks), passed = clock_mono_ns() - ns;
        double error = ((double)ticked - (double)passed) / (double)passed;
        error = error < 0 ? -error : error;
        best = error < best ? error : best;
    }
    cr_assert_lt(best, 0.01, "ticks are %.2f %% off", best * 100);
}

Test(clock, conversion_is_monotonic_and_survives_days)
{
    const uint64_t day_ticks = (uint64_t)5000000000 * 86400;
    cr_assert_eq(clock_ticks_to_ns(0), 0);
    uint64_t day_ns = clock_ticks_to_ns(day_ticks);
    cr_assert_gt(day_ns, 0);
    uint64_t month_ns = clock_ticks_to_ns(30 * day_ticks);
    cr_assert_geq(month_ns, 30 * day_ns);
    cr_assert_leq(month_ns, 30 * day_ns + 30);
}

Test(clock, wall_time_is_later_than_this_source)
{
    const int64_t year_2026_ms = 1767225600000;
    cr_assert_gt(clock_wall_ms(), year_2026_ms);
    cr_assert_geq(clock_wall_us() / 1000, year_2026_ms);
}

Test(clock, thread_time_counts_work)
{
    uint64_t before = clock_thread_cpu_ns();
    uint64_t last = before;
    for (int i = 0; i < 10000000 && last == before; i++)
        last = clock_thread_cpu_ns();
    cr_assert_gt(last, before);
}
