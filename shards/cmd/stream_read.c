/*
 * stream_read: XREAD, which reads what several streams have that is newer than what the client
 * knows, or waits for it.
 */
#include <string.h>

#include "core/type/stream.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"

struct read {
    uint32_t first_key, key_count; /* the ids follow the keys */
    int64_t count;                 /* entries of each stream, at most; 0: all */
    bool may_wait;                 /* BLOCK */
    int64_t timeout_ms;            /* 0: for ever */
};

static enum status fail_group_only(struct call *call, const char *option)
{
    return call_fail_text(call,
                          "ERR The %s option is only supported by XREADGROUP. You called "
                          "XREAD instead.",
                          option);
}

static enum status parse(struct call *call, struct read *out)
{
    struct read read = {0};
    for (uint32_t i = 1; i < call->arg_count && !read.first_key; i++) {
        uint32_t more = call->arg_count - i - 1;
        if (more && call_arg_is(call, i, "BLOCK")) {
            TRY(stream_arg_timeout(call, ++i, &read.timeout_ms));
            read.may_wait = true;
        } else if (more && call_arg_is(call, i, "COUNT")) {
            TRY(call_arg_int(call, ++i, &read.count));
        } else if (more && call_arg_is(call, i, "STREAMS")) {
            if (more % 2 != 0)
                return call_fail_text(call, "ERR Unbalanced 'xread' list of streams: for each "
                                            "stream key an ID or '$' must be specified.");
            read.first_key = i + 1;
            read.key_count = more / 2;
        } else if (more >= 2 && call_arg_is(call, i, "GROUP")) {
            return fail_group_only(call, "GROUP");
        } else if (call_arg_is(call, i, "NOACK")) {
            return fail_group_only(call, "NOACK");
        } else {
            return ERR_SYNTAX;
        }
    }
    if (!read.first_key)
        return ERR_SYNTAX;
    if (read.count < 0)
        read.count = 0;
    *out = read;
    return OK;
}

static enum status check_xread(struct call *call)
{
    struct read read;
    return parse(call, &read);
}

/* From where on a client wants to read. */
struct wish {
    const struct stream *stream; /* NULL: there is none */
    struct stream_id after;
};

static enum status parse_wish(struct call *call, const struct read *read, uint32_t i,
                              struct wish *out)
{
    uint32_t key_index = read->first_key + i, id_index = key_index + read->key_count;
    struct wish wish = {0};
    TRY(stream_arg_find(call, key_index, &wish.stream));
    struct bytes word = call_arg(call, id_index);
    if (bytes_equal(word, BYTES("$"))) {
        if (wish.stream)
            wish.after = wish.stream->last_id;
    } else if (bytes_equal(word, BYTES("+"))) {
        /* The last entry, whatever its id: all that comes after the id before it. */
        if (wish.stream && !stream_id_prev(stream_last_entry_id(wish.stream), &wish.after))
            wish.after = wish.stream->last_id;
    } else if (bytes_equal(word, BYTES(">"))) {
        return call_fail_text(call, "ERR The > ID can be specified only when calling XREADGROUP "
                                    "using the GROUP <group> <consumer> option.");
    } else {
        TRY(stream_arg_id(call, id_index, 0, &wish.after));
    }
    *out = wish;
    return OK;
}

/* Shows what there is; returns of how many streams. */
static size_t serve(struct call *call, const struct read *read, const struct wish *wishes)
{
    struct reply *reply = call->reply;
    size_t mark = reply_mark(reply), served = 0;
    for (uint32_t i = 0; i < read->key_count; i++) {
        const struct stream *stream = wishes[i].stream;
        struct stream_id low;
        if (!stream || stream->length == 0 || !stream_id_next(wishes[i].after, &low) ||
            stream_id_compare(stream_last_entry_id(stream), low) < 0)
            continue;
        served++;
        if (call->resp == 2)
            reply_array(reply, 2);
        reply_bulk(reply, call_arg(call, read->first_key + i));
        (void)stream_reply_range(reply, stream, low, STREAM_ID_MAX, false, (uint64_t)read->count);
    }
    if (served == 0)
        return 0;
    if (call->resp == 2)
        reply_array_at(reply, mark, served);
    else
        reply_map_at(reply, mark, served);
    return served;
}

/* What "$" and "+" mean now they must mean later, too. */
static enum status wait_for_entries(struct call *call, const struct read *read,
                                    const struct wish *wishes)
{
    struct bytes *words = arena_alloc(call->arena, call->arg_count * sizeof *words);
    memcpy(words, call->args, call->arg_count * sizeof *words);
    for (uint32_t i = 0; i < read->key_count; i++) {
        char text[STREAM_ID_CAP];
        struct bytes id = bytes_of(text, stream_id_write(text, wishes[i].after));
        words[read->first_key + read->key_count + i] = arena_copy(call->arena, id);
    }
    call->args = words;
    return call_wait(call, &(struct call_wait){.type = TYPE_STREAM,
                                               .first_key = read->first_key,
                                               .key_count = read->key_count,
                                               .timeout_ms = read->timeout_ms});
}

static enum status cmd_xread(struct call *call)
{
    struct read read;
    TRY(parse(call, &read));
    struct wish *wishes = arena_alloc(call->arena, read.key_count * sizeof *wishes);
    for (uint32_t i = 0; i < read.key_count; i++)
        TRY(parse_wish(call, &read, i, &wishes[i]));
    if (serve(call, &read, wishes) > 0)
        return OK;
    if (read.may_wait && call_may_wait(call))
        return wait_for_entries(call, &read, wishes);
    reply_null_array(call->reply);
    return OK;
}

/* clang-format off */
const struct command stream_read_commands[] = {
    {.name = "xread", .arity = -4, .run = cmd_xread, .plan = PLAN_TOGETHER, .check = check_xread,
     .wait_word = "BLOCK",
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .keyword = "STREAMS", .index = 1, .last = -1,
               .step = 1, .limit = 2}},
     .flags = CMD_READONLY | CMD_BLOCKING | CMD_MOVABLE_KEYS, .acl = ACL_STREAM,
     .syntax = "[COUNT count] [BLOCK milliseconds] streams=<STREAMS key [key ...] id [id ...]>",
     .since = "5.0.0",
     .cost = "For each stream O(log N + M) where N is its number of nodes and M the number of "
             "entries read.",
     .history = "7.4.0 Takes + for the last entry.",
     .brief = "Reads the entries of streams that come after given ids, or waits for some."},
    {0},
};
/* clang-format on */
