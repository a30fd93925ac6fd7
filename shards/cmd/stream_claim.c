/*
 * stream_claim: XCLAIM and XAUTOCLAIM, by which a consumer takes over what others of its group have
 * been given and have not acknowledged. Both forget pending entries that the stream has lost.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/stream_arg.h"
#include "shards/cmd/stream_group_arg.h"

#define KEY 1
#define GROUP 2
#define CONSUMER 3
#define MIN_IDLE 4
#define FIRST_ID 5 /* of XCLAIM */
#define START 5    /* of XAUTOCLAIM */
#define AUTO_OPTIONS 6

#define AUTO_COUNT_DEFAULT 100
#define AUTO_COUNT_MAX (INT64_MAX / 16)
#define AUTO_LOOKS_PER_ENTRY 10 /* entries that XAUTOCLAIM looks at for each that it may give */

/* What both do with an entry. */
struct claim {
    struct call *call;
    struct stream *stream;
    struct heap *heap;
    struct stream_group *group;
    struct stream_group_consumer *consumer;
    int64_t min_idle_ms;
    int64_t delivered_at_ms;
    int64_t delivery_count; /* negative: one more than it was */
    bool ids_only;          /* JUSTID: without the entries, and not counted as a delivery */
};

static enum status read_min_idle(struct call *call, const char *command, int64_t *out_ms)
{
    if (call_arg_int(call, MIN_IDLE, out_ms) != OK)
        return call_fail_text(call, "ERR Invalid min-idle-time argument for %s", command);
    if (*out_ms < 0)
        *out_ms = 0;
    return OK;
}

/* Everything is in order: from here on the group changes. */
static void begin(struct claim *claim)
{
    struct call *call = claim->call;
    claim->heap = stream_group_arg_heap(call, KEY);
    claim->stream = stream_group_arg_edit(call, KEY);
    claim->group = stream_group_edit(claim->stream, call_arg(call, GROUP));
    claim->consumer = stream_group_arg_see(call, claim->heap, claim->group,
                                           call_arg(call, CONSUMER));
}

static bool is_idle_enough(const struct claim *claim, const struct stream_group_pending *pending)
{
    return claim->min_idle_ms == 0 ||
           stream_group_arg_age_ms(claim->call, pending->delivered_at_ms) >= claim->min_idle_ms;
}

static void take_over(struct claim *claim, struct stream_group_pending *pending,
                      struct stream_entry entry, struct reply *reply)
{
    pending->delivered_at_ms = claim->delivered_at_ms;
    if (claim->delivery_count >= 0)
        pending->delivery_count = (uint64_t)claim->delivery_count;
    else if (!claim->ids_only)
        pending->delivery_count++;
    stream_group_reassign(claim->heap, pending, claim->consumer);
    claim->consumer->active_at_ms = call_now_ms(claim->call);
    if (claim->ids_only)
        stream_reply_id(reply, entry.id);
    else
        stream_reply_entry(reply, entry);
}

/* ---- XCLAIM --------------------------------------------------------------------------------- */

struct options {
    int64_t delivered_at_ms;
    bool is_forced; /* FORCE: also what is not pending */
    struct stream_id last_id;
};

static enum status read_number(struct call *call, uint32_t index, const char *option, int64_t *out)
{
    if (call_arg_int(call, index, out) != OK)
        return call_fail_text(call, "ERR Invalid %s option argument for XCLAIM", option);
    return OK;
}

static enum status read_options(struct claim *claim, uint32_t at, struct options *options)
{
    struct call *call = claim->call;
    int64_t now_ms = call_now_ms(call), idle_ms;
    *options = (struct options){.delivered_at_ms = now_ms};
    for (uint32_t i = at; i < call->arg_count; i++) {
        bool has_more = i + 1 < call->arg_count;
        if (call_arg_is(call, i, "FORCE")) {
            options->is_forced = true;
        } else if (call_arg_is(call, i, "JUSTID")) {
            claim->ids_only = true;
        } else if (call_arg_is(call, i, "IDLE") && has_more) {
            TRY(read_number(call, ++i, "IDLE", &idle_ms));
            options->delivered_at_ms = (int64_t)((uint64_t)now_ms - (uint64_t)idle_ms);
        } else if (call_arg_is(call, i, "TIME") && has_more) {
            TRY(read_number(call, ++i, "TIME", &options->delivered_at_ms));
        } else if (call_arg_is(call, i, "RETRYCOUNT") && has_more) {
            TRY(read_number(call, ++i, "RETRYCOUNT", &claim->delivery_count));
        } else if (call_arg_is(call, i, "LASTID") && has_more) {
            TRY(stream_arg_id(call, ++i, 0, &options->last_id));
        } else {
            struct bytes word = call_arg(call, i);
            return call_fail_text(call, "ERR Unrecognized XCLAIM option '%.*s'", (int)word.len,
                                  word.ptr);
        }
    }
    /* A time that cannot be is no error: clocks of clients differ. */
    if (options->delivered_at_ms < 0 || options->delivered_at_ms > now_ms)
        options->delivered_at_ms = now_ms;
    return OK;
}

/* True if the entry, or its id, stands in the reply. */
static bool claim_one(struct claim *claim, struct stream_id id, bool is_forced)
{
    struct stream_group_pending *pending = stream_group_edit_pending(claim->group, id);
    struct stream_entry entry;
    if (!stream_find(claim->stream, id, &entry)) {
        if (pending)
            (void)stream_group_acknowledge(claim->group, claim->heap, id);
        return false;
    }
    if (pending ? !is_idle_enough(claim, pending) : !is_forced)
        return false;
    if (!pending) {
        pending = stream_group_add_pending(claim->group, claim->heap, claim->consumer, id);
        pending->delivery_count = 1;
    }
    take_over(claim, pending, entry, claim->call->reply);
    return true;
}

static enum status cmd_xclaim(struct call *call)
{
    struct claim claim = {.call = call, .delivery_count = -1};
    const struct stream *stream;
    const struct stream_group *group;
    TRY(stream_group_arg_get(call, KEY, GROUP, &stream, &group));
    TRY(read_min_idle(call, "XCLAIM", &claim.min_idle_ms));
    /* Words are ids as long as they look like one; options follow. */
    struct stream_id *ids = arena_alloc(call->arena, call->arg_count * sizeof *ids);
    uint32_t at = FIRST_ID;
    while (at < call->arg_count && stream_arg_id(call, at, 0, &ids[at - FIRST_ID]) == OK)
        at++;
    struct options options;
    TRY(read_options(&claim, at, &options));
    claim.delivered_at_ms = options.delivered_at_ms;

    begin(&claim);
    if (stream_id_compare(options.last_id, claim.group->last_id) > 0)
        claim.group->last_id = options.last_id;
    size_t mark = reply_mark(call->reply), count = 0;
    for (uint32_t i = 0; i < at - FIRST_ID; i++)
        count += claim_one(&claim, ids[i], options.is_forced);
    reply_array_at(call->reply, mark, count);
    return OK;
}

/* ---- XAUTOCLAIM ----------------------------------------------------------------------------- */

static enum status read_auto_options(struct claim *claim, int64_t *out_count)
{
    struct call *call = claim->call;
    *out_count = AUTO_COUNT_DEFAULT;
    for (uint32_t i = AUTO_OPTIONS; i < call->arg_count; i++) {
        if (call_arg_is(call, i, "COUNT") && i + 1 < call->arg_count) {
            if (call_arg_int(call, ++i, out_count) != OK || *out_count < 1 ||
                *out_count > AUTO_COUNT_MAX)
                return call_fail_text(call, "ERR COUNT must be > 0");
        } else if (call_arg_is(call, i, "JUSTID")) {
            claim->ids_only = true;
        } else {
            return ERR_SYNTAX;
        }
    }
    return OK;
}

/* Ids that XAUTOCLAIM comes across and the stream has lost. */
struct lost {
    struct stream_id *ids;
    uint32_t count, cap;
};

static void remember(struct lost *lost, struct arena *arena, struct stream_id id)
{
    if (lost->count == lost->cap) {
        uint32_t cap = lost->cap ? 2 * lost->cap : 16;
        struct stream_id *more = arena_alloc(arena, cap * sizeof *more);
        if (lost->count)
            memcpy(more, lost->ids, lost->count * sizeof *more);
        lost->ids = more;
        lost->cap = cap;
    }
    lost->ids[lost->count++] = id;
}

/* Takes over up to `count` entries from `id` on, lost ones counted in; writes those taken over to
 * `reply`, whose number it returns, and where it stopped to `io_id`: 0-0 at the end. */
static size_t claim_from(struct claim *claim, struct stream_id *io_id, int64_t count,
                         struct reply *reply, struct lost *lost)
{
    const struct tree *list = &claim->group->pending;
    struct tree_cursor place = stream_group_seek_pending(list, *io_id);
    struct stream_group_pending *pending;
    size_t claimed_count = 0;
    for (int64_t looks = count * AUTO_LOOKS_PER_ENTRY;
         (pending = tree_item(&place)) && looks > 0 && count > 0; looks--) {
        struct stream_id id = pending->id;
        struct stream_entry entry;
        if (!stream_find(claim->stream, id, &entry)) {
            (void)stream_group_acknowledge(claim->group, claim->heap, id);
            remember(lost, claim->call->arena, id);
            count--;
            place = stream_group_seek_pending(list, id);
            continue;
        }
        tree_next(&place); /* the group's list stays as it is */
        if (!is_idle_enough(claim, pending))
            continue;
        take_over(claim, pending, entry, reply);
        claimed_count++;
        count--;
    }
    *io_id = pending ? pending->id : STREAM_ID_MIN;
    return claimed_count;
}

static enum status cmd_xautoclaim(struct call *call)
{
    struct claim claim = {.call = call, .delivery_count = -1, .delivered_at_ms = call_now_ms(call)};
    TRY(read_min_idle(call, "XAUTOCLAIM", &claim.min_idle_ms));
    struct stream_id id;
    TRY(stream_arg_low(call, START, &id));
    int64_t count;
    TRY(read_auto_options(&claim, &count));
    const struct stream *stream;
    const struct stream_group *group;
    TRY(stream_group_arg_get(call, KEY, GROUP, &stream, &group));

    begin(&claim);
    struct buf text = {0}; /* the reply begins with what is known at the end */
    struct reply entries = {.out = &text, .resp = call->resp};
    struct lost lost = {0};
    size_t claimed_count = claim_from(&claim, &id, count, &entries, &lost);
    reply_array(call->reply, 3);
    stream_reply_id(call->reply, id);
    reply_array(call->reply, claimed_count);
    reply_raw(call->reply, bytes_of(text.ptr, text.len));
    buf_fini(&text);
    reply_array(call->reply, lost.count);
    for (uint32_t i = 0; i < lost.count; i++)
        stream_reply_id(call->reply, lost.ids[i]);
    return OK;
}

/* clang-format off */
const struct command stream_claim_commands[] = {
    {.name = "xautoclaim", .arity = -6, .run = cmd_xautoclaim, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_STREAM,
     .syntax = "key group consumer min-idle-time start/string [COUNT count] [JUSTID]",
     .since = "6.2.0", .cost = "O(1) if COUNT is small.", .tips = "nondeterministic_output",
     .history = "7.0.0 Forgets entries that the stream has lost, and tells their ids.",
     .brief = "Makes a consumer the owner of entries that have been pending for long."},

    {.name = "xclaim", .arity = -6, .run = cmd_xclaim, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE), .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STREAM,
     .syntax = "key group consumer min-idle-time ID=id [id ...] [IDLE ms] "
               "[TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] "
               "[LASTID lastid]",
     .since = "5.0.0", .cost = "O(log N) for each id, N being the number of pending entries.",
     .tips = "nondeterministic_output",
     .brief = "Makes a consumer the owner of pending entries."},
    {0},
};
/* clang-format on */
