/*
 * num: integers by pairs of digits from a table. Doubles are read by one exact division where that
 * is exact, else by the C library, and written with the digits that decimal.h finds.
 *
 * The C library's functions obey the locale; nothing here ever calls setlocale(), so it is "C".
 */
#include "core/base/num.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/decimal.h"
#include "core/base/mem.h"

#define EXACT_POWER_MAX 22 /* 10^22 is the largest exact power in a double */
#define MANTISSA_BOUND (UINT64_C(1) << 53)
#define TEXT_ON_STACK 128u              /* bytes of a number's text that need no allocation */
#define LONG_DOUBLE_TEXT_MAX (5 * 1024) /* bytes; Redis reads no longer ones */
#define PLAIN_ZEROS_MAX 7               /* zeros at the end that are written out */
#define PLAIN_DECIMALS_MAX 6            /* decimals that are written out at any size */

static const char digit_pairs[] = "0001020304050607080910111213141516171819"
                                  "2021222324252627282930313233343536373839"
                                  "4041424344454647484950515253545556575859"
                                  "6061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

static const uint64_t powers_of_ten[20] = {
    0, /* so that num_digits(0) is 1 */
    10,
    100,
    1000,
    10000,
    100000,
    1000000,
    10000000,
    100000000,
    1000000000,
    10000000000,
    100000000000,
    1000000000000,
    10000000000000,
    100000000000000,
    1000000000000000,
    10000000000000000,
    100000000000000000,
    1000000000000000000,
    10000000000000000000u,
};

static const double exact_powers[EXACT_POWER_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

unsigned num_digits(uint64_t value)
{
    /* log10(2) is close to 1233 / 4096: right, or one too small. */
    unsigned bits = 64 - (unsigned)__builtin_clzll(value | 1);
    unsigned guess = bits * 1233 >> 12;
    return guess + (value >= powers_of_ten[guess]);
}

size_t num_from_uint(char *to, uint64_t value)
{
    if (value < 10) {
        *to = (char)('0' + value);
        return 1;
    }
    unsigned len = num_digits(value);
    char *end = to + len;
    while (value >= 100) {
        end -= 2;
        memcpy(end, digit_pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(end - 2, digit_pairs + value * 2, 2);
    else
        end[-1] = (char)('0' + value);
    return len;
}

size_t num_from_int(char *to, int64_t value)
{
    if (value >= 0)
        return num_from_uint(to, (uint64_t)value);
    *to = '-';
    return 1 + num_from_uint(to + 1, -(uint64_t)value);
}

bool num_to_uint(struct bytes text, uint64_t *out)
{
    if (text.len == 0 || text.len > NUM_INT_CAP)
        return false;
    if (text.ptr[0] == '0') {
        if (text.len != 1)
            return false;
        *out = 0;
        return true;
    }

    /* 19 digits cannot overflow; the twentieth is checked. */
    uint64_t value = 0;
    size_t free_len = text.len < NUM_INT_CAP ? text.len : NUM_INT_CAP - 1;
    for (size_t i = 0; i < free_len; i++) {
        unsigned digit = (unsigned char)text.ptr[i] - (unsigned)'0';
        if (digit > 9)
            return false;
        value = value * 10 + digit;
    }
    if (free_len < text.len) {
        unsigned digit = (unsigned char)text.ptr[free_len] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *out = value;
    return true;
}

bool num_to_int(struct bytes text, int64_t *out)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    uint64_t magnitude;
    if (!num_to_uint(bytes_of(text.ptr + negative, text.len - negative), &magnitude))
        return false;
    if (negative) {
        if (magnitude == 0 || magnitude > (uint64_t)INT64_MAX + 1)
            return false;
        *out = (int64_t)-magnitude;
        return true;
    }
    if (magnitude > INT64_MAX)
        return false;
    *out = (int64_t)magnitude;
    return true;
}

/* Digits with at most one point among them, few enough that one exact division gives the result
 * that strtod() would. False: not of that kind, which says nothing about whether it is a number. */
static bool read_exactly(struct bytes text, double *out)
{
    size_t i = text.len > 0 && text.ptr[0] == '-';
    if (text.len - i == 0 || text.len - i > 17)
        return false;
    uint64_t mantissa = 0;
    unsigned digits = 0;
    unsigned decimals = 0;
    bool after_point = false;
    for (size_t at = i; at < text.len; at++) {
        unsigned digit = (unsigned char)text.ptr[at] - (unsigned)'0';
        if (digit <= 9) {
            mantissa = mantissa * 10 + digit;
            digits++;
            decimals += after_point;
        } else if (text.ptr[at] == '.' && !after_point) {
            after_point = true;
        } else {
            return false;
        }
    }
    if (digits == 0 || mantissa >= MANTISSA_BOUND)
        return false;
    double value = (double)mantissa / exact_powers[decimals];
    *out = i ? -value : value;
    return true;
}

static bool starts_with_space(struct bytes text)
{
    return text.ptr[0] == ' ' || (text.ptr[0] >= '\t' && text.ptr[0] <= '\r');
}

/* strto*() want a terminator and know nothing of lengths. */
static char *terminate(struct bytes text, char stack[TEXT_ON_STACK])
{
    char *copy = text.len < TEXT_ON_STACK ? stack : mem_try_alloc(text.len + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

bool num_to_double(struct bytes text, double *out)
{
    if (read_exactly(text, out))
        return true;
    if (text.len == 0 || starts_with_space(text))
        return false;

    char stack[TEXT_ON_STACK];
    char *copy = terminate(text, stack);
    if (!copy)
        return false;
    char *end;
    errno = 0;
    double value = strtod(copy, &end);
    bool good = (size_t)(end - copy) == text.len && !isnan(value) &&
                !(errno == ERANGE && (isinf(value) || value == 0));
    if (copy != stack)
        mem_free(copy);
    if (good)
        *out = value;
    return good;
}

bool num_to_long_double(struct bytes text, long double *out)
{
    if (text.len == 0 || text.len >= LONG_DOUBLE_TEXT_MAX || starts_with_space(text))
        return false;

    char stack[TEXT_ON_STACK];
    char *copy = terminate(text, stack);
    if (!copy)
        return false;
    char *end;
    errno = 0;
    long double value = strtold(copy, &end);
    bool good = (size_t)(end - copy) == text.len && !isnan(value) &&
                !(errno == ERANGE && (isinf(value) || value == 0));
    if (copy != stack)
        mem_free(copy);
    if (good)
        *out = value;
    return good;
}

static size_t put_word(char *to, const char *word)
{
    size_t len = strlen(word);
    memcpy(to, word, len);
    return len;
}

/* Lays out `digits` (`len` of them, no zero at the end) as 0.d1d2d3... * 10^point, with an exponent
 * where Redis prints one: after more than PLAIN_ZEROS_MAX zeros at the end, or when there are more
 * than PLAIN_DECIMALS_MAX decimals and the first digit is further than three places from the point.
 */
static size_t lay_out(char *to, const char *digits, int len, int point)
{
    char *at = to;
    int decimals = len - point;
    int exponent = point - 1;                            /* of the first digit */
    if (decimals <= 0 && -decimals <= PLAIN_ZEROS_MAX) { /* 12300 */
        at = mempcpy(at, digits, (size_t)len);
        memset(at, '0', (size_t)-decimals);
        return (size_t)(at - to) + (size_t)-decimals;
    }
    if (decimals > 0 && (decimals <= PLAIN_DECIMALS_MAX || abs(exponent) < 4)) {
        if (point > 0) { /* 1.23 */
            at = mempcpy(at, digits, (size_t)point);
            *at++ = '.';
            at = mempcpy(at, digits + point, (size_t)decimals);
        } else { /* 0.0123 */
            at = mempcpy(at, "0.", 2);
            memset(at, '0', (size_t)-point);
            at = mempcpy(at - point, digits, (size_t)len);
        }
        return (size_t)(at - to);
    }
    *at++ = digits[0]; /* 1.23e+45 */
    if (len > 1) {
        *at++ = '.';
        at = mempcpy(at, digits + 1, (size_t)(len - 1));
    }
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    at += num_from_int(at, abs(exponent));
    return (size_t)(at - to);
}

static size_t put_magnitude(char *to, double magnitude)
{
    char digits[DECIMAL_DIGITS_MAX];
    int exponent;
    int len = decimal_digits(magnitude, digits, &exponent);
    return lay_out(to, digits, len, len + exponent);
}

size_t num_from_double(char *to, double value)
{
    if (isnan(value))
        return put_word(to, "nan");
    if (isinf(value))
        return put_word(to, value > 0 ? "inf" : "-inf");
    if (value == 0)
        return put_word(to, signbit(value) ? "-0" : "0");
    if (fabs(value) <= (double)(INT64_MAX / 2) && (double)(int64_t)value == value)
        return num_from_int(to, (int64_t)value);
    if (value > 0)
        return put_magnitude(to, value);
    *to = '-';
    return 1 + put_magnitude(to + 1, -value);
}

size_t num_from_long_double(char *to, long double value)
{
    if (isnan(value))
        return put_word(to, "nan");
    if (isinf(value))
        return put_word(to, value > 0 ? "inf" : "-inf");

    int printed = snprintf(to, NUM_LONG_DOUBLE_CAP, "%.17Lf", value);
    ASSERT(printed > 0);
    ASSERT(printed < (int)NUM_LONG_DOUBLE_CAP);
    size_t len = (size_t)printed;
    while (to[len - 1] == '0') /* stops at the point: there always is one */
        len--;
    if (to[len - 1] == '.')
        len--;
    if (len == 2 && to[0] == '-' && to[1] == '0') {
        to[0] = '0';
        len = 1;
    }
    return len;
}
