/*
 * counter: INCR, INCRBY and their kin. A counter is a string that spells a signed 64-bit integer,
 * or for INCRBYFLOAT a number; an absent key counts as zero, and counting leaves the time to live
 * alone.
 */
#include <math.h>

#include "core/base/num.h"
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

static enum status add(struct call *call, int64_t delta)
{
    const struct value *old;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &old));
    int64_t total = 0;
    if (old)
        TRY(str_to_int(old, &total));
    if (__builtin_add_overflow(total, delta, &total))
        return ERR_OVERFLOW;
    db_put_int(call->db, &call->key, total, DB_KEEP_TTL);
    reply_int(call->reply, total);
    return OK;
}

static enum status cmd_incr(struct call *call)
{
    return add(call, 1);
}

static enum status cmd_decr(struct call *call)
{
    return add(call, -1);
}

static enum status cmd_incrby(struct call *call)
{
    int64_t delta;
    TRY(call_arg_int(call, 2, &delta));
    return add(call, delta);
}

static enum status cmd_decrby(struct call *call)
{
    int64_t delta;
    TRY(call_arg_int(call, 2, &delta));
    if (delta == INT64_MIN)
        return call_fail_text(call, "ERR decrement would overflow");
    return add(call, -delta);
}

static enum status cmd_incrbyfloat(struct call *call)
{
    const struct value *old;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &old));
    long double total = 0, delta;
    if (old)
        TRY(str_to_long_double(old, &total));
    if (!num_to_long_double(call_arg(call, 2), &delta))
        return ERR_NOT_A_FLOAT;
    total += delta;
    if (!isfinite(total))
        return call_fail_text(call, "ERR increment would produce NaN or Infinity");

    char text[NUM_LONG_DOUBLE_CAP];
    struct bytes written = bytes_of(text, num_from_long_double(text, total));
    db_put_string(call->db, &call->key, written, DB_KEEP_TTL);
    reply_bulk(call->reply, written);
    return OK;
}

/* clang-format off */
const struct command counter_commands[] = {
    {.name = "incr", .arity = 2, .run = cmd_incr, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Adds one to the counter at a key."},

    {.name = "decr", .arity = 2, .run = cmd_decr, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Takes one from the counter at a key."},

    {.name = "incrby", .arity = 3, .run = cmd_incrby, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key increment", .since = "1.0.0", .cost = "O(1)",
     .brief = "Adds a whole number to the counter at a key."},

    {.name = "decrby", .arity = 3, .run = cmd_decrby, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key decrement", .since = "1.0.0", .cost = "O(1)",
     .brief = "Takes a whole number from the counter at a key."},

    {.name = "incrbyfloat", .arity = 3, .run = cmd_incrbyfloat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key increment/double", .since = "2.6.0", .cost = "O(1)",
     .brief = "Adds any number to the one at a key."},
    {0},
};
/* clang-format on */
