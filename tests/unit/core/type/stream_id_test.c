#include "core/type/stream_id.h"

#include <criterion/criterion.h>

#include "core/base/bytes.h"

static struct stream_id id(uint64_t ms, uint64_t seq)
{
    return (struct stream_id){ms, seq};
}

Test(stream_id, is_ordered_by_the_millisecond_first)
{
    cr_assert_lt(stream_id_compare(id(1, 9), id(2, 0)), 0);
    cr_assert_gt(stream_id_compare(id(2, 0), id(1, UINT64_MAX)), 0);
    cr_assert_lt(stream_id_compare(id(1, 1), id(1, 2)), 0);
    cr_assert_gt(stream_id_compare(id(1, UINT64_MAX), id(1, 0)), 0);
    cr_assert_eq(stream_id_compare(id(7, 7), id(7, 7)), 0);
    cr_assert(stream_id_is_zero(STREAM_ID_MIN));
    cr_assert_not(stream_id_is_zero(id(0, 1)));
    cr_assert_not(stream_id_is_zero(id(1, 0)));
}

static void expect_neighbours(struct stream_id low, struct stream_id high)
{
    struct stream_id found = {42, 42};
    cr_assert(stream_id_next(low, &found));
    cr_assert_eq(stream_id_compare(found, high), 0);
    cr_assert(stream_id_prev(high, &found));
    cr_assert_eq(stream_id_compare(found, low), 0);
}

Test(stream_id, has_a_neighbour_on_either_side_but_at_the_ends)
{
    expect_neighbours(id(0, 0), id(0, 1));
    expect_neighbours(id(5, UINT64_MAX), id(6, 0));
    expect_neighbours(id(UINT64_MAX, UINT64_MAX - 1), STREAM_ID_MAX);
    struct stream_id untouched = {42, 43};
    cr_assert_not(stream_id_next(STREAM_ID_MAX, &untouched));
    cr_assert_not(stream_id_prev(STREAM_ID_MIN, &untouched));
    cr_assert_eq(stream_id_compare(untouched, id(42, 43)), 0);
}

Test(stream_id, is_written_as_two_numbers)
{
    char text[STREAM_ID_CAP];
    cr_assert(bytes_equal(bytes_of(text, stream_id_write(text, id(0, 0))), BYTES("0-0")));
    cr_assert(bytes_equal(bytes_of(text, stream_id_write(text, id(1526919030474, 55))),
                          BYTES("1526919030474-55")));
    cr_assert(bytes_equal(bytes_of(text, stream_id_write(text, STREAM_ID_MAX)),
                          BYTES("18446744073709551615-18446744073709551615")));
}
