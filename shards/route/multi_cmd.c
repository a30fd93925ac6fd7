/*
 * multi_cmd: MULTI, EXEC, DISCARD, WATCH and UNWATCH. What EXEC does is dispatch's and multi.c's
 * business: its handler only says what cannot be executed.
 */
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/session.h"
#include "shards/local/watch.h"
#include "shards/route/multi.h"

static enum status cmd_multi(struct call *call)
{
    if (call->session->flags & SESSION_IN_MULTI)
        return ERR_NESTED_MULTI;
    multi_begin(call->session);
    reply_ok(call->reply);
    return OK;
}

enum status multi_exec_handler(struct call *call)
{
    if (!(call->session->flags & SESSION_IN_MULTI))
        return ERR_EXEC_WITHOUT_MULTI;
    multi_discard(call->session);
    return ERR_EXEC_ABORT;
}

static enum status cmd_discard(struct call *call)
{
    if (!(call->session->flags & SESSION_IN_MULTI))
        return ERR_DISCARD_WITHOUT_MULTI;
    multi_discard(call->session);
    reply_ok(call->reply);
    return OK;
}

static enum status check_watch(struct call *call)
{
    return call->session->flags & SESSION_IN_MULTI ? ERR_WATCH_IN_MULTI : OK;
}

static enum status cmd_watch(struct call *call)
{
    for (uint32_t i = 1; i < call->arg_count; i++) {
        struct db *db = call_db(call, i);
        watch_add(db_shard(db)->watches, call->client_id, call->watch_epoch, db, call_key(call, i));
    }
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_unwatch(struct call *call)
{
    multi_unwatch(call->session);
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
const struct command multi_commands[] = {
    {.name = "multi", .arity = 1, .run = cmd_multi, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY | CMD_SESSION,
     .acl = ACL_TRANSACTION,
     .syntax = "", .since = "1.2.0", .cost = "O(1)",
     .brief = "Begins a transaction: the commands that follow are queued."},

    {.name = "exec", .arity = 1, .run = multi_exec_handler, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SKIP_SLOWLOG | CMD_SESSION,
     .acl = ACL_TRANSACTION,
     .syntax = "", .since = "1.2.0", .cost = "Depends on the queued commands.",
     .brief = "Runs all queued commands as one."},

    {.name = "discard", .arity = 1, .run = cmd_discard, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY | CMD_SESSION,
     .acl = ACL_TRANSACTION,
     .syntax = "", .since = "2.0.0", .cost = "O(N) where N is the number of queued commands.",
     .brief = "Drops the queued commands and ends the transaction."},

    {.name = "watch", .arity = -2, .run = cmd_watch, .check = check_watch, .plan = PLAN_EACH,
     .merge = merge_ok, .keys = KEYS_ALL(KEY_RO),
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY | CMD_SESSION |
              CMD_WATCHES,
     .acl = ACL_TRANSACTION, .syntax = "key [key ...]", .since = "2.2.0",
     .cost = "O(1) for each key.",
     .brief = "The next EXEC runs nothing if one of the keys has changed by then."},

    {.name = "unwatch", .arity = 1, .run = cmd_unwatch, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_ALLOW_BUSY,
     .acl = ACL_TRANSACTION, .syntax = "", .since = "2.2.0", .cost = "O(1)",
     .brief = "Gives up all watched keys."},
    {0},
};
/* clang-format on */
