/*
 * string_many: MGET, MSET, MSETNX and MSETEX: strings at many keys.
 *
 * MGET and MSET are dealt out by key, and a part sees its own words only. MSETNX and MSETEX are all
 * or nothing, so the shards of their keys stand together for them.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/key_batch.h"
#include "shards/cmd/string_options.h"
#include "shards/local/db.h"

static enum status cmd_mget(struct call *call)
{
    struct key_batch batch;
    reply_array(call->reply, call->arg_count - 1);
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 1);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            char scratch[STR_SCRATCH];
            const struct value *value = db_lookup(batch.dbs[i], batch.keys[i]);
            if (value && value_type(value) == TYPE_STRING)
                reply_bulk(call->reply, str_view(value, scratch));
            else
                reply_null(call->reply);
        }
    }
    return OK;
}

/* Every key has a value: the count of words, the name included, is odd. */
static enum status check_pairs(struct call *call)
{
    return call->arg_count % 2 ? OK : ERR_WRONG_ARITY;
}

/* The words from `first` to `end`. */
static void set_pairs(struct call *call, uint32_t first, uint32_t end, int64_t at_ms)
{
    struct key_batch batch;
    for (uint32_t at = first; key_batch_before(&batch, call, &at, end, 2);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            struct bytes text = call_arg(call, batch.first + 2 * i + 1);
            db_put_string(batch.dbs[i], batch.keys[i], text, at_ms);
        }
    }
}

static enum status cmd_mset(struct call *call)
{
    set_pairs(call, 1, call->arg_count, DB_NO_EXPIRE);
    reply_ok(call->reply);
    return OK;
}

/* Do all keys between the words `first` and `end` exist, or none of them? */
static bool all_are(struct call *call, uint32_t first, uint32_t end, bool present)
{
    struct key_batch batch;
    for (uint32_t at = first; key_batch_before(&batch, call, &at, end, 2);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            if (!db_lookup_to_write(batch.dbs[i], batch.keys[i]) == present)
                return false;
        }
    }
    return true;
}

static enum status cmd_msetnx(struct call *call)
{
    bool met = all_are(call, 1, call->arg_count, false);
    if (met)
        set_pairs(call, 1, call->arg_count, DB_NO_EXPIRE);
    reply_int(call->reply, met);
    return OK;
}

#define MSETEX_OPTIONS (STRING_IF_ABSENT | STRING_IF_PRESENT | STRING_KEEP_TTL | STRING_ANY_TIME)

static enum status cmd_msetex(struct call *call)
{
    int64_t pair_count;
    if (call_arg_int(call, 1, &pair_count) != OK || pair_count < 1 || pair_count > INT32_MAX)
        return call_fail_text(call, "ERR invalid numkeys value");
    if (2 + 2 * pair_count > call->arg_count)
        return call_fail_text(call, "ERR wrong number of key-value pairs");
    uint32_t end = 2 + 2 * (uint32_t)pair_count;

    struct string_options options;
    TRY(string_options_read(call, end, MSETEX_OPTIONS, &options));
    int64_t at_ms;
    TRY(string_options_time(call, &options, &at_ms));

    bool met = !(options.bits & STRING_ANY_CONDITION) ||
               all_are(call, 2, end, options.bits & STRING_IF_PRESENT);
    if (met)
        set_pairs(call, 2, end, at_ms);
    reply_int(call->reply, met);
    return OK;
}

/* clang-format off */
const struct command string_many_commands[] = {
    {.name = "mget", .arity = -2, .run = cmd_mget, .plan = PLAN_EACH, .merge = merge_by_key,
     .keys = KEYS_ALL(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key [key ...]", .since = "1.0.0", .cost = "O(N) where N is the number of keys.",
     .brief = "Reads the strings at several keys.",
     .tips = "request_policy:multi_shard"},

    {.name = "mset", .arity = -3, .run = cmd_mset, .plan = PLAN_EACH, .merge = merge_ok,
     .check = check_pairs, .keys = KEYS_ALL_PAIRS(KEY_OW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key value [key value ...]", .since = "1.0.1",
     .cost = "O(N) where N is the number of keys.",
     .brief = "Puts strings at several keys, at once.",
     .tips = "request_policy:multi_shard,response_policy:all_succeeded"},

    {.name = "msetnx", .arity = -3, .run = cmd_msetnx, .plan = PLAN_TOGETHER,
     .check = check_pairs, .keys = KEYS_ALL_PAIRS(KEY_OW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "key value [key value ...]", .since = "1.0.1",
     .cost = "O(N) where N is the number of keys.",
     .brief = "Puts strings at several keys, if none of them exists."},

    {.name = "msetex", .arity = -4, .run = cmd_msetex, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_OW | KEY_UPDATE, .index = 1, .counted = true, .first = 1, .step = 2}},
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STRING,
     .syntax = "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | "
               "EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
     .since = "8.4.0", .cost = "O(N) where N is the number of keys.",
     .brief = "Puts strings at several keys, at once, on condition and with a time to live if "
              "asked.",
     .tips = "request_policy:multi_shard,response_policy:all_succeeded"},
    {0},
};
/* clang-format on */
