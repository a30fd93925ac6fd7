/*
 * stream: the commands that add entries to the stream at one key, count them, show ranges of them
 * and remove them. What reads several streams is in stream_read.c.
 *
 * A stream that has lost all its entries stays: its ids go on from where they were.
 */
#include "core/type/stream.h"

#include "core/type/stream_group.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"
#include "shards/local/db.h"

#define KEY 1

/* ---- XADD ------------------------------------------------------------------------------------ */

static enum status fail_low_id(struct call *call)
{
    return call_fail_text(call, "ERR The ID specified in XADD is equal or smaller than the target "
                                "stream top item");
}

/* The id of the new entry, given the last one that there was. */
static enum status choose_id(struct call *call, const struct stream_arg_add *add,
                             struct stream_id last, struct stream_id *out)
{
    if (stream_id_compare(last, STREAM_ID_MAX) == 0)
        return call_fail_text(call, "ERR The stream has exhausted the last possible ID, unable to "
                                    "add more items");
    struct stream_id id = add->id;
    if (add->id_form == STREAM_NEW_ID) {
        id = (struct stream_id){(uint64_t)call_now_ms(call), 0};
        if (id.ms <= last.ms && !stream_id_next(last, &id))
            return fail_low_id(call);
    } else if (add->id_form == STREAM_NEW_SEQ && id.ms == last.ms) {
        if (last.seq == UINT64_MAX)
            return fail_low_id(call);
        id.seq = last.seq + 1;
    }
    if (stream_id_compare(id, last) <= 0)
        return fail_low_id(call);
    *out = id;
    return OK;
}

static uint64_t trim(struct stream *stream, struct heap *heap, struct stream_arg_add *add)
{
    stream_group_guard_trim(&add->trim, add->refs, heap);
    return stream_trim(stream, heap, &add->trim);
}

static enum status cmd_xadd(struct call *call)
{
    struct stream_arg_add add;
    TRY(stream_arg_add(call, &add));
    uint32_t words = call->arg_count > add.id_index ? call->arg_count - add.id_index - 1 : 0;
    if (words < 2 || words % 2 != 0)
        return ERR_WRONG_ARITY;
    if (add.id_form == STREAM_GIVEN_ID && stream_id_is_zero(add.id))
        return call_fail_text(call, "ERR The ID specified in XADD must be greater than 0-0");

    const struct stream *found;
    TRY(stream_arg_find_to_write(call, KEY, &found));
    if (!found && add.must_exist) {
        reply_null(call->reply);
        return OK;
    }
    struct stream_id id;
    TRY(choose_id(call, &add, found ? found->last_id : STREAM_ID_MIN, &id));
    const struct bytes *pairs = &call->args[add.id_index + 1];
    if (!stream_can_hold(pairs, words / 2))
        return call_fail_text(call, "ERR Elements are too large to be stored");

    struct heap *heap = db_heap(call->db);
    struct stream *stream = found ? stream_arg_edit(call, KEY) : stream_create(heap);
    stream_append(stream, heap, &call->config->stream_limits, id, pairs, words / 2);
    if (!found)
        (void)db_put_root(call->db, &call->key, TYPE_STREAM, stream, DB_NO_EXPIRE);
    if (add.trim.by != STREAM_TRIM_NONE)
        (void)trim(stream, heap, &add);
    stream_reply_id(call->reply, id);
    return OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum status cmd_xlen(struct call *call)
{
    const struct stream *stream;
    TRY(stream_arg_find(call, KEY, &stream));
    reply_int(call->reply, stream ? (int64_t)stream->length : 0);
    return OK;
}

/* Entries to show at most: INT64_MAX unless COUNT says otherwise. */
static enum status parse_count(struct call *call, int64_t *out)
{
    int64_t count = INT64_MAX;
    for (uint32_t i = 4; i < call->arg_count; i += 2) {
        if (!call_arg_is(call, i, "COUNT") || i + 1 == call->arg_count)
            return ERR_SYNTAX;
        TRY(call_arg_int(call, i + 1, &count));
    }
    *out = count;
    return OK;
}

static enum status range(struct call *call, uint32_t low_index, uint32_t high_index)
{
    struct stream_id low, high;
    int64_t count;
    TRY(stream_arg_low(call, low_index, &low));
    TRY(stream_arg_high(call, high_index, &high));
    TRY(parse_count(call, &count));
    const struct stream *stream;
    TRY(stream_arg_find(call, KEY, &stream));
    if (!stream)
        reply_array(call->reply, 0);
    else if (count <= 0)
        reply_null_array(call->reply);
    else
        (void)stream_reply_range(call->reply, stream, low, high, low_index > high_index,
                                 (uint64_t)count);
    return OK;
}

static enum status cmd_xrange(struct call *call)
{
    return range(call, 2, 3);
}

static enum status cmd_xrevrange(struct call *call)
{
    return range(call, 3, 2);
}

/* ---- Removing -------------------------------------------------------------------------------- */

static enum status cmd_xdel(struct call *call)
{
    const struct stream *found;
    TRY(stream_arg_find_to_write(call, KEY, &found));
    uint32_t id_count = call->arg_count - 2, deleted = 0;
    if (!found) {
        reply_int(call->reply, 0);
        return OK;
    }
    struct stream_id *ids = arena_alloc(call->arena, id_count * sizeof *ids);
    for (uint32_t i = 0; i < id_count; i++)
        TRY(stream_arg_id(call, 2 + i, 0, &ids[i]));

    struct stream *stream = NULL; /* until the first one is found */
    for (uint32_t i = 0; i < id_count; i++) {
        struct stream_entry entry;
        if (!stream_find(found, ids[i], &entry))
            continue;
        if (!stream)
            stream = stream_arg_edit(call, KEY);
        deleted += stream_delete(stream, db_heap(call->db), ids[i]);
    }
    reply_int(call->reply, deleted);
    return OK;
}

static enum status cmd_xtrim(struct call *call)
{
    struct stream_arg_add add;
    TRY(stream_arg_trim(call, &add));
    const struct stream *found;
    TRY(stream_arg_find_to_write(call, KEY, &found));
    uint64_t trimmed = 0;
    if (found && found->length > 0)
        trimmed = trim(stream_arg_edit(call, KEY), db_heap(call->db), &add);
    reply_int(call->reply, (int64_t)trimmed);
    return OK;
}

/* ---- XSETID ---------------------------------------------------------------------------------- */

struct set_id {
    struct stream_id last_id, max_deleted_id; /* 0-0: not given */
    int64_t entries_added;                    /* -1: not given */
};

static enum status parse_set_id(struct call *call, struct set_id *out)
{
    struct set_id set = {.entries_added = -1};
    TRY(stream_arg_id(call, 2, 0, &set.last_id));
    for (uint32_t i = 3; i < call->arg_count; i += 2) {
        bool has_more = i + 1 < call->arg_count;
        if (has_more && call_arg_is(call, i, "ENTRIESADDED")) {
            TRY(call_arg_int(call, i + 1, &set.entries_added));
            if (set.entries_added < 0)
                return call_fail_text(call, "ERR entries_added must be positive");
        } else if (has_more && call_arg_is(call, i, "MAXDELETEDID")) {
            TRY(stream_arg_id(call, i + 1, 0, &set.max_deleted_id));
            if (stream_id_compare(set.last_id, set.max_deleted_id) < 0)
                return call_fail_text(call, "ERR The ID specified in XSETID is smaller than the "
                                            "provided max_deleted_entry_id");
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = set;
    return OK;
}

/* Whether the stream could have come by these. */
static enum status check_set_id(struct call *call, const struct stream *stream,
                                const struct set_id *set)
{
    if (stream_id_compare(set->last_id, stream->max_deleted_id) < 0)
        return call_fail_text(call, "ERR The ID specified in XSETID is smaller than current "
                                    "max_deleted_entry_id");
    if (stream->length == 0)
        return OK;
    if (stream_id_compare(set->last_id, stream_last_entry_id(stream)) < 0)
        return call_fail_text(call, "ERR The ID specified in XSETID is smaller than the target "
                                    "stream top item");
    if (set->entries_added >= 0 && stream->length > (uint64_t)set->entries_added)
        return call_fail_text(call, "ERR The entries_added specified in XSETID is smaller than the "
                                    "target stream length");
    return OK;
}

static enum status cmd_xsetid(struct call *call)
{
    struct set_id set;
    TRY(parse_set_id(call, &set));
    const struct stream *found;
    TRY(stream_arg_find_to_write(call, KEY, &found));
    if (!found)
        return ERR_NO_SUCH_KEY;
    TRY(check_set_id(call, found, &set));
    struct stream *stream = stream_arg_edit(call, KEY);
    stream_set_last_id(stream, db_heap(call->db), set.last_id);
    if (set.entries_added >= 0)
        stream->entries_added = (uint64_t)set.entries_added;
    if (!stream_id_is_zero(set.max_deleted_id))
        stream->max_deleted_id = set.max_deleted_id;
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
#define STRATEGY \
    "strategy=<MAXLEN | MINID@6.2.0> operator=[equal== | approximately=~] threshold " \
    "[LIMIT count]@6.2.0"

const struct command stream_commands[] = {
    {.name = "xadd", .arity = -5, .run = cmd_xadd, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key [NOMKSTREAM]@6.2.0 condition=[KEEPREF | DELREF | ACKED]@8.2.0 trim=[" STRATEGY "] "
               "id-selector=<auto-id=* | id> data=<field value> [...]",
     .since = "5.0.0",
     .cost = "O(1) for the entry, and O(N) for N entries that are trimmed.",
     .history = "6.2.0 Takes NOMKSTREAM, MINID and LIMIT.; 7.0.0 Takes an id of the form ms-*.; "
                "8.2.0 Takes KEEPREF, DELREF and ACKED.",
     .tips = "nondeterministic_output",
     .brief = "Adds an entry to a stream, and trims it if asked to."},

    {.name = "xdel", .arity = -3, .run = cmd_xdel, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key id [id ...]", .since = "5.0.0",
     .cost = "O(log N) for each entry, where N is the number of nodes.",
     .brief = "Removes entries from a stream by their ids."},

    {.name = "xlen", .arity = 2, .run = cmd_xlen, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO), .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key", .since = "5.0.0", .cost = "O(1)",
     .brief = "Counts the entries of a stream."},

    {.name = "xrange", .arity = -4, .run = cmd_xrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_STREAM,
     .syntax = "key start/string end/string [COUNT count]", .since = "5.0.0",
     .cost = "O(log N + M) where N is the number of nodes and M the number of entries shown.",
     .history = "6.2.0 Takes open bounds.",
     .brief = "Reads the entries between two ids, both included."},

    {.name = "xrevrange", .arity = -4, .run = cmd_xrevrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_STREAM,
     .syntax = "key end/string start/string [COUNT count]", .since = "5.0.0",
     .cost = "O(log N + M) where N is the number of nodes and M the number of entries shown.",
     .history = "6.2.0 Takes open bounds.",
     .brief = "Reads the entries between two ids, both included, the last one first."},

    {.name = "xsetid", .arity = -3, .run = cmd_xsetid, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key last-id [ENTRIESADDED entries-added]@7.0.0 [MAXDELETEDID max-deleted-id]@7.0.0",
     .since = "5.0.0", .cost = "O(1)",
     .history = "7.0.0 Takes ENTRIESADDED and MAXDELETEDID.",
     .brief = "Says from where on a stream gives ids, for those who copy streams."},

    {.name = "xtrim", .arity = -4, .run = cmd_xtrim, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE, .acl = ACL_STREAM,
     .syntax = "key trim=<" STRATEGY "> condition=[KEEPREF | DELREF | ACKED]@8.2.0",
     .since = "5.0.0",
     .cost = "O(N) where N is the number of entries removed; whole nodes of them go at once.",
     .history = "6.2.0 Takes MINID and LIMIT.; 8.2.0 Takes KEEPREF, DELREF and ACKED.",
     .tips = "nondeterministic_output",
     .brief = "Removes the oldest entries of a stream."},
    {0},
};
/* clang-format on */
