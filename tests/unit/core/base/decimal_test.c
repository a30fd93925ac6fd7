#include "core/base/decimal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"

static double read_back(const char *digits, int len, int exponent)
{
    char text[64];
    snprintf(text, sizeof(text), "%.*se%d", len, digits, exponent);
    return strtod(text, NULL);
}

static void expect_digits(double value, const char *expected, int expected_exponent)
{
    char digits[DECIMAL_DIGITS_MAX];
    int exponent;
    int len = decimal_digits(value, digits, &exponent);
    cr_expect(len == (int)strlen(expected) && memcmp(digits, expected, (size_t)len) == 0,
              "%.*s instead of %s", len, digits, expected);
    cr_expect_eq(exponent, expected_exponent);
}

Test(decimal, finds_few_digits)
{
    expect_digits(1, "1", 0);
    expect_digits(0.1, "1", -1);
    expect_digits(120, "12", 1);
    expect_digits(3.14, "314", -2);
    expect_digits(1e22, "1", 22);
    expect_digits(1e23, "9999999999999999", 7); /* the worst case: one digit would do */
    expect_digits(5e-324, "5", -324);
    expect_digits(1.7976931348623157e308, "17976931348623157", 292);
}

Test(decimal, reads_back_at_every_power_of_two_and_beside_it)
{
    for (int power = -1074; power <= 1023; power++) {
        double middle = ldexp(1, power);
        double values[] = {nextafter(middle, 0), middle, nextafter(middle, INFINITY)};
        for (int i = 0; i < 3; i++) {
            if (values[i] == 0 || isinf(values[i]))
                continue;
            char digits[DECIMAL_DIGITS_MAX];
            int exponent;
            int len = decimal_digits(values[i], digits, &exponent);
            cr_assert_eq(read_back(digits, len, exponent), values[i], "%a", values[i]);
            cr_assert_leq(len, 17);
        }
    }
}

Test(decimal, is_seldom_longer_than_need_be)
{
    struct rng rng;
    rng_init(&rng, 5);
    int longer = 0;
    for (int i = 0; i < 20000; i++) {
        double value = rng_double(&rng) + 1e-9;
        char digits[DECIMAL_DIGITS_MAX];
        int exponent;
        int len = decimal_digits(value, digits, &exponent);
        char shorter[40];
        snprintf(shorter, sizeof(shorter), "%.*e", len - 2, value);
        longer += strtod(shorter, NULL) == value;
    }
    cr_expect_lt(longer, 200, "%d of 20000 had a digit too many", longer);
}
