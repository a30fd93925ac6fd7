/*
 * How: groups are pooled per home with their arena. A hop is given back when the last of its groups
 * has taken its replies out of it.
 */
#include "shards/route/group.h"

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/call/call.h"
#include "shards/call/command_stats.h"
#include "shards/call/session.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"
#include "shards/route/run.h"

#define GROUP_ARENA_KEEP 16384u /* bytes of an idle group's arena */

struct group *group_take(struct home *home, struct session *session)
{
    struct group *group = home->group_pool;
    if (group)
        home->group_pool = group->next;
    else
        group = mem_zalloc(sizeof(*group));
    home->groups_out++;
    group->session = session;
    group->first = group->last = NULL;
    group->call_count = group->hops_out = group->hop_count = 0;
    group->multi = NULL;
    group->blocked = NULL;
    atomic_store_explicit(&group->dropped, false, memory_order_relaxed);
    atomic_store_explicit(&group->claimed, false, memory_order_relaxed); /* nobody waits for it */
    return group;
}

void group_destroy(struct group *group)
{
    arena_fini(&group->arena);
    mem_free(group->hops);
    mem_free(group);
}

void group_drop(struct group *group)
{
    atomic_store_explicit(&group->dropped, true, memory_order_relaxed); /* a hint */
}

static void give_hops_back(struct home *home, struct group *group)
{
    for (uint32_t i = 0; i < group->hop_count; i++)
        if (--group->hops[i]->groups_left == 0)
            hop_recycle(home, group->hops[i]);
    group->hop_count = 0;
}

void group_let_go(struct home *home, struct group *group)
{
    struct group_call *call = group->first;
    if (call->part_count) { /* else they have been copied before */
        struct bytes *words = arena_alloc(&group->arena, call->arg_count * sizeof(*words));
        for (uint32_t i = 0; i < call->arg_count; i++)
            words[i] = arena_copy(&group->arena, call->args[i]);
        call->args = words;
        call->part_count = 0;
    }
    group->first->next = NULL;
    group->last = group->first;
    group->call_count = 1;
    give_hops_back(home, group);
}

void group_give(struct home *home, struct group *group)
{
    home->groups_out--;
    group->session = NULL;
    give_hops_back(home, group);
    buf_fini(&group->pinned);
    arena_reset(&group->arena, GROUP_ARENA_KEEP);
    group->next = home->group_pool;
    home->group_pool = group;
}

struct group_call *group_add(struct group *group, const struct command *command)
{
    struct group_call *call = arena_zalloc(&group->arena, sizeof(*call));
    call->command = command;
    if (group->last)
        group->last->next = call;
    else
        group->first = call;
    group->last = call;
    group->call_count++;
    return call;
}

void group_add_part(struct group *group, struct group_call *call, struct hop_call *part)
{
    if (call->part_count == 0) {
        call->one = part;
        call->parts = &call->one;
        call->part_cap = 1;
    } else if (call->part_count == call->part_cap) {
        struct hop_call **parts = arena_alloc(&group->arena, call->part_cap * 4 * sizeof(*parts));
        memcpy(parts, call->parts, call->part_count * sizeof(*parts));
        call->parts = parts;
        call->part_cap *= 4;
    }
    call->parts[call->part_count++] = part;
    part->group = group;
    group_join(group, part->hop);
}

void group_join(struct group *group, struct hop *hop)
{
    /* Groups are filled one after the other, so a group that is in a hop already is its last. */
    if (hop->group_count && hop->groups[hop->group_count - 1] == group)
        return;
    hop_add_group(hop, group);
    if (group->hop_count == group->hop_cap) {
        group->hop_cap = group->hop_cap ? group->hop_cap * 2 : 4;
        group->hops = mem_realloc(group->hops, group->hop_cap * sizeof(*group->hops));
    }
    group->hops[group->hop_count++] = hop;
    group->hops_out++;
}

void group_whole_call(struct home *home, const struct group_call *from, struct call *out_call)
{
    *out_call = (struct call){
        .command = from->command,
        .args = from->args,
        .arg_count = from->arg_count,
        .db_index = from->db_index,
        .resp = from->resp,
        .flags = from->flags,
        .home = home,
    };
    run_place(home, out_call, home->shard);
}

static void write_merged(struct home *home, struct group *group, const struct group_call *from,
                         struct call *call, uint64_t *ns)
{
    struct bytes *parts = arena_alloc(&group->arena, from->part_count * sizeof(*parts));
    for (uint32_t i = 0; i < from->part_count; i++)
        parts[i] = hop_reply(from->parts[i]);
    size_t at = call->reply->out->len;
    uint64_t from_ticks = clock_ticks();
    from->command->merge(call, parts, from->part_count);
    *ns += clock_ticks_to_ns(clock_ticks() - from_ticks);
    bool failed = call->reply->out->ptr[at] == '-';
    command_stats_count(home->command_stats, from->command->id, *ns, failed);
    if (failed)
        command_stats_count_error(home->command_stats, bytes_of(call->reply->out->ptr + at + 1,
                                                                call->reply->out->len - at - 1));
}

static void tell(struct home *home, const struct group *group, const struct call *call, uint64_t ns,
                 bool failed)
{
    tap_fire_after(&home->tap, &(struct tap_event){.call = call,
                                                   .session = group->session,
                                                   .now_us = home->now_ms * 1000,
                                                   .elapsed_us = (uint32_t)(ns / 1000),
                                                   .failed = failed});
}

/* Writes a reply that must be merged, or whose command somebody wants to know of. */
static void write_with_call(struct home *home, struct group *group, const struct group_call *from,
                            struct buf *out, uint64_t ns)
{
    struct call call;
    struct reply reply = {.out = out, .resp = from->resp};
    size_t at = out->len;
    group_whole_call(home, from, &call);
    call.reply = &reply;
    call.client_id = group->session->id;
    if (from->merges)
        write_merged(home, group, from, &call, &ns);
    else
        buf_add_bytes(out, hop_reply(from->one));
    if (tap_wants_after(&home->tap, home->shard->config, ns))
        tell(home, group, &call, ns, out->len > at && out->ptr[at] == '-');
}

void group_fire_after(struct home *home, struct group *group, const struct group_call *from,
                      uint64_t ns, bool failed)
{
    struct call call;
    if (!tap_wants_after(&home->tap, home->shard->config, ns))
        return;
    group_whole_call(home, from, &call);
    call.client_id = group->session->id;
    tell(home, group, &call, ns, failed);
}

void group_write_reply(struct home *home, struct group *group, struct group_call *from,
                       struct buf *out)
{
    uint64_t ns = 0; /* the command's time is that of its parts, and of merging them */
    for (uint32_t i = 0; i < from->part_count; i++)
        ns += from->parts[i]->elapsed_ns;
    if (unlikely(from->merges || tap_wants_after(&home->tap, home->shard->config, ns)))
        write_with_call(home, group, from, out, ns);
    else
        buf_add_bytes(out, hop_reply(from->one));
}

void group_write_replies(struct home *home, struct group *group)
{
    struct buf *out = conn_output(group->session->conn);
    for (struct group_call *from = group->first; from; from = from->next) {
        size_t at = out->len;
        group_write_reply(home, group, from, out);
        home->stats.commands++;
        if (from->silent)
            out->len = at;
    }
}
