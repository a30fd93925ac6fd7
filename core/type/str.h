/*
 * str: strings, read. (They are written by local/db.h, since a small one lives in its record.)
 *
 * Stored as an 8-byte integer when the text is exactly what num_from_int() prints, embedded up to
 * STR_EMBED_MAX, else as a block with capacity.
 */
#pragma once

#include "core/base/status.h"
#include "core/type/value.h"

#define STR_SCRATCH 24 /* room for any integer's text */

/* The string's bytes; an integer is printed into `scratch`, others are borrowed from the value. */
struct bytes str_view(const struct value *value, char scratch[STR_SCRATCH]);
size_t str_len(const struct value *value);

/* ERR_NOT_AN_INTEGER unless the text is a signed 64-bit integer in Redis's strict form. */
MUST_CHECK enum status str_to_int(const struct value *value, int64_t *out);
/* ERR_NOT_A_FLOAT unless it reads as a finite or infinite long double, as Redis's INCRBYFLOAT. */
MUST_CHECK enum status str_to_long_double(const struct value *value, long double *out);
