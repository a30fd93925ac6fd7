/*
 * string_range: the commands that read or write a piece of a string, or its length.
 *
 * A string may not grow beyond proto-max-bulk-len, since no client could read it back. Writing
 * nothing changes nothing: SETRANGE with an empty value makes no key, though APPEND does.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

/* May a string be `offset` + `len` bytes long? */
static enum status check_len(struct call *call, size_t offset, size_t len)
{
    size_t total;
    if (__builtin_add_overflow(offset, len, &total) || total > call->config->conn.bulk_max)
        return call_fail_text(call, "ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    return OK;
}

/* Writes `bytes` at `offset`, which may lie behind the end, and replies with the new length. */
static enum status write_at(struct call *call, size_t old_len, size_t offset, struct bytes bytes)
{
    TRY(check_len(call, offset, bytes.len));
    size_t end = offset + bytes.len;
    size_t len = end > old_len ? end : old_len;
    char *text = db_resize_string(call->db, &call->key, len);
    if (!text)
        return ERR_OOM;
    if (bytes.len)
        memcpy(text + offset, bytes.ptr, bytes.len);
    reply_int(call->reply, (int64_t)len);
    return OK;
}

static enum status cmd_append(struct call *call)
{
    struct bytes tail = call_arg(call, 2);
    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        db_put_string(call->db, &call->key, tail, DB_NO_EXPIRE);
        reply_int(call->reply, (int64_t)tail.len);
        return OK;
    }
    size_t len = str_len(value);
    return write_at(call, len, len, tail);
}

static enum status cmd_setrange(struct call *call)
{
    struct bytes piece = call_arg(call, 3);
    int64_t offset;
    TRY(call_arg_int(call, 2, &offset));
    if (offset < 0)
        return call_fail_text(call, "ERR offset is out of range");

    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &value));
    size_t len = value ? str_len(value) : 0;
    if (!piece.len) {
        reply_int(call->reply, (int64_t)len);
        return OK;
    }
    return write_at(call, len, (size_t)offset, piece);
}

static enum status cmd_getrange(struct call *call)
{
    int64_t start, end;
    TRY(call_arg_int(call, 2, &start));
    TRY(call_arg_int(call, 3, &end));
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));

    char scratch[STR_SCRATCH];
    struct bytes text = value ? str_view(value, scratch) : BYTES("");
    int64_t len = (int64_t)text.len;
    /* Two ends that are both counted from the back are compared before they are clamped: of
     * "abc", -5 to -7 is nothing, whereas 0 to -7 is its first byte. */
    bool crossed = start < 0 && end < 0 && start > end;
    if (start < 0)
        start = start + len > 0 ? start + len : 0;
    if (end < 0)
        end = end + len > 0 ? end + len : 0;
    if (end >= len)
        end = len - 1;
    if (crossed || start > end)
        reply_bulk(call->reply, BYTES(""));
    else
        reply_bulk(call->reply, bytes_of(text.ptr + start, (size_t)(end - start + 1)));
    return OK;
}

static enum status cmd_strlen(struct call *call)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    reply_int(call->reply, value ? (int64_t)str_len(value) : 0);
    return OK;
}

/* clang-format off */
const struct command string_range_commands[] = {
    {.name = "append", .arity = 3, .run = cmd_append, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key value", .since = "2.0.0",
     .cost = "O(1) on average: a string that grows has room to grow further.",
     .brief = "Adds bytes to the end of a string."},

    {.name = "getrange", .arity = 4, .run = cmd_getrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_STRING,
     .syntax = "key start end", .since = "2.4.0",
     .cost = "O(N) where N is the length of the piece.",
     .brief = "Reads a piece of a string."},

    {.name = "setrange", .arity = 4, .run = cmd_setrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key offset value", .since = "2.2.0",
     .cost = "O(N) where N is the length of the value, and of the gap before it if there is one.",
     .brief = "Overwrites a piece of a string, which grows if need be."},

    {.name = "strlen", .arity = 2, .run = cmd_strlen, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "2.2.0", .cost = "O(1)",
     .brief = "Counts the bytes of a string."},

    {.name = "substr", .arity = 4, .run = cmd_getrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_STRING,
     .syntax = "key start end", .since = "1.0.0",
     .cost = "O(N) where N is the length of the piece.",
     .brief = "Reads a piece of a string.",
     .deprecated_since = "2.0.0", .replaced_by = "`GETRANGE`"},
    {0},
};
/* clang-format on */
