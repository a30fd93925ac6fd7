/*
 * keyspace: commands on whole databases: their size, emptying and exchanging them.
 *
 * Every shard does its part; all parts stand at one position of the order log.
 */
#include <limits.h>

#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

static enum status cmd_dbsize(struct call *call)
{
    reply_int(call->reply, (int64_t)db_size(call->db));
    return OK;
}

static enum status check_flush(struct call *call)
{
    bool is_bare = call->arg_count == 1;
    bool has_mode = call->arg_count == 2 &&
                    (call_arg_is(call, 1, "ASYNC") || call_arg_is(call, 1, "SYNC"));
    return is_bare || has_mode ? OK : ERR_SYNTAX;
}

static bool flushes_at_once(const struct call *call)
{
    return call->arg_count == 1 ? !call->config->lazyfree_user_flush : call_arg_is(call, 1, "SYNC");
}

static enum status cmd_flushdb(struct call *call)
{
    db_flush(call->db, flushes_at_once(call));
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_flushall(struct call *call)
{
    for (uint32_t i = 0; i < call->config->databases; i++)
        db_flush(call->shard->dbs[i], flushes_at_once(call));
    reply_ok(call->reply);
    return OK;
}

/* A word that is no number at all, or none that an int holds, is told apart by its place. */
static enum status parse_db(struct call *call, uint32_t index, const char *place, uint16_t *out)
{
    int64_t number;
    if (call_arg_range(call, index, INT_MIN, INT_MAX, &number) != OK)
        return call_fail_text(call, "ERR invalid %s DB index", place);
    /* Out of range, but the other word must be looked at first. */
    bool exists = number >= 0 && number < call->config->databases;
    *out = exists ? (uint16_t)number : UINT16_MAX;
    return OK;
}

static enum status parse_swap(struct call *call, uint16_t *out_a, uint16_t *out_b)
{
    uint16_t a = 0, b = 0;
    TRY(parse_db(call, 1, "first", &a));
    TRY(parse_db(call, 2, "second", &b));
    if (a == UINT16_MAX || b == UINT16_MAX)
        return ERR_DB_INDEX;
    *out_a = a;
    *out_b = b;
    return OK;
}

static enum status check_swapdb(struct call *call)
{
    uint16_t a = 0, b = 0;
    return parse_swap(call, &a, &b);
}

static enum status cmd_swapdb(struct call *call)
{
    uint16_t a = 0, b = 0;
    TRY(parse_swap(call, &a, &b));
    if (a != b)
        db_swap(call->shard->dbs[a], call->shard->dbs[b]);
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
const struct command keyspace_commands[] = {
    {.name = "dbsize", .arity = 1, .run = cmd_dbsize, .plan = PLAN_ALL, .merge = merge_sum,
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_KEYSPACE,
     .syntax = "", .since = "1.0.0", .cost = "O(1)",
     .brief = "Counts the keys of the database.",
     .tips = "request_policy:all_shards,response_policy:agg_sum"},

    {.name = "flushall", .arity = -1, .run = cmd_flushall, .plan = PLAN_ALL, .merge = merge_ok,
     .check = check_flush,
     .flags = CMD_WRITE, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .syntax = "[ASYNC@4.0.0 | SYNC@6.2.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of keys of all databases; O(1) with ASYNC.",
     .history = "4.0.0 Takes ASYNC.; 6.2.0 Takes SYNC.",
     .brief = "Empties all databases.",
     .tips = "request_policy:all_shards,response_policy:all_succeeded"},

    {.name = "flushdb", .arity = -1, .run = cmd_flushdb, .plan = PLAN_ALL, .merge = merge_ok,
     .check = check_flush,
     .flags = CMD_WRITE, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .syntax = "[ASYNC@4.0.0 | SYNC@6.2.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of keys of the database; O(1) with ASYNC.",
     .history = "4.0.0 Takes ASYNC.; 6.2.0 Takes SYNC.",
     .brief = "Empties the database.",
     .tips = "request_policy:all_shards,response_policy:all_succeeded"},

    {.name = "swapdb", .arity = 3, .run = cmd_swapdb, .plan = PLAN_ALL, .merge = merge_ok,
     .check = check_swapdb,
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .syntax = "index1 index2", .since = "4.0.0",
     .cost = "O(N) where N is the number of clients that watch keys of the two databases.",
     .brief = "Exchanges what two databases hold."},
    {0},
};
/* clang-format on */
