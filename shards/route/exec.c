#include "shards/route/exec.h"

#include <string.h>

#include "core/base/num.h"
#include "core/os/clock.h"
#include "shards/call/call.h"
#include "shards/call/command_stats.h"
#include "shards/call/command_table.h"
#include "shards/call/session.h"
#include "shards/route/group.h"
#include "shards/route/home.h"
#include "shards/route/multi.h"
#include "shards/route/packer.h"
#include "shards/route/plan.h"
#include "shards/route/run.h"

void exec_hand_over(struct session *session, struct group *group)
{
    struct multi *multi = group->multi = session->multi;
    session->multi = NULL;
    multi->watching = session->watching;
    multi->watch_epoch = session->watch_epoch++;
    session->watching = NULL;
    session->flags &= ~(SESSION_IN_MULTI | SESSION_DIRTY_EXEC);
}

/* MONITOR shows what was queued when it is executed, and then the EXEC. */
static void fire_before(struct home *home, const struct group *group)
{
    const struct session *session = group->session;
    const struct group_call *exec = group->first;
    struct call call = {.client_id = session->id, .resp = session->resp};
    struct tap_event event = {.call = &call, .session = session, .now_us = clock_wall_us()};
    const struct multi_call *queued = group->multi->is_spoilt ? NULL : group->multi->first;
    for (; queued; queued = queued->next) {
        call.command = queued->command;
        call.args = queued->args;
        call.arg_count = queued->arg_count;
        call.db_index = queued->db_index;
        tap_fire_before(&home->tap, &event);
    }
    call.command = exec->command;
    call.args = exec->args;
    call.arg_count = exec->arg_count;
    call.db_index = session->db_index;
    tap_fire_before(&home->tap, &event);
}

/* A queued command that touches no key: runs with the session at hand. */
static void run_here(struct home *home, struct group *group, struct multi_call *queued)
{
    struct session *session = group->session;
    struct multi *multi = group->multi;
    struct reply reply = {.out = &multi->replies, .resp = session->resp};
    struct run_result result;
    struct call call = {
        .command = queued->command,
        .args = queued->args,
        .arg_count = queued->arg_count,
        .db_index = session->db_index,
        .resp = session->resp,
        .flags = CALL_IN_EXEC,
        .reply = &reply,
        .client_id = session->id,
        .home = home,
        .session = session,
    };
    run_place(home, &call, home->shard);
    run_chunk(home, &call, 1, &result);
    queued->reply_at = result.reply_at;
    queued->reply_len = result.reply_end - result.reply_at;
    queued->elapsed_ns = result.ns;
    queued->answered = true;
}

/* What the queue's own commands make of the session, for those behind them. */
struct foreseen {
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags; /* CALL_* */
};

static bool is_call(const struct multi_call *queued, const char *full_name, uint32_t arg_count)
{
    return queued->arg_count == arg_count &&
           strcmp(command_full_name(queued->command), full_name) == 0;
}

/* The protocol that a HELLO asks for, or 0. (That its password is right is taken for granted.) */
static uint8_t hello_resp(const struct multi_call *queued)
{
    int64_t version;
    if (strcmp(command_full_name(queued->command), "hello") != 0 || queued->arg_count < 2 ||
        !num_to_int(queued->args[1], &version) || (version != 2 && version != 3))
        return 0;
    uint32_t i = 2;
    while (i < queued->arg_count) {
        if (bytes_is(queued->args[i], "auth"))
            i += 3;
        else if (bytes_is(queued->args[i], "setname"))
            i += 2;
        else
            return 0;
    }
    return i == queued->arg_count ? (uint8_t)version : 0;
}

static void foresee(const struct home *home, const struct multi_call *queued,
                    struct foreseen *session)
{
    int64_t number;
    uint8_t resp = hello_resp(queued);
    if (resp) {
        session->resp = resp;
    } else if (is_call(queued, "select", 2)) {
        if (num_to_int(queued->args[1], &number) && number >= 0 &&
            number < (int64_t)home->config->databases)
            session->db_index = (uint16_t)number;
    } else if (is_call(queued, "client|no-touch", 3)) {
        if (bytes_is(queued->args[2], "on"))
            session->flags |= CALL_NO_TOUCH;
        else if (bytes_is(queued->args[2], "off"))
            session->flags &= (uint8_t)~CALL_NO_TOUCH;
    }
}

/* Before the first step: how each command will find the session. */
static void prepare(const struct home *home, struct session *session)
{
    struct foreseen foreseen = {
        .db_index = session->db_index,
        .resp = session->resp,
        .flags = CALL_IN_EXEC | (session->flags & SESSION_NO_TOUCH ? CALL_NO_TOUCH : 0),
    };
    for (struct multi_call *queued = session->multi->first; queued; queued = queued->next) {
        queued->db_index = foreseen.db_index;
        queued->resp = foreseen.resp;
        queued->flags = foreseen.flags;
        if (queued->command->plan == PLAN_HERE)
            foresee(home, queued, &foreseen);
    }
}

/* The second step. */
static void run_at_home(struct home *home, struct group *group)
{
    struct session *session = group->session;
    for (struct multi_call *queued = group->multi->first; queued; queued = queued->next) {
        if (queued->command->plan == PLAN_HERE)
            run_here(home, group, queued);
        queued->is_muted = session->flags & (SESSION_REPLY_OFF | SESSION_REPLY_SKIP);
    }
}

struct group *exec_start(struct home *home, struct session *session, struct planned *plan)
{
    struct shard_set own = {0};
    shard_set_add(&own, home->id);
    prepare(home, session);
    if (!shard_set_within(&plan->set, &own)) {
        packer_alone(home, session, plan);
        return NULL;
    }
    struct group *group = packer_begin(home, session);
    struct hop *hop = hop_take(home, HOP_CALLS, home->id);
    exec_hand_over(session, group);
    packer_whole(group, plan, hop);
    run_hop(home, home->shard, hop);
    group->hops_out--;
    return group;
}

static void send_looks(struct home *home, struct group *group, const struct multi_call *queued)
{
    struct planned plan = {
        .args = {.words = queued->args, .count = queued->arg_count},
        .command = queued->command,
        .where = WHERE_LOOKS,
        .db_index = queued->db_index,
        .resp = queued->resp,
        .call_flags = queued->flags,
    };
    packer_looks(home, group, &plan);
}

/* The group's last command has looked at all threads: its merged reply joins the others. */
static void take_looks(struct home *home, struct group *group, struct multi_call *queued)
{
    struct buf *replies = &group->multi->replies;
    queued->reply_at = replies->len;
    group_write_reply(home, group, group->last, replies);
    queued->reply_len = replies->len - queued->reply_at;
    queued->answered = true;
}

bool exec_go_on(struct home *home, struct group *group)
{
    struct multi *multi = group->multi;
    bool is_first = !multi->has_run_at_home;
    multi->has_run_at_home = true;
    if (is_first && home->tap.before_count)
        fire_before(home, group);
    if (multi->is_spoilt)
        return false;
    if (is_first)
        run_at_home(home, group);
    bool has_looked = group->call_count > 1; /* coming home from the first that was not answered */
    for (struct multi_call *queued = multi->first; queued; queued = queued->next) {
        if (queued->answered)
            continue;
        if (has_looked) {
            take_looks(home, group, queued);
            has_looked = false;
        } else {
            send_looks(home, group, queued);
            return true;
        }
    }
    return false;
}

/* CLIENT REPLY answers with nothing at all. */
static bool is_error(const struct multi *multi, const struct multi_call *queued)
{
    return queued->reply_len && multi->replies.ptr[queued->reply_at] == '-';
}

/* Those that looked at all threads have been told of when their parts were merged. */
static void fire_after(struct home *home, const struct session *session, const struct multi *multi)
{
    struct call call = {.client_id = session->id, .resp = session->resp};
    for (const struct multi_call *queued = multi->first; queued; queued = queued->next) {
        if (queued->command->flags & CMD_LOOKS)
            continue;
        call.command = queued->command;
        call.args = queued->args;
        call.arg_count = queued->arg_count;
        call.db_index = queued->db_index;
        tap_fire_after(&home->tap, &(struct tap_event){
                                       .call = &call,
                                       .session = session,
                                       .now_us = home->now_ms * 1000,
                                       .elapsed_us = (uint32_t)(queued->elapsed_ns / 1000),
                                       .failed = is_error(multi, queued),
                                   });
    }
}

void exec_write_replies(struct home *home, struct group *group)
{
    const struct multi *multi = group->multi;
    struct group_call *exec = group->first;
    struct reply reply = {.out = conn_output(group->session->conn), .resp = exec->resp};
    if (multi->is_spoilt && !exec->silent)
        reply_null_array(&reply);
    else if (!exec->silent)
        reply_array(&reply, multi->count);
    for (const struct multi_call *queued = multi->first; queued; queued = queued->next)
        if (queued->reply_len && !queued->is_muted)
            reply_raw(&reply, bytes_of(multi->replies.ptr + queued->reply_at, queued->reply_len));
    if (home->tap.after_count && !multi->is_spoilt)
        fire_after(home, group->session, multi);
    command_stats_count(home->command_stats, exec->command->id, exec->one->elapsed_ns, false);
    home->stats.commands += 1 + (multi->is_spoilt ? 0 : multi->count);
}
