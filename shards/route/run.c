/*
 * How: a chunk goes through four passes: slot header, bucket, record, run. The runner is the
 * scratch memory of the handlers.
 */
#include "shards/route/run.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/call/command_stats.h"
#include "shards/local/evict.h"
#include "shards/route/blocked.h"
#include "shards/route/group.h"
#include "shards/route/home.h"
#include "shards/route/hop.h"
#include "shards/route/multi.h"
#include "shards/route/server.h"

#define DROP_LOOK_BYTES 65536u /* replies of a hop from which on it is asked who waits for them */
#define SCRATCH_KEEP 65536u    /* bytes of scratch memory kept between chunks */

struct runner {
    struct arena arena;
    uint32_t depth; /* chunks being run: a handler may announce, and so run a part, in the middle of
                       one */
};

struct runner *runner_create(void)
{
    return mem_zalloc(sizeof(struct runner));
}

void runner_destroy(struct runner *runner)
{
    if (!runner)
        return;
    arena_fini(&runner->arena);
    mem_free(runner);
}

struct arena *run_scratch(struct home *home)
{
    return &home->runner->arena;
}

void run_place(struct home *home, struct call *call, struct shard *shard)
{
    call->shard = shard;
    call->shards = home->server->shards;
    call->slot_map = home->server->slot_map;
    call->shard_count = (uint16_t)home->server->shard_count;
    call->db = shard->dbs[call->db_index];
    call->arena = &home->runner->arena;
    call->config = shard->config;
}

/* One part of an ALL or WALK that this thread runs by itself. */
static struct bytes run_own_part(struct home *home, const struct call *whole, uint32_t shard_id,
                                 struct buf *out)
{
    struct call part = *whole;
    struct reply reply = {.out = out, .resp = whole->resp};
    part.reply = &reply;
    part.flags |= CALL_PART;
    run_place(home, &part, home->server->shards[shard_id]);
    call_run(&part);
    return buf_bytes(out);
}

static enum status run_everywhere(struct home *home, struct call *call)
{
    uint32_t shard_count = home->server->shard_count, part_count = 0;
    struct bytes *parts = arena_alloc(call->arena, shard_count * sizeof(*parts));
    struct buf *replies = arena_zalloc(call->arena, shard_count * sizeof(*replies));
    bool walks = call->command->plan == PLAN_WALK;
    for (; part_count < shard_count; part_count++) {
        int shard = walks ? call->command->next_shard(call, parts, part_count) : (int)part_count;
        if (shard < 0)
            break;
        parts[part_count] = run_own_part(home, call, (uint32_t)shard, &replies[part_count]);
    }
    call->command->merge(call, parts, part_count);
    for (uint32_t i = 0; i < part_count; i++)
        buf_fini(&replies[i]);
    return OK;
}

enum status run_call(struct home *home, struct call *call)
{
    if (unlikely(call->multi))
        return multi_run(home, call);
    enum plan plan = call->command->plan;
    if (unlikely((plan == PLAN_ALL || plan == PLAN_WALK) && !(call->flags & CALL_PART)))
        return run_everywhere(home, call);
    /* Room for what a growing command may add. Parts never fail for memory: home has asked for
     * them. */
    if (call->command->flags & CMD_GROWS && call->config->maxmemory &&
        !(call->flags & CALL_ROOM_MADE)) {
        enum status status = evict_make_room(call->shard);
        if (status != OK) {
            call_write_error(call, status);
            return status;
        }
    }
    return call_run(call);
}

static void count(struct home *home, const struct call *call, const struct run_result *result)
{
    call->shard->stats.commands++;
    if (call->flags & CALL_PART || call->multi || result->status == WAITING)
        return;
    const struct buf *out = call->reply->out;
    bool failed = result->reply_end > result->reply_at && out->ptr[result->reply_at] == '-';
    command_stats_count(home->command_stats, call->command->id, result->ns, failed);
    if (unlikely(failed))
        command_stats_count_error(
            home->command_stats,
            bytes_of(out->ptr + result->reply_at + 1, result->reply_end - result->reply_at - 1));
}

void run_chunk(struct home *home, struct call *calls, uint32_t call_count,
               struct run_result *out_results)
{
    DEBUG_ASSERT(call_count <= RUN_CHUNK);
    if (call_count > 1)
        for (int step = 0; step < DB_PREFETCH_STEPS; step++)
            for (uint32_t i = 0; i < call_count; i++)
                if (calls[i].key.name.ptr)
                    db_prefetch(calls[i].db, &calls[i].key, step);
    home->runner->depth++;
    uint64_t from = clock_ticks();
    for (uint32_t i = 0; i < call_count; i++) {
        struct call *call = &calls[i];
        struct run_result *result = &out_results[i];
        result->reply_at = call->reply->out->len;
        call->config = call->shard->config; /* it may have caught up since the call was placed */
        result->status = run_call(home, call);
        result->reply_end = call->reply->out->len;
        uint64_t now = clock_ticks(); /* the end of one is the beginning of the next */
        result->ns = clock_ticks_to_ns(now - from);
        from = now;
        count(home, call, result);
        if (unlikely(call->shard->has_ready))
            blocked_serve(home, call->shard);
    }
    if (--home->runner->depth == 0)
        arena_reset(&home->runner->arena, SCRATCH_KEEP);
}

/* Makes a call of what travelled. */
static void unpack(struct home *home, struct shard *shard, struct hop_call *from, struct call *call,
                   struct reply *reply)
{
    *reply = (struct reply){.out = &from->hop->replies, .resp = from->resp};
    *call = (struct call){
        .command = from->command,
        .args = from->args,
        .arg_count = from->arg_count,
        .db_index = from->db_index,
        .resp = from->resp,
        .flags = from->flags,
        .reply = reply,
        .client_id = from->client_id,
        .watch_epoch = from->watch_epoch,
        .waiter = from->group,
        .waiter_home = from->hop->home,
        .multi = from->multi,
    };
    if (from->key_index)
        call->key = (struct key){
            .name = from->args[from->key_index], .hash = from->key_hash, .slot = from->key_slot};
    if (from->hop->kind == HOP_LOOKS)
        call->home = home;
    /* An entry that stands together may have keys on several shards: the first key says where. */
    bool own_place = from->hop->is_together && from->key_index;
    run_place(home, call,
              own_place ? home->server->shards[home->server->slot_map[from->key_slot]] : shard);
}

/* Large reads of clients that are gone are not worth their time. (Only looked at once a hop's
 * replies are large: the flag is on a line that home writes.) */
static bool is_for_nobody(const struct hop_call *call)
{
    return call->command->flags & CMD_READONLY &&
           atomic_load_explicit(&call->group->dropped, memory_order_relaxed);
}

void run_hop(struct home *home, struct shard *shard, struct hop *hop)
{
    struct call calls[RUN_CHUNK];
    struct reply replies[RUN_CHUNK];
    struct hop_call *from[RUN_CHUNK];
    struct run_result results[RUN_CHUNK];
    hop->is_done = true;
    for (struct hop_call *next = hop->first; next;) {
        uint32_t chunk = 0;
        for (; chunk < RUN_CHUNK && next; next = next->next) {
            if (unlikely(hop->replies.len > DROP_LOOK_BYTES) && is_for_nobody(next))
                continue;
            from[chunk] = next;
            unpack(home, shard, next, &calls[chunk], &replies[chunk]);
            chunk++;
        }
        run_chunk(home, calls, chunk, results);
        for (uint32_t i = 0; i < chunk; i++) {
            struct hop_call *call = from[i];
            call->reply_at = results[i].reply_at;
            call->reply_len = results[i].reply_end - results[i].reply_at;
            call->waits = results[i].status == WAITING;
            call->failed = results[i].status != OK && !call->waits;
            call->wait_ms = calls[i].wait_ms;
            call->elapsed_ns = results[i].ns;
        }
    }
    if (home->id != hop->home)
        shard->stats.remote_in += hop->call_count;
}
