#include "shards/cmd/hash_key.h"

#include "shards/local/fields.h"

static const struct hash *root_of(const struct value *value)
{
    return value ? value_root(value) : NULL;
}

enum status hash_key_find(struct call *call, const struct hash **out)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_HASH, &value));
    *out = root_of(value);
    return OK;
}

enum status hash_key_find_to_write(struct call *call, const struct hash **out)
{
    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_HASH, &value));
    *out = root_of(value);
    return OK;
}

bool hash_key_read(struct call *call, const struct hash **io_hash, struct bytes field,
                   char scratch[PACK_SCRATCH], struct bytes *out_value)
{
    if (!*io_hash)
        return false;
    if (hash_find(*io_hash, call_now_ms(call), field, scratch, out_value))
        return true;
    if (call->command->flags & CMD_WRITE || fields_may_drop(call->db))
        *io_hash = fields_drop_due(call->db, &call->key, *io_hash, field);
    return false;
}

struct hash_edit hash_key_edit(struct call *call, const struct hash *found)
{
    struct hash_edit edit;
    if (found) {
        edit.value = db_edit(call->db, &call->key);
        edit.hash = value_edit_root(edit.value);
    } else {
        edit.hash = hash_create(db_heap(call->db));
        edit.value = db_put_root(call->db, &call->key, TYPE_HASH, edit.hash, DB_NO_EXPIRE);
    }
    return edit;
}

void hash_key_end(struct call *call, struct hash_edit *edit)
{
    fields_put_back(call->db, &call->key, edit->value, edit->hash);
}

bool hash_key_put(struct call *call, struct hash_edit *edit, struct hash_pair pair)
{
    return hash_put_pair(&edit->hash, db_heap(call->db), &call->config->hash_limits, pair);
}

void hash_key_set_value(struct call *call, const struct hash *found, struct bytes field,
                        struct bytes value)
{
    struct hash_edit edit = hash_key_edit(call, found);
    (void)hash_key_put(
        call, &edit,
        (struct hash_pair){.field = field, .value = value, .expire_at_ms = HASH_KEEP_TTL});
    hash_key_end(call, &edit);
}

enum status hash_key_fields(struct call *call, uint32_t index, const char *count_text,
                            uint32_t *out_count)
{
    if (!call_arg_is(call, index, "FIELDS"))
        return call_fail_text(
            call, "ERR Mandatory argument FIELDS is missing or not at the right position");
    int64_t count;
    if (index + 1 >= call->arg_count || call_arg_int(call, index + 1, &count) != OK || count < 1)
        return call_fail_text(call, "ERR %s", count_text);
    if (count != (int64_t)call->arg_count - index - 2)
        return call_fail_text(call,
                              "ERR The `numfields` parameter must match the number of arguments");
    *out_count = (uint32_t)count;
    return OK;
}

enum status hash_key_time(struct call *call, uint32_t index, int64_t unit_ms, int64_t from_ms,
                          int64_t *out_at_ms)
{
    int64_t time;
    TRY(call_arg_int(call, index, &time));
    if (time < 0)
        return call_fail_text(call, "ERR invalid expire time, must be >= 0");
    if (time > HASH_KEY_EXPIRE_AT_MAX / unit_ms ||
        time * unit_ms > HASH_KEY_EXPIRE_AT_MAX - from_ms)
        return ERR_INVALID_EXPIRE;
    *out_at_ms = time * unit_ms + from_ms;
    return OK;
}
