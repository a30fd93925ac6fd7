/*
 * How: every thread is visited and sends its numbers, once, whatever is asked for; the expensive
 * ones (commands, histograms) only for the sections that show them. The text is made at home.
 */
#include "core/os/clock.h"
#include "shards/admin/info_part.h"
#include "shards/admin/info_text.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/route/home.h"

/* Is the section to be shown? */
static bool is_wanted(const struct call *call, const struct info_section *section)
{
    if (call->arg_count == 1)
        return section->is_default;
    for (uint32_t i = 1; i < call->arg_count; i++) {
        if (call_arg_is(call, i, section->name) || call_arg_is(call, i, "all") ||
            call_arg_is(call, i, "everything") ||
            (call_arg_is(call, i, "default") && section->is_default))
            return true;
    }
    return false;
}

static enum status cmd_info(struct call *call)
{
    uint32_t wants = 0;
    for (const struct info_section *section = info_sections; section->name; section++) {
        if (is_wanted(call, section))
            wants |= section->wants;
    }
    struct buf content = {0};
    info_part_write(&content, call->home, wants);
    part_write(call, &content);
    return OK;
}

static void merge_info(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct bytes *contents = arena_alloc(call->arena, part_count * sizeof(*contents));
    for (uint32_t i = 0; i < part_count; i++)
        contents[i] = part_open(parts[i]);
    struct info_sums sums;
    info_sums_init(&sums, contents, part_count);
    struct info info = {.sums = &sums,
                        .server = call->home->server,
                        .config = call->config,
                        .now_us = clock_wall_us()};

    struct buf text = {0};
    for (const struct info_section *section = info_sections; section->name; section++) {
        if (!is_wanted(call, section))
            continue;
        buf_add_format(&text, "%s# %s\r\n", text.len ? "\r\n" : "", section->title);
        section->write(&text, &info);
    }
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
    info_sums_fini(&sums);
}

/* clang-format off */
const struct command info_commands[] = {
    {.name = "info", .arity = -1, .run = cmd_info, .plan = PLAN_ALL, .merge = merge_info,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL | CMD_LOOKS, .acl = ACL_DANGEROUS,
     .syntax = "[section [section ...]]", .since = "1.0.0", .cost = "O(1)",
     .tips = "nondeterministic_output,request_policy:all_shards,response_policy:special",
     .history = "7.0.0 Takes several sections.",
     .brief = "Describes the server: what it is, does and has done, by sections."},
    {0},
};
/* clang-format on */
