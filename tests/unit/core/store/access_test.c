#include "core/store/access.h"

#include <criterion/criterion.h>

#define MINUTE_MS 60000
#define NOW_MS INT64_C(1700000000000)

static const struct access_lfu_options usual = {.log_factor = 10, .decay_minutes = 1};

Test(access, tells_idle_seconds)
{
    uint32_t access = access_lru_now(NOW_MS);
    cr_assert_eq(access_idle_s(access, NOW_MS), 0);
    cr_assert_eq(access_idle_s(access, NOW_MS + 999), 0);
    cr_assert_eq(access_idle_s(access, NOW_MS + 10000), 10);
}

Test(access, tells_idle_seconds_across_the_wrap_of_its_clock)
{
    int64_t wrap_ms = (INT64_C(1) << 24) * 1000;
    uint32_t access = access_lru_now(wrap_ms - 5000);
    cr_assert_eq(access_idle_s(access, wrap_ms + 5000), 9,
                 "Redis's arithmetic loses one at the wrap");
}

Test(access, can_be_set_to_have_been_idle)
{
    for (uint32_t idle_s = 0; idle_s < 3000; idle_s += 7)
        cr_assert_eq(access_idle_s(access_lru_idle_since(idle_s, NOW_MS), NOW_MS), idle_s);
    cr_assert_eq(access_idle_s(access_lru_idle_since(20, 10000), 10000), 20);
}

Test(access, grows_by_logarithm)
{
    struct rng rng;
    rng_init(&rng, 1);
    uint32_t access = access_lfu_with(ACCESS_LFU_INITIAL, NOW_MS);
    for (int i = 0; i < 100; i++)
        access = access_lfu_used(access, NOW_MS, usual, &rng);
    uint8_t after_hundred = access_lfu_counter(access, NOW_MS, usual);
    cr_assert(after_hundred >= 7 && after_hundred <= 14, "100 uses: %u, Redis's table says 10",
              after_hundred);
    for (int i = 100; i < 100000; i++)
        access = access_lfu_used(access, NOW_MS, usual, &rng);
    uint8_t after_many = access_lfu_counter(access, NOW_MS, usual);
    cr_assert(after_many >= 125 && after_many <= 160, "100,000 uses: %u, Redis's table says 142",
              after_many);
}

Test(access, counts_every_use_at_factor_zero_and_stops_at_255)
{
    struct rng rng;
    rng_init(&rng, 1);
    struct access_lfu_options every = {.log_factor = 0, .decay_minutes = 1};
    uint32_t access = access_lfu_with(0, NOW_MS);
    for (int i = 1; i <= 300; i++) {
        access = access_lfu_used(access, NOW_MS, every, &rng);
        cr_assert_eq(access_lfu_counter(access, NOW_MS, every), i < 255 ? i : 255);
    }
}

Test(access, shrinks_with_time)
{
    uint32_t access = access_lfu_with(100, NOW_MS);
    cr_assert_eq(access_lfu_counter(access, NOW_MS + 30 * MINUTE_MS, usual), 70);
    cr_assert_eq(access_lfu_counter(access, NOW_MS + 500 * MINUTE_MS, usual), 0);
    struct access_lfu_options slow = {.log_factor = 10, .decay_minutes = 10};
    cr_assert_eq(access_lfu_counter(access, NOW_MS + 30 * MINUTE_MS, slow), 97);
    struct access_lfu_options never = {.log_factor = 10, .decay_minutes = 0};
    cr_assert_eq(access_lfu_counter(access, NOW_MS + 30 * MINUTE_MS, never), 100);
}

Test(access, fits_its_24_bits)
{
    cr_assert_eq(access_lfu_with(255, INT64_MAX) >> 24, 0);
    cr_assert_eq(access_lru_now(INT64_MAX) >> 24, 0);
    cr_assert_eq(access_lru_idle_since(UINT32_MAX, NOW_MS) >> 24, 0);
}
