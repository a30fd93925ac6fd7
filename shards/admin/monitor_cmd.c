/*
 * How: MONITOR visits every thread, so that all of them write lines before it is answered. The
 * thread that holds the client makes it a monitor.
 */
#include "shards/admin/home_admin.h"
#include "shards/admin/monitor.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/session.h"
#include "shards/route/home.h"

static enum status cmd_monitor(struct call *call)
{
    if (call->flags & CALL_IN_EXEC)
        return call_fail_text(call, "ERR MONITOR isn't allowed for DENY BLOCKING client");
    monitor_expect(call->home, call_now_ms(call));
    for (struct session *session = home_first_session(call->home); session;
         session = home_next_session(session)) {
        if (session->id == call->client_id)
            monitor_start(call->home, session);
    }
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
const struct command monitor_commands[] = {
    {.name = "monitor", .arity = 1, .run = cmd_monitor, .plan = PLAN_ALL, .merge = merge_ok,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_LOOKS,
     .syntax = "", .since = "1.0.0", .cost = "",
     .brief = "Shows every command that the server runs, as it happens."},
    {0},
};
/* clang-format on */
