/*
 * stream_group_info: XINFO GROUPS, XINFO CONSUMERS, and the groups in XINFO STREAM FULL.
 */
#include "core/type/stream_group.h"
#include "net/reply.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"
#include "shards/cmd/stream_info.h"

#define KEY 2
#define GROUP 3

static enum status find_stream(struct call *call, const struct stream **out)
{
    TRY(stream_arg_find(call, KEY, out));
    return *out ? OK : ERR_NO_SUCH_KEY;
}

static void reply_field_int(struct reply *reply, const char *name, int64_t value)
{
    reply_bulk_text(reply, name);
    reply_int(reply, value);
}

static void reply_field_id(struct reply *reply, const char *name, struct stream_id id)
{
    reply_bulk_text(reply, name);
    stream_reply_id(reply, id);
}

static void reply_name(struct reply *reply, struct bytes name)
{
    reply_bulk_text(reply, "name");
    reply_bulk(reply, name);
}

/* How far a group is; both are null where nobody can tell. */
static void reply_progress(struct reply *reply, const struct stream *stream,
                           const struct stream_group *group)
{
    reply_bulk_text(reply, "entries-read");
    if (group->entries_read != STREAM_GROUP_READ_UNKNOWN)
        reply_int(reply, group->entries_read);
    else
        reply_null(reply);
    int64_t lag;
    reply_bulk_text(reply, "lag");
    if (stream_group_lag(group, stream, &lag))
        reply_int(reply, lag);
    else
        reply_null(reply);
}

/* ---- XINFO GROUPS and CONSUMERS ------------------------------------------------------------- */

enum status stream_info_groups(struct call *call)
{
    const struct stream *stream;
    TRY(find_stream(call, &stream));
    struct reply *reply = call->reply;
    reply_array(reply, stream_group_count(stream));
    for (uint64_t i = 0; i < stream_group_count(stream); i++) {
        const struct stream_group *group = stream_group_at(stream, i);
        reply_map(reply, 6);
        reply_name(reply, stream_group_name(group));
        reply_field_int(reply, "consumers", (int64_t)group->consumers.count);
        reply_field_int(reply, "pending", (int64_t)group->pending.count);
        reply_field_id(reply, "last-delivered-id", group->last_id);
        reply_progress(reply, stream, group);
    }
    return OK;
}

enum status stream_info_consumers(struct call *call)
{
    const struct stream *stream;
    TRY(find_stream(call, &stream));
    struct bytes name = call_arg(call, GROUP), key = call_arg(call, KEY);
    const struct stream_group *group = stream_group_find(stream, name);
    if (!group)
        return call_fail_text(call, "NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                              (int)name.len, name.ptr, (int)key.len, key.ptr);
    struct reply *reply = call->reply;
    reply_array(reply, group->consumers.count);
    struct tree_cursor place = tree_seek(&group->consumers, 0);
    for (const struct stream_group_consumer *each; (each = tree_item(&place)); tree_next(&place)) {
        int64_t idle_ms = stream_group_arg_age_ms(call, each->seen_at_ms), inactive_ms = -1;
        if (each->active_at_ms != STREAM_GROUP_NEVER_MS)
            inactive_ms = stream_group_arg_age_ms(call, each->active_at_ms);
        reply_map(reply, 4);
        reply_name(reply, stream_group_consumer_name(each));
        reply_field_int(reply, "pending", (int64_t)each->pending.count);
        reply_field_int(reply, "idle", idle_ms < 0 ? 0 : idle_ms);
        reply_field_int(reply, "inactive", inactive_ms);
    }
    return OK;
}

/* ---- XINFO STREAM FULL ---------------------------------------------------------------------- */

/* The first `count` entries of a list; with the names of their consumers, or without. */
static void reply_pending(struct reply *reply, const struct tree *list, uint64_t count,
                          bool with_consumer)
{
    uint64_t shown = count && count < list->count ? count : list->count;
    reply_field_int(reply, "pel-count", (int64_t)list->count);
    reply_bulk_text(reply, "pending");
    reply_array(reply, shown);
    struct tree_cursor place = tree_seek(list, 0);
    for (; shown > 0; shown--, tree_next(&place)) {
        const struct stream_group_pending *pending = tree_item(&place);
        reply_array(reply, with_consumer ? 4 : 3);
        stream_reply_id(reply, pending->id);
        if (with_consumer)
            reply_bulk(reply, stream_group_consumer_name(pending->consumer));
        reply_int(reply, pending->delivered_at_ms);
        reply_int(reply, (int64_t)pending->delivery_count);
    }
}

static void reply_consumers(struct reply *reply, const struct stream_group *group, uint64_t count)
{
    reply_bulk_text(reply, "consumers");
    reply_array(reply, group->consumers.count);
    struct tree_cursor place = tree_seek(&group->consumers, 0);
    for (const struct stream_group_consumer *each; (each = tree_item(&place)); tree_next(&place)) {
        reply_map(reply, 5);
        reply_name(reply, stream_group_consumer_name(each));
        reply_field_int(reply, "seen-time", each->seen_at_ms);
        reply_field_int(reply, "active-time", each->active_at_ms);
        reply_pending(reply, &each->pending, count, false);
    }
}

void stream_info_reply_groups(struct call *call, const struct stream *stream, uint64_t count)
{
    struct reply *reply = call->reply;
    reply_array(reply, stream_group_count(stream));
    for (uint64_t i = 0; i < stream_group_count(stream); i++) {
        const struct stream_group *group = stream_group_at(stream, i);
        reply_map(reply, 7);
        reply_name(reply, stream_group_name(group));
        reply_field_id(reply, "last-delivered-id", group->last_id);
        reply_progress(reply, stream, group);
        reply_pending(reply, &group->pending, count, true);
        reply_consumers(reply, group, count);
    }
}
