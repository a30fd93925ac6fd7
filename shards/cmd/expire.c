/*
 * expire: EXPIRE and its kin, which set, read and take away a key's time to live.
 *
 * A time that is already past deletes the key at once. Unlike SET's, a time may be negative.
 */
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

#define MS_PER_S 1000

/* ---- Setting ------------------------------------------------------------------------------- */

struct conditions {
    bool nx, xx, gt, lt;
};

static enum status parse_conditions(struct call *call, struct conditions *out)
{
    struct conditions asked = {0};
    for (uint32_t i = 3; i < call->arg_count; i++) {
        if (call_arg_is(call, i, "NX"))
            asked.nx = true;
        else if (call_arg_is(call, i, "XX"))
            asked.xx = true;
        else if (call_arg_is(call, i, "GT"))
            asked.gt = true;
        else if (call_arg_is(call, i, "LT"))
            asked.lt = true;
        else
            return call_fail_text(call, "ERR Unsupported option %.*s", (int)call_arg(call, i).len,
                                  call_arg(call, i).ptr);
    }
    if (asked.nx && (asked.xx || asked.gt || asked.lt))
        return call_fail_text(
            call, "ERR NX and XX, GT or LT options at the same time are not compatible");
    if (asked.gt && asked.lt)
        return call_fail_text(call, "ERR GT and LT options at the same time are not compatible");
    *out = asked;
    return OK;
}

/* A key that lasts for ever has the latest time of all: nothing is greater, everything is less. */
static bool allows(const struct conditions *asked, int64_t old_at_ms, int64_t at_ms)
{
    bool lasts = old_at_ms == DB_NO_EXPIRE;
    if (asked->nx && !lasts)
        return false;
    if (asked->xx && lasts)
        return false;
    if (asked->gt && (lasts || at_ms <= old_at_ms))
        return false;
    if (asked->lt && !lasts && at_ms >= old_at_ms)
        return false;
    return true;
}

/* `unit_ms` is what the time is counted in, `from_ms` what it is counted from. */
static enum status set_expire(struct call *call, int64_t unit_ms, int64_t from_ms)
{
    struct conditions asked = {0};
    if (call->arg_count > 3)
        TRY(parse_conditions(call, &asked));
    int64_t at_ms;
    TRY(call_arg_int(call, 2, &at_ms));
    if (__builtin_mul_overflow(at_ms, unit_ms, &at_ms) ||
        __builtin_add_overflow(at_ms, from_ms, &at_ms))
        return ERR_INVALID_EXPIRE;

    const struct value *value = db_lookup_to_write(call->db, &call->key);
    bool set = value && allows(&asked, value_expire_at_ms(value), at_ms);
    if (set && at_ms <= call_now_ms(call))
        (void)db_delete(call->db, &call->key);
    else if (set)
        db_set_expire(call->db, &call->key, at_ms);
    reply_int(call->reply, set);
    return OK;
}

static enum status cmd_expire(struct call *call)
{
    return set_expire(call, MS_PER_S, call_now_ms(call));
}

static enum status cmd_expireat(struct call *call)
{
    return set_expire(call, MS_PER_S, 0);
}

static enum status cmd_pexpire(struct call *call)
{
    return set_expire(call, 1, call_now_ms(call));
}

static enum status cmd_pexpireat(struct call *call)
{
    return set_expire(call, 1, 0);
}

static enum status cmd_persist(struct call *call)
{
    const struct value *value = db_lookup_to_write(call->db, &call->key);
    bool had_ttl = value && value_expire_at_ms(value) != DB_NO_EXPIRE;
    if (had_ttl)
        db_set_expire(call->db, &call->key, DB_NO_EXPIRE);
    reply_int(call->reply, had_ttl);
    return OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

#define REPLY_LASTS (-1)
#define REPLY_ABSENT (-2)

/* Replies with the time from `from_ms` to the key's end, at least 0, in units of `unit_ms`, to the
 * nearest. */
static enum status reply_time(struct call *call, int64_t unit_ms, int64_t from_ms)
{
    const struct value *value = db_examine(call->db, &call->key);
    int64_t at_ms = value ? value_expire_at_ms(value) : DB_NO_EXPIRE;
    if (at_ms == DB_NO_EXPIRE) {
        reply_int(call->reply, value ? REPLY_LASTS : REPLY_ABSENT);
        return OK;
    }
    int64_t left_ms = at_ms > from_ms ? at_ms - from_ms : 0;
    reply_int(call->reply, left_ms / unit_ms + (left_ms % unit_ms * 2 >= unit_ms));
    return OK;
}

static enum status cmd_ttl(struct call *call)
{
    return reply_time(call, MS_PER_S, call_now_ms(call));
}

static enum status cmd_pttl(struct call *call)
{
    return reply_time(call, 1, call_now_ms(call));
}

static enum status cmd_expiretime(struct call *call)
{
    return reply_time(call, MS_PER_S, 0);
}

static enum status cmd_pexpiretime(struct call *call)
{
    return reply_time(call, 1, 0);
}

/* clang-format off */
const struct command expire_commands[] = {
    {.name = "expire", .arity = -3, .run = cmd_expire, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key seconds [NX | XX | GT | LT]@7.0.0", .since = "1.0.0", .cost = "O(1)",
     .history = "7.0.0 Takes NX, XX, GT and LT.",
     .brief = "Lets a key live for a number of seconds."},

    {.name = "expireat", .arity = -3, .run = cmd_expireat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key unix-time-seconds [NX | XX | GT | LT]@7.0.0", .since = "1.2.0", .cost = "O(1)",
     .history = "7.0.0 Takes NX, XX, GT and LT.",
     .brief = "Lets a key live until a time in seconds."},

    {.name = "expiretime", .arity = 2, .run = cmd_expiretime, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "7.0.0", .cost = "O(1)",
     .brief = "Tells the time in seconds at which a key ends."},

    {.name = "persist", .arity = 2, .run = cmd_persist, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "2.2.0", .cost = "O(1)",
     .brief = "Lets a key live for ever."},

    {.name = "pexpire", .arity = -3, .run = cmd_pexpire, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key milliseconds [NX | XX | GT | LT]@7.0.0", .since = "2.6.0", .cost = "O(1)",
     .history = "7.0.0 Takes NX, XX, GT and LT.",
     .brief = "Lets a key live for a number of milliseconds."},

    {.name = "pexpireat", .arity = -3, .run = cmd_pexpireat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key unix-time-milliseconds [NX | XX | GT | LT]@7.0.0", .since = "2.6.0",
     .cost = "O(1)",
     .history = "7.0.0 Takes NX, XX, GT and LT.",
     .brief = "Lets a key live until a time in milliseconds."},

    {.name = "pexpiretime", .arity = 2, .run = cmd_pexpiretime, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "7.0.0", .cost = "O(1)",
     .brief = "Tells the time in milliseconds at which a key ends."},

    {.name = "pttl", .arity = 2, .run = cmd_pttl, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "2.6.0", .cost = "O(1)",
     .history = "2.8.0 Answers -2 when there is no such key.",
     .brief = "Tells how many milliseconds a key has to live.",
     .tips = "nondeterministic_output"},

    {.name = "ttl", .arity = 2, .run = cmd_ttl, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .history = "2.8.0 Answers -2 when there is no such key.",
     .brief = "Tells how many seconds a key has to live.",
     .tips = "nondeterministic_output"},
    {0},
};
/* clang-format on */
