/*
 * command_stats: what each command has been called for, and what it cost; which errors were
 * answered.
 *
 * One per home, plain numbers, indexed by command->id. Counting is inlined into dispatch and is a
 * handful of additions to lines that stay in the first-level cache. INFO commandstats, latencystats
 * and errorstats and LATENCY HISTOGRAM add up those of all homes. Thread: home.
 */
#pragma once

#include <stdbool.h>

#include "core/base/bytes.h"
#include "core/base/check.h"
#include "core/ds/histogram.h"

#define COMMAND_STATS_ERRORS_MAX                                                                   \
    128                           /* different error codes counted; further ones are passed over */
#define COMMAND_STATS_CODE_MAX 32 /* bytes of an error code that are kept, terminator included */

struct command_stat {
    uint64_t calls;    /* run to an answer, errors included */
    uint64_t ns;       /* thread time of these calls */
    uint64_t rejected; /* refused before they ran: arity, permission, memory */
    uint64_t failed;   /* of `calls`, answered with an error */
};

struct command_stats {
    struct command_stat *commands; /* [command_count()] */
    struct histogram **latency;    /* [command_count()], NULL until the command is first counted */
    struct command_error {
        char code[COMMAND_STATS_CODE_MAX];
        uint64_t count;
    } errors[COMMAND_STATS_ERRORS_MAX];
    uint32_t error_count;  /* entries of `errors` in use */
    uint64_t errors_total; /* error replies, of any code */
    bool tracks_latency;   /* latency-tracking */
};

/* After command_table_build(). */
struct command_stats *command_stats_create(void);
void command_stats_destroy(struct command_stats *stats); /* accepts NULL */

/* CONFIG RESETSTAT. */
void command_stats_reset(struct command_stats *stats);

/* Makes the command's histogram; the slow path of command_stats_add(). */
struct histogram *command_stats_make_latency(struct command_stats *stats, uint16_t id);

/* Counts `calls` calls that took `ns` nanoseconds together: a batch that was timed as a whole is
 * counted as so many calls of equal length. `calls` > 0. */
static inline void command_stats_add(struct command_stats *stats, uint16_t id, uint32_t calls,
                                     uint64_t ns)
{
    struct command_stat *stat = &stats->commands[id];
    stat->calls += calls;
    stat->ns += ns;
    if (likely(stats->tracks_latency)) {
        struct histogram *latency = stats->latency[id];
        if (unlikely(!latency))
            latency = command_stats_make_latency(stats, id);
        histogram_add(latency, calls == 1 ? ns : ns / calls, calls);
    }
}

/* Counts one call. */
static inline void command_stats_count(struct command_stats *stats, uint16_t id, uint64_t ns,
                                       bool failed)
{
    command_stats_add(stats, id, 1, ns);
    stats->commands[id].failed += failed;
}

static inline void command_stats_count_rejected(struct command_stats *stats, uint16_t id)
{
    stats->commands[id].rejected++;
}

/* Counts an error reply by its code: the first word of `text`, which is the line without '-'. */
void command_stats_count_error(struct command_stats *stats, struct bytes text);
