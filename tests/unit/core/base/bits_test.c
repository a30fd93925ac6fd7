#include "core/base/bits.h"

#include <criterion/criterion.h>

Test(bits, know_powers_of_two)
{
    cr_expect_not(bits_is_power_of_two(0));
    cr_expect(bits_is_power_of_two(1));
    cr_expect(bits_is_power_of_two(UINT64_C(1) << 63));
    cr_expect_not(bits_is_power_of_two(UINT64_MAX));
    cr_expect_not(bits_is_power_of_two(6));
}

Test(bits, round_the_logarithm_down)
{
    for (unsigned power = 0; power < 64; power++) {
        cr_expect_eq(bits_log2(UINT64_C(1) << power), power);
        cr_expect_eq(bits_log2((UINT64_C(2) << power) - 1), power);
    }
}

Test(bits, round_up_to_a_power_of_two)
{
    cr_expect_eq(bits_power_of_two_from(0), 1);
    cr_expect_eq(bits_power_of_two_from(1), 1);
    cr_expect_eq(bits_power_of_two_from(2), 2);
    cr_expect_eq(bits_power_of_two_from(3), 4);
    cr_expect_eq(bits_power_of_two_from(1025), 2048);
    cr_expect_eq(bits_power_of_two_from(UINT64_C(1) << 63), UINT64_C(1) << 63);
}

Test(bits, round_up_to_a_multiple)
{
    cr_expect_eq(bits_round_up(0, 8), 0);
    cr_expect_eq(bits_round_up(1, 8), 8);
    cr_expect_eq(bits_round_up(8, 8), 8);
    cr_expect_eq(bits_round_up(4097, 4096), 8192);
}
