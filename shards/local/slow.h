/*
 * slow: the longest that each kind of a shard's own work has taken since somebody looked.
 *
 * Whoever does such work notes how long it took; the thread that owns the shard looks ten times a
 * second and forgets (LATENCY). Thread: the shard's current owner.
 */
#pragma once

#include <stdint.h>

enum slow_work {
    SLOW_EXPIRE_CYCLE,   /* a slice of looking for expired keys */
    SLOW_EXPIRE_DEL,     /* deleting one of them that was asked for */
    SLOW_EVICTION_CYCLE, /* making room: for a command, or a slice of it */
    SLOW_EVICTION_DEL,   /* deleting a key that was chosen for that */
    SLOW_WORK_COUNT
};

struct slow {
    uint64_t longest_ns[SLOW_WORK_COUNT];
};

static inline void slow_note(struct slow *slow, enum slow_work work, uint64_t ns)
{
    if (ns > slow->longest_ns[work])
        slow->longest_ns[work] = ns;
}
