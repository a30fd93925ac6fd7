#include "core/base/fingerprint.h"

#include <criterion/criterion.h>

Test(fingerprint, depends_on_every_byte_and_on_the_length)
{
    fingerprint_seed(1);
    uint64_t first = fingerprint(BYTES("name"));
    cr_assert_eq(first, fingerprint(BYTES("name")));
    cr_assert_neq(first, fingerprint(BYTES("namf")));
    cr_assert_neq(first, fingerprint(BYTES("name\0")));
    cr_assert_eq(fingerprint(bytes_of(NULL, 0)), fingerprint(BYTES("")));
}

Test(fingerprint, changes_with_the_secret)
{
    fingerprint_seed(1);
    uint64_t first = fingerprint(BYTES("name"));
    fingerprint_seed(2);
    cr_assert_neq(first, fingerprint(BYTES("name")));
    fingerprint_seed(0);
    cr_assert_neq(first, fingerprint(BYTES("name")), "chance drew the seed 1");
    fingerprint_seed(1);
    cr_assert_eq(first, fingerprint(BYTES("name")));
}
