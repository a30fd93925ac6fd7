/*
 * key: commands on keys whatever they hold: whether they exist, of what type, deleting, renaming,
 * copying and moving them. A value carries its time to live with it.
 */
#include <limits.h>

#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/key_batch.h"
#include "shards/local/db.h"

/* ---- One key ------------------------------------------------------------------------------- */

static enum status cmd_type(struct call *call)
{
    const struct value *value = db_examine(call->db, &call->key);
    reply_simple(call->reply, value ? type_name(value_type(value)) : "none");
    return OK;
}

/* ---- Many keys, counted -------------------------------------------------------------------- */

static enum status cmd_del(struct call *call)
{
    int64_t count = 0;
    struct key_batch batch;
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 1);) {
        for (uint32_t i = 0; i < batch.count; i++)
            count += db_delete(batch.dbs[i], batch.keys[i]);
    }
    reply_int(call->reply, count);
    return OK;
}

static enum status cmd_exists(struct call *call)
{
    int64_t count = 0;
    struct key_batch batch;
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 1);) {
        for (uint32_t i = 0; i < batch.count; i++)
            count += db_examine(batch.dbs[i], batch.keys[i]) != NULL;
    }
    reply_int(call->reply, count);
    return OK;
}

static enum status cmd_touch(struct call *call)
{
    int64_t count = 0;
    struct key_batch batch;
    for (uint32_t at = 1; key_batch_next(&batch, call, &at, 1);) {
        for (uint32_t i = 0; i < batch.count; i++) {
            db_shard(batch.dbs[i])->no_touch = false; /* touching is what it is for */
            count += db_lookup(batch.dbs[i], batch.keys[i]) != NULL;
        }
    }
    reply_int(call->reply, count);
    return OK;
}

/* ---- From one key to another --------------------------------------------------------------- */

/* The word at `index` as the number of a database that exists. */
static enum status parse_db(struct call *call, uint32_t index, uint16_t *out)
{
    int64_t number;
    TRY(call_arg_range(call, index, INT_MIN, INT_MAX, &number));
    if (number < 0 || number >= call->config->databases)
        return ERR_DB_INDEX;
    *out = (uint16_t)number;
    return OK;
}

static enum status same_objects(struct call *call)
{
    return call_fail_text(call, "ERR source and destination objects are the same");
}

static enum status cmd_rename(struct call *call)
{
    struct db *from = call_db(call, 1), *to = call_db(call, 2);
    const struct key *old = call_key(call, 1), *new = call_key(call, 2);
    if (!db_lookup_to_write(from, old))
        return ERR_NO_SUCH_KEY;
    if (!bytes_equal(old->name, new->name))
        db_put(to, new, db_take(from, old));
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_renamenx(struct call *call)
{
    struct db *from = call_db(call, 1), *to = call_db(call, 2);
    const struct key *old = call_key(call, 1), *new = call_key(call, 2);
    if (!db_lookup_to_write(from, old))
        return ERR_NO_SUCH_KEY;
    bool is_free = !db_lookup_to_write(to, new); /* not when both are one key */
    if (is_free)
        db_put(to, new, db_take(from, old));
    reply_int(call->reply, is_free);
    return OK;
}

static enum status cmd_copy(struct call *call)
{
    uint16_t to_index = call->db_index;
    bool replace = false;
    for (uint32_t i = 3; i < call->arg_count; i++) {
        if (call_arg_is(call, i, "REPLACE"))
            replace = true;
        else if (call_arg_is(call, i, "DB") && i + 1 < call->arg_count)
            TRY(parse_db(call, ++i, &to_index));
        else
            return ERR_SYNTAX;
    }
    if (to_index == call->db_index && bytes_equal(call_arg(call, 1), call_arg(call, 2)))
        return same_objects(call);

    const struct value *value = db_lookup(call_db(call, 1), call_key(call, 1));
    struct db *to = call_db_at(call, 2, to_index);
    const struct key *copy = call_key(call, 2);
    bool can = value && (replace || !db_lookup_to_write(to, copy));
    if (can)
        db_put_copy(to, copy, value);
    reply_int(call->reply, can);
    return OK;
}

static enum status cmd_move(struct call *call)
{
    uint16_t to_index;
    TRY(parse_db(call, 2, &to_index));
    if (to_index == call->db_index)
        return same_objects(call);

    struct db *from = call->db, *to = call_db_at(call, 1, to_index);
    bool can = db_lookup_to_write(from, &call->key) && !db_lookup_to_write(to, &call->key);
    if (can)
        db_put(to, &call->key, db_take(from, &call->key));
    reply_int(call->reply, can);
    return OK;
}

/* clang-format off */
const struct command key_commands[] = {
    {.name = "copy", .arity = -3, .run = cmd_copy, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .step = 1},
              {.flags = KEY_OW | KEY_UPDATE, .index = 2, .step = 1}},
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_KEYSPACE,
     .syntax = "source destination [DB destination-db] [REPLACE]", .since = "6.2.0",
     .cost = "O(N) where N is the number of elements of the value; O(1) for a string.",
     .brief = "Copies the value of a key to another key."},

    {.name = "del", .arity = -2, .run = cmd_del, .plan = PLAN_EACH, .merge = merge_sum,
     .keys = KEYS_ALL(KEY_RM | KEY_DELETE),
     .flags = CMD_WRITE, .acl = ACL_KEYSPACE,
     .syntax = "key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of keys; what big values held is freed afterwards.",
     .brief = "Deletes keys.",
     .tips = "request_policy:multi_shard,response_policy:agg_sum"},

    {.name = "exists", .arity = -2, .run = cmd_exists, .plan = PLAN_EACH, .merge = merge_sum,
     .keys = KEYS_ALL(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key [key ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of keys.",
     .history = "3.0.3 Takes several keys.",
     .brief = "Counts which of the keys exist; one that is named twice counts twice.",
     .tips = "request_policy:multi_shard,response_policy:agg_sum"},

    {.name = "move", .arity = 3, .run = cmd_move, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key db", .since = "1.0.0", .cost = "O(1)",
     .brief = "Moves a key to another database, if it is free there."},

    {.name = "rename", .arity = 3, .run = cmd_rename, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .step = 1},
              {.flags = KEY_OW | KEY_UPDATE, .index = 2, .step = 1}},
     .flags = CMD_WRITE, .acl = ACL_KEYSPACE,
     .syntax = "key newkey", .since = "1.0.0", .cost = "O(1)",
     .brief = "Gives a key another name, in place of what had that name."},

    {.name = "renamenx", .arity = 3, .run = cmd_renamenx, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .step = 1},
              {.flags = KEY_OW | KEY_INSERT, .index = 2, .step = 1}},
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key newkey", .since = "1.0.0", .cost = "O(1)",
     .history = "3.2.0 May be given the same name twice.",
     .brief = "Gives a key another name that is free."},

    {.name = "touch", .arity = -2, .run = cmd_touch, .plan = PLAN_EACH, .merge = merge_sum,
     .keys = KEYS_ALL(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key [key ...]", .since = "3.2.1",
     .cost = "O(N) where N is the number of keys.",
     .brief = "Marks keys as used now, and counts those that exist.",
     .tips = "request_policy:multi_shard,response_policy:agg_sum"},

    {.name = "type", .arity = 2, .run = cmd_type, .plan = PLAN_ONE, .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Tells what type of value a key holds."},

    {.name = "unlink", .arity = -2, .run = cmd_del, .plan = PLAN_EACH, .merge = merge_sum,
     .keys = KEYS_ALL(KEY_RM | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "key [key ...]", .since = "4.0.0",
     .cost = "O(N) where N is the number of keys; what big values held is freed afterwards.",
     .brief = "Deletes keys, as DEL does.",
     .tips = "request_policy:multi_shard,response_policy:agg_sum"},
    {0},
};
/* clang-format on */
