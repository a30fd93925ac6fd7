/*
 * histogram_part: the latencies of commands on their way from a visited thread to the merge.
 *
 * Only buckets that are not empty travel. Thread: any.
 */
#pragma once

#include "core/base/buf.h"
#include "core/ds/histogram.h"

/* Appends the histogram of command `id`. */
void histogram_part_add(struct buf *content, uint16_t id, const struct histogram *histogram);

/* Takes one histogram off `*content` and adds it to sums[its id], made when first needed and freed
 * by the caller with mem_free(). */
void histogram_part_take(struct bytes *content, struct histogram **sums);
