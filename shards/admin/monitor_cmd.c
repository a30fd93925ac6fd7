/*
 * How: MONITOR visits every thread, so that all of them write lines before it is answered. The
 * thread that holds the client answers 1 and the others 0.
 */
#include "shards/admin/home_admin.h"
#include "shards/admin/monitor.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/session.h"
#include "shards/route/home.h"

static enum status cmd_monitor(struct call *call)
{
    if (call->flags & CALL_IN_EXEC)
        return call_fail_text(call, "ERR MONITOR isn't allowed for DENY BLOCKING client");
    monitor_expect(call->home);
    bool started = false;
    struct session *session = home_first_session(call->home);
    while (session && session->id != call->client_id)
        session = home_next_session(session);
    if (session)
        started = monitor_start(call->home, session);
    reply_int(call->reply, started);
    return OK;
}

/* A client that monitors already, or is gone, does not count once more. */
static void merge_monitor(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (part_pass_error(call, parts))
        return;
    int64_t started = 0;
    for (uint32_t i = 0; i < part_count; i++)
        started += answer_int(parts[i]);
    if (!started)
        monitor_expect_less(call->home);
    reply_ok(call->reply);
}

/* clang-format off */
const struct command monitor_commands[] = {
    {.name = "monitor", .arity = 1, .run = cmd_monitor, .plan = PLAN_ALL, .merge = merge_monitor,
     .flags = CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_LOOKS,
     .syntax = "", .since = "1.0.0", .cost = "",
     .brief = "Shows every command that the server runs, as it happens."},
    {0},
};
/* clang-format on */
