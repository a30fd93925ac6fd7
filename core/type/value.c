#include "core/type/value.h"

#include "core/base/check.h"
#include "core/type/compound.h"
#include "core/type/record.h"

#define EMBSTR_MAX 44u /* Redis's OBJ_ENCODING_EMBSTR_SIZE_LIMIT, which clients see */

const char *type_name(enum type type)
{
    static const char *const names[TYPE_COUNT] = {
        [TYPE_STRING] = "string", [TYPE_LIST] = "list", [TYPE_SET] = "set",
        [TYPE_ZSET] = "zset",     [TYPE_HASH] = "hash", [TYPE_STREAM] = "stream",
    };
    return names[type];
}

enum type value_type(const struct value *value)
{
    return record_type(value);
}

const char *value_encoding(const struct value *value)
{
    switch (record_encoding(value)) {
    case ENCODING_INT:
        return "int";
    case ENCODING_EMBED:
        if (value->value_len <= EMBSTR_MAX && !(value->flags & RECORD_GROWN))
            return "embstr";
        return "raw";
    case ENCODING_BLOCK:
        return "raw";
    case ENCODING_ROOT:
        return compound_ops(record_type(value))->encoding(record_pointer(value));
    }
    return "unknown";
}

struct bytes value_name(const struct value *value)
{
    return record_name(value);
}

int64_t value_expire_at_ms(const struct value *value)
{
    return record_has_ttl(value) ? record_expire_at(value) : RECORD_NO_TTL;
}

size_t value_bytes(const struct value *value)
{
    size_t bytes = heap_usable(record_bytes(value));
    if (record_encoding(value) == ENCODING_BLOCK)
        bytes += sizeof(struct str_block) + ((struct str_block *)record_pointer(value))->cap;
    else if (record_encoding(value) == ENCODING_ROOT)
        bytes += compound_ops(record_type(value))->bytes(record_pointer(value));
    return bytes;
}

const void *value_root(const struct value *value)
{
    DEBUG_ASSERT(record_encoding(value) == ENCODING_ROOT);
    return record_pointer(value);
}

void *value_edit_root(struct value *value)
{
    DEBUG_ASSERT(record_encoding(value) == ENCODING_ROOT);
    return record_pointer(value);
}

void value_set_root(struct value *value, void *root)
{
    record_set_pointer(value, root);
}
