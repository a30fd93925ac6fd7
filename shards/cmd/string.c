/*
 * string: GET, SET and their kin, which read or replace the whole string at one key.
 *
 * Times are checked only where Redis does: SET before it looks at the key, GETEX after.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/string_options.h"
#include "shards/local/db.h"

#define SET_OPTIONS (STRING_ANY_CONDITION | STRING_GIVE_OLD | STRING_KEEP_TTL | STRING_ANY_TIME)
#define GETEX_OPTIONS (STRING_DROP_TTL | STRING_ANY_TIME)

static void reply_string(struct reply *reply, const struct value *value)
{
    char scratch[STR_SCRATCH];
    if (value)
        reply_bulk(reply, str_view(value, scratch));
    else
        reply_null(reply);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static enum status cmd_get(struct call *call)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    reply_string(call->reply, value);
    return OK;
}

static enum status cmd_getdel(struct call *call)
{
    TRY(cmd_get(call));
    (void)db_delete(call->db, &call->key);
    return OK;
}

static enum status cmd_getex(struct call *call)
{
    struct string_options options;
    TRY(string_options_read(call, 2, GETEX_OPTIONS, &options));

    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        reply_null(call->reply);
        return OK;
    }
    int64_t at_ms;
    TRY(string_options_time(call, &options, &at_ms));

    reply_string(call->reply, value);
    if ((options.bits & STRING_ANY_TIME) && at_ms <= call_now_ms(call))
        (void)db_delete(call->db, &call->key);
    else if ((options.bits & STRING_ANY_TTL) && at_ms != value_expire_at_ms(value))
        db_set_expire(call->db, &call->key, at_ms);
    return OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Replies with the old string if asked for, and says whether the new one is to be put. */
static enum status look_at_old(struct call *call, const struct string_options *options,
                               bool *out_met)
{
    const struct value *old;
    if (options->bits & STRING_GIVE_OLD) {
        TRY(db_find(call->db, &call->key, TYPE_STRING, &old));
        reply_string(call->reply, old);
    } else {
        old = db_lookup_to_write(call->db, &call->key);
    }
    return string_options_meet(call, options, old, out_met);
}

static enum status set_with_options(struct call *call)
{
    struct string_options options;
    TRY(string_options_read(call, 3, SET_OPTIONS, &options));
    int64_t at_ms;
    TRY(string_options_time(call, &options, &at_ms));

    bool met = true;
    if (options.bits & (STRING_GIVE_OLD | STRING_ANY_CONDITION))
        TRY(look_at_old(call, &options, &met));
    /* A time that is already past is stored like any other: the key is then expired, not refused.
     */
    if (met)
        db_put_string(call->db, &call->key, call_arg(call, 2), at_ms);
    if (options.bits & STRING_GIVE_OLD)
        return OK;
    if (met)
        reply_ok(call->reply);
    else
        reply_null(call->reply);
    return OK;
}

static enum status cmd_set(struct call *call)
{
    if (call->arg_count > 3)
        return set_with_options(call);
    db_put_string(call->db, &call->key, call_arg(call, 2), DB_NO_EXPIRE);
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_setnx(struct call *call)
{
    bool absent = !db_lookup_to_write(call->db, &call->key);
    if (absent)
        db_put_string(call->db, &call->key, call_arg(call, 2), DB_NO_EXPIRE);
    reply_int(call->reply, absent);
    return OK;
}

static enum status set_with_time(struct call *call, uint32_t form)
{
    int64_t at_ms;
    TRY(string_options_time(call, &(struct string_options){.bits = form, .time_index = 2}, &at_ms));
    db_put_string(call->db, &call->key, call_arg(call, 3), at_ms);
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_setex(struct call *call)
{
    return set_with_time(call, STRING_IN_SECONDS);
}

static enum status cmd_psetex(struct call *call)
{
    return set_with_time(call, STRING_IN_MS);
}

static enum status cmd_getset(struct call *call)
{
    TRY(cmd_get(call));
    db_put_string(call->db, &call->key, call_arg(call, 2), DB_NO_EXPIRE);
    return OK;
}

/* The key is where it always is; whether its old string is compared or given depends on the words.
 */
static int set_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                         uint16_t *out_flags)
{
    static const char *const comparing[] = {"IFEQ", "IFNE", "IFDEQ", "IFDNE"};
    bool compares = false, gives = false;
    for (uint32_t i = 3; i < arg_count; i++) {
        gives |= bytes_is(args[i], "GET");
        for (size_t j = 0; j < sizeof(comparing) / sizeof(comparing[0]); j++)
            compares |= bytes_is(args[i], comparing[j]);
    }
    out_index[0] = 1;
    out_flags[0] = (compares || gives ? KEY_RW : KEY_OW) | (gives ? KEY_ACCESS : 0) | KEY_UPDATE;
    return 1;
}

/* clang-format off */
const struct command string_commands[] = {
    {.name = "get", .arity = 2, .run = cmd_get, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Reads the string at a key."},

    {.name = "getdel", .arity = 2, .run = cmd_getdel, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "6.2.0", .cost = "O(1)",
     .brief = "Reads the string at a key and deletes the key."},

    {.name = "getex", .arity = -2, .run = cmd_getex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | "
               "PXAT unix-time-milliseconds | PERSIST]",
     .since = "6.2.0", .cost = "O(1)",
     .brief = "Reads the string at a key and changes the key's time to live."},

    {.name = "getset", .arity = 3, .run = cmd_getset, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key value", .since = "1.0.0", .cost = "O(1)",
     .brief = "Replaces the string at a key and gives the old one.",
     .deprecated_since = "6.2.0", .replaced_by = "`SET` with the `!GET` argument"},

    {.name = "set", .arity = -3, .run = cmd_set, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE | KEY_VARIABLE_FLAGS),
     .find_keys = set_find_keys, .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key value [NX | XX | IFEQ ifeq-value@8.4.0 | IFNE ifne-value@8.4.0 | "
               "IFDEQ ifdeq-digest@8.4.0 | IFDNE ifdne-digest@8.4.0]@2.6.12 [GET]@6.2.0 "
               "[EX seconds@2.6.12 | PX milliseconds@2.6.12 | EXAT unix-time-seconds@6.2.0 | "
               "PXAT unix-time-milliseconds@6.2.0 | KEEPTTL@6.0.0]",
     .since = "1.0.0", .cost = "O(1)",
     .history = "2.6.12 Takes EX, PX, NX and XX.; 6.0.0 Takes KEEPTTL.; "
                "6.2.0 Takes GET, EXAT and PXAT.; 7.0.0 Takes GET together with NX.; "
                "8.4.0 Takes IFEQ, IFNE, IFDEQ and IFDNE.",
     .brief = "Puts a string at a key, whatever was there; on condition and with a time to live "
              "if asked."},

    {.name = "setex", .arity = 4, .run = cmd_setex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_OW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key seconds value", .since = "2.0.0", .cost = "O(1)",
     .brief = "Puts a string at a key for a number of seconds.",
     .deprecated_since = "2.6.12", .replaced_by = "`SET` with the `EX` argument"},

    {.name = "psetex", .arity = 4, .run = cmd_psetex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_OW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key milliseconds value", .since = "2.6.0", .cost = "O(1)",
     .brief = "Puts a string at a key for a number of milliseconds.",
     .deprecated_since = "2.6.12", .replaced_by = "`SET` with the `PX` argument"},

    {.name = "setnx", .arity = 3, .run = cmd_setnx, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_OW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key value", .since = "1.0.0", .cost = "O(1)",
     .brief = "Puts a string at a key that does not exist.",
     .deprecated_since = "2.6.12", .replaced_by = "`SET` with the `NX` argument"},
    {0},
};
/* clang-format on */
