#include "core/base/bytes.h"

#include <criterion/criterion.h>

Test(bytes, are_equal_when_length_and_content_are)
{
    cr_expect(bytes_equal(BYTES("abc"), BYTES("abc")));
    cr_expect_not(bytes_equal(BYTES("abc"), BYTES("abd")));
    cr_expect_not(bytes_equal(BYTES("abc"), BYTES("ab")));
    cr_expect(bytes_equal((struct bytes){NULL, 0}, BYTES("")));
    cr_expect_not(bytes_equal(BYTES("a\0b"), BYTES("a\0c")), "a zero byte ended the comparison");
}

Test(bytes, order_like_memcmp_with_the_shorter_first)
{
    cr_expect_lt(bytes_compare(BYTES("abc"), BYTES("abd")), 0);
    cr_expect_gt(bytes_compare(BYTES("b"), BYTES("abc")), 0);
    cr_expect_lt(bytes_compare(BYTES("ab"), BYTES("abc")), 0);
    cr_expect_gt(bytes_compare(BYTES("abc"), BYTES("ab")), 0);
    cr_expect_eq(bytes_compare(BYTES("abc"), BYTES("abc")), 0);
    cr_expect_eq(bytes_compare((struct bytes){NULL, 0}, BYTES("")), 0);
    cr_expect_gt(bytes_compare(BYTES("\xff"), BYTES("a")), 0, "bytes are not signed");
}

Test(bytes, match_words_in_any_case)
{
    cr_expect(bytes_is(BYTES("gEt"), "get"));
    cr_expect(bytes_is(BYTES("MSET"), "mset"));
    cr_expect_not(bytes_is(BYTES("get"), "gets"));
    cr_expect_not(bytes_is(BYTES("gets"), "get"));
    cr_expect(bytes_equal_nocase(BYTES("A-z_9"), BYTES("a-Z_9")));
    cr_expect_not(bytes_equal_nocase(BYTES("@"), BYTES("`")), "only letters have cases");
    cr_expect_not(bytes_equal_nocase(BYTES("["), BYTES("{")));
    cr_expect_not(bytes_equal_nocase(BYTES("\xc4"), BYTES("\xe4")), "beyond ASCII nothing folds");
}

Test(bytes, know_their_beginning)
{
    cr_expect(bytes_starts_nocase(BYTES("MaxMemory-Policy"), "maxmemory"));
    cr_expect(bytes_starts_nocase(BYTES("x"), ""));
    cr_expect_not(bytes_starts_nocase(BYTES("max"), "maxmemory"));
    cr_expect_not(bytes_starts_nocase(BYTES("mixmemory"), "max"));
}

Test(bytes, are_found_where_they_first_occur)
{
    cr_expect_eq(bytes_find(BYTES("abcabc"), BYTES("bc")), 1);
    cr_expect_eq(bytes_find(BYTES("abcabc"), BYTES("abcabc")), 0);
    cr_expect_eq(bytes_find(BYTES("abc"), BYTES("")), 0);
    cr_expect_eq(bytes_find(BYTES("abc"), BYTES("abcd")), SIZE_MAX);
    cr_expect_eq(bytes_find(BYTES("abc"), BYTES("x")), SIZE_MAX);
    cr_expect_eq(bytes_find(BYTES("a\0b"), BYTES("\0b")), 1);
    cr_expect_eq(bytes_find((struct bytes){NULL, 0}, BYTES("a")), SIZE_MAX);
}
