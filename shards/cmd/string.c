/*
 * string: GET, SET and their kin, which read or replace the whole string at one key.
 *
 * SET and GETEX share a grammar of options, kept in one table. A word that clashes with an earlier
 * one, or lacks its number, is a syntax error; one that is repeated is not, and its last number
 * counts. Times are checked only where Redis does: SET before it looks at the key, GETEX after.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

#define IF_ABSENT (1u << 0)  /* NX */
#define IF_PRESENT (1u << 1) /* XX */
#define GIVE_OLD (1u << 2)   /* GET */
#define KEEP_TTL (1u << 3)
#define DROP_TTL (1u << 4) /* PERSIST */
#define IN_SECONDS (1u << 5)
#define IN_MS (1u << 6)
#define AT_SECONDS (1u << 7)
#define AT_MS (1u << 8)
#define ANY_TIME (IN_SECONDS | IN_MS | AT_SECONDS | AT_MS)
#define ANY_TTL (KEEP_TTL | DROP_TTL | ANY_TIME)

#define SET_OPTIONS (IF_ABSENT | IF_PRESENT | GIVE_OLD | KEEP_TTL | ANY_TIME)
#define GETEX_OPTIONS (DROP_TTL | ANY_TIME)

/* clang-format off */
static const struct option {
    const char *word;
    uint32_t bit;
    uint32_t clashes; /* with these, if they came before */
} options[] = {
    {"NX",      IF_ABSENT,  IF_PRESENT},
    {"XX",      IF_PRESENT, IF_ABSENT},
    {"GET",     GIVE_OLD,   0},
    {"KEEPTTL", KEEP_TTL,   ANY_TTL & ~KEEP_TTL},
    {"PERSIST", DROP_TTL,   ANY_TTL & ~DROP_TTL},
    {"EX",      IN_SECONDS, ANY_TTL & ~IN_SECONDS},
    {"PX",      IN_MS,      ANY_TTL & ~IN_MS},
    {"EXAT",    AT_SECONDS, ANY_TTL & ~AT_SECONDS},
    {"PXAT",    AT_MS,      ANY_TTL & ~AT_MS},
};
/* clang-format on */

struct chosen {
    uint32_t bits;
    uint32_t time_index; /* of the word that is the time, if any of ANY_TIME */
};

static const struct option *option_find(struct bytes word, uint32_t allowed)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if ((options[i].bit & allowed) && bytes_is(word, options[i].word))
            return &options[i];
    }
    return NULL;
}

static enum status parse_options(const struct call *call, uint32_t first, uint32_t allowed,
                                 struct chosen *out)
{
    struct chosen chosen = {0};
    for (uint32_t i = first; i < call->arg_count; i++) {
        const struct option *option = option_find(call_arg(call, i), allowed);
        if (!option || (chosen.bits & option->clashes))
            return ERR_SYNTAX;
        if (option->bit & ANY_TIME) {
            if (++i == call->arg_count)
                return ERR_SYNTAX;
            chosen.time_index = i;
        }
        chosen.bits |= option->bit;
    }
    *out = chosen;
    return OK;
}

/* Reads the word at `index` as the time that the one bit of ANY_TIME in `form` says. */
static enum status parse_time(const struct call *call, uint32_t index, uint32_t form,
                              int64_t *out_at_ms)
{
    int64_t at_ms;
    TRY(call_arg_int(call, index, &at_ms));
    if (at_ms <= 0)
        return ERR_INVALID_EXPIRE;
    if ((form & (IN_SECONDS | AT_SECONDS)) && __builtin_mul_overflow(at_ms, 1000, &at_ms))
        return ERR_INVALID_EXPIRE;
    if ((form & (IN_SECONDS | IN_MS)) && __builtin_add_overflow(at_ms, call_now_ms(call), &at_ms))
        return ERR_INVALID_EXPIRE;
    *out_at_ms = at_ms;
    return OK;
}

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
    struct chosen chosen;
    TRY(parse_options(call, 2, GETEX_OPTIONS, &chosen));

    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        reply_null(call->reply);
        return OK;
    }
    int64_t at_ms = DB_NO_EXPIRE;
    if (chosen.bits & ANY_TIME)
        TRY(parse_time(call, chosen.time_index, chosen.bits, &at_ms));

    reply_string(call->reply, value);
    if ((chosen.bits & ANY_TIME) && at_ms <= call_now_ms(call))
        (void)db_delete(call->db, &call->key);
    else if ((chosen.bits & ANY_TTL) && at_ms != value_expire_at_ms(value))
        db_set_expire(call->db, &call->key, at_ms);
    return OK;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static enum status cmd_set(struct call *call)
{
    struct chosen chosen = {0};
    if (call->arg_count > 3)
        TRY(parse_options(call, 3, SET_OPTIONS, &chosen));
    int64_t at_ms = chosen.bits & KEEP_TTL ? DB_KEEP_TTL : DB_NO_EXPIRE;
    if (chosen.bits & ANY_TIME)
        TRY(parse_time(call, chosen.time_index, chosen.bits, &at_ms));

    if (chosen.bits & (GIVE_OLD | IF_ABSENT | IF_PRESENT)) {
        const struct value *old;
        if (chosen.bits & GIVE_OLD) {
            TRY(db_find(call->db, &call->key, TYPE_STRING, &old));
            reply_string(call->reply, old);
        } else {
            old = db_lookup_to_write(call->db, &call->key);
        }
        if (old ? chosen.bits & IF_ABSENT : chosen.bits & IF_PRESENT) {
            if (!(chosen.bits & GIVE_OLD))
                reply_null(call->reply);
            return OK;
        }
    }
    /* A time that is already past is stored like any other: the key is then expired, not refused.
     */
    db_put_string(call->db, &call->key, call_arg(call, 2), at_ms);
    if (!(chosen.bits & GIVE_OLD))
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
    TRY(parse_time(call, 2, form, &at_ms));
    db_put_string(call->db, &call->key, call_arg(call, 3), at_ms);
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_setex(struct call *call)
{
    return set_with_time(call, IN_SECONDS);
}

static enum status cmd_psetex(struct call *call)
{
    return set_with_time(call, IN_MS);
}

static enum status cmd_getset(struct call *call)
{
    TRY(cmd_get(call));
    db_put_string(call->db, &call->key, call_arg(call, 2), DB_NO_EXPIRE);
    return OK;
}

/* The key is where it always is; whether its old value is read depends on the words. */
static int set_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                         uint16_t *out_flags)
{
    out_index[0] = 1;
    out_flags[0] = KEY_OW | KEY_UPDATE;
    for (uint32_t i = 3; i < arg_count; i++) {
        if (bytes_is(args[i], "GET"))
            out_flags[0] = KEY_RW | KEY_ACCESS | KEY_UPDATE;
    }
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
     .syntax = "key value [NX | XX]@2.6.12 [GET]@6.2.0 "
               "[EX seconds@2.6.12 | PX milliseconds@2.6.12 | EXAT unix-time-seconds@6.2.0 | "
               "PXAT unix-time-milliseconds@6.2.0 | KEEPTTL@6.0.0]",
     .since = "1.0.0", .cost = "O(1)",
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
