#include "shards/route/shard_set.h"

#include <criterion/criterion.h>

static const uint32_t edges[] = {0, 1, 63, 64, 127, 128, 191, 192, 255};
#define EDGE_COUNT (sizeof(edges) / sizeof(edges[0]))

Test(shard_set, holds_what_was_added_and_nothing_else)
{
    struct shard_set set = {0};
    for (size_t i = 0; i < EDGE_COUNT; i++)
        shard_set_add(&set, edges[i]);
    cr_assert_eq(shard_set_count(&set), EDGE_COUNT);
    size_t next = 0;
    for (uint32_t shard = 0; shard < SHARD_MAX; shard++) {
        bool added = next < EDGE_COUNT && edges[next] == shard;
        cr_assert_eq(shard_set_has(&set, shard), added);
        next += added;
    }
}

Test(shard_set, is_walked_in_ascending_order)
{
    struct shard_set set = {0};
    for (size_t i = EDGE_COUNT; i-- > 0;)
        shard_set_add(&set, edges[i]);
    size_t seen = 0;
    SHARD_SET_EACH(shard, &set)
    {
        cr_assert_eq(shard, edges[seen]);
        seen++;
    }
    cr_assert_eq(seen, EDGE_COUNT);
}

Test(shard_set, knows_subsets_and_overlaps)
{
    struct shard_set small = {0}, large = {0}, other = {0};
    shard_set_add(&small, 70);
    shard_set_fill(&large, 100);
    shard_set_add(&other, 200);
    cr_assert(shard_set_within(&small, &large));
    cr_assert_not(shard_set_within(&large, &small));
    cr_assert(shard_set_meets(&small, &large));
    cr_assert_not(shard_set_meets(&other, &large));
    cr_assert(shard_set_within(&(struct shard_set){0}, &small), "the empty set is in every set");
}

Test(shard_set, folds_members_to_their_number_modulo_64)
{
    struct shard_set set = {0};
    shard_set_add(&set, 3);
    shard_set_add(&set, 64 + 5);
    shard_set_add(&set, 192 + 3);
    cr_assert_eq(shard_set_fold(&set), 1ull << 3 | 1ull << 5);
}
