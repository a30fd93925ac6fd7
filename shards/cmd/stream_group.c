/*
 * stream_group: XGROUP, which makes and destroys the consumer groups of a stream and their
 * consumers. What consumers are given is in stream_group_read.c, what they owe in stream_pending.c
 * and stream_claim.c, what XINFO tells of groups in stream_group_info.c.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"

#define KEY 2
#define GROUP 3
#define ID 4
#define CONSUMER 4
#define OPTIONS 5

/* ---- XGROUP -------------------------------------------------------------------------------- */

/* What XGROUP works on: the stream must exist, the group only where `needs_group`. */
static enum status look_up(struct call *call, bool needs_group, const struct stream **out)
{
    TRY(stream_arg_find_to_write(call, KEY, out));
    if (!*out)
        return call_fail_text(call,
                              "ERR The XGROUP subcommand requires the key to exist. Note that for "
                              "CREATE you may want to use the MKSTREAM option to create an empty "
                              "stream automatically.");
    struct bytes name = call_arg(call, GROUP), key = call_arg(call, KEY);
    if (needs_group && !stream_group_find(*out, name))
        return call_fail_text(call, "NOGROUP No such consumer group '%.*s' for key name '%.*s'",
                              (int)name.len, name.ptr, (int)key.len, key.ptr);
    return OK;
}

/* The group at word 3, which exists, to write to. */
static struct stream_group *edit_group(struct call *call)
{
    return stream_group_edit(stream_group_arg_edit(call, KEY), call_arg(call, GROUP));
}

/* Reads ENTRIESREAD, and MKSTREAM where `out_makes_stream` is not NULL. */
static enum status read_options(struct call *call, int64_t *out_entries_read,
                                bool *out_makes_stream)
{
    *out_entries_read = STREAM_GROUP_READ_UNKNOWN;
    for (uint32_t i = OPTIONS; i < call->arg_count; i++) {
        if (out_makes_stream && call_arg_is(call, i, "MKSTREAM")) {
            *out_makes_stream = true;
        } else if (call_arg_is(call, i, "ENTRIESREAD") && i + 1 < call->arg_count) {
            TRY(call_arg_int(call, ++i, out_entries_read));
            if (*out_entries_read < 0 && *out_entries_read != STREAM_GROUP_READ_UNKNOWN)
                return call_fail_text(call, "ERR value for ENTRIESREAD must be positive or -1");
        } else {
            return help_wrong_words(call);
        }
    }
    return OK;
}

static enum status cmd_xgroup_create(struct call *call)
{
    int64_t entries_read;
    bool makes_stream = false;
    TRY(read_options(call, &entries_read, &makes_stream));
    const struct stream *found;
    if (makes_stream)
        TRY(stream_arg_find_to_write(call, KEY, &found));
    else
        TRY(look_up(call, false, &found));
    if (call->arg_count > OPTIONS + 3)
        return help_wrong_words(call);
    struct stream_id id = found ? found->last_id : STREAM_ID_MIN;
    if (!bytes_equal(call_arg(call, ID), BYTES("$")))
        TRY(stream_arg_id(call, ID, 0, &id));
    if (found && stream_group_find(found, call_arg(call, GROUP)))
        return call_fail_text(call, "BUSYGROUP Consumer Group name already exists");

    struct heap *heap = stream_group_arg_heap(call, KEY);
    if (!found)
        (void)db_put_root(call_db(call, KEY), call_key(call, KEY), TYPE_STREAM, stream_create(heap),
                          DB_NO_EXPIRE);
    (void)stream_group_create(stream_group_arg_edit(call, KEY), heap, call_arg(call, GROUP), id,
                              entries_read);
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_xgroup_setid(struct call *call)
{
    int64_t entries_read;
    TRY(read_options(call, &entries_read, NULL));
    const struct stream *found;
    TRY(look_up(call, true, &found));
    if (call->arg_count > OPTIONS + 2)
        return help_wrong_words(call);
    struct bytes word = call_arg(call, ID);
    struct stream_id id = found->last_id;
    if (bytes_equal(word, BYTES("-")))
        id = STREAM_ID_MIN;
    else if (bytes_equal(word, BYTES("+")))
        id = STREAM_ID_MAX;
    else if (!bytes_equal(word, BYTES("$")))
        TRY(stream_arg_id(call, ID, 0, &id));

    struct stream_group *group = edit_group(call);
    group->last_id = id;
    group->entries_read = entries_read;
    reply_ok(call->reply);
    return OK;
}

/* A group may hold millions of entries: it is freed like a stream that has gone, in slices. */
static void bury(struct call *call, struct stream *stream, struct stream_group *group)
{
    struct heap *heap = stream_group_arg_heap(call, KEY);
    struct stream *grave = stream_create(heap);
    grave->groups = stream_group_detach(stream, heap, group);
    db_drop_root(call_db(call, KEY), TYPE_STREAM, grave);
}

static enum status cmd_xgroup_destroy(struct call *call)
{
    const struct stream *found;
    TRY(look_up(call, false, &found));
    bool exists = stream_group_find(found, call_arg(call, GROUP));
    if (exists) {
        struct stream *stream = stream_group_arg_edit(call, KEY);
        bury(call, stream, stream_group_edit(stream, call_arg(call, GROUP)));
    }
    reply_int(call->reply, exists);
    return OK;
}

static enum status cmd_xgroup_createconsumer(struct call *call)
{
    const struct stream *found;
    TRY(look_up(call, true, &found));
    struct bytes name = call_arg(call, CONSUMER);
    bool exists = stream_group_find_consumer(stream_group_find(found, call_arg(call, GROUP)), name);
    if (!exists)
        (void)stream_group_create_consumer(edit_group(call), stream_group_arg_heap(call, KEY), name,
                                           call_now_ms(call));
    reply_int(call->reply, !exists);
    return OK;
}

static enum status cmd_xgroup_delconsumer(struct call *call)
{
    const struct stream *found;
    TRY(look_up(call, true, &found));
    struct bytes name = call_arg(call, CONSUMER);
    const struct stream_group_consumer *consumer = stream_group_find_consumer(
        stream_group_find(found, call_arg(call, GROUP)), name);
    reply_int(call->reply, consumer ? (int64_t)consumer->pending.count : 0);
    if (consumer) {
        struct stream_group *group = edit_group(call);
        stream_group_destroy_consumer(group, stream_group_arg_heap(call, KEY),
                                      stream_group_edit_consumer(group, name));
    }
    return OK;
}

/* clang-format off */
#define KEY_AT_2(key_flags) {{.flags = (key_flags), .index = KEY, .step = 1}}

static const struct command xgroup_subcommands[] = {
    {.name = "create", .arity = -5, .run = cmd_xgroup_create, .plan = PLAN_ONE,
     .keys = KEY_AT_2(KEY_RW | KEY_INSERT), .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STREAM,
     .syntax = "key group id-selector=<id | new-id=$> [MKSTREAM] [ENTRIESREAD entries-read]",
     .since = "5.0.0", .cost = "O(1)",
     .history = "7.0.0 Takes ENTRIESREAD.",
     .brief = "Makes a consumer group."},

    {.name = "createconsumer", .arity = 5, .run = cmd_xgroup_createconsumer, .plan = PLAN_ONE,
     .keys = KEY_AT_2(KEY_RW | KEY_INSERT), .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_STREAM,
     .syntax = "key group consumer", .since = "6.2.0", .cost = "O(1)",
     .brief = "Makes a consumer of a group."},

    {.name = "delconsumer", .arity = 5, .run = cmd_xgroup_delconsumer, .plan = PLAN_ONE,
     .keys = KEY_AT_2(KEY_RW | KEY_DELETE), .flags = CMD_WRITE, .acl = ACL_STREAM,
     .syntax = "key group consumer", .since = "5.0.0", .cost = "O(1)",
     .brief = "Removes a consumer of a group, and forgets what is pending for it."},

    {.name = "destroy", .arity = 4, .run = cmd_xgroup_destroy, .plan = PLAN_ONE,
     .keys = KEY_AT_2(KEY_RW | KEY_DELETE), .flags = CMD_WRITE, .acl = ACL_STREAM,
     .syntax = "key group", .since = "5.0.0",
     .cost = "O(N) where N is the number of entries that are pending in the group.",
     .brief = "Removes a consumer group with all its consumers."},

    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE, .acl = ACL_STREAM,
     .syntax = "", .since = "5.0.0", .cost = "O(1)",
     .brief = "Shows this text."},

    {.name = "setid", .arity = -5, .run = cmd_xgroup_setid, .plan = PLAN_ONE,
     .keys = KEY_AT_2(KEY_RW | KEY_UPDATE), .flags = CMD_WRITE, .acl = ACL_STREAM,
     .syntax = "key group id-selector=<id | new-id=$> [ENTRIESREAD entriesread=entries-read]",
     .since = "5.0.0", .cost = "O(1)",
     .history = "7.0.0 Takes ENTRIESREAD.",
     .brief = "Says up to which entry a group has read."},
    {0},
};

const struct command stream_group_commands[] = {
    {.name = "xgroup", .arity = -2, .subcommands = xgroup_subcommands,
     .syntax = "", .since = "5.0.0", .cost = "Depends on the subcommand.",
     .brief = "Keeps the consumer groups of streams."},
    {0},
};
/* clang-format on */
