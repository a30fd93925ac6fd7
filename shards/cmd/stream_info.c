/*
 * stream_info: XINFO, which describes streams and their consumer groups.
 */
#include "shards/cmd/stream_info.h"

#include "core/type/stream_group.h"
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/cmd/stream_arg.h"

#define KEY 2
#define FULL_COUNT_DEFAULT 10 /* entries, and pending ones, that FULL shows */

struct view {
    bool is_full;
    int64_t count; /* with FULL, 0: all */
};

static enum status parse_view(struct call *call, struct view *out)
{
    struct view view = {.count = FULL_COUNT_DEFAULT};
    if (call->arg_count > KEY + 1) {
        view.is_full = true;
        bool has_count = call->arg_count == KEY + 4;
        if (!call_arg_is(call, KEY + 1, "FULL") || (!has_count && call->arg_count != KEY + 2) ||
            (has_count && !call_arg_is(call, KEY + 2, "COUNT")))
            return help_wrong_words(call);
        if (has_count)
            TRY(call_arg_int(call, KEY + 3, &view.count));
        if (view.count < 0)
            view.count = FULL_COUNT_DEFAULT;
    }
    *out = view;
    return OK;
}

static void reply_number(struct reply *reply, const char *name, uint64_t number)
{
    reply_bulk_text(reply, name);
    reply_int(reply, (int64_t)number);
}

static void reply_id(struct reply *reply, const char *name, struct stream_id id)
{
    reply_bulk_text(reply, name);
    stream_reply_id(reply, id);
}

/* The first entry, or the last; null when there is none. */
static void reply_edge(struct reply *reply, const char *name, const struct stream *stream,
                       bool is_last)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    reply_bulk_text(reply, name);
    stream_seek(stream, STREAM_ID_MIN, STREAM_ID_MAX, is_last, &cursor);
    if (stream_step(&cursor, &entry))
        stream_reply_entry(reply, entry);
    else
        reply_null(reply);
}

static enum status cmd_stream(struct call *call)
{
    const struct stream *stream;
    TRY(stream_arg_find(call, KEY, &stream));
    if (!stream)
        return ERR_NO_SUCH_KEY;
    struct view view;
    TRY(parse_view(call, &view));

    struct reply *reply = call->reply;
    reply_map(reply, view.is_full ? 9 : 10);
    reply_number(reply, "length", stream->length);
    reply_number(reply, "radix-tree-keys", stream_index_count(&stream->nodes));
    reply_number(reply, "radix-tree-nodes", stream_index_radix_nodes(&stream->nodes));
    reply_id(reply, "last-generated-id", stream->last_id);
    reply_id(reply, "max-deleted-entry-id", stream->max_deleted_id);
    reply_number(reply, "entries-added", stream->entries_added);
    reply_id(reply, "recorded-first-entry-id", stream->first_id);
    if (view.is_full) {
        reply_bulk_text(reply, "entries");
        (void)stream_reply_range(reply, stream, STREAM_ID_MIN, STREAM_ID_MAX, false,
                                 (uint64_t)view.count);
        reply_bulk_text(reply, "groups");
        stream_info_reply_groups(call, stream, (uint64_t)view.count);
    } else {
        reply_number(reply, "groups", stream_group_count(stream));
        reply_edge(reply, "first-entry", stream, false);
        reply_edge(reply, "last-entry", stream, true);
    }
    return OK;
}

/* clang-format off */
#define LOOKS_AT_KEY \
     .plan = PLAN_ONE, .flags = CMD_READONLY, .acl = ACL_STREAM, .since = "5.0.0", \
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = KEY, .step = 1}}

static const struct command xinfo_subcommands[] = {
    {.name = "consumers", .arity = 4, .run = stream_info_consumers, LOOKS_AT_KEY,
     .syntax = "key group=groupname", .cost = "O(N) where N is the number of consumers.",
     .history = "7.2.0 Shows the field inactive.", .tips = "nondeterministic_output",
     .brief = "Lists the consumers of a group."},

    {.name = "groups", .arity = 3, .run = stream_info_groups, LOOKS_AT_KEY,
     .syntax = "key", .cost = "O(N) where N is the number of groups.",
     .history = "7.0.0 Shows the fields entries-read and lag.",
     .brief = "Lists the consumer groups of a stream."},

    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE, .acl = ACL_STREAM,
     .syntax = "", .since = "5.0.0", .cost = "O(1)",
     .brief = "Shows this text."},

    {.name = "stream", .arity = -3, .run = cmd_stream, LOOKS_AT_KEY,
     .syntax = "key full-block=[FULL [COUNT count]]",
     .cost = "O(1); with FULL, O(N) where N is the number of entries shown.",
     .history = "6.0.0 Takes FULL.; 7.0.0 Shows more fields, of groups too.; "
                "7.2.0 Shows when consumers were active.",
     .brief = "Describes a stream."},
    {0},
};

const struct command stream_info_commands[] = {
    {.name = "xinfo", .arity = -2, .subcommands = xinfo_subcommands,
     .syntax = "", .since = "5.0.0", .cost = "Depends on the subcommand.",
     .brief = "Describes streams and consumer groups."},
    {0},
};
/* clang-format on */
