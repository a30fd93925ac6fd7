/*
 * hash: HSET, HGET and their kin, which read or change single fields of the hash at one key. What
 * looks at a hash as a whole is in hash_whole.c.
 */
#include "shards/cmd/hash_key.h"

#include <math.h>

#include "core/base/num.h"
#include "net/reply.h"
#include "shards/call/command.h"

/* ---- Writing ------------------------------------------------------------------------------- */

/* Sets all fields that the command names; says how many are new. */
static enum status put_all(struct call *call, int64_t *out_new_count)
{
    if (call->arg_count % 2 == 1)
        return ERR_WRONG_ARITY;
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    struct hash_edit edit = hash_key_edit(call, found);
    hash_expect(&edit.hash, db_heap(call->db), &call->config->hash_limits, &call->args[2],
                call->arg_count - 2);
    int64_t new_count = 0;
    for (uint32_t i = 2; i < call->arg_count; i += 2) {
        struct hash_pair pair = {.field = call_arg(call, i),
                                 .value = call_arg(call, i + 1),
                                 .expire_at_ms = HASH_NO_TTL};
        new_count += hash_key_put(call, &edit, pair);
    }
    hash_key_end(call, &edit);
    *out_new_count = new_count;
    return OK;
}

static enum status cmd_hset(struct call *call)
{
    int64_t new_count;
    TRY(put_all(call, &new_count));
    reply_int(call->reply, new_count);
    return OK;
}

static enum status cmd_hmset(struct call *call)
{
    int64_t new_count;
    TRY(put_all(call, &new_count));
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_hsetnx(struct call *call)
{
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    struct bytes old;
    char scratch[PACK_SCRATCH];
    bool absent = !hash_key_read(call, &found, call_arg(call, 2), scratch, &old);
    if (absent)
        hash_key_set_value(call, found, call_arg(call, 2), call_arg(call, 3));
    reply_int(call->reply, absent);
    return OK;
}

/* A field whose time has passed counts as long as it is there, as in HLEN. */
static enum status cmd_hdel(struct call *call)
{
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    struct hash_edit edit = {0}; /* a hash that has none of the fields is not changed */
    int64_t deleted_count = 0;
    for (uint32_t i = 2; found && i < call->arg_count; i++) {
        if (!edit.value && !hash_has(found, HASH_SEE_ALL, call_arg(call, i)))
            continue;
        if (!edit.value)
            edit = hash_key_edit(call, found);
        deleted_count += hash_delete(&edit.hash, db_heap(call->db), call_arg(call, i));
    }
    if (edit.value)
        hash_key_end(call, &edit);
    reply_int(call->reply, deleted_count);
    return OK;
}

/* ---- Counting ------------------------------------------------------------------------------ */

static enum status cmd_hincrby(struct call *call)
{
    int64_t delta;
    TRY(call_arg_int(call, 3, &delta));
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    int64_t total = 0;
    struct bytes old;
    char scratch[NUM_INT_CAP];
    if (hash_key_read(call, &found, call_arg(call, 2), scratch, &old) && !num_to_int(old, &total))
        return call_fail_text(call, "ERR hash value is not an integer");
    if (__builtin_add_overflow(total, delta, &total))
        return ERR_OVERFLOW;

    struct bytes written = bytes_of(scratch, num_from_int(scratch, total));
    hash_key_set_value(call, found, call_arg(call, 2), written);
    reply_int(call->reply, total);
    return OK;
}

static enum status cmd_hincrbyfloat(struct call *call)
{
    long double total = 0, delta;
    if (!num_to_long_double(call_arg(call, 3), &delta))
        return ERR_NOT_A_FLOAT;
    if (!isfinite(delta))
        return call_fail_text(call, "ERR value is NaN or Infinity");
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    struct bytes old;
    char scratch[PACK_SCRATCH];
    if (hash_key_read(call, &found, call_arg(call, 2), scratch, &old) &&
        !num_to_long_double(old, &total))
        return call_fail_text(call, "ERR hash value is not a float");
    total += delta;
    if (!isfinite(total))
        return call_fail_text(call, "ERR increment would produce NaN or Infinity");

    char text[NUM_LONG_DOUBLE_CAP];
    struct bytes written = bytes_of(text, num_from_long_double(text, total));
    hash_key_set_value(call, found, call_arg(call, 2), written);
    reply_bulk(call->reply, written);
    return OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void reply_field(struct call *call, const struct hash **io_hash, struct bytes field)
{
    struct bytes value;
    char scratch[PACK_SCRATCH];
    if (hash_key_read(call, io_hash, field, scratch, &value))
        reply_bulk(call->reply, value);
    else
        reply_null(call->reply);
}

static enum status cmd_hget(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    reply_field(call, &hash, call_arg(call, 2));
    return OK;
}

static enum status cmd_hmget(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++)
        reply_field(call, &hash, call_arg(call, i));
    return OK;
}

static enum status cmd_hlen(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    reply_int(call->reply, hash ? (int64_t)hash_count(hash) : 0);
    return OK;
}

static enum status cmd_hexists(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    struct bytes value;
    char scratch[PACK_SCRATCH];
    reply_int(call->reply, hash_key_read(call, &hash, call_arg(call, 2), scratch, &value));
    return OK;
}

static enum status cmd_hstrlen(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    struct bytes value = {0};
    char scratch[PACK_SCRATCH];
    bool found = hash_key_read(call, &hash, call_arg(call, 2), scratch, &value);
    reply_int(call->reply, found ? (int64_t)value.len : 0);
    return OK;
}

/* clang-format off */
const struct command hash_commands[] = {
    {.name = "hset", .arity = -4, .run = cmd_hset, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field value [field value ...]", .since = "2.0.0",
     .cost = "O(N) where N is the number of fields.",
     .history = "4.0.0 Takes several fields and values.",
     .brief = "Sets fields of a hash to values."},

    {.name = "hsetnx", .arity = 4, .run = cmd_hsetnx, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field value", .since = "2.0.0", .cost = "O(1)",
     .brief = "Sets a field of a hash that does not exist."},

    {.name = "hmset", .arity = -4, .run = cmd_hmset, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field value [field value ...]", .since = "2.0.0",
     .cost = "O(N) where N is the number of fields.",
     .brief = "Sets fields of a hash to values.",
     .deprecated_since = "4.0.0", .replaced_by = "`HSET` with multiple field-value pairs"},

    {.name = "hdel", .arity = -3, .run = cmd_hdel, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field [field ...]", .since = "2.0.0",
     .cost = "O(N) where N is the number of fields to remove.",
     .history = "2.4.0 Takes several fields.",
     .brief = "Removes fields of a hash; without fields the key goes too."},

    {.name = "hincrby", .arity = 4, .run = cmd_hincrby, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field increment", .since = "2.0.0", .cost = "O(1)",
     .brief = "Adds a whole number to a field of a hash."},

    {.name = "hincrbyfloat", .arity = 4, .run = cmd_hincrbyfloat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field increment/double", .since = "2.6.0", .cost = "O(1)",
     .brief = "Adds any number to a field of a hash."},

    {.name = "hget", .arity = 3, .run = cmd_hget, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field", .since = "2.0.0", .cost = "O(1)",
     .brief = "Reads a field of a hash."},

    {.name = "hmget", .arity = -3, .run = cmd_hmget, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field [field ...]", .since = "2.0.0",
     .cost = "O(N) where N is the number of fields asked for.",
     .brief = "Reads several fields of a hash."},

    {.name = "hlen", .arity = 2, .run = cmd_hlen, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key", .since = "2.0.0", .cost = "O(1)",
     .brief = "Counts the fields of a hash."},

    {.name = "hexists", .arity = 3, .run = cmd_hexists, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field", .since = "2.0.0", .cost = "O(1)",
     .brief = "Tells whether a hash has a field."},

    {.name = "hstrlen", .arity = 3, .run = cmd_hstrlen, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key field", .since = "3.2.0", .cost = "O(1)",
     .brief = "Counts the bytes of a field's value."},
    {0},
};
/* clang-format on */
