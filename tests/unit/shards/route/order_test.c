#include "shards/route/order.h"

#include <criterion/criterion.h>

#include "core/base/mem.h"
#include "shards/route/tx.h"

#define CAPACITY 8u

static struct shard_set set_of(uint32_t shard)
{
    struct shard_set set = {0};
    shard_set_add(&set, shard);
    return set;
}

Test(order, gives_positions_in_order_of_publication)
{
    struct order *order = order_create(CAPACITY);
    struct shard_set set = set_of(3);
    struct tx *tx = mem_zalloc(sizeof(*tx));
    for (uint64_t expected = 0; expected < CAPACITY; expected++) {
        uint64_t at = UINT64_MAX;
        cr_assert_not(order_is_filled(order, expected));
        cr_assert(order_publish(order, tx, &set, 0, &at));
        cr_assert_eq(at, expected);
        cr_assert(order_is_filled(order, expected));
    }
    cr_assert_eq(order_tail(order), CAPACITY);
    mem_free(tx);
    order_destroy(order);
}

Test(order, reads_back_what_was_published)
{
    struct order *order = order_create(CAPACITY);
    struct tx *first = mem_zalloc(sizeof(*first)), *second = mem_zalloc(sizeof(*second));
    struct shard_set five = set_of(5), far = set_of(70);
    uint64_t at, fold;
    struct tx *tx;
    cr_assert_not(order_read(order, 0, &tx, &fold));
    cr_assert(order_publish(order, first, &five, 0, &at));
    cr_assert(order_publish(order, second, &far, 0, &at));
    cr_assert(order_read(order, 0, &tx, &fold));
    cr_assert_eq(tx, first);
    cr_assert_eq(fold, 1ull << 5);
    cr_assert(order_read(order, 1, &tx, &fold));
    cr_assert_eq(tx, second);
    cr_assert_eq(fold, 1ull << (70 - 64), "shards are folded by 64");
    mem_free(first);
    mem_free(second);
    order_destroy(order);
}

Test(order, refuses_when_the_slowest_cursor_is_a_whole_log_behind)
{
    struct order *order = order_create(CAPACITY);
    struct shard_set set = set_of(0);
    struct tx *tx = mem_zalloc(sizeof(*tx));
    uint64_t at;
    for (uint32_t i = 0; i < CAPACITY; i++)
        cr_assert(order_publish(order, tx, &set, 0, &at));
    cr_assert_not(order_publish(order, tx, &set, 0, &at));
    cr_assert(order_publish(order, tx, &set, 1, &at), "one entry was passed: one has room");
    cr_assert_eq(at, CAPACITY);
    cr_assert_not(order_publish(order, tx, &set, 1, &at));
    mem_free(tx);
    order_destroy(order);
}

Test(order, takes_no_slot_of_an_earlier_lap_for_filled)
{
    struct order *order = order_create(CAPACITY);
    struct shard_set set = set_of(0);
    struct tx *tx = mem_zalloc(sizeof(*tx));
    uint64_t at = 0;
    /* Far enough that the 16 bits of the lap have gone round. */
    for (uint64_t i = 0; i < CAPACITY * 70000ull; i++) {
        cr_assert_not(order_is_filled(order, i));
        cr_assert(order_publish(order, tx, &set, i, &at));
        cr_assert(order_is_filled(order, i));
    }
    mem_free(tx);
    order_destroy(order);
}
