/* Bytes and counts that are given here are those of redis-server 7.0.15. */
#include "core/type/hll.h"

#include <criterion/criterion.h>

#include "core/base/rng.h"

#define SPARSE_MAX 3000u

static uint8_t memory[2][HLL_LEN_MAX];

static struct hll_draft empty(uint8_t *bytes)
{
    struct hll_draft draft = {.bytes = bytes, .cap = HLL_LEN_MAX};
    hll_draft_empty(&draft);
    return draft;
}

static struct bytes view(const struct hll_draft *draft)
{
    return bytes_of(draft->bytes, draft->len);
}

static struct bytes sparse_of(const char *runs, size_t len, char *to)
{
    memcpy(to, "HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80", HLL_HEADER_LEN);
    memcpy(to + HLL_HEADER_LEN, runs, len);
    return bytes_of(to, HLL_HEADER_LEN + len);
}

#define SPARSE(runs, to) sparse_of(runs, sizeof(runs) - 1, to)

Test(hll, is_empty_in_eighteen_bytes)
{
    struct hll_draft draft = empty(memory[0]);
    struct bytes expected = BYTES("HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff");
    cr_assert(bytes_equal(view(&draft), expected));
    uint64_t count;
    cr_assert(hll_is_one(view(&draft)) && hll_is_whole(view(&draft)));
    cr_assert(hll_count(view(&draft), &count) && count == 0);
}

Test(hll, writes_the_bytes_that_redis_writes)
{
    struct hll_draft draft = empty(memory[0]);
    const char *const words[] = {"a", "b", "c", "hello world", ""};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        cr_assert(hll_draft_raise(&draft, hll_mark(bytes_from_text(words[i])), SPARSE_MAX));
    hll_drop_cached((char *)draft.bytes);
    struct bytes expected = BYTES(
        "HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80"
        "\x57\x31\x84\x49\xc0\x80\x43\xc1\x8c\x4c\xee\x84\x4b\xfb\x80\x42\x5a");
    cr_assert(bytes_equal(view(&draft), expected));
}

Test(hll, splits_and_joins_runs)
{
    struct hll_draft draft = empty(memory[0]);
    /* Five neighbours: four fit one run. */
    for (uint16_t index = 104; index >= 100; index--)
        cr_assert(hll_draft_raise(&draft, (struct hll_mark){index, 3}, SPARSE_MAX));
    cr_assert_not(hll_draft_raise(&draft, (struct hll_mark){102, 3}, SPARSE_MAX));
    uint32_t sum = 0, values = 0;
    struct hll_run run;
    for (size_t at = HLL_HEADER_LEN; at < draft.len; at += run.len) {
        cr_assert(hll_run_at(view(&draft), at, &run));
        sum += run.count;
        values += run.value != 0;
    }
    cr_assert_eq(sum, HLL_REGISTERS);
    cr_assert_eq(values, 2);
    cr_assert_eq(draft.len, HLL_HEADER_LEN + 6u);
    /* One in the middle of four is raised: three runs. */
    cr_assert(hll_draft_raise(&draft, (struct hll_mark){102, 32}, SPARSE_MAX));
    for (uint32_t index = 0; index < HLL_REGISTERS; index++)
        cr_assert_eq(hll_get(view(&draft), index), index == 102                   ? 32
                                                   : index >= 100 && index <= 104 ? 3
                                                                                  : 0);
}

/* Both encodings against an array, through all that the sparse one has to do. */
Test(hll, keeps_the_highest_rank_of_every_register_in_both_encodings)
{
    struct rng rng;
    rng_init(&rng, 1);
    static uint8_t expected[HLL_REGISTERS];
    struct hll_draft sparse = empty(memory[0]), dense = empty(memory[1]);
    hll_draft_make_dense(&dense);
    for (int round = 0; round < 60000; round++) {
        struct hll_mark mark = {.index = (uint16_t)rng_below(&rng, HLL_REGISTERS),
                                .rank = (uint8_t)(1 + rng_below(&rng, 1 + rng_below(&rng, 32)))};
        bool is_higher = mark.rank > expected[mark.index];
        if (is_higher)
            expected[mark.index] = mark.rank;
        cr_assert_eq(hll_draft_raise(&sparse, mark, HLL_LEN_MAX), is_higher);
        cr_assert_eq(hll_draft_raise(&dense, mark, 0), is_higher);
        if (round % 500 == 0)
            cr_assert(hll_is_whole(view(&sparse)));
    }
    cr_assert_not(hll_is_dense(view(&sparse)));
    for (uint32_t index = 0; index < HLL_REGISTERS; index++) {
        cr_assert_eq(hll_get(view(&sparse), index), expected[index]);
        cr_assert_eq(hll_get(view(&dense), index), expected[index]);
    }
    static uint8_t of_sparse[HLL_REGISTERS], of_dense[HLL_REGISTERS];
    cr_assert(hll_merge(view(&sparse), of_sparse) && hll_merge(view(&dense), of_dense));
    cr_assert_arr_eq(of_sparse, expected, HLL_REGISTERS);
    cr_assert_arr_eq(of_dense, expected, HLL_REGISTERS);
    uint64_t counts[2];
    cr_assert(hll_count(view(&sparse), &counts[0]) && hll_count(view(&dense), &counts[1]));
    cr_assert_eq(counts[0], counts[1]);
    cr_assert_eq(counts[0], hll_count_registers(expected));
}

Test(hll, becomes_dense_when_it_gets_too_long)
{
    struct hll_draft draft = empty(memory[0]);
    for (uint16_t index = 0; !hll_is_dense(view(&draft)); index += 2) {
        cr_assert_leq(draft.len, 60u);
        cr_assert(hll_draft_raise(&draft, (struct hll_mark){index, 5}, 60));
    }
    cr_assert_eq(draft.len, HLL_DENSE_LEN);
    cr_assert_eq(hll_get(view(&draft), 0), 5);
}

Test(hll, becomes_dense_for_a_rank_beyond_thirty_two)
{
    struct hll_draft draft = empty(memory[0]);
    cr_assert(hll_draft_raise(&draft, (struct hll_mark){HLL_REGISTERS - 1, 51}, SPARSE_MAX));
    cr_assert(hll_is_dense(view(&draft)));
    cr_assert_eq(hll_get(view(&draft), HLL_REGISTERS - 1), 51);
    cr_assert_eq(hll_get(view(&draft), HLL_REGISTERS - 2), 0);
}

Test(hll, counts_to_within_three_percent)
{
    struct hll_draft draft = empty(memory[0]);
    for (uint64_t element = 1, checkpoint = 10; element <= 1000000; element++) {
        (void)hll_draft_raise(&draft, hll_mark(bytes_of(&element, sizeof element)), SPARSE_MAX);
        if (element != checkpoint)
            continue;
        uint64_t count;
        cr_assert(hll_count(view(&draft), &count));
        cr_assert_lt(count * 100, element * 103);
        cr_assert_gt(count * 100, element * 97);
        checkpoint *= 10;
    }
}

Test(hll, keeps_a_count_until_it_is_dropped)
{
    struct hll_draft draft = empty(memory[0]);
    uint64_t count;
    hll_put_cached((char *)draft.bytes, 0x123456789a);
    cr_assert(hll_find_cached(view(&draft), &count) && count == 0x123456789a);
    hll_drop_cached((char *)draft.bytes);
    cr_assert_not(hll_find_cached(view(&draft), &count));
}

Test(hll, does_not_take_other_strings_for_one)
{
    static char dense[HLL_DENSE_LEN + 1] = "HYLL";
    cr_assert(hll_is_one(bytes_of(dense, HLL_DENSE_LEN)));
    cr_assert_not(hll_is_one(bytes_of(dense, HLL_DENSE_LEN - 1)));
    cr_assert_not(hll_is_one(bytes_of(dense, HLL_DENSE_LEN + 1)));
    cr_assert_not(hll_is_one(BYTES("")));
    cr_assert_not(hll_is_one(BYTES("HYLL\x01\0\0\0\0\0\0\0\0\0\0")));
    cr_assert_not(hll_is_one(BYTES("HYLX\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff")));
    cr_assert_not(hll_is_one(BYTES("HYLL\x02\0\0\0\0\0\0\0\0\0\0\0\x7f\xff")));
}

static void check_damaged(struct bytes text)
{
    static uint8_t registers[HLL_REGISTERS];
    uint64_t count;
    cr_assert(hll_is_one(text));
    cr_assert_not(hll_is_whole(text));
    cr_assert_not(hll_count(text, &count));
    cr_assert_not(hll_merge(text, registers));
}

Test(hll, refuses_runs_that_do_not_cover_exactly_all_registers)
{
    char to[64];
    check_damaged(SPARSE("", to));
    check_damaged(SPARSE("\x7f\xfe", to));                 /* one too few */
    check_damaged(SPARSE("\x7f\xff\x00", to));             /* one too many: zeros */
    check_damaged(SPARSE("\x7f\xff\x80", to));             /* a value */
    check_damaged(SPARSE("\x7f\xfe\x81", to));             /* half a run too many */
    check_damaged(SPARSE("\x7f", to));                     /* cut off */
    check_damaged(SPARSE("\x7f\xff\x7f\xff\x7f\xff", to)); /* would wrap round in 16 bits */
    check_damaged(SPARSE("\x80\x7f\xff\x7f\xff\x7f\xff\x7f\xff\x7f\xff\x7f\xff\x80", to));
    cr_assert_eq(hll_get(SPARSE("\x7f\xfe", to), HLL_REGISTERS - 1), -1);
    cr_assert_eq(hll_get(SPARSE("\x7f", to), 0), -1);
}
