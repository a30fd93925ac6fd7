/*
 * stream_id: what an entry of a stream is called: a millisecond, and a number within it.
 *
 * Ids are ordered by the millisecond, then by the number. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/check.h"

#define STREAM_ID_MIN ((struct stream_id){0, 0})
#define STREAM_ID_MAX ((struct stream_id){UINT64_MAX, UINT64_MAX})
#define STREAM_ID_CAP 41u /* bytes that any id's text fits in */

struct stream_id {
    uint64_t ms, seq;
};

/* Below, at or above zero as `a` comes before, is, or comes after `b`. */
static inline int stream_id_compare(struct stream_id a, struct stream_id b)
{
    if (a.ms != b.ms)
        return a.ms < b.ms ? -1 : 1;
    return a.seq < b.seq ? -1 : a.seq > b.seq;
}

static inline bool stream_id_is_zero(struct stream_id id)
{
    return id.ms == 0 && id.seq == 0;
}

/* The id after `id` (before it). False, and nothing written, when there is none. */
MUST_CHECK bool stream_id_next(struct stream_id id, struct stream_id *out);
MUST_CHECK bool stream_id_prev(struct stream_id id, struct stream_id *out);

/* "ms-seq", without a terminator; returns its length. */
size_t stream_id_write(char to[STREAM_ID_CAP], struct stream_id id);
