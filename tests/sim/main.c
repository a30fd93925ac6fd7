/*
 * sim: tries the order log under very many schedules.
 *
 *     sim                          every variant: right ones for their share of the time, weak ones
 * until caught sim --seconds N              about how long the right variants are tried altogether
 * (30) sim --schedules N            ... or how many schedules each sim --budget-factor N gives
 * weakened variants N times their budget sim --variant NAME           this one only sim --seed N
 * [--trace]       one schedule of --variant (default: right), said aloud sim --list the variants
 *
 * Ends with `N passed, M failed`, and with status 1 if anything failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/rng.h"
#include "tests/sim/check.h"
#include "tests/sim/model.h"
#include "tests/sim/schedule.h"
#include "tests/sim/variants.h"
#include "tests/sim/world.h"

struct options {
    double seconds;
    uint64_t schedules; /* 0: by time */
    uint64_t budget_factor;
    uint64_t first_seed;
    bool has_seed;
    int variant; /* -1: all */
    bool skip_right, skip_weak;
};

static double seconds_now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static struct verdict run_one(enum variant variant, uint64_t seed)
{
    static const struct schedule_world surroundings = {
        .deliver = world_deliver,
        .has_input = world_has_input,
        .is_done = world_is_done,
        .run = turn_run,
    };
    struct rng rng;
    rng_init(&rng, seed);
    uint32_t threads = 2 + (uint32_t)rng_below(&rng, rng_below(&rng, 2) ? 2 : SIM_THREADS_MAX - 1);
    enum focus focus = (enum focus)rng_below(&rng, FOCUS_COUNT);
    if (variants[variant].focus != FOCUS_ANY)
        focus = variants[variant].focus;
    world_init(&rng, threads, focus);
    model_init(&rng, variant, focus);
    bool unequal_speeds = focus == FOCUS_LOG || (focus == FOCUS_READERS && rng_below(&rng, 2));
    struct verdict verdict = schedule_run(&surroundings, rng_next(&rng), threads, unequal_speeds);
    if (!verdict.kind) {
        uint64_t steps = verdict.steps;
        verdict = check_history();
        verdict.steps = steps;
    }
    return verdict;
}

static void say_how_to_repeat(enum variant variant, uint64_t seed)
{
    printf("      again: sim --variant %s --seed %" PRIu64 " --trace\n", variants[variant].name,
           seed);
}

/* A right variant: no schedule may fail. */
static bool try_right(enum variant variant, const struct options *options, double seconds)
{
    double end_at = seconds_now() + seconds;
    uint64_t count = 0, steps = 0, steps_max = 0;
    while (options->schedules ? count < options->schedules
                              : count % 64 != 0 || seconds_now() < end_at) {
        uint64_t seed = options->first_seed + count++;
        struct verdict verdict = run_one(variant, seed);
        steps += verdict.steps;
        if (verdict.steps > steps_max)
            steps_max = verdict.steps;
        if (verdict.kind) {
            printf("FAIL  %-27s schedule %" PRIu64 ": %s: %s\n", variants[variant].name, count,
                   verdict.kind, verdict.text);
            say_how_to_repeat(variant, seed);
            return false;
        }
    }
    printf("ok    %-27s %" PRIu64 " schedules of %" PRIu64 " steps, at most %" PRIu64
           ": nothing found\n",
           variants[variant].name, count, steps / (count ? count : 1), steps_max);
    return true;
}

/* A weakened variant: some schedule must fail, and not only in what it claims. */
static bool try_weak(enum variant variant, const struct options *options)
{
    const struct variant_row *row = &variants[variant];
    uint64_t budget = row->budget * options->budget_factor, claims = 0;
    for (uint64_t count = 1; count <= budget; count++) {
        uint64_t seed = options->first_seed + count - 1;
        struct verdict verdict = run_one(variant, seed);
        if (verdict.kind && strcmp(verdict.kind, VERDICT_CLAIM) == 0) {
            claims++;
        } else if (verdict.kind) {
            printf("ok    %-27s caught by schedule %" PRIu64 ": %s: %s\n", row->name, count,
                   verdict.kind, verdict.text);
            return true;
        }
    }
    printf("FAIL  %-27s not caught in %" PRIu64 " schedules (%" PRIu64
           " with a wrong claim only): %s\n",
           row->name, budget, claims, row->rule);
    return false;
}

/* A model in which something never happens says nothing about it. */
static bool met_everything(void)
{
    const struct model_counts *counts = &model_counts;
    const struct {
        const char *what;
        uint64_t count;
    } met[] = {
        {"entries", counts->entries},
        {"laps of the log", counts->laps},
        {"entries reused", counts->reuses},
        {"log or entries used up", counts->log_full},
        {"run together", counts->together_runs},
        {"more at one stop", counts->more_entries},
        {"lent", counts->lends},
        {"arrived for a sleeper", counts->lent_arrivals},
        {"single requests on a sleeper", counts->lent_singles},
        {"pokes", counts->pokes},
        {"sleeps", counts->sleeps},
        {"parked in the ring", counts->waits_in_ring},
        {"overflows of lanes", counts->overflows},
    };
    bool is_ok = true;
    for (size_t i = 0; i < sizeof(met) / sizeof(met[0]); i++) {
        printf("%s%s %" PRIu64, i == 0 ? "met: " : ", ", met[i].what, met[i].count);
        is_ok &= met[i].count > 0;
    }
    printf("%s\n", is_ok ? "" : "\nFAIL  something never happened");
    return is_ok;
}

static bool is_wanted(const struct options *options, int variant)
{
    if (options->variant >= 0)
        return options->variant == variant;
    return !(variants[variant].is_right ? options->skip_right : options->skip_weak);
}

static int try_all(const struct options *options)
{
    uint32_t passed = 0, failed = 0, right_count = 0;
    for (int i = 0; i < VARIANT_COUNT; i++)
        right_count += variants[i].is_right && is_wanted(options, i);
    for (int i = 0; i < VARIANT_COUNT; i++) {
        if (!is_wanted(options, i))
            continue;
        bool is_ok;
        if (!variants[i].is_right)
            is_ok = try_weak((enum variant)i, options);
        else /* half of the time is the plain algorithm's */
            is_ok = try_right((enum variant)i, options,
                              right_count == 1 ? options->seconds
                              : i == RIGHT     ? options->seconds / 2
                                               : options->seconds / 2 / (right_count - 1));
        fflush(stdout);
        passed += is_ok;
        failed += !is_ok;
    }
    if (options->variant < 0 && !options->skip_right) {
        bool is_ok = met_everything();
        passed += is_ok;
        failed += !is_ok;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed ? 1 : 0;
}

static int find_variant(const char *name)
{
    for (int i = 0; i < VARIANT_COUNT; i++)
        if (strcmp(variants[i].name, name) == 0)
            return i;
    fprintf(stderr, "sim: no variant '%s'; sim --list names them\n", name);
    exit(2);
}

static int usage(void)
{
    fprintf(stderr,
            "usage: sim [--seconds N | --schedules N] [--budget-factor N] [--right | --weak] "
            "[--variant NAME] [--seed N [--trace]] [--list]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct options options = {.seconds = 30, .budget_factor = 1, .first_seed = 1, .variant = -1};
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(option, "--list") == 0) {
            for (int v = 0; v < VARIANT_COUNT; v++)
                printf("%-27s %s: %s\n", variants[v].name, variants[v].is_right ? "right" : "weak",
                       variants[v].rule);
            return 0;
        }
        if (strcmp(option, "--trace") == 0) {
            trace_is_on = true;
            continue;
        }
        if (strcmp(option, "--right") == 0) {
            options.skip_weak = true;
            continue;
        }
        if (strcmp(option, "--weak") == 0) {
            options.skip_right = true;
            continue;
        }
        if (!value)
            return usage();
        i++;
        if (strcmp(option, "--seconds") == 0) {
            options.seconds = strtod(value, NULL);
        } else if (strcmp(option, "--schedules") == 0) {
            options.schedules = strtoull(value, NULL, 10);
        } else if (strcmp(option, "--budget-factor") == 0) {
            options.budget_factor = strtoull(value, NULL, 10);
        } else if (strcmp(option, "--variant") == 0) {
            options.variant = find_variant(value);
        } else if (strcmp(option, "--seed") == 0) {
            options.first_seed = strtoull(value, NULL, 10);
            options.has_seed = true;
        } else {
            return usage();
        }
    }
    int status;
    if (options.has_seed) {
        enum variant variant = options.variant < 0 ? RIGHT : (enum variant)options.variant;
        struct verdict verdict = run_one(variant, options.first_seed);
        printf("%s, seed %" PRIu64 ": %s%s%s after %" PRIu64 " steps\n", variants[variant].name,
               options.first_seed, verdict.kind ? verdict.kind : "nothing found",
               verdict.kind ? ": " : "", verdict.text, verdict.steps);
        status = verdict.kind != NULL;
    } else {
        status = try_all(&options);
    }
    schedule_fini();
    check_fini();
    return status;
}
