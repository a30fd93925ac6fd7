/*
 * memory_use: what the server's memory is used for: one reckoning for INFO, MEMORY STATS and MEMORY
 * DOCTOR.
 *
 * Overhead is what the server takes beside the data: itself when it is empty, its clients, the
 * tables that keys are found by. The data set is all the rest: it never counts what clients use.
 * Thread: any, except where marked.
 */
#pragma once

#include <stdint.h>

#include "core/base/mem.h"

struct home;

/* Of one thread and its shard, or of all of them together. */
struct memory_parts {
    uint64_t startup_bytes; /* used when the server was empty: of the process */
    uint64_t client_bytes;
    uint64_t table_bytes;
    uint64_t keys;
};

struct memory_use {
    struct memory_parts parts;
    size_t used_bytes, peak_bytes, resident_bytes;
    struct mem_allocator_stats allocator; /* where it does not tell: judged by the whole process */
    size_t overhead_bytes, dataset_bytes;
    size_t net_bytes; /* used, without what the empty server takes */
};

/* Of one thread and its shard. Thread: that one. */
struct memory_parts memory_parts_of(struct home *home);

/* Adds what another thread has sent. */
void memory_parts_add(struct memory_parts *sum, const struct memory_parts *more);

/* Looks at the process, and reckons. */
struct memory_use memory_use_of(const struct memory_parts *parts);

/* In per cent, 0 to 100. */
double memory_use_dataset_percent(const struct memory_use *use); /* of net_bytes */
double memory_use_peak_percent(const struct memory_use *use);    /* used, of the peak */

/* 0 where `b` is. */
static inline double memory_use_ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}
