/*
 * stream_pending: XACK and XPENDING: what the consumers of a group were given and have not
 * acknowledged.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"

#define KEY 1
#define GROUP 2
#define FIRST_ID 3

/* ---- XACK ----------------------------------------------------------------------------------- */

static enum status read_ids(struct call *call, uint32_t first, struct stream_id **out)
{
    uint32_t count = call->arg_count - first;
    *out = arena_alloc(call->arena, count * sizeof **out);
    for (uint32_t i = 0; i < count; i++)
        TRY(stream_arg_id(call, first + i, 0, &(*out)[i]));
    return OK;
}

static enum status cmd_xack(struct call *call)
{
    const struct stream *stream;
    const struct stream_group *found;
    TRY(stream_group_arg_find(call, KEY, GROUP, &stream, &found));
    if (!found) {
        reply_int(call->reply, 0);
        return OK;
    }
    struct stream_id *ids;
    TRY(read_ids(call, FIRST_ID, &ids));
    struct heap *heap = stream_group_arg_heap(call, KEY);
    struct stream_group *group = NULL; /* a group that waits for none of the ids is not changed */
    int64_t count = 0;
    for (uint32_t i = 0; i < call->arg_count - FIRST_ID; i++) {
        if (!group && !stream_group_find_pending(found, ids[i]))
            continue;
        if (!group)
            group = stream_group_edit(stream_group_arg_edit(call, KEY), call_arg(call, GROUP));
        count += stream_group_acknowledge(group, heap, ids[i]);
    }
    reply_int(call->reply, count);
    return OK;
}

/* ---- XPENDING ------------------------------------------------------------------------------- */

/* XPENDING key group [[IDLE ms] low high count [consumer]] */
struct question {
    int64_t min_idle_ms;
    struct stream_id low, high;
    int64_t count;
    uint32_t consumer; /* a word; 0: all of them */
};

static enum status read_question(struct call *call, struct question *out)
{
    uint32_t at = FIRST_ID;
    *out = (struct question){0};
    if (call_arg_is(call, at, "IDLE")) {
        TRY(call_arg_int(call, at + 1, &out->min_idle_ms));
        at += 2;
        if (at + 3 > call->arg_count)
            return ERR_SYNTAX;
    }
    TRY(call_arg_int(call, at + 2, &out->count));
    TRY(stream_arg_low(call, at, &out->low));
    TRY(stream_arg_high(call, at + 1, &out->high));
    if (at + 3 < call->arg_count)
        out->consumer = at + 3;
    return OK;
}

static struct stream_id id_at(const struct tree *list, uint64_t rank)
{
    return ((const struct stream_group_pending *)tree_get(list, rank))->id;
}

static void reply_summary(struct call *call, const struct stream_group *group)
{
    uint64_t count = group->pending.count;
    reply_array(call->reply, 4);
    reply_int(call->reply, (int64_t)count);
    if (count == 0) {
        reply_null(call->reply);
        reply_null(call->reply);
        reply_null_array(call->reply);
        return;
    }
    stream_reply_id(call->reply, id_at(&group->pending, 0));
    stream_reply_id(call->reply, id_at(&group->pending, count - 1));

    size_t mark = reply_mark(call->reply), busy_count = 0;
    struct tree_cursor place = tree_seek(&group->consumers, 0);
    for (const struct stream_group_consumer *each; (each = tree_item(&place)); tree_next(&place)) {
        if (each->pending.count == 0)
            continue;
        reply_array(call->reply, 2);
        reply_bulk(call->reply, stream_group_consumer_name(each));
        reply_bulk_int(call->reply, (int64_t)each->pending.count);
        busy_count++;
    }
    reply_array_at(call->reply, mark, busy_count);
}

static void reply_pending(struct call *call, const struct tree *list,
                          const struct question *question)
{
    int64_t count = 0;
    size_t mark = reply_mark(call->reply);
    struct tree_cursor place = stream_group_seek_pending(list, question->low);
    for (const struct stream_group_pending *each;
         count < question->count && (each = tree_item(&place)); tree_next(&place)) {
        if (stream_id_compare(each->id, question->high) > 0)
            break;
        int64_t idle_ms = stream_group_arg_age_ms(call, each->delivered_at_ms);
        if (question->min_idle_ms && idle_ms < question->min_idle_ms)
            continue;
        reply_array(call->reply, 4);
        stream_reply_id(call->reply, each->id);
        reply_bulk(call->reply, stream_group_consumer_name(each->consumer));
        reply_int(call->reply, idle_ms < 0 ? 0 : idle_ms);
        reply_int(call->reply, (int64_t)each->delivery_count);
        count++;
    }
    reply_array_at(call->reply, mark, (size_t)count);
}

static enum status cmd_xpending(struct call *call)
{
    bool wants_summary = call->arg_count == 3;
    if (!wants_summary && (call->arg_count < 6 || call->arg_count > 9))
        return ERR_SYNTAX;
    struct question question;
    if (!wants_summary)
        TRY(read_question(call, &question));
    const struct stream *stream;
    const struct stream_group *group;
    TRY(stream_group_arg_get(call, KEY, GROUP, &stream, &group));
    if (wants_summary) {
        reply_summary(call, group);
        return OK;
    }
    const struct tree *list = &group->pending;
    if (question.consumer) {
        const struct stream_group_consumer *consumer = stream_group_find_consumer(
            group, call_arg(call, question.consumer));
        if (!consumer) {
            reply_array(call->reply, 0);
            return OK;
        }
        list = &consumer->pending;
    }
    reply_pending(call, list, &question);
    return OK;
}

/* clang-format off */
const struct command stream_pending_commands[] = {
    {.name = "xack", .arity = -4, .run = cmd_xack, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE), .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key group ID=id [id ...]", .since = "5.0.0",
     .cost = "O(1) for each id.",
     .brief = "Says that entries were dealt with, which are then no longer pending."},

    {.name = "xpending", .arity = -3, .run = cmd_xpending, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_STREAM,
     .syntax = "key group filters=[[IDLE min-idle-time/integer]@6.2.0 start/string end/string "
               "count [consumer]]",
     .since = "5.0.0",
     .cost = "O(N) where N is the number of entries shown; short form: of consumers.",
     .tips = "nondeterministic_output", .history = "6.2.0 Takes IDLE, and exclusive ranges.",
     .brief = "Tells what the consumers of a group have not acknowledged."},
    {0},
};
/* clang-format on */
