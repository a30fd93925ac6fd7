/* How: id, number of buckets, then for each its number and count. */
#include "shards/admin/histogram_part.h"

#include "core/base/mem.h"
#include "shards/admin/part.h"

void histogram_part_add(struct buf *content, uint16_t id, const struct histogram *histogram)
{
    uint32_t filled = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        filled += histogram->counts[i] != 0;
    part_add(content, &id, sizeof(id));
    part_add(content, &filled, sizeof(filled));
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->counts[i] == 0)
            continue;
        part_add(content, &i, sizeof(i));
        part_add(content, &histogram->counts[i], sizeof(histogram->counts[i]));
    }
}

void histogram_part_take(struct bytes *content, struct histogram **sums)
{
    uint16_t id;
    uint32_t filled;
    part_take(content, &id, sizeof(id));
    part_take(content, &filled, sizeof(filled));
    if (!sums[id])
        sums[id] = mem_zalloc(sizeof(*sums[id]));
    for (uint32_t k = 0; k < filled; k++) {
        uint32_t bucket;
        uint64_t count;
        part_take(content, &bucket, sizeof(bucket));
        part_take(content, &count, sizeof(count));
        ASSERT(bucket < HISTOGRAM_BUCKETS);
        sums[id]->counts[bucket] += count;
        sums[id]->total += count;
    }
}
