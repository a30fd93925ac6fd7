/*
 * How: a connection is served until it has no complete command left, or something of it is out.
 * Local commands of all connections collect in one chunk, which is run when it is full, or when the
 * next command must see its effects. From its first far command on, a connection's commands collect
 * as `pending` and leave as one group. A command that must come after what is out (a HERE command,
 * a refusal, one that travels alone) is put back, and met again when the group has come home.
 */
#include "shards/route/dispatch.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "core/os/log.h"
#include "net/conn.h"
#include "shards/call/call.h"
#include "shards/call/command_stats.h"
#include "shards/call/session.h"
#include "shards/local/evict.h"
#include "shards/route/blocked.h"
#include "shards/route/exec.h"
#include "shards/route/group.h"
#include "shards/route/home.h"
#include "shards/route/mailbox.h"
#include "shards/route/multi.h"
#include "shards/route/packer.h"
#include "shards/route/plan.h"
#include "shards/route/run.h"
#include "shards/route/together.h"
#include "shards/route/server.h"

#define SERVE_TURN_MAX 1024u    /* commands of one connection a turn: then others are served */
#define PARSE_ARENA_KEEP 65536u /* bytes kept for words between turns */

/* Local commands that are about to run. */
struct chunk {
    struct call calls[RUN_CHUNK];
    struct reply replies[RUN_CHUNK];
    struct session *sessions[RUN_CHUNK];
    uint32_t count;
};

struct dispatch {
    struct conn *first, *last; /* connections to serve */
    struct conn *served;       /* served this turn, to be settled */
    struct arena arena;        /* words of commands that are being planned or are about to run */
    struct chunk chunk;
    struct planned pending[GROUP_CALLS_MAX + 1]; /* the one behind the last is being planned */
    uint32_t pending_count;
    size_t pending_bytes;
};

struct dispatch *dispatch_create(void)
{
    return mem_zalloc(sizeof(struct dispatch));
}

void dispatch_destroy(struct dispatch *dispatch)
{
    if (!dispatch)
        return;
    arena_fini(&dispatch->arena);
    mem_free(dispatch);
}

bool dispatch_is_busy(const struct home *home)
{
    return home->dispatch->first != NULL;
}

void dispatch_wake(struct home *home, struct session *session)
{
    struct dispatch *dispatch = home->dispatch;
    struct conn *conn = session->conn;
    if (conn->is_ready)
        return;
    conn->is_ready = true;
    conn->next_ready = NULL;
    if (dispatch->last)
        dispatch->last->next_ready = conn;
    else
        dispatch->first = conn;
    dispatch->last = conn;
}

/* ---- Running here ---- */

static void fire_before(struct home *home, const struct session *session, const struct call *call)
{
    tap_fire_before(&home->tap, &(struct tap_event){
                                    .call = call, .session = session, .now_us = clock_wall_us()});
}

static void fire_after(struct home *home, const struct session *session, const struct call *call,
                       const struct run_result *result)
{
    tap_fire_after(&home->tap, &(struct tap_event){.call = call,
                                                   .session = session,
                                                   .now_us = home->now_ms * 1000,
                                                   .elapsed_us = (uint32_t)(result->ns / 1000),
                                                   .failed = result->status != OK});
}

static void make_call(struct home *home, struct session *session, const struct planned *plan,
                      struct reply *reply, struct call *call)
{
    *reply = (struct reply){.out = conn_output(session->conn), .resp = plan->resp};
    *call = (struct call){
        .command = plan->command,
        .args = plan->args.words,
        .arg_count = plan->args.count,
        .db_index = plan->db_index,
        .resp = plan->resp,
        .flags = plan->call_flags,
        .key = plan->key,
        .reply = reply,
        .client_id = session->id,
        .watch_epoch = session->watch_epoch,
    };
    run_place(home, call, home->shard);
}

/* After taking requests and before running them: whatever the log holds for this shard comes first.
 */
static void catch_up(struct home *home)
{
    if (unlikely(together_is_behind(home)))
        together_catch_up(home, home->now_ms);
}

static void run_local(struct home *home)
{
    struct chunk *chunk = &home->dispatch->chunk;
    struct run_result results[RUN_CHUNK];
    uint32_t count = chunk->count;
    if (!count)
        return;
    catch_up(home);
    chunk->count = 0;
    run_chunk(home, chunk->calls, count, results);
    home->stats.commands += count;
    for (uint32_t i = 0; i < count; i++) {
        if (unlikely(tap_wants_after(&home->tap, home->shard->config, results[i].ns)))
            fire_after(home, chunk->sessions[i], &chunk->calls[i], &results[i]);
        if (unlikely(chunk->replies[i].out->len >= CONN_SEND_EARLY)) {
            conn_flush_early(chunk->sessions[i]->conn);
            ring_submit(home->ring);
        }
    }
}

static void add_local(struct home *home, struct session *session, const struct planned *plan)
{
    struct chunk *chunk = &home->dispatch->chunk;
    uint32_t i = chunk->count++;
    chunk->sessions[i] = session;
    make_call(home, session, plan, &chunk->replies[i], &chunk->calls[i]);
    if (unlikely(home->tap.before_count))
        fire_before(home, session, &chunk->calls[i]);
    if (chunk->count == RUN_CHUNK)
        run_local(home);
}

/* Runs one command by itself, with the session at hand if it is a HERE command, which may decide on
 * the fate of its own reply. */
static void run_alone(struct home *home, struct session *session, const struct planned *plan)
{
    struct call call;
    struct reply reply;
    struct run_result result;
    run_local(home);
    catch_up(home);
    make_call(home, session, plan, &reply, &call);
    if (plan->where == WHERE_HERE) {
        call.home = home;
        call.session = session;
    }
    if (unlikely(home->tap.before_count))
        fire_before(home, session, &call);
    run_chunk(home, &call, 1, &result);
    if (unlikely(tap_wants_after(&home->tap, home->shard->config, result.ns)))
        fire_after(home, session, &call, &result);
    if (session->flags & (SESSION_REPLY_OFF | SESSION_REPLY_SKIP))
        reply.out->len = result.reply_at;
    home->stats.commands++;
}

static void answer_error(struct home *home, struct session *session, struct bytes text)
{
    struct reply reply = {.out = conn_output(session->conn), .resp = session->resp};
    size_t at = reply.out->len;
    reply_error(&reply, text);
    command_stats_count_error(home->command_stats, text);
    if (session->flags & (SESSION_REPLY_OFF | SESSION_REPLY_SKIP))
        reply.out->len = at;
}

/* An EXEC that is refused ends its transaction, if there is one; what to answer. */
static struct bytes abort_exec(struct home *home, struct session *session, struct bytes reason)
{
    multi_discard(session);
    size_t code_len = bytes_starts_nocase(reason, "ERR ") ? strlen("ERR ") : 0;
    return bytes_from_text(arena_format(&home->dispatch->arena,
                                        "EXECABORT Transaction discarded because of: %.*s",
                                        (int)(reason.len - code_len), reason.ptr + code_len));
}

static void refuse(struct home *home, struct session *session, const struct planned *plan,
                   struct bytes text)
{
    run_local(home);
    if (plan->command)
        command_stats_count_rejected(home->command_stats, plan->command->id);
    if (plan->command && plan->command->run == multi_exec_handler)
        text = abort_exec(home, session, text);
    else if (session->flags & SESSION_IN_MULTI && !plan->is_refused_by_itself)
        session->flags |= SESSION_DIRTY_EXEC;
    answer_error(home, session, text);
    home->stats.commands++;
}

static void queue(struct home *home, struct session *session, const struct planned *plan)
{
    run_local(home);
    multi_queue(session, plan->command, plan->args.words, plan->args.count);
    struct reply reply = {.out = conn_output(session->conn), .resp = session->resp};
    size_t at = reply.out->len;
    reply_simple(&reply, "QUEUED");
    if (plan->silent)
        reply.out->len = at;
}

/* ---- Sending out, coming home ---- */

static void send_pending(struct home *home, struct session *session)
{
    struct dispatch *dispatch = home->dispatch;
    if (!dispatch->pending_count)
        return;
    packer_group(home, session, dispatch->pending, dispatch->pending_count);
    dispatch->pending_count = 0;
    dispatch->pending_bytes = 0;
}

static void end_session(struct session *session)
{
    multi_discard(session);
    session_destroy(session);
}

/* What a group will answer is not known when it leaves. If the last one answered much the next is
 * smaller. */
static void size_next_group(struct session *session, size_t reply_bytes)
{
    uint32_t max = session->group_calls_max;
    if (reply_bytes > GROUP_REPLY_BYTES)
        max = max > 1 ? max / 2 : 1;
    else if (max < GROUP_CALLS_MAX)
        max *= 2;
    session->group_calls_max = (uint16_t)max;
}

void dispatch_release(struct home *home, struct group *group)
{
    struct session *session = group->session;
    struct conn *conn = session->conn;
    session->group = NULL;
    conn->held = false;
    if (!session->closed && !conn->closing) {
        size_t before = conn_output_len(conn);
        if (group->multi)
            exec_write_replies(home, group);
        else if (group->blocked && group->blocked->has_begun)
            blocked_write_reply(home, group);
        else
            group_write_replies(home, group);
        size_next_group(session, conn_output_len(conn) - before);
        dispatch_wake(home, session);
    }
    multi_destroy(group->multi);
    blocked_destroy(group->blocked);
    group_give(home, group);
    if (session->closed)
        end_session(session);
    conn_unpin(conn);
}

/* Where a walk goes next, given the replies so far; -1 when it is over. */
static int next_stop(struct home *home, struct session *session, struct group *group,
                     const struct planned *plan)
{
    struct call whole;
    if (!group) {
        make_call(home, session, plan, &(struct reply){0}, &whole);
        return whole.command->next_shard(&whole, NULL, 0);
    }
    struct group_call *walk = group->first;
    struct bytes *parts = arena_alloc(&group->arena, walk->part_count * sizeof(*parts));
    for (uint32_t i = 0; i < walk->part_count; i++)
        parts[i] = hop_reply(walk->parts[i]);
    group_whole_call(home, walk, &whole);
    return whole.command->next_shard(&whole, parts, walk->part_count);
}

/* SCAN and its like: on to the next stop, which is our own shard or a hop away. */
static void walk_on(struct home *home, struct session *session, struct group *group,
                    const struct planned *plan)
{
    int next;
    while ((next = next_stop(home, session, group, plan)) >= 0) {
        group = packer_walk(home, session, group, plan, (uint16_t)next);
        if (next != home->id)
            return; /* dispatch_arrival() walks on */
        catch_up(home);
        run_hop(home, home->shard, group->hops[group->hop_count - 1]);
        group->hops_out--;
    }
    ASSERT(group); /* the first stop is always a shard */
    dispatch_release(home, group);
}

static void group_home(struct home *home, struct group *group)
{
    if (group->blocked && group->blocked->has_begun) {
        blocked_home(home, group);
        return;
    }
    if (blocked_begin(home, group))
        return;
    if (group->session->closed) {
        dispatch_release(home, group);
        return;
    }
    if (group->multi) {
        if (exec_go_on(home, group))
            return;
    } else if (group->first->command->plan == PLAN_WALK) {
        walk_on(home, group->session, group, NULL);
        return;
    }
    dispatch_release(home, group);
}

/* Release: whoever sees that nothing is under way sees what it did. */
static void end_post(struct home *home, struct hop *hop)
{
    hop_recycle(home, hop);
    atomic_fetch_sub_explicit(&home->server->posts_out, 1, memory_order_release);
}

void dispatch_arrival(struct home *home, struct hop *hop)
{
    switch (hop->kind) {
    case HOP_ADOPT:
        home_adopt(home, hop->fd);
        end_post(home, hop);
        return;
    case HOP_POST:
        hop->post.fn(home, hop->post.message);
        end_post(home, hop);
        return;
    case HOP_CALLS:
    case HOP_LOOKS:
        break;
    }
    if (!hop->is_done) {
        catch_up(home);
        run_hop(home, home->shard, hop);
        mailbox_send(home->mailbox, hop->home, hop);
        return;
    }
    /* The last group to be released gives the hop back: it must not be looked at afterwards. */
    uint32_t count = hop->group_count;
    struct group **groups = hop->groups;
    for (uint32_t i = 0; i < count; i++) {
        struct group *group = groups[i];
        if (--group->hops_out == 0)
            group_home(home, group);
    }
}

/* ---- Taking commands ---- */

/* CLIENT PAUSE holds commands back, all or those that change something. */
static bool is_paused(const struct home *home, const struct session *session,
                      const struct planned *plan)
{
    if (likely(home->pause_until_ms <= home->now_ms))
        return false;
    uint32_t flags = plan->command->flags;
    if (plan->where == WHERE_EXEC)
        flags |= session->multi->flags;
    return !home->pause_writes_only || flags & (CMD_WRITE | CMD_MAY_REPLICATE);
}

/* Room for what a command over several shards may add is made at home, so that its parts cannot
 * fail. */
static bool has_room(struct home *home, const struct session *session, const struct planned *plan)
{
    if (likely(!home->config->maxmemory))
        return true;
    bool in_multi = session->flags & SESSION_IN_MULTI;
    uint32_t flags = plan->where == WHERE_EXEC ? session->multi->flags : plan->command->flags;
    bool grows = flags & CMD_GROWS || plan->where == WHERE_QUEUE;
    if (!grows || (plan->where == WHERE_ONE && !in_multi))
        return true; /* a single shard sees to it itself */
    return evict_make_room(home->shard) == OK;
}

/* Tells who listens of a command that will run elsewhere. */
static void announce_far(struct home *home, struct session *session, const struct planned *plan)
{
    if (likely(!home->tap.before_count))
        return;
    struct call call;
    make_call(home, session, plan, &(struct reply){0}, &call);
    fire_before(home, session, &call);
}

enum taken { TAKEN, PUT_BACK, OUT };

/* A command that goes with others of its connection: here if nothing before it is far, else as
 * pending. */
static enum taken take_keyed(struct home *home, struct session *session, struct planned *plan)
{
    struct dispatch *dispatch = home->dispatch;
    bool far = plan->where != WHERE_ONE || plan->shard != home->id;
    if (!far && !dispatch->pending_count) {
        if (unlikely(plan->silent))
            run_alone(home, session, plan);
        else
            add_local(home, session, plan);
        return TAKEN;
    }
    announce_far(home, session, plan);
    ASSERT(plan == &dispatch->pending[dispatch->pending_count]);
    dispatch->pending_count++;
    dispatch->pending_bytes += plan->args.wire_bytes;
    bool full = dispatch->pending_count >= session->group_calls_max ||
                dispatch->pending_bytes >= GROUP_WORD_BYTES_MAX;
    return full ? OUT : TAKEN;
}

/* A command that needs all before it to have been answered. */
static void take_alone(struct home *home, struct session *session, struct planned *plan)
{
    bool single = home->server->shard_count == 1;
    if (plan->where == WHERE_EXEC) {
        run_local(home);
        catch_up(home);
        struct group *group = exec_start(home, session, plan);
        if (group)
            group_home(home, group);
    } else if (plan->where == WHERE_WALK && !single) {
        run_local(home);
        walk_on(home, session, NULL, plan);
    } else if (plan->where == WHERE_QUEUE) {
        queue(home, session, plan);
    } else if (plan->where == WHERE_HERE ||
               (single && plan->where != WHERE_LOOKS && !(plan->command->flags & CMD_BLOCKING))) {
        run_alone(home, session, plan);
    } else {
        run_local(home);
        announce_far(home, session, plan);
        packer_alone(home, session, plan);
    }
}

static void count_taken(struct home *home, struct session *session, const struct planned *plan)
{
    session->last_command = plan->command ? plan->command : session->last_command;
    session->active_at_ms = home->now_ms;
    session->commands++;
}

/* Whoever speaks HTTP to us is being abused by a web page (cross-protocol scripting). */
static bool is_http(struct home *home, struct session *session, const struct args *args)
{
    if (!bytes_is(args->words[0], "post") && !bytes_is(args->words[0], "host:"))
        return false;
    char peer[ADDR_TEXT_MAX];
    addr_text(&session->conn->peer, peer);
    log_warn("client.http", "addr=%s: closed, it may be a cross-protocol attack", peer);
    run_local(home);
    conn_close(session->conn);
    return true;
}

static enum taken take(struct home *home, struct session *session, struct planned *plan)
{
    struct dispatch *dispatch = home->dispatch;
    struct bytes error;
    session_begin_command(session);
    enum status status = plan_command(home, session, &dispatch->arena, plan, &error);
    if (unlikely(status == ERR_UNKNOWN_COMMAND && is_http(home, session, &plan->args)))
        return OUT;
    if (likely(status == OK)) {
        if (unlikely(is_paused(home, session, plan))) {
            session->paused = true;
            return PUT_BACK;
        }
        if (unlikely(!has_room(home, session, plan))) {
            status = ERR_OOM;
            error = status_text(ERR_OOM);
        }
    }
    bool keyed = status == OK &&
                 (plan->where == WHERE_ONE || plan->where == WHERE_DEALT ||
                  (plan->where == WHERE_EVERYWHERE && home->server->shard_count > 1));
    if (unlikely(!keyed && dispatch->pending_count))
        return PUT_BACK;
    enum taken taken = TAKEN;
    if (likely(keyed))
        taken = take_keyed(home, session, plan);
    else if (status != OK)
        refuse(home, session, plan, error);
    else
        take_alone(home, session, plan);
    count_taken(home, session, plan);
    return taken;
}

static bool may_take(const struct session *session)
{
    return !session->group && !session->paused && conn_may_parse(session->conn);
}

static void serve(struct home *home, struct conn *conn)
{
    struct dispatch *dispatch = home->dispatch;
    struct session *session = conn->owner;
    struct bytes error;
    uint32_t served = 0;
    while (may_take(session)) {
        if (served++ == SERVE_TURN_MAX) {
            dispatch_wake(home, session);
            break;
        }
        if (!dispatch->chunk.count && !dispatch->pending_count)
            arena_reset(&dispatch->arena, PARSE_ARENA_KEEP);
        struct planned *plan = &dispatch->pending[dispatch->pending_count];
        enum conn_next_result next = conn_next(conn, &dispatch->arena, &plan->args, &error);
        if (next == CONN_NEXT_NONE)
            break;
        if (next == CONN_NEXT_ERROR) { /* what came before it is answered first */
            session->protocol_error = mem_copy_text(
                arena_format(&dispatch->arena, "%.*s", (int)error.len, error.ptr));
            break;
        }
        enum taken taken = take(home, session, plan);
        if (taken == PUT_BACK) {
            session_unbegin_command(session);
            conn_unread(conn, &plan->args);
        }
        if (taken != TAKEN)
            break;
    }
    send_pending(home, session);
    if (unlikely(session->protocol_error && !session->group)) {
        run_local(home);
        session_begin_command(session);
        answer_error(home, session, bytes_from_text(session->protocol_error));
        conn_finish(conn);
    }
}

void dispatch_run(struct home *home)
{
    struct dispatch *dispatch = home->dispatch;
    struct conn *conn = dispatch->first;
    dispatch->first = dispatch->last = NULL;
    while (conn) {
        struct conn *next = conn->next_ready;
        conn->is_ready = false;
        conn_serve(conn); /* not to be made ready by input while it is on another list */
        if (!conn->closing && conn->owner)
            serve(home, conn);
        if (!conn->is_ready) { /* else it is to be served again, and settled then */
            conn->next_ready = dispatch->served;
            dispatch->served = conn;
        }
        conn = next;
    }
    run_local(home);
    for (conn = dispatch->first; conn; conn = conn->next_ready)
        conn_words_done(conn);
    struct conn *served = dispatch->served;
    dispatch->served = NULL;
    while (served) {
        conn = served;
        served = conn->next_ready; /* conn_settle() may make it ready again */
        conn_settle(conn);
    }
}

void dispatch_settle(struct home *home)
{
    for (struct conn *conn = home->dispatch->first; conn; conn = conn->next_ready)
        if (!conn->is_served) /* else its commands have yet to run */
            conn_settle(conn);
}

void dispatch_resume(struct home *home)
{
    for (struct session *session = home_first_session(home); session;
         session = home_next_session(session)) {
        if (session->paused) {
            session->paused = false;
            dispatch_wake(home, session);
        }
    }
}

/* ---- What net tells ---- */

static void on_open(void *context, struct conn *conn)
{
    struct home *home = context;
    home_welcome(home, conn);
}

static void on_input(void *context, struct conn *conn)
{
    dispatch_wake(context, conn->owner);
}

static void delist(struct home *home, struct conn *conn)
{
    struct dispatch *dispatch = home->dispatch;
    struct conn **place = &dispatch->first;
    dispatch->last = NULL;
    while (*place) {
        if (*place == conn) {
            *place = conn->next_ready;
            continue;
        }
        dispatch->last = *place;
        place = &(*place)->next_ready;
    }
    conn->is_ready = false;
}

static void on_close(void *context, struct conn *conn)
{
    struct home *home = context;
    struct session *session = conn->owner;
    if (conn->is_ready)
        delist(home, conn);
    home_forget_session(home, session);
    session->closed = true;
    if (!session->group) {
        end_session(session);
        return;
    }
    group_drop(session->group);
    blocked_leave(home, session, BLOCKED_GONE);
}

struct net_handler dispatch_net_handler(struct home *home)
{
    return (struct net_handler){
        .on_open = on_open, .on_input = on_input, .on_close = on_close, .context = home};
}
