/*
 * stream_group_read: XREADGROUP, which gives a consumer entries that nobody of its group has been
 * given, or waits for some, or shows it again what it has not acknowledged.
 *
 * All keys, groups and ids are looked at before anything changes: a command that fails has given
 * away nothing.
 */
#include <inttypes.h>

#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"

struct read {
    uint32_t group, consumer;      /* words; 0: not given */
    uint32_t first_key, key_count; /* the ids follow the keys */
    int64_t count;                 /* entries of each stream; 0: no limit */
    bool no_ack;                   /* what is given counts as acknowledged */
    bool may_wait;                 /* BLOCK */
    int64_t timeout_ms;            /* 0: for ever */
};

/* ---- Words --------------------------------------------------------------------------------- */

static enum status read_words(struct call *call, struct read *read)
{
    *read = (struct read){0};
    for (uint32_t i = 1; i < call->arg_count && !read->first_key; i++) {
        uint32_t more = call->arg_count - i - 1;
        if (call_arg_is(call, i, "BLOCK") && more) {
            TRY(stream_arg_timeout(call, ++i, &read->timeout_ms));
            read->may_wait = true;
        } else if (call_arg_is(call, i, "COUNT") && more) {
            TRY(call_arg_int(call, ++i, &read->count));
            if (read->count < 0)
                read->count = 0;
        } else if (call_arg_is(call, i, "STREAMS") && more) {
            if (more % 2 != 0)
                return call_fail_text(call, "ERR Unbalanced 'xreadgroup' list of streams: for each "
                                            "stream key an ID or '>' must be specified.");
            read->first_key = i + 1;
            read->key_count = more / 2;
        } else if (call_arg_is(call, i, "GROUP") && more >= 2) {
            read->group = ++i;
            read->consumer = ++i;
        } else if (call_arg_is(call, i, "NOACK")) {
            read->no_ack = true;
        } else {
            return ERR_SYNTAX;
        }
    }
    if (!read->first_key)
        return ERR_SYNTAX;
    if (!read->group)
        return call_fail_text(call, "ERR Missing GROUP option for XREADGROUP");
    return OK;
}

static enum status check_xreadgroup(struct call *call)
{
    struct read read;
    return read_words(call, &read);
}

/* The keys stand behind the STREAMS that is an option, not the name of a group or a consumer. */
static int xreadgroup_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                                uint16_t *out_flags)
{
    uint32_t i = 1;
    while (i < arg_count && !bytes_is(args[i], "STREAMS")) {
        bool takes_one = bytes_is(args[i], "BLOCK") || bytes_is(args[i], "COUNT");
        i += bytes_is(args[i], "GROUP") ? 3 : takes_one ? 2 : 1;
    }
    if (i + 2 >= arg_count || (arg_count - i - 1) % 2 != 0)
        return -1;
    uint32_t count = (arg_count - i - 1) / 2;
    for (uint32_t k = 0; k < count; k++) {
        out_index[k] = i + 1 + k;
        out_flags[k] = KEY_RO | KEY_ACCESS;
    }
    return (int)count;
}

/* ---- Looking before anything changes -------------------------------------------------------- */

/* The id after which the consumer's history is shown; the largest of all stands for new entries. */
static enum status read_id(struct call *call, uint32_t index, struct stream_id *out)
{
    *out = STREAM_ID_MAX;
    if (bytes_equal(call_arg(call, index), BYTES(">")))
        return OK;
    if (bytes_equal(call_arg(call, index), BYTES("$")))
        return call_fail_text(
            call, "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the "
                  "history of this consumer by specifying a proper ID, or use the > ID to get new "
                  "messages. The $ ID would just return an empty result set.");
    return stream_arg_id(call, index, 0, out);
}

/* What a client wants of one stream. */
struct wish {
    const struct stream *stream;
    const struct stream_group *group;
    struct stream_id after; /* STREAM_ID_MAX: new entries */
};

static enum status look(struct call *call, const struct read *read, struct wish *wishes)
{
    for (uint32_t i = 0; i < read->key_count; i++) {
        uint32_t key_index = read->first_key + i;
        struct wish *wish = &wishes[i];
        TRY(stream_group_arg_find(call, key_index, read->group, &wish->stream, &wish->group));
        if (!wish->group) {
            struct bytes key = call_arg(call, key_index), name = call_arg(call, read->group);
            return call_fail_text(call,
                                  "NOGROUP No such key '%.*s' or consumer group '%.*s' in "
                                  "XREADGROUP with GROUP option",
                                  (int)key.len, key.ptr, (int)name.len, name.ptr);
        }
        TRY(read_id(call, key_index + read->key_count, &wish->after));
    }
    return OK;
}

static bool wants_new(const struct wish *wish)
{
    return stream_id_compare(wish->after, STREAM_ID_MAX) == 0;
}

/* A history is always shown, be it empty. */
static bool has_something(const struct wish *wish)
{
    return !wants_new(wish) ||
           stream_id_compare(stream_last_entry_id(wish->stream), wish->group->last_id) > 0;
}

/* ---- Giving -------------------------------------------------------------------------------- */

/* One stream's part. */
struct give {
    struct call *call;
    const struct read *read;
    struct stream *stream;
    struct heap *heap;
    struct stream_group *group;
    struct stream_group_consumer *consumer;
};

/* New entries, which become the consumer's. */
static void give_new(struct give *give)
{
    struct reply *reply = give->call->reply;
    int64_t now_ms = call_now_ms(give->call);
    size_t mark = reply_mark(reply);
    int64_t count = 0;
    struct stream_id first;
    struct stream_cursor cursor;
    struct stream_entry entry;
    if (!stream_id_next(give->group->last_id, &first))
        first = STREAM_ID_MAX;
    stream_seek(give->stream, first, STREAM_ID_MAX, false, &cursor);
    while (stream_step(&cursor, &entry)) {
        stream_group_advance(give->group, give->stream, entry.id);
        stream_reply_entry(reply, entry);
        if (!give->read->no_ack) {
            stream_group_deliver(give->group, give->heap, give->consumer, entry.id, now_ms);
            give->consumer->active_at_ms = now_ms;
        }
        if (++count == give->read->count)
            break;
    }
    reply_array_at(reply, mark, (size_t)count);
}

/* What the consumer was given after `id` and has not acknowledged: once more delivered, or told
 * that it is gone. */
static void give_history(struct give *give, struct stream_id id)
{
    struct reply *reply = give->call->reply;
    size_t mark = reply_mark(reply);
    int64_t count = 0;
    struct stream_id first;
    if (!stream_id_next(id, &first))
        first = STREAM_ID_MIN;
    struct tree_cursor place = stream_group_seek_pending(&give->consumer->pending, first);
    for (struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place)) {
        struct stream_entry entry;
        if (stream_find(give->stream, each->id, &entry)) {
            stream_reply_entry(reply, entry);
            each->delivered_at_ms = call_now_ms(give->call);
            each->delivery_count++;
        } else {
            reply_array(reply, 2);
            stream_reply_id(reply, each->id);
            reply_null_array(reply);
        }
        if (++count == give->read->count)
            break;
    }
    reply_array_at(reply, mark, (size_t)count);
}

/* True when the stream's entries, or its history, stand in the reply. The consumer has been seen
 * even if there are none; but who waits was seen when it began to: a change at each look would wake
 * all who wait. */
static bool serve(struct call *call, const struct read *read, uint32_t key_index,
                  const struct wish *wish)
{
    bool is_served = has_something(wish);
    if (!is_served && (call->flags & CALL_RETRY))
        return false;
    struct give give = {.call = call, .read = read, .heap = stream_group_arg_heap(call, key_index)};
    give.stream = stream_group_arg_edit(call, key_index);
    give.group = stream_group_edit(give.stream, call_arg(call, read->group));
    give.consumer = stream_group_arg_see(call, give.heap, give.group,
                                         call_arg(call, read->consumer));
    if (!is_served)
        return false;
    if (call->resp == 2)
        reply_array(call->reply, 2);
    reply_bulk(call->reply, call_arg(call, key_index));
    if (wants_new(wish))
        give_new(&give);
    else
        give_history(&give, wish->after);
    return true;
}

static enum status cmd_xreadgroup(struct call *call)
{
    struct read read;
    TRY(read_words(call, &read));
    struct wish *wishes = arena_alloc(call->arena, read.key_count * sizeof *wishes);
    TRY(look(call, &read, wishes));

    size_t mark = reply_mark(call->reply), served = 0;
    for (uint32_t i = 0; i < read.key_count; i++)
        served += serve(call, &read, read.first_key + i, &wishes[i]);
    if (served == 0 && read.may_wait && call_may_wait(call))
        return call_wait(call, &(struct call_wait){.type = TYPE_STREAM,
                                                   .on_any_change = true, /* the group may go */
                                                   .first_key = read.first_key,
                                                   .key_count = read.key_count,
                                                   .timeout_ms = read.timeout_ms});
    if (served == 0)
        reply_null_array(call->reply);
    else if (call->resp == 2)
        reply_array_at(call->reply, mark, served);
    else
        reply_map_at(call->reply, mark, served);
    return OK;
}

/* clang-format off */
const struct command stream_group_read_commands[] = {
    {.name = "xreadgroup", .arity = -7, .run = cmd_xreadgroup, .plan = PLAN_TOGETHER,
     .wait_word = "BLOCK", .check = check_xreadgroup, .find_keys = xreadgroup_find_keys,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .keyword = "STREAMS", .index = 4, .last = -1,
               .step = 1, .limit = 2}},
     .flags = CMD_WRITE | CMD_BLOCKING | CMD_MOVABLE_KEYS, .acl = ACL_STREAM,
     .syntax = "group-block=<GROUP group consumer> [COUNT count] [BLOCK milliseconds] [NOACK] "
               "<STREAMS key [key ...] ID=id [id ...]>",
     .since = "5.0.0",
     .cost = "For each stream: O(M) where M is the number of entries given, O(1) without new ones.",
     .brief = "Gives a consumer new entries of streams, or shows what it has not acknowledged."},
    {0},
};
/* clang-format on */
