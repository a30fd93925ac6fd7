/*
 * How: the table is the same for all threads and never changes, so everything is answered at home.
 */
#include "core/base/glob.h"
#include "shards/admin/command_docs.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/command_table.h"
#include "shards/call/help.h"

static enum status cmd_command(struct call *call)
{
    reply_array(call->reply, command_top_count());
    for (uint32_t i = 0; i < command_top_count(); i++)
        command_docs_info(call->reply, command_top_at(i));
    return OK;
}

static enum status cmd_count(struct call *call)
{
    reply_int(call->reply, command_top_count());
    return OK;
}

static enum status cmd_info(struct call *call)
{
    if (call->arg_count == 2)
        return cmd_command(call);
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++) {
        const struct command *command = command_find_full(call_arg(call, i));
        if (command)
            command_docs_info(call->reply, command);
        else
            reply_null(call->reply);
    }
    return OK;
}

static void reply_docs(struct call *call, const struct command *command)
{
    reply_bulk_text(call->reply, command_full_name(command));
    command_docs_map(call->reply, command, call->arena);
}

static enum status cmd_docs(struct call *call)
{
    if (call->arg_count == 2) {
        reply_map(call->reply, command_top_count());
        for (uint32_t i = 0; i < command_top_count(); i++)
            reply_docs(call, command_top_at(i));
        return OK;
    }
    size_t mark = reply_mark(call->reply), count = 0;
    for (uint32_t i = 2; i < call->arg_count; i++) {
        const struct command *command = command_find_full(call_arg(call, i));
        if (!command)
            continue;
        reply_docs(call, command);
        count++;
    }
    reply_map_at(call->reply, mark, count);
    return OK;
}

/* ---- LIST ---- */

struct list_filter {
    bool all, none;
    uint32_t category; /* 0: do not ask */
    struct bytes pattern;
};

static enum status parse_filter(struct call *call, struct list_filter *filter)
{
    *filter = (struct list_filter){.all = call->arg_count == 2};
    if (filter->all)
        return OK;
    if (call->arg_count != 5 || !call_arg_is(call, 2, "filterby"))
        return ERR_SYNTAX;
    if (call_arg_is(call, 3, "module")) {
        filter->none = true; /* there are no modules, so none has a command */
    } else if (call_arg_is(call, 3, "aclcat")) {
        filter->category = command_docs_category(call_arg(call, 4));
        filter->none = filter->category == 0;
    } else if (call_arg_is(call, 3, "pattern")) {
        filter->pattern = call_arg(call, 4);
    } else {
        return ERR_SYNTAX;
    }
    return OK;
}

static bool passes(const struct list_filter *filter, const struct command *command)
{
    if (filter->all || filter->none)
        return filter->all;
    if (filter->category)
        return command->acl & filter->category;
    return glob_matches_nocase(filter->pattern, bytes_from_text(command_full_name(command)));
}

/* The command's name if it passes; returns how many were written. */
static size_t reply_name(struct call *call, const struct list_filter *filter,
                         const struct command *command)
{
    if (!passes(filter, command))
        return 0;
    reply_bulk_text(call->reply, command_full_name(command));
    return 1;
}

static enum status cmd_list(struct call *call)
{
    struct list_filter filter;
    TRY(parse_filter(call, &filter));
    size_t mark = reply_mark(call->reply), count = 0;
    for (uint32_t i = 0; i < command_top_count(); i++) {
        const struct command *command = command_top_at(i);
        count += reply_name(call, &filter, command);
        for (const struct command *row = command->subcommands; row && row->name; row++)
            count += reply_name(call, &filter, row);
    }
    reply_array_at(call->reply, mark, count);
    return OK;
}

/* ---- GETKEYS ---- */

static bool has_keys(const struct command *command)
{
    for (uint32_t i = 0; i < KEY_SPEC_MAX && command->keys[i].flags; i++) {
        if (!(command->keys[i].flags & KEY_NOT_KEY))
            return true;
    }
    return command->find_keys != NULL;
}

/* The command that the words from the third on are. */
static enum status find_command(struct call *call, const struct command **out_command)
{
    uint32_t count = call->arg_count - 2;
    const struct command *command = command_find(call_arg(call, 2));
    if (command && command->subcommands)
        command = count > 1 ? command_find_sub(command, call_arg(call, 3)) : NULL;
    if (!command)
        return call_fail_text(call, "ERR Invalid command specified");
    if (!has_keys(command))
        return call_fail_text(call, "ERR The command has no key arguments");
    if ((command->arity > 0 && count != (uint32_t)command->arity) ||
        (command->arity < 0 && count < (uint32_t)-command->arity))
        return call_fail_text(call, "ERR Invalid number of arguments specified for command");
    *out_command = command;
    return OK;
}

static enum status reply_keys(struct call *call, bool with_flags)
{
    const struct command *command = NULL;
    TRY(find_command(call, &command));
    const struct bytes *args = call->args + 2;
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    const uint16_t *flags = NULL;
    int count = command_keys(command, args, call->arg_count - 2, fast, call->arena, &index, &flags);
    if (count <= 0) {
        if (!(command->flags & CMD_NO_MANDATORY_KEYS))
            return call_fail_text(call, "ERR Invalid arguments specified for command");
        count = 0;
    }
    reply_array(call->reply, (size_t)count);
    for (int i = 0; i < count; i++) {
        if (with_flags)
            reply_array(call->reply, 2);
        reply_bulk(call->reply, args[index[i]]);
        if (with_flags)
            command_docs_key_flags(call->reply, flags[i]);
    }
    return OK;
}

static enum status cmd_getkeys(struct call *call)
{
    return reply_keys(call, false);
}

static enum status cmd_getkeysandflags(struct call *call)
{
    return reply_keys(call, true);
}

#define FLAGS (CMD_LOADING | CMD_STALE | CMD_SENTINEL)

/* clang-format off */
static const struct command command_subcommands[] = {
    {.name = "count", .arity = 2, .run = cmd_count, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .syntax = "", .since = "2.8.13", .cost = "O(1)",
     .brief = "Counts the commands that there are."},
    {.name = "docs", .arity = -2, .run = cmd_docs, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .syntax = "[command-name [command-name ...]]", .since = "7.0.0",
     .cost = "O(N) where N is the number of commands to look up",
     .tips = "nondeterministic_output_order",
     .brief = "Documents the commands, or all of them."},
    {.name = "getkeys", .arity = -3, .run = cmd_getkeys, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .syntax = "command [arg [arg ...]]", .since = "2.8.13",
     .cost = "O(N) where N is the number of arguments to the command",
     .brief = "Picks the keys out of a whole command."},
    {.name = "getkeysandflags", .arity = -3, .run = cmd_getkeysandflags, .plan = PLAN_HERE,
     .flags = FLAGS, .acl = ACL_CONNECTION, .syntax = "command [arg [arg ...]]", .since = "7.0.0",
     .cost = "O(N) where N is the number of arguments to the command",
     .brief = "Picks the keys out of a whole command, and tells what it does to them."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .syntax = "", .since = "5.0.0", .cost = "O(1)",
     .brief = "Shows this list."},
    {.name = "info", .arity = -2, .run = cmd_info, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .syntax = "[command-name [command-name ...]]", .since = "2.8.13",
     .cost = "O(N) where N is the number of commands to look up",
     .tips = "nondeterministic_output_order",
     .history = "7.0.0 Tells of all commands when none is named.",
     .brief = "Tells arity, flags, keys and categories of the commands, or of all."},
    {.name = "list", .arity = -2, .run = cmd_list, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION,
     .syntax = "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
     .since = "7.0.0", .cost = "O(N) where N is the total number of commands",
     .tips = "nondeterministic_output_order",
     .brief = "Names the commands that there are, or those that match."},
    {0},
};

const struct command command_commands[] = {
    {.name = "command", .arity = -1, .run = cmd_command, .plan = PLAN_HERE, .flags = FLAGS,
     .acl = ACL_CONNECTION, .subcommands = command_subcommands,
     .syntax = "", .since = "2.8.13", .cost = "O(N) where N is the total number of commands",
     .tips = "nondeterministic_output_order",
     .brief = "Tells arity, flags, keys and categories of all commands."},
    {0},
};
/* clang-format on */
