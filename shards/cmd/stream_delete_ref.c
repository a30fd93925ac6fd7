/*
 * stream_delete_ref: XDELEX and XACKDEL, which delete entries with a word about what consumer
 * groups know of them: KEEPREF, DELREF or ACKED. XADD and XTRIM take the same words for what they
 * trim (stream_group_guard_trim()).
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"

#define KEY 1
#define GROUP 2 /* of XACKDEL */

/* What became of an entry, as both reply it. */
#define UNKNOWN_ID (-1)
#define DELETED 1
#define STILL_NEEDED 2

struct wish {
    enum stream_refs refs;
    struct stream_id *ids;
    uint32_t id_count;
};

/* Reads the words from `at` on, IDS numids id ... among them. */
static enum status read_wish(struct call *call, uint32_t at, struct wish *out)
{
    *out = (struct wish){.refs = STREAM_REFS_KEEP};
    uint32_t first = 0; /* word of the first id */
    for (uint32_t i = at; i < call->arg_count; i++) {
        if (stream_arg_refs(call, i, &out->refs))
            continue;
        if (!call_arg_is(call, i, "IDS") || i + 1 == call->arg_count)
            return ERR_SYNTAX;
        int64_t count;
        if (call_arg_int(call, i + 1, &count) != OK || count < 1)
            return call_fail_text(call, "ERR Number of IDs must be a positive integer");
        if (count > call->arg_count - i - 2)
            return call_fail_text(call,
                                  "ERR The `numids` parameter must match the number of arguments");
        first = i + 2;
        out->id_count = (uint32_t)count;
        i += 1 + out->id_count;
    }
    if (!first)
        return ERR_SYNTAX;
    out->ids = arena_alloc(call->arena, out->id_count * sizeof *out->ids);
    for (uint32_t i = 0; i < out->id_count; i++)
        TRY(stream_arg_id(call, first + i, 0, &out->ids[i]));
    return OK;
}

static void reply_unknown(struct call *call, const struct wish *wish)
{
    reply_array(call->reply, wish->id_count);
    for (uint32_t i = 0; i < wish->id_count; i++)
        reply_int(call->reply, UNKNOWN_ID);
}

/* Deletes an entry as far as groups allow. False if one of them still needs it. */
static bool delete_entry(struct stream *stream, struct heap *heap, struct stream_id id,
                         enum stream_refs refs, bool *out_existed)
{
    *out_existed = false;
    if (refs == STREAM_REFS_ACKED && stream_group_needs(stream, id))
        return false;
    if (refs == STREAM_REFS_DELETE)
        stream_group_forget(stream, heap, id);
    *out_existed = stream_delete(stream, heap, id);
    return true;
}

static enum status cmd_xdelex(struct call *call)
{
    struct wish wish;
    TRY(read_wish(call, KEY + 1, &wish));
    const struct stream *found;
    TRY(stream_arg_find_to_write(call, KEY, &found));
    if (!found) {
        reply_unknown(call, &wish);
        return OK;
    }
    struct heap *heap = stream_group_arg_heap(call, KEY);
    struct stream *stream = stream_arg_edit(call, KEY);
    reply_array(call->reply, wish.id_count);
    for (uint32_t i = 0; i < wish.id_count; i++) {
        struct stream_entry entry;
        bool existed = stream_find(stream, wish.ids[i], &entry);
        bool is_released = true;
        if (existed || wish.refs == STREAM_REFS_DELETE) /* references may outlive an entry */
            is_released = delete_entry(stream, heap, wish.ids[i], wish.refs, &existed);
        reply_int(call->reply, !is_released ? STILL_NEEDED : existed ? DELETED : UNKNOWN_ID);
    }
    return OK;
}

static enum status cmd_xackdel(struct call *call)
{
    struct wish wish;
    TRY(read_wish(call, GROUP + 1, &wish));
    const struct stream *found_stream;
    const struct stream_group *found;
    TRY(stream_group_arg_find(call, KEY, GROUP, &found_stream, &found));
    if (!found) {
        reply_unknown(call, &wish);
        return OK;
    }
    struct heap *heap = stream_group_arg_heap(call, KEY);
    struct stream *stream = stream_arg_edit(call, KEY);
    struct stream_group *group = stream_group_edit(stream, call_arg(call, GROUP));
    reply_array(call->reply, wish.id_count);
    for (uint32_t i = 0; i < wish.id_count; i++) {
        bool existed;
        if (!stream_group_acknowledge(group, heap, wish.ids[i]))
            reply_int(call->reply, UNKNOWN_ID);
        else if (delete_entry(stream, heap, wish.ids[i], wish.refs, &existed))
            reply_int(call->reply, DELETED); /* or gone before */
        else
            reply_int(call->reply, STILL_NEEDED);
    }
    return OK;
}

/* clang-format off */
const struct command stream_delete_ref_commands[] = {
    {.name = "xackdel", .arity = -6, .run = cmd_xackdel, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .syntax = "key group condition=[KEEPREF | DELREF | ACKED] <IDS numids/integer id [id ...]>",
     .since = "8.2.0", .cost = "O(log N) for each id, N being the number of pending entries.",
     .brief = "Acknowledges entries for a group and deletes them from the stream."},

    {.name = "xdelex", .arity = -5, .run = cmd_xdelex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key condition=[KEEPREF | DELREF | ACKED] <IDS numids/integer id [id ...]>",
     .since = "8.2.0", .cost = "O(1) for each id.",
     .brief = "Deletes entries of a stream, and says what becomes of what is pending."},
    {0},
};
/* clang-format on */
