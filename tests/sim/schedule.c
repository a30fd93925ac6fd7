/*
 * How: step() draws the next thread itself and switches straight to its fiber; the program's own
 * stack is entered again only at the end. A waiting thread becomes eligible by a token (ring_wake),
 * by input, by its timer when nothing else can happen or by chance, and a few times a schedule for
 * no reason at all (cron): a thread must survive waking up, but may not depend on it, so the
 * number is bounded.
 */
#include "tests/sim/schedule.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/check.h"
#include "tests/sim/fiber.h"

enum manner { MANNER_EVEN, MANNER_BURSTS, MANNER_PRIORITIES, MANNER_SPEEDS, MANNER_COUNT };

struct thread_state {
    struct fiber fiber;
    bool waits;
    bool timed;
    bool has_token;
    bool timer_fired;
    enum wake cause; /* of the return from the ring */
    uint32_t cron_left;
    uint64_t frozen_until;
    uint64_t priority;
    uint32_t speed;
};

static struct schedule {
    const struct schedule_world *world;
    struct fiber program; /* whoever called schedule_run() */
    struct fiber nowhere; /* what is left when a schedule ends: nobody comes back to it */
    struct thread_state threads[SIM_THREADS_MAX];
    uint32_t thread_count;
    uint32_t current;
    struct rng rng;
    enum manner manner;
    uint32_t burst_len;     /* mean, in steps */
    uint32_t deliver_every; /* steps, mean */
    uint32_t freeze_every;
    uint64_t steps;
    struct verdict verdict;
} schedule;

bool trace_is_on;

uint64_t now(void)
{
    return schedule.steps;
}

uint32_t self(void)
{
    return schedule.current;
}

static bool one_in(uint32_t n)
{
    return rng_below(&schedule.rng, n) == 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static _Noreturn void end(void)
{
    fiber_switch(&schedule.nowhere, &schedule.program);
    __builtin_unreachable();
}

void fail(const char *kind, const char *format, ...)
{
    schedule.verdict.kind = kind;
    va_list args;
    va_start(args, format);
    vsnprintf(schedule.verdict.text, sizeof(schedule.verdict.text), format, args);
    va_end(args);
    trace("%s: %s", kind, schedule.verdict.text);
    end();
}

void trace_line(const char *format, ...)
{
    printf("%6llu  t%u  ", (unsigned long long)schedule.steps, schedule.current);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- the choice ----------------------------------------------------------------------------- */

static bool is_eligible(uint32_t id)
{
    struct thread_state *thread = &schedule.threads[id];
    if (!thread->waits)
        return true;
    thread->cause = WAKE_TOKEN;
    if (thread->has_token)
        return true;
    thread->cause = WAKE_INPUT;
    if (schedule.world->has_input(id))
        return true;
    thread->cause = WAKE_TIMER;
    if (thread->timed && one_in(200))
        thread->timer_fired = true;
    if (thread->timer_fired)
        return true;
    thread->cause = WAKE_CRON;
    if (thread->cron_left > 0 && one_in(150)) {
        thread->cron_left--;
        return true;
    }
    return false;
}

/* Bit set of the threads that could run now. */
static uint32_t eligible_threads(bool frozen_too)
{
    uint32_t eligible = 0;
    for (uint32_t id = 0; id < schedule.thread_count; id++) {
        if (!frozen_too && schedule.threads[id].frozen_until > schedule.steps)
            continue;
        if (is_eligible(id))
            eligible |= 1u << id;
    }
    return eligible;
}

/* Each thread gets a share by its speed; for a slow one the others race by at every step. */
static uint32_t choose_by_speed(uint32_t eligible)
{
    uint32_t total = 0, id = 0;
    for (uint32_t i = 0; i < schedule.thread_count; i++)
        total += eligible >> i & 1 ? schedule.threads[i].speed : 0;
    uint32_t ticket = (uint32_t)rng_below(&schedule.rng, total);
    for (;; id++) {
        uint32_t share = eligible >> id & 1 ? schedule.threads[id].speed : 0;
        if (ticket < share)
            return id;
        ticket -= share;
    }
}

static uint32_t choose(uint32_t eligible)
{
    if (schedule.manner == MANNER_BURSTS && eligible >> schedule.current & 1 &&
        !one_in(schedule.burst_len))
        return schedule.current;
    if (schedule.manner == MANNER_PRIORITIES) {
        if (one_in(schedule.burst_len * 16))
            schedule.threads[rng_below(&schedule.rng, schedule.thread_count)].priority = rng_next(
                &schedule.rng);
        uint32_t best = (uint32_t)__builtin_ctz(eligible);
        for (uint32_t id = best; id < schedule.thread_count; id++)
            if (eligible >> id & 1 &&
                schedule.threads[id].priority > schedule.threads[best].priority)
                best = id;
        return best;
    }
    if (schedule.manner == MANNER_SPEEDS)
        return choose_by_speed(eligible);
    uint32_t nth = (uint32_t)rng_below(&schedule.rng, (uint32_t)__builtin_popcount(eligible));
    while (nth-- > 0)
        eligible &= eligible - 1;
    return (uint32_t)__builtin_ctz(eligible);
}

/* Nothing can run by itself: thaw, let the world act, fire timers, in this order; or the end. */
static void unstick(void)
{
    for (uint32_t id = 0; id < schedule.thread_count; id++)
        if (schedule.threads[id].frozen_until > schedule.steps && is_eligible(id)) {
            schedule.threads[id].frozen_until = 0;
            return;
        }
    if (schedule.world->deliver(&schedule.rng))
        return;
    if (schedule.world->is_done())
        end();
    uint32_t first = (uint32_t)rng_below(&schedule.rng, schedule.thread_count);
    for (uint32_t i = 0; i < schedule.thread_count; i++) {
        struct thread_state *thread = &schedule.threads[(first + i) % schedule.thread_count];
        if (thread->timed) {
            thread->timer_fired = true;
            return;
        }
    }
    fail("stuck", "all threads wait, and there is work left");
}

static void go_on(uint32_t next)
{
    struct thread_state *thread = &schedule.threads[next];
    thread->waits = false;
    uint32_t last = schedule.current;
    if (next == last)
        return;
    schedule.current = next;
    fiber_switch(&schedule.threads[last].fiber, &thread->fiber);
}

static void reschedule(void)
{
    if (one_in(schedule.deliver_every))
        schedule.world->deliver(&schedule.rng);
    if (one_in(schedule.freeze_every)) {
        struct thread_state *victim =
            &schedule.threads[rng_below(&schedule.rng, schedule.thread_count)];
        victim->frozen_until = schedule.steps + (16ull << rng_below(&schedule.rng, 8));
    }
    uint32_t eligible;
    while ((eligible = eligible_threads(false)) == 0)
        unstick();
    go_on(choose(eligible));
}

/* ---- for the threads ------------------------------------------------------------------------ */

void step(void)
{
    if (++schedule.steps > SIM_STEPS_MAX)
        fail("no end", "still running after %u steps", SIM_STEPS_MAX);
    reschedule();
}

void step_polling(void)
{
    schedule.threads[schedule.current].priority = 0;
    step();
}

enum wake ring_wait(bool timed)
{
    struct thread_state *me = &schedule.threads[schedule.current];
    me->waits = true;
    me->timed = timed;
    trace("waits in its ring%s", timed ? ", timed" : "");
    step();
    me->has_token = me->timed = me->timer_fired = false;
    static const char *const causes[] = {"a wake", "input", "its timer", "cron"};
    trace("leaves its ring: %s", causes[me->cause]);
    return me->cause;
}

void ring_wake(uint32_t thread)
{
    trace("wakes t%u", thread);
    schedule.threads[thread].has_token = true;
}

static void live(void *arg)
{
    schedule.world->run((uint32_t)(uintptr_t)arg);
    ASSERT(!"a thread's life ended");
}

struct verdict schedule_run(const struct schedule_world *world, uint64_t seed, uint32_t threads,
                            bool unequal_speeds)
{
    ASSERT(threads >= 1 && threads <= SIM_THREADS_MAX);
    schedule.world = world;
    schedule.thread_count = threads;
    schedule.steps = 0;
    schedule.verdict = (struct verdict){0};
    rng_init(&schedule.rng, seed);
    struct rng *rng = &schedule.rng;
    schedule.manner = (enum manner)rng_below(rng, MANNER_COUNT);
    if (unequal_speeds)
        schedule.manner = MANNER_SPEEDS;
    schedule.burst_len = 4u << rng_below(rng, 4);
    schedule.deliver_every = 10u << rng_below(rng, 6);
    schedule.freeze_every = 100u << rng_below(rng, 6);
    for (uint32_t id = 0; id < threads; id++) {
        struct thread_state *thread = &schedule.threads[id];
        thread->waits = thread->timed = thread->timer_fired = thread->has_token = false;
        thread->cron_left = (uint32_t)rng_below(rng, 4);
        thread->frozen_until = 0;
        thread->priority = rng_next(rng);
        thread->speed = 1u << 5 * rng_below(rng, 3); /* 1, 32 or 1024 */
        fiber_init(&thread->fiber, live, (void *)(uintptr_t)id);
    }
    schedule.current = (uint32_t)rng_below(rng, threads);
    fiber_switch(&schedule.program, &schedule.threads[schedule.current].fiber);
    schedule.verdict.steps = schedule.steps;
    return schedule.verdict;
}

void schedule_fini(void)
{
    for (uint32_t id = 0; id < SIM_THREADS_MAX; id++)
        fiber_fini(&schedule.threads[id].fiber);
    fiber_fini(&schedule.program);
    fiber_fini(&schedule.nowhere);
}
