/*
 * How: every thread sends its newest entries, each with its id; the merge answers with those of the
 * highest ids. A log that is the newest N of all is contained in the newest N of each.
 */
#include <stdlib.h>

#include "shards/admin/home_admin.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/route/home.h"

#define GET_COUNT_DEFAULT 10

struct found_entry {
    uint64_t id;
    struct bytes encoded;
};

static enum status read_count(struct call *call, uint64_t *out_count)
{
    uint64_t limit = call->config->slowlog_max_len;
    uint64_t count = GET_COUNT_DEFAULT;
    if (call->arg_count > 3)
        return help_wrong_words(call);
    if (call->arg_count == 3) {
        int64_t wanted;
        if (call_arg_int(call, 2, &wanted) != OK || wanted < -1)
            return call_fail_text(call, "ERR count should be greater than or equal to -1");
        count = wanted < 0 ? limit : (uint64_t)wanted;
    }
    *out_count = count < limit ? count : limit;
    return OK;
}

static enum status check_get(struct call *call)
{
    uint64_t count;
    return read_count(call, &count);
}

static enum status cmd_get(struct call *call)
{
    uint64_t count = 0;
    TRY(read_count(call, &count));
    struct buf content = {0};
    const struct slowlog_entry *entry = call->home->admin->slowlog.newest;
    for (; entry && count > 0; entry = entry->older, count--) {
        part_add(&content, &entry->id, sizeof(entry->id));
        part_add_bytes(&content, bytes_of(entry->encoded, entry->len));
    }
    part_write(call, &content);
    return OK;
}

static int newest_first(const void *a, const void *b)
{
    uint64_t left = ((const struct found_entry *)a)->id,
             right = ((const struct found_entry *)b)->id;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void merge_get(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint64_t wanted = 0;
    enum status status = read_count(call, &wanted);
    ASSERT(status == OK); /* it has been checked */
    struct found_entry *entries = arena_alloc(call->arena, wanted * part_count * sizeof(*entries));
    uint64_t count = 0;
    for (uint32_t i = 0; i < part_count; i++) {
        struct bytes content = part_open(parts[i]);
        while (content.len) {
            part_take(&content, &entries[count].id, sizeof(entries[count].id));
            entries[count++].encoded = part_take_bytes(&content);
        }
    }
    qsort(entries, count, sizeof(*entries), newest_first);
    if (count > wanted)
        count = wanted;
    reply_array(call->reply, count);
    for (uint64_t i = 0; i < count; i++)
        reply_raw(call->reply, entries[i].encoded);
}

static enum status cmd_len(struct call *call)
{
    reply_int(call->reply, (int64_t)call->home->admin->slowlog.count);
    return OK;
}

static void merge_len(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    uint64_t sum = 0, limit = call->config->slowlog_max_len;
    for (uint32_t i = 0; i < part_count; i++)
        sum += (uint64_t)answer_int(parts[i]);
    reply_int(call->reply, (int64_t)(sum < limit ? sum : limit));
}

static enum status cmd_reset(struct call *call)
{
    slowlog_clear(&call->home->admin->slowlog);
    reply_ok(call->reply);
    return OK;
}

/* clang-format off */
static const struct command slowlog_subcommands[] = {
    {.name = "get", .arity = -2, .run = cmd_get, .check = check_get, .plan = PLAN_ALL, .merge = merge_get,
     .flags = CMD_ADMIN | CMD_LOADING | CMD_STALE | CMD_LOOKS, .acl = 0,
     .syntax = "[count]", .since = "2.2.12",
     .cost = "O(N) where N is the number of entries returned",
     .tips = "request_policy:all_nodes,nondeterministic_output",
     .history = "4.0.0 Tells the client's address and name.",
     .brief = "Lists the newest entries of the slow log: 10, or so many, or all for -1."},
    {.name = "len", .arity = 2, .run = cmd_len, .plan = PLAN_ALL, .merge = merge_len,
     .flags = CMD_ADMIN | CMD_LOADING | CMD_STALE | CMD_LOOKS,
     .syntax = "", .since = "2.2.12", .cost = "O(1)",
     .tips = "request_policy:all_nodes,response_policy:agg_sum,nondeterministic_output",
     .brief = "Counts the entries of the slow log."},
    {.name = "reset", .arity = 2, .run = cmd_reset, .plan = PLAN_ALL, .merge = merge_ok,
     .flags = CMD_ADMIN | CMD_LOADING | CMD_STALE | CMD_LOOKS,
     .syntax = "", .since = "2.2.12", .cost = "O(N) where N is the number of entries in the slowlog",
     .tips = "request_policy:all_nodes,response_policy:all_succeeded",
     .brief = "Empties the slow log."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE,
     .syntax = "", .since = "6.2.0", .cost = "O(1)", .brief = "Shows this list."},
    {0},
};

const struct command slowlog_commands[] = {
    {.name = "slowlog", .arity = -2, .subcommands = slowlog_subcommands,
     .syntax = "", .since = "2.2.12", .cost = "Depends on subcommand.",
     .brief = "Groups the commands for the slow log."},
    {0},
};
/* clang-format on */
