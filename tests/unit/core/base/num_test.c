#include "core/base/num.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/rng.h"

static struct bytes printed_int(int64_t value)
{
    static char text[NUM_INT_CAP];
    return bytes_of(text, num_from_int(text, value));
}

static struct bytes printed_double(double value)
{
    static char text[NUM_DOUBLE_CAP];
    return bytes_of(text, num_from_double(text, value));
}

static struct bytes printed_long_double(long double value)
{
    static char text[NUM_LONG_DOUBLE_CAP];
    return bytes_of(text, num_from_long_double(text, value));
}

static void expect_text(struct bytes got, const char *expected)
{
    cr_expect(bytes_equal(got, bytes_from_text(expected)), "%.*s instead of %s", (int)got.len,
              got.ptr, expected);
}

Test(num, prints_integers_of_every_length_like_printf)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < 200000; i++) {
        int64_t value = (int64_t)rng_next(&rng) >> rng_below(&rng, 64);
        char expected[32];
        snprintf(expected, sizeof(expected), "%lld", (long long)value);
        cr_assert(bytes_equal(printed_int(value), bytes_from_text(expected)));
    }
}

Test(num, prints_the_integers_at_every_border)
{
    expect_text(printed_int(0), "0");
    expect_text(printed_int(INT64_MAX), "9223372036854775807");
    expect_text(printed_int(INT64_MIN), "-9223372036854775808");

    char text[NUM_INT_CAP];
    expect_text(bytes_of(text, num_from_uint(text, UINT64_MAX)), "18446744073709551615");
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= 19; digits++, power *= 10) {
        cr_expect_eq(num_digits(power), digits);
        cr_expect_eq(num_digits(power * 10 - 1), digits);
    }
    cr_expect_eq(num_digits(0), 1);
    cr_expect_eq(num_digits(UINT64_MAX), 20);
}

Test(num, reads_back_every_integer_that_it_prints)
{
    struct rng rng;
    rng_init(&rng, 2);
    for (int i = 0; i < 200000; i++) {
        int64_t value = (int64_t)rng_next(&rng) >> rng_below(&rng, 64);
        int64_t back;
        cr_assert(num_to_int(printed_int(value), &back));
        cr_assert_eq(back, value);
    }
    int64_t back;
    cr_expect(num_to_int(BYTES("-9223372036854775808"), &back) && back == INT64_MIN);
}

Test(num, reads_no_integer_that_it_would_not_print)
{
    static const char *const refused[] = {
        "",
        "-",
        "+1",
        "01",
        "-0",
        "-01",
        " 1",
        "1 ",
        "1.0",
        "1e3",
        "0x10",
        "--1",
        "1-",
        "abc",
        "1a2",
        "/",
        ":",
        "9223372036854775808",   /* one too many */
        "-9223372036854775809",  /* one too few */
        "18446744073709551616",  /* wraps to 0 */
        "100000000000000000000", /* 21 digits */
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        int64_t value = 77;
        cr_expect_not(num_to_int(bytes_from_text(refused[i]), &value), "took '%s'", refused[i]);
        cr_expect_eq(value, 77, "touched the output on failure");
    }
    int64_t value;
    cr_expect_not(num_to_int(bytes_of("1\0002", 3), &value), "a zero byte ended the number");
}

Test(num, reads_unsigned_integers_to_the_last_one)
{
    uint64_t value;
    cr_expect(num_to_uint(BYTES("18446744073709551615"), &value) && value == UINT64_MAX);
    cr_expect_not(num_to_uint(BYTES("18446744073709551616"), &value));
    cr_expect_not(num_to_uint(BYTES("99999999999999999999"), &value));
    cr_expect_not(num_to_uint(BYTES("-1"), &value));
}

/* The first column is given to ZADD, the second is what ZSCORE answers in Redis 7.2. */
static const struct {
    double value;
    const char *text;
} doubles[] = {
    {0.1, "0.1"},
    {3.14, "3.14"},
    {100.5, "100.5"},
    {-1.5, "-1.5"},
    {-100, "-100"},
    {1.0 / 3, "0.3333333333333333"},
    {1e17, "100000000000000000"},
    {4.6e18, "4600000000000000000"},
    {4611686018427387904.0, "4611686018427387904"}, /* the last that is printed as an integer */
    {4611686018427388928.0, "4611686018427389000"},
    {1e19, "1e+19"},
    {1.5e19, "1.5e+19"},
    {1e300, "1e+300"},
    {1.7976931348623157e308, "1.7976931348623157e+308"},
    {0.000001, "0.000001"},
    {0.0000001, "1e-7"},
    {0.000123, "0.000123"},
    {0.0000123, "1.23e-5"},
    {0.001234567, "0.001234567"},
    {0.0001234567, "1.234567e-4"},
    {1234.1234567, "1234.1234567"},
    {12345.1234567, "1.23451234567e+4"}, /* seven decimals, first digit four places off */
    {5e-324, "5e-324"},
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {0x1p-44, "5.684341886080802e-14"},         /* the lower neighbour is only half as far */
    {4664.9000000000005, "4664.9000000000005"}, /* 4664.900000000001 would do */
    {2.5e22, "24999999999999998000000"},        /* and here 2.5e+22 */
    {-2.6087195403623392e-15, "-2.6087195403623392e-15"},
};

Test(num, prints_doubles_as_redis_does)
{
    for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++)
        expect_text(printed_double(doubles[i].value), doubles[i].text);
    expect_text(printed_double(0.0), "0");
    expect_text(printed_double(-0.0), "-0");
    expect_text(printed_double(INFINITY), "inf");
    expect_text(printed_double(-INFINITY), "-inf");
    expect_text(printed_double(NAN), "nan");
    expect_text(printed_double(-NAN), "nan");
}

Test(num, reads_back_every_double_that_it_prints)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = rng_next(&rng);
        double value;
        if (i % 2)
            memcpy(&value, &bits, sizeof(value));
        else
            value = (double)(int64_t)(bits >> 20) / 1e4;
        if (!isfinite(value))
            continue;
        double back;
        cr_assert(num_to_double(printed_double(value), &back));
        cr_assert_eq(back, value, "%.17g", value);
    }
}

Test(num, reads_doubles_as_strtod_does)
{
    struct rng rng;
    rng_init(&rng, 4);
    for (int i = 0; i < 100000; i++) {
        char text[40];
        int decimals = (int)rng_below(&rng, 18);
        int len = snprintf(text, sizeof(text), "%.*f", decimals, rng_double(&rng) * 1e6 - 5e5);
        double value;
        cr_assert(num_to_double(bytes_of(text, (size_t)len), &value));
        cr_assert_eq(value, strtod(text, NULL), "%s", text);
    }
}

/* As ZADD and INCRBYFLOAT of redis-server 7.0.15 take or refuse them. */
static const struct {
    const char *text;
    bool is_double;
    bool is_long_double;
} readings[] = {
    {"", false, false},        {" 1", false, false},      {"1 ", false, false},
    {"\t1", false, false},     {"nan", false, false},     {"nan(1)", false, false},
    {"inf", true, true},       {"-inf", true, true},      {"INF", true, true},
    {"Infinity", true, true},  {"infinit", false, false}, {"0x10", true, true},
    {"0x", false, false},      {"-0x1.8p1", true, true},  {"1e", false, false},
    {"1e5", true, true},       {".5", true, true},        {"5.", true, true},
    {".", false, false},       {"-", false, false},       {"-.", false, false},
    {"+1", true, true},        {"--1", false, false},     {"1_0", false, false},
    {"1e400", false, true},    {"1e5000", false, false},  {"1e-400", false, true},
    {"1e-5000", false, false}, {"1e-320", true, true},    {"1..5", false, false},
    {"-0", true, true},        {"1,5", false, false},
};

Test(num, takes_and_refuses_floats_as_redis_does)
{
    for (size_t i = 0; i < sizeof(readings) / sizeof(*readings); i++) {
        double value = 77;
        long double long_value = 77;
        struct bytes text = bytes_from_text(readings[i].text);
        cr_expect_eq(num_to_double(text, &value), readings[i].is_double, "'%s'", readings[i].text);
        cr_expect_eq(num_to_long_double(text, &long_value), readings[i].is_long_double, "'%s'",
                     readings[i].text);
        cr_expect(readings[i].is_double || value == 77, "touched the output on failure");
        cr_expect(readings[i].is_long_double || long_value == 77);
    }
    double value;
    cr_expect_not(num_to_double(bytes_of("1\0", 2), &value), "a zero byte ended the number");
}

Test(num, reads_a_double_of_any_length_and_a_long_double_below_5120_bytes)
{
    static char text[6000];
    memset(text, '0', sizeof(text));
    text[sizeof(text) - 1] = '7';
    double value;
    cr_expect(num_to_double(bytes_of(text, sizeof(text)), &value));
    cr_expect_eq(value, 7);

    long double long_value;
    cr_expect_not(num_to_long_double(bytes_of(text + 880, 5120), &long_value));
    cr_expect(num_to_long_double(bytes_of(text + 881, 5119), &long_value));
    cr_expect(long_value == 7);
}

/* Value and increment given to INCRBYFLOAT of redis-server 7.0.15, and its answer. */
static const struct {
    const char *value, *increment, *sum;
} sums[] = {
    {"10.50", "0.1", "10.6"},
    {"5.0e3", "2.0e2", "5200"},
    {"3", "1.000000000000000005", "4.00000000000000001"},
    {"0", "-0", "0"},
    {"1", "-1.0", "0"},
    {"-1", "0.5", "-0.5"},
    {"0", "1e17", "100000000000000000"},
    {"0", "3.3e-5", "0.000033"},
    {"0", "1e-17", "0.00000000000000001"},
    {"0", "1e-18", "0"},
    {"0", "-1e-18", "0"},
    {"0", "0x1p-3", "0.125"},
    {"17179869184", "0.3", "17179869184.30000000074505806"},
    {"9223372036854775807", "1", "9223372036854775808"},
    {"0", "123456789012345678901234567890", "123456789012345678899921813504"},
    {"1.5", "1.5", "3"},
};

Test(num, adds_up_floats_as_incrbyfloat_does)
{
    for (size_t i = 0; i < sizeof(sums) / sizeof(*sums); i++) {
        long double value, increment;
        cr_assert(num_to_long_double(bytes_from_text(sums[i].value), &value));
        cr_assert(num_to_long_double(bytes_from_text(sums[i].increment), &increment));
        expect_text(printed_long_double(value + increment), sums[i].sum);
    }
    expect_text(printed_long_double(INFINITY), "inf");
    expect_text(printed_long_double(-INFINITY), "-inf");
}

Test(num, prints_the_largest_long_double_within_its_cap)
{
    long double largest;
    cr_assert(num_to_long_double(BYTES("-1.1897e4932"), &largest));
    cr_expect_eq(printed_long_double(largest).len, 4934);
}
