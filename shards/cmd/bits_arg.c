/* How: Redis turns a string into a plain run of bytes ("raw") before it sets the first bit, whether
 * or not that bit changes; db_resize_string() does the same. */
#include "shards/cmd/bits_arg.h"

#include "core/base/num.h"
#include "core/type/str.h"
#include "shards/call/call.h"
#include "shards/local/db.h"

enum status bits_arg_offset(struct call *call, uint32_t index, unsigned width, uint64_t *out)
{
    struct bytes word = call_arg(call, index);
    bool counts_fields = width && word.len && word.ptr[0] == '#';
    int64_t offset;
    bool is_right = num_to_int(bytes_of(word.ptr + counts_fields, word.len - counts_fields),
                               &offset);
    if (is_right && counts_fields)
        is_right = !__builtin_mul_overflow(offset, (int64_t)width, &offset);
    if (!is_right || offset < 0 || (uint64_t)offset / 8 >= call->config->conn.bulk_max)
        return call_fail_text(call, "ERR bit offset is not an integer or out of range");
    *out = (uint64_t)offset;
    return OK;
}

bool bits_is_ready(const struct value *value, size_t len)
{
    return value && str_len(value) >= len && strcmp(value_encoding(value), "raw") == 0;
}

enum status bits_edit(struct call *call, const struct value *value, size_t len,
                      struct bytes *out_bytes, char **out_text)
{
    size_t old_len = value ? str_len(value) : 0;
    if (len < old_len)
        len = old_len;
    *out_text = db_resize_string(call->db, &call->key, len);
    if (!*out_text)
        return ERR_OOM;
    *out_bytes = bytes_of(*out_text, len);
    return OK;
}
