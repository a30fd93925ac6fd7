/*
 * num: numbers to text and back, in exactly the forms that Redis reads and writes.
 *
 * Writers fill a caller's buffer, write no terminator and return the length. Readers take a whole
 * run of bytes: nothing may stand before or after the number. Outputs are untouched on failure.
 * Independent of the locale. Thread: any.
 */
#pragma once

#include "core/base/bytes.h"
#include "core/base/check.h"

#define NUM_INT_CAP 20u           /* bytes that any 64-bit integer fits in, its sign included */
#define NUM_DOUBLE_CAP 32u        /* bytes that any double fits in */
#define NUM_LONG_DOUBLE_CAP 5120u /* bytes that any long double fits in, without an exponent */

/* Decimal. `to` has NUM_INT_CAP bytes. */
size_t num_from_int(char *to, int64_t value);
size_t num_from_uint(char *to, uint64_t value);

/* How many digits num_from_uint() writes, 1..20. */
unsigned num_digits(uint64_t value);

/* Text that num_from_int() could have written, and only that: no plus, no leading zero, no space,
 * no "-0". False otherwise. */
MUST_CHECK bool num_to_int(struct bytes text, int64_t *out);
MUST_CHECK bool num_to_uint(struct bytes text, uint64_t *out);

/* A double as the commands that take one read it: what strtod() reads, hex floats and "inf"
 * included, but no leading space, no NaN, and not what overflows or vanishes. */
MUST_CHECK bool num_to_double(struct bytes text, double *out);

/* The same for INCRBYFLOAT and its kin, which count in 80 bits. */
MUST_CHECK bool num_to_long_double(struct bytes text, long double *out);

/* What RESP prints: few digits that read back as `value` (decimal.h), whole numbers without a
 * point, "inf", "-inf", "nan". `to` has NUM_DOUBLE_CAP bytes. */
size_t num_from_double(char *to, double value);

/* The form for people: at most 17 digits after the point, zeros at the end cut, never an exponent.
 * `to` has NUM_LONG_DOUBLE_CAP bytes. */
size_t num_from_long_double(char *to, long double value);
