/*
 * string_many: MGET, MSET and MSETNX: strings at many keys.
 *
 * MGET and MSET are dealt out by key, and a part sees its own words only. MSETNX is all or
 * nothing, so the shards of its keys stand together for it.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/key_batch.h"
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

static void set_pairs(struct call *call)
{
    struct key_batch batch;
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 2);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            struct bytes text = call_arg(call, batch.first + 2 * i + 1);
            db_put_string(batch.dbs[i], batch.keys[i], text, DB_NO_EXPIRE);
        }
    }
}

static enum status cmd_mset(struct call *call)
{
    set_pairs(call);
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_msetnx(struct call *call)
{
    struct key_batch batch;
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 2);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            if (db_lookup_to_write(batch.dbs[i], batch.keys[i])) {
                reply_int(call->reply, 0);
                return OK;
            }
        }
    }
    set_pairs(call);
    reply_int(call->reply, 1);
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
    {0},
};
/* clang-format on */
