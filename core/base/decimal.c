/*
 * decimal: Grisu2, from Florian Loitsch, "Printing floating-point numbers quickly and accurately
 * with integers" (PLDI 2010).
 *
 * Every real number between the middles towards the two neighbouring doubles reads back as `value`.
 * The value and the two ends of that interval are scaled by a power of ten from a table, so that
 * the upper end has its binary point between bits 32 and 60; then the upper end's digits are
 * written until what is left of it is smaller than the interval: any rest would do. The last digit
 * is then lowered while that brings it nearer to the value. Because the table and the products are
 * rounded to 64 bits, the interval is taken one unit narrower at either end, which is why at times
 * a digit too many is found, and never one too few.
 *
 * Which digits those are depends on the choice of the power, so that is fixed too: the smallest one
 * of the table that gets the point where it should be.
 */
#include "core/base/decimal.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/base/check.h"
#include "core/base/num.h"

#define FRACTION_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << FRACTION_BITS)
#define EXPONENT_BIAS 1075 /* of the fraction as a whole number */
#define SCALED_EXPONENT_MIN (-60)
#define POWER_FIRST (-348) /* the table holds each eighth power of ten from here on */
#define POWER_STEP 8
#define POWER_COUNT 87

/* A number fraction * 2^exponent. */
struct binary {
    uint64_t fraction;
    int exponent;
};

/* 10^(POWER_FIRST + POWER_STEP * i) = powers[i] * 2^power_exponent(i), rounded to nearest. */
// clang-format off
static const uint64_t powers[POWER_COUNT] = {
    0xfa8fd5a0081c0288, 0xbaaee17fa23ebf76, 0x8b16fb203055ac76, 0xcf42894a5dce35ea,
    0x9a6bb0aa55653b2d, 0xe61acf033d1a45df, 0xab70fe17c79ac6ca, 0xff77b1fcbebcdc4f,
    0xbe5691ef416bd60c, 0x8dd01fad907ffc3c, 0xd3515c2831559a83, 0x9d71ac8fada6c9b5,
    0xea9c227723ee8bcb, 0xaecc49914078536d, 0x823c12795db6ce57, 0xc21094364dfb5637,
    0x9096ea6f3848984f, 0xd77485cb25823ac7, 0xa086cfcd97bf97f4, 0xef340a98172aace5,
    0xb23867fb2a35b28e, 0x84c8d4dfd2c63f3b, 0xc5dd44271ad3cdba, 0x936b9fcebb25c996,
    0xdbac6c247d62a584, 0xa3ab66580d5fdaf6, 0xf3e2f893dec3f126, 0xb5b5ada8aaff80b8,
    0x87625f056c7c4a8b, 0xc9bcff6034c13053, 0x964e858c91ba2655, 0xdff9772470297ebd,
    0xa6dfbd9fb8e5b88f, 0xf8a95fcf88747d94, 0xb94470938fa89bcf, 0x8a08f0f8bf0f156b,
    0xcdb02555653131b6, 0x993fe2c6d07b7fac, 0xe45c10c42a2b3b06, 0xaa242499697392d3,
    0xfd87b5f28300ca0e, 0xbce5086492111aeb, 0x8cbccc096f5088cc, 0xd1b71758e219652c,
    0x9c40000000000000, 0xe8d4a51000000000, 0xad78ebc5ac620000, 0x813f3978f8940984,
    0xc097ce7bc90715b3, 0x8f7e32ce7bea5c70, 0xd5d238a4abe98068, 0x9f4f2726179a2245,
    0xed63a231d4c4fb27, 0xb0de65388cc8ada8, 0x83c7088e1aab65db, 0xc45d1df942711d9a,
    0x924d692ca61be758, 0xda01ee641a708dea, 0xa26da3999aef774a, 0xf209787bb47d6b85,
    0xb454e4a179dd1877, 0x865b86925b9bc5c2, 0xc83553c5c8965d3d, 0x952ab45cfa97a0b3,
    0xde469fbd99a05fe3, 0xa59bc234db398c25, 0xf6c69a72a3989f5c, 0xb7dcbf5354e9bece,
    0x88fcf317f22241e2, 0xcc20ce9bd35c78a5, 0x98165af37b2153df, 0xe2a0b5dc971f303a,
    0xa8d9d1535ce3b396, 0xfb9b7cd9a4a7443c, 0xbb764c4ca7a44410, 0x8bab8eefb6409c1a,
    0xd01fef10a657842c, 0x9b10a4e5e9913129, 0xe7109bfba19c0c9d, 0xac2820d9623bf429,
    0x80444b5e7aa7cf85, 0xbf21e44003acdd2d, 0x8e679c2f5e44ff8f, 0xd433179d9c8cb841,
    0x9e19db92b4e31ba9, 0xeb96bf6ebadf77d9, 0xaf87023b9bf0ee6b,
};
// clang-format on

/* The whole part of k * log2(10), by a fraction that is close enough for all k of the table, minus
 * the 63 bits below the highest. */
static int power_exponent(int index)
{
    return ((POWER_FIRST + POWER_STEP * index) * 217706 >> 16) - 63;
}

static struct binary multiply(struct binary a, struct binary b)
{
    unsigned __int128 product = (unsigned __int128)a.fraction * b.fraction;
    product += UINT64_C(1) << 63; /* to nearest */
    return (struct binary){(uint64_t)(product >> 64), a.exponent + b.exponent + 64};
}

/* Shifts the highest bit to the top. */
static struct binary normalize(struct binary a)
{
    int shift = __builtin_clzll(a.fraction);
    return (struct binary){a.fraction << shift, a.exponent - shift};
}

static struct binary from_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t fraction = bits & (HIDDEN_BIT - 1);
    int exponent = (int)(bits >> FRACTION_BITS); /* the sign is plus */
    if (exponent == 0)
        return (struct binary){fraction, 1 - EXPONENT_BIAS};
    return (struct binary){fraction | HIDDEN_BIT, exponent - EXPONENT_BIAS};
}

/* The index of the smallest power that lifts `exponent` to SCALED_EXPONENT_MIN or more. */
static int choose_power(int exponent)
{
    int index = (SCALED_EXPONENT_MIN - 1 - exponent) * 10 / 266 + 42; /* near, and not above */
    if (index < 0)
        index = 0;
    while (exponent + power_exponent(index) + 64 < SCALED_EXPONENT_MIN)
        index++;
    ASSERT(index < POWER_COUNT);
    return index;
}

/* Lowers the last digit while `rest`, the distance of what is written from the upper end, gets
 * nearer to `goal`, that of the value, and stays within `room`. */
static void approach(char *last, uint64_t rest, uint64_t goal, uint64_t room, uint64_t unit)
{
    while (rest < goal && room - rest >= unit &&
           (rest + unit < goal || goal - rest > rest + unit - goal)) {
        (*last)--;
        rest += unit;
    }
}

/* Digits of `upper`, which has its point `point` bits from below. */
static int generate(uint64_t upper, int point, uint64_t goal, uint64_t room, char *digits,
                    int *exponent)
{
    uint64_t one = UINT64_C(1) << point;
    uint64_t whole = upper >> point;
    uint64_t part = upper & (one - 1);
    int len = 0;

    uint64_t unit = 1;
    int left = (int)num_digits(whole);
    for (int i = 1; i < left; i++)
        unit *= 10;
    for (; left > 0; unit /= 10) {
        digits[len++] = (char)('0' + whole / unit);
        whole %= unit;
        left--;
        uint64_t rest = (whole << point) + part;
        if (rest <= room) {
            *exponent += left;
            approach(&digits[len - 1], rest, goal, room, unit << point);
            return len;
        }
    }
    for (;;) {
        part *= 10;
        room *= 10;
        goal *= 10;
        left--;
        digits[len++] = (char)('0' + (part >> point));
        part &= one - 1;
        if (part < room) {
            *exponent += left;
            approach(&digits[len - 1], part, goal, room, one);
            return len;
        }
    }
}

int decimal_digits(double value, char digits[DECIMAL_DIGITS_MAX], int *out_exponent)
{
    ASSERT(value > 0);
    ASSERT(isfinite(value));

    struct binary exact = from_double(value);
    struct binary upper = normalize((struct binary){2 * exact.fraction + 1, exact.exponent - 1});
    /* Below a power of two the neighbour is only half as far. */
    int closer = exact.fraction == HIDDEN_BIT ? 2 : 1;
    struct binary lower = {(exact.fraction << closer) - 1, exact.exponent - closer};
    lower.fraction <<= lower.exponent - upper.exponent;
    lower.exponent = upper.exponent;

    int index = choose_power(upper.exponent);
    struct binary power = {powers[index], power_exponent(index)};
    exact = multiply(normalize(exact), power);
    upper = multiply(upper, power);
    lower = multiply(lower, power);
    upper.fraction--;
    lower.fraction++;

    *out_exponent = -(POWER_FIRST + POWER_STEP * index);
    return generate(upper.fraction, -upper.exponent, upper.fraction - exact.fraction,
                    upper.fraction - lower.fraction, digits, out_exponent);
}
