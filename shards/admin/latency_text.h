/*
 * latency_text: what LATENCY GRAPH and DOCTOR show people.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#include "core/base/buf.h"
#include "shards/admin/latency.h"

struct config;

/* One kind of event, joined over all threads: its samples, oldest first, a second each. */
struct latency_series {
    struct bytes name;
    uint32_t all_time_max_ms;
    uint32_t count;
    struct latency_sample *samples;
};

/* A head line and a drawing of the samples: each a column, with its age below it. */
void latency_text_graph(struct buf *text, const struct latency_series *series, int64_t now_s);

/* What happened, and what may help against it. */
void latency_text_report(struct buf *text, const struct latency_series *series, uint32_t count,
                         const struct config *config);
