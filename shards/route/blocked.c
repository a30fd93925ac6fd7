/*
 * How: messages to the shards are commands without a name that clients can use; they travel as the
 * group's next command, on one shard or over all of its shards together. A message may find the
 * waits gone: whoever took them away has posted the answer, which is then waited for.
 *
 * Posts carry a group that may have been released, and taken again, since: groups are never freed
 * while threads run, and the client's id says whether it is still the one.
 */
#include "shards/route/blocked.h"

#include <string.h>

#include "core/base/mem.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command_stats.h"
#include "shards/call/command_table.h"
#include "shards/call/session.h"
#include "shards/local/wait.h"
#include "shards/route/dispatch.h"
#include "shards/route/group.h"
#include "shards/route/home.h"
#include "shards/route/packer.h"
#include "shards/route/run.h"

/* ---- What the messages do, on the shards ------------------------------------------------------
 */

static struct shard_set shards_of(const struct call *call)
{
    struct shard_set set;
    memcpy(&set, call_arg(call, 1).ptr, sizeof(set));
    return set;
}

/* The words that a wait has kept, as a call. */
static struct call call_of(const struct wait *wait, struct arena *arena, struct reply *reply)
{
    const struct wait_request *request = &wait->request;
    struct call call = {
        .command = request->command,
        .args = (struct bytes *)request->args,
        .arg_count = request->arg_count,
        .db_index = request->db_index,
        .resp = request->resp,
        .flags = request->flags | CALL_RETRY,
        .client_id = request->client_id,
        .reply = reply,
    };
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    int count = command_keys(call.command, call.args, call.arg_count, fast, arena, &index, NULL);
    ASSERT(count > 0); /* it has waited at one */
    call.key = key_make(call.args[index[0]]);
    return call;
}

static enum status run_again(struct call *call)
{
    struct shard_set set = shards_of(call);
    struct wait *wait = NULL;
    SHARD_SET_EACH(id, &set)
    {
        if (!wait)
            wait = wait_find(call->shards[id]->waits, call->client_id);
    }
    if (!wait)
        return WAITING; /* for the answer that is under way */
    struct call again = call_of(wait, call->arena, call->reply);
    again.shard = call->shards[call->slot_map[again.key.slot]];
    again.db = again.shard->dbs[again.db_index];
    again.shards = call->shards;
    again.slot_map = call->slot_map;
    again.shard_count = call->shard_count;
    again.arena = call->arena;
    again.config = call->config;
    bool is_waiting = call_run(&again) == WAITING;
    SHARD_SET_EACH(id, &set)
    {
        wait = wait_find(call->shards[id]->waits, call->client_id);
        if (wait && is_waiting)
            wait->has_asked = false;
        else if (wait)
            wait_drop(call->shards[id]->waits, wait);
    }
    return is_waiting ? WAITING : OK;
}

static bool is_claimed(const struct wait *wait)
{
    const struct group *group = wait->request.waiter;
    return atomic_load_explicit(&group->claimed, memory_order_acquire);
}

static enum status run_leave(struct call *call)
{
    struct shard_set set = shards_of(call);
    bool has_waited = false;
    SHARD_SET_EACH(id, &set)
    {
        struct wait *wait = wait_find(call->shards[id]->waits, call->client_id);
        if (!wait)
            continue;
        has_waited = !is_claimed(wait);
        wait_drop(call->shards[id]->waits, wait);
    }
    reply_int(call->reply, has_waited);
    return OK;
}

static const struct command again_row = {.name = "again", .run = run_again};
static const struct command leave_row = {.name = "leave", .run = run_leave};

/* ---- Home -------------------------------------------------------------------------------------
 */

static void on_timer(struct timer *timer, int64_t now_ms)
{
    (void)now_ms;
    struct blocked *blocked = (struct blocked *)((char *)timer - offsetof(struct blocked, timer));
    blocked_leave(blocked->home, blocked->group->session, BLOCKED_TIMED_OUT);
}

static struct blocked *blocked_of(struct home *home, struct group *group)
{
    if (group->blocked)
        return group->blocked;
    struct blocked *blocked = mem_zalloc(sizeof(*blocked));
    blocked->home = home;
    blocked->group = group;
    timer_init(&blocked->timer, on_timer);
    group->blocked = blocked;
    return blocked;
}

void blocked_destroy(struct blocked *blocked)
{
    if (!blocked)
        return;
    buf_fini(&blocked->reply);
    mem_free(blocked);
}

static void end_wait(struct blocked *blocked)
{
    struct home *home = blocked->home;
    timer_stop(&home->timers, &blocked->timer);
    ilist_remove(&blocked->link);
    blocked->group->session->is_blocked = false;
    home->stats.blocked_clients--;
    home->groups_out++; /* until it is given back */
    dispatch_release(home, blocked->group);
}

static void send_message(struct blocked *blocked, const struct command *row)
{
    blocked->is_out = true;
    blocked->is_asked = false;
    blocked->home->groups_out++;
    packer_message(blocked->home, blocked->group, row);
}

/* It has its reply. On its other shards it may wait still. */
static void finish(struct blocked *blocked)
{
    if (shard_set_count(&blocked->group->shards) == 1)
        end_wait(blocked);
    else
        send_message(blocked, &leave_row);
}

bool blocked_begin(struct home *home, struct group *group)
{
    struct group_call *call = group->first;
    if (group->multi || !(call->command->flags & CMD_BLOCKING) || !call->part_count ||
        !call->one->waits)
        return false;
    struct blocked *blocked = blocked_of(home, group);
    struct session *session = group->session;
    int64_t wait_ms = call->one->wait_ms;
    group_let_go(home, group);
    blocked->has_begun = true;
    session->is_blocked = true;
    session->conn->held = false; /* at the end of its input it closes */
    home->stats.blocked_clients++;
    home->groups_out--; /* it may wait for ever: nobody else waits for it */
    ilist_add_last(&home->blocked, &blocked->link);
    if (wait_ms)
        timer_start(&home->timers, &blocked->timer, home->now_ms + wait_ms);
    if (blocked->has_reply)
        finish(blocked);
    else if (session->closed)
        blocked_leave(home, session, BLOCKED_GONE);
    else if (blocked->is_asked)
        send_message(blocked, &again_row);
    return true;
}

bool blocked_leave(struct home *home, struct session *session, enum blocked_end reason)
{
    struct blocked *blocked = session->group ? session->group->blocked : NULL;
    if (!blocked || !blocked->has_begun || blocked->end || home->has_stopped)
        return false;
    blocked->end = reason;
    timer_stop(&home->timers, &blocked->timer);
    if (!blocked->is_out)
        send_message(blocked, &leave_row);
    return true;
}

static bool is_error(struct bytes reply)
{
    return reply.len && reply.ptr[0] == '-';
}

/* What was not run by the runner of a shard, which counts. */
static void count(struct home *home, const struct group *group, uint64_t ns, struct bytes reply)
{
    struct command_stats *stats = home->command_stats;
    command_stats_count(stats, group->first->command->id, ns, is_error(reply));
    if (is_error(reply))
        command_stats_count_error(stats, bytes_of(reply.ptr + 1, reply.len - 1));
}

void blocked_home(struct home *home, struct group *group)
{
    struct blocked *blocked = group->blocked;
    struct hop_call *message = group->last->one;
    struct bytes reply = hop_reply(message);
    bool is_over;
    home->groups_out--;
    blocked->is_out = false;
    if (message->command == &again_row) {
        is_over = !message->waits;
        if (is_over) {
            buf_add_bytes(&blocked->reply, reply);
            blocked->has_reply = true;
            blocked->elapsed_ns = message->elapsed_ns;
            count(home, group, message->elapsed_ns, reply);
        }
    } else {
        is_over = reply.ptr[1] == '1' || blocked->has_reply;
    }
    bool has_left = message->command == &leave_row;
    group_let_go(home, group);
    if (is_over || blocked->has_reply)
        end_wait(blocked);
    else if (blocked->end && !has_left)
        send_message(blocked, &leave_row);
    else if (blocked->is_asked && !has_left)
        send_message(blocked, &again_row);
}

void blocked_write_reply(struct home *home, struct group *group)
{
    const struct blocked *blocked = group->blocked;
    struct group_call *call = group->first;
    struct reply reply = {.out = conn_output(group->session->conn), .resp = call->resp};
    size_t at = reply.out->len;
    if (blocked->has_reply)
        reply_raw(&reply, buf_bytes(&blocked->reply));
    else if (blocked->end == BLOCKED_REFUSED)
        reply_error(&reply, bytes_from_text("UNBLOCKED client unblocked via CLIENT UNBLOCK"));
    else if (blocked->end == BLOCKED_TIMED_OUT)
        reply_null_array(&reply);
    struct bytes written = bytes_of(reply.out->ptr + at, reply.out->len - at);
    if (!blocked->has_reply)
        count(home, group, 0, written);
    group_fire_after(home, group, call, blocked->elapsed_ns, is_error(written));
    home->stats.commands++;
    if (call->silent)
        reply.out->len = at;
}

void blocked_forget_all(struct home *home)
{
    struct ilist_link *link;
    while ((link = ilist_first(&home->blocked)) != NULL) {
        struct blocked *blocked = ILIST_ITEM(struct blocked, link, link);
        blocked->end = BLOCKED_GONE;
        end_wait(blocked);
    }
}

/* ---- Posts from the shards to home -------------------------------------------------------------
 */

struct post {
    struct group *group;
    uint64_t client_id;
    uint64_t elapsed_ns;
    struct buf reply;
};

static void on_served(struct home *home, void *message)
{
    struct post *post = message;
    struct blocked *blocked = blocked_of(home, post->group); /* it waits for this, and is there */
    blocked->reply = post->reply;
    blocked->has_reply = true;
    blocked->elapsed_ns = post->elapsed_ns;
    mem_free(post);
    if (blocked->has_begun && !blocked->is_out)
        finish(blocked);
}

static void on_asked(struct home *home, void *message)
{
    struct post post = *(struct post *)message;
    mem_free(message);
    struct session *session = post.group->session;
    if (!session || session->id != post.client_id || post.group->multi ||
        !(post.group->first->command->flags & CMD_BLOCKING))
        return;
    struct blocked *blocked = blocked_of(home, post.group);
    blocked->is_asked = true;
    if (blocked->has_begun && !blocked->is_out && !blocked->end)
        send_message(blocked, &again_row);
}

static void post(struct home *home, const struct wait *wait,
                 void (*fn)(struct home *home, void *message), struct buf reply, uint64_t ns)
{
    struct post *message = mem_alloc(sizeof(*message));
    *message = (struct post){.group = wait->request.waiter,
                             .client_id = wait->request.client_id,
                             .elapsed_ns = ns,
                             .reply = reply};
    home_post(home, wait->request.home, fn, message);
}

/* ---- Serving -----------------------------------------------------------------------------------
 */

static void ask(struct home *home, struct wait *wait)
{
    if (!wait->has_asked)
        post(home, wait, on_asked, (struct buf){0}, 0);
    wait->has_asked = true;
}

/* Of all shards where a client waits one may serve it by itself. */
static bool claim(const struct wait *wait)
{
    struct group *group = wait->request.waiter;
    bool expected = false;
    return atomic_compare_exchange_strong_explicit(&group->claimed, &expected, true,
                                                   memory_order_acq_rel, memory_order_acquire);
}

static void serve(struct home *home, struct shard *shard, struct wait *wait)
{
    struct buf out = {0};
    struct reply reply = {.out = &out, .resp = wait->request.resp};
    struct run_result result;
    struct call call = call_of(wait, run_scratch(home), &reply);
    call.flags |= wait->request.is_far ? CALL_OWN_KEYS : 0;
    run_place(home, &call, shard);
    run_chunk(home, &call, 1, &result);
    if (result.status == WAITING) {
        buf_fini(&out);
        return;
    }
    post(home, wait, on_served, out, result.ns);
    wait_drop(shard->waits, wait);
}

static void serve_key(struct home *home, struct shard *shard, struct interest_key *ready)
{
    struct db *db = shard->dbs[ready->db_index];
    struct key key = key_make(interest_name(ready));
    struct wait *next;
    for (struct wait *wait = wait_first(ready); wait; wait = next) {
        next = wait_next(ready, wait); /* with the last that waits the key is forgotten */
        const struct value *value = db_peek(db, &key);
        if (!value && wait_all_need_values(shard->waits))
            return;
        if (!wait_suits(wait, value))
            continue;
        if (wait->request.takes_one && wait->request.is_far) {
            if (claim(wait))
                serve(home, shard, wait);
            continue;
        }
        if (wait->request.is_far) {
            ask(home, wait);
            /* Those behind it wait on, lest they take what is its own. Entries of a stream are
             * there for all: who asks for later ones would keep the others waiting for nothing. */
            if (wait->request.type != TYPE_STREAM)
                return;
            continue;
        }
        serve(home, shard, wait);
    }
}

void blocked_serve(struct home *home, struct shard *shard)
{
    struct interest_key *key;
    if (home->is_serving)
        return;
    home->is_serving = true;
    while ((key = wait_take_ready(shard->waits)) != NULL)
        serve_key(home, shard, key);
    home->is_serving = false;
}
