#include "core/type/str.h"

#include "core/base/num.h"
#include "core/type/record.h"

static_assert(STR_SCRATCH >= NUM_INT_CAP, "any integer's text fits the scratch");

struct bytes str_view(const struct value *value, char scratch[STR_SCRATCH])
{
    switch (record_encoding(value)) {
    case ENCODING_INT:
        return bytes_of(scratch, num_from_int(scratch, record_int(value)));
    case ENCODING_EMBED:
        return bytes_of(record_value(value), value->value_len);
    case ENCODING_BLOCK:
    case ENCODING_ROOT: /* no string has it */
        break;
    }
    const struct str_block *block = record_pointer(value);
    return bytes_of(block->bytes, block->len);
}

size_t str_len(const struct value *value)
{
    char scratch[STR_SCRATCH];
    return str_view(value, scratch).len;
}

enum status str_to_int(const struct value *value, int64_t *out)
{
    if (record_encoding(value) == ENCODING_INT) {
        *out = record_int(value);
        return OK;
    }
    char scratch[STR_SCRATCH];
    return num_to_int(str_view(value, scratch), out) ? OK : ERR_NOT_AN_INTEGER;
}

enum status str_to_long_double(const struct value *value, long double *out)
{
    if (record_encoding(value) == ENCODING_INT) {
        *out = (long double)record_int(value);
        return OK;
    }
    char scratch[STR_SCRATCH];
    return num_to_long_double(str_view(value, scratch), out) ? OK : ERR_NOT_A_FLOAT;
}
