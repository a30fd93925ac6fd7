/*
 * How: replies of all steps lie in one buffer in the order in which they came; each queued call
 * remembers where its own is, and dispatch writes them in the order of the queue.
 */
#include "shards/route/multi.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/call/call.h"
#include "shards/call/command_stats.h"
#include "shards/call/command_table.h"
#include "shards/call/session.h"
#include "shards/local/watch.h"
#include "shards/route/home.h"
#include "shards/route/run.h"
#include "shards/route/server.h"

void multi_begin(struct session *session)
{
    session->multi = mem_zalloc(sizeof(struct multi));
    session->flags |= SESSION_IN_MULTI;
}

void multi_watch(struct session *session, const struct shard_set *shards)
{
    if (!session->watching)
        session->watching = mem_zalloc(sizeof(*session->watching));
    shard_set_merge(&session->watching->shards, shards);
}

struct unwatch {
    uint64_t client_id;
    uint32_t epoch;
};

static void on_unwatch(struct home *home, void *message)
{
    const struct unwatch *unwatch = message;
    watch_drop(home->shard->watches, unwatch->client_id, unwatch->epoch);
    mem_free(message);
}

void multi_unwatch(struct session *session)
{
    struct home *home = session->home;
    if (!session->watching)
        return;
    SHARD_SET_EACH(id, &session->watching->shards)
    {
        if (home->has_stopped)
            break; /* and so have the shards */
        struct unwatch *message = mem_alloc(sizeof(*message));
        *message = (struct unwatch){.client_id = session->id, .epoch = session->watch_epoch};
        home_post(home, (uint16_t)id, on_unwatch, message);
    }
    session->watch_epoch++;
    mem_free(session->watching);
    session->watching = NULL;
}

void multi_destroy(struct multi *multi)
{
    if (!multi)
        return;
    mem_free(multi->watching);
    arena_fini(&multi->arena);
    buf_fini(&multi->replies);
    mem_free(multi);
}

void multi_discard(struct session *session)
{
    multi_unwatch(session);
    multi_destroy(session->multi);
    session->multi = NULL;
    session->flags &= ~(SESSION_IN_MULTI | SESSION_DIRTY_EXEC);
}

void multi_queue(struct session *session, const struct command *command, const struct bytes *args,
                 uint32_t arg_count)
{
    struct multi *multi = session->multi;
    struct multi_call *call = arena_zalloc(&multi->arena, sizeof(*call));
    call->command = command;
    call->arg_count = arg_count;
    call->args = arena_alloc(&multi->arena, arg_count * sizeof(struct bytes));
    for (uint32_t i = 0; i < arg_count; i++)
        call->args[i] = arena_copy(&multi->arena, args[i]);
    if (multi->last)
        multi->last->next = call;
    else
        multi->first = call;
    multi->last = call;
    multi->count++;
    multi->flags |= command->flags;
}

static void add_shards(struct home *home, struct multi *multi, const struct multi_call *call,
                       struct shard_set *set)
{
    const struct command *command = call->command;
    if (command->plan == PLAN_ALL || command->plan == PLAN_WALK ||
        (command->needs_all && command->needs_all(call->args, call->arg_count))) {
        shard_set_fill(set, home->server->shard_count);
        return;
    }
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    int count = command_keys(call->command, call->args, call->arg_count, fast, &multi->arena,
                             &index, NULL);
    for (int i = 0; i < count; i++)
        shard_set_add(set, home->server->slot_map[key_slot(call->args[index[i]])]);
    if (count <= 0) /* it will say what is wrong with its words; any shard can */
        shard_set_add(set, home->id);
}

void multi_plan(struct home *home, struct session *session, struct shard_set *out_set)
{
    if (session->watching)
        shard_set_merge(out_set, &session->watching->shards);
    for (struct multi_call *call = session->multi->first; call; call = call->next) {
        const struct command *command = call->command;
        call->at_home = command->plan == PLAN_HERE || command->flags & CMD_LOOKS;
        if (!call->at_home)
            add_shards(home, session->multi, call, out_set);
    }
}

static void run_queued(struct home *home, struct call *exec, struct multi_call *queued)
{
    struct multi *multi = exec->multi;
    struct reply reply = {.out = &multi->replies, .resp = queued->resp};
    struct call call = {
        .command = queued->command,
        .args = queued->args,
        .arg_count = queued->arg_count,
        .db_index = queued->db_index,
        .resp = queued->resp,
        .flags = (exec->flags & CALL_ROOM_MADE) | queued->flags,
        .reply = &reply,
        .client_id = exec->client_id,
    };
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    struct shard *shard = exec->shard;
    if (command_keys(call.command, call.args, call.arg_count, fast, exec->arena, &index, NULL) >
        0) {
        call.key = key_make(call.args[index[0]]);
        shard = home->server->shards[home->server->slot_map[call.key.slot]];
    }
    run_place(home, &call, shard);
    queued->reply_at = multi->replies.len;
    uint64_t from = clock_ticks();
    enum status status = call.command->check ? call.command->check(&call) : OK;
    if (status == OK)
        status = run_call(home, &call);
    else
        call_write_error(&call, status);
    queued->elapsed_ns = clock_ticks_to_ns(clock_ticks() - from);
    command_stats_count(home->command_stats, call.command->id, queued->elapsed_ns, status != OK);
    if (status != OK)
        command_stats_count_error(home->command_stats,
                                  bytes_of(multi->replies.ptr + queued->reply_at + 1,
                                           multi->replies.len - queued->reply_at - 1));
    queued->reply_len = multi->replies.len - queued->reply_at;
    queued->answered = true;
}

/* Asks all shards, and takes the watches away. */
static bool is_spoilt(struct home *home, const struct call *call)
{
    const struct multi *multi = call->multi;
    bool spoilt = false;
    if (!multi->watching)
        return false;
    SHARD_SET_EACH(id, &multi->watching->shards)
    {
        struct watches *watches = home->server->shards[id]->watches;
        spoilt |= watch_is_dirty(watches, call->client_id, multi->watch_epoch);
        watch_drop(watches, call->client_id, multi->watch_epoch);
    }
    return spoilt;
}

enum status multi_run(struct home *home, struct call *call)
{
    call->multi->is_spoilt = is_spoilt(home, call);
    if (call->multi->is_spoilt)
        return OK;
    for (struct multi_call *queued = call->multi->first; queued; queued = queued->next)
        if (!queued->at_home)
            run_queued(home, call, queued);
    return OK;
}
