/*
 * How: everything is read off the row: flags and categories by tables of names, key positions by
 * command_table, arguments by the parser of its syntax.
 */
#include "shards/admin/command_docs.h"

#include "core/base/check.h"
#include "shards/call/command.h"
#include "shards/call/command_table.h"
#include "shards/call/syntax.h"

struct flag_name {
    uint32_t flag;
    const char *name;
};

/* In Redis's order. Flags that Redis does not show are not here. */
/* clang-format off */
static const struct flag_name command_flags[] = {
    {CMD_WRITE, "write"}, {CMD_READONLY, "readonly"}, {CMD_GROWS, "denyoom"},
    {CMD_ADMIN, "admin"}, {CMD_PUBSUB, "pubsub"}, {CMD_NOSCRIPT, "noscript"},
    {CMD_BLOCKING, "blocking"}, {CMD_LOADING, "loading"}, {CMD_STALE, "stale"},
    {CMD_SKIP_MONITOR, "skip_monitor"}, {CMD_SKIP_SLOWLOG, "skip_slowlog"},
    {CMD_ASKING, "asking"}, {CMD_FAST, "fast"}, {CMD_NO_AUTH, "no_auth"},
    {CMD_NO_MANDATORY_KEYS, "no_mandatory_keys"}, {CMD_NO_ASYNC_LOADING, "no_async_loading"},
    {CMD_NO_MULTI, "no_multi"}, {CMD_MOVABLE_KEYS, "movablekeys"}, {CMD_ALLOW_BUSY, "allow_busy"},
    {0, NULL},
};

static const struct flag_name categories[] = {
    {ACL_KEYSPACE, "@keyspace"}, {ACL_READ, "@read"}, {ACL_WRITE, "@write"}, {ACL_SET, "@set"},
    {ACL_SORTEDSET, "@sortedset"}, {ACL_LIST, "@list"}, {ACL_HASH, "@hash"},
    {ACL_STRING, "@string"}, {ACL_BITMAP, "@bitmap"}, {ACL_HYPERLOGLOG, "@hyperloglog"},
    {ACL_GEO, "@geo"}, {ACL_STREAM, "@stream"}, {ACL_PUBSUB, "@pubsub"}, {ACL_ADMIN, "@admin"},
    {ACL_FAST, "@fast"}, {ACL_SLOW, "@slow"}, {ACL_BLOCKING, "@blocking"},
    {ACL_DANGEROUS, "@dangerous"}, {ACL_CONNECTION, "@connection"},
    {ACL_TRANSACTION, "@transaction"}, {ACL_SCRIPTING, "@scripting"},
    {0, NULL},
};

static const struct flag_name key_flags[] = {
    {KEY_RO, "RO"}, {KEY_RW, "RW"}, {KEY_OW, "OW"}, {KEY_RM, "RM"},
    {KEY_ACCESS, "access"}, {KEY_UPDATE, "update"}, {KEY_INSERT, "insert"},
    {KEY_DELETE, "delete"}, {KEY_NOT_KEY, "not_key"}, {KEY_INCOMPLETE, "incomplete"},
    {KEY_VARIABLE_FLAGS, "variable_flags"},
    {0, NULL},
};

static const struct flag_name argument_flags[] = {
    {SYNTAX_OPTIONAL, "optional"}, {SYNTAX_MULTIPLE, "multiple"},
    {SYNTAX_MULTIPLE_TOKEN, "multiple_token"},
    {0, NULL},
};
/* clang-format on */

static void reply_flags(struct reply *reply, uint32_t flags, const struct flag_name *names)
{
    size_t mark = reply_mark(reply), count = 0;
    for (; names->name; names++) {
        if (!(flags & names->flag))
            continue;
        reply_simple(reply, names->name);
        count++;
    }
    reply_set_at(reply, mark, count);
}

void command_docs_key_flags(struct reply *reply, uint32_t flags)
{
    reply_flags(reply, flags, key_flags);
}

uint32_t command_docs_category(struct bytes name)
{
    for (const struct flag_name *category = categories; category->name; category++) {
        if (bytes_is(name, category->name + 1))
            return category->flag;
    }
    return 0;
}

static void reply_field(struct reply *reply, const char *name, struct bytes value)
{
    reply_bulk_text(reply, name);
    reply_bulk(reply, value);
}

static void reply_number_field(struct reply *reply, const char *name, int64_t value)
{
    reply_bulk_text(reply, name);
    reply_int(reply, value);
}

/* ---- INFO ---- */

static void reply_tips(struct reply *reply, const char *tips)
{
    size_t mark = reply_mark(reply), count = 0;
    while (tips && *tips) {
        size_t len = strcspn(tips, ",");
        reply_bulk(reply, bytes_of(tips, len));
        tips += len + (tips[len] == ',');
        count++;
    }
    reply_set_at(reply, mark, count);
}

static void reply_unknown(struct reply *reply, const char *part)
{
    reply_bulk_text(reply, part);
    reply_map(reply, 2);
    reply_bulk_text(reply, "type");
    reply_bulk_text(reply, "unknown");
    reply_bulk_text(reply, "spec");
    reply_map(reply, 0);
}

static void reply_begin_search(struct reply *reply, const struct key_spec *spec)
{
    if (spec->is_unknown) {
        reply_unknown(reply, "begin_search");
        return;
    }
    reply_bulk_text(reply, "begin_search");
    reply_map(reply, 2);
    reply_bulk_text(reply, "type");
    reply_bulk_text(reply, spec->keyword ? "keyword" : "index");
    reply_bulk_text(reply, "spec");
    if (spec->keyword) {
        reply_map(reply, 2);
        reply_field(reply, "keyword", bytes_from_text(spec->keyword));
        reply_number_field(reply, "startfrom", spec->index);
    } else {
        reply_map(reply, 1);
        reply_number_field(reply, "index", spec->index);
    }
}

static void reply_find_keys(struct reply *reply, const struct key_spec *spec)
{
    int step = spec->step ? spec->step : 1;
    if (spec->is_unknown) {
        reply_unknown(reply, "find_keys");
        return;
    }
    reply_bulk_text(reply, "find_keys");
    reply_map(reply, 2);
    reply_bulk_text(reply, "type");
    reply_bulk_text(reply, spec->counted ? "keynum" : "range");
    reply_bulk_text(reply, "spec");
    reply_map(reply, 3);
    if (spec->counted) {
        reply_number_field(reply, "keynumidx", spec->last);
        reply_number_field(reply, "firstkey", spec->first);
        reply_number_field(reply, "keystep", step);
    } else {
        reply_number_field(reply, "lastkey", spec->last);
        reply_number_field(reply, "keystep", step);
        reply_number_field(reply, "limit", spec->limit);
    }
}

static void reply_key_specs(struct reply *reply, const struct command *command)
{
    size_t mark = reply_mark(reply), count = 0;
    for (; count < KEY_SPEC_MAX && command->keys[count].flags; count++) {
        const struct key_spec *spec = &command->keys[count];
        reply_map(reply, 3);
        reply_bulk_text(reply, "flags");
        command_docs_key_flags(reply, spec->flags);
        reply_begin_search(reply, spec);
        reply_find_keys(reply, spec);
    }
    reply_set_at(reply, mark, count);
}

static size_t count_subcommands(const struct command *command)
{
    size_t count = 0;
    while (command->subcommands[count].name)
        count++;
    return count;
}

void command_docs_info(struct reply *reply, const struct command *command)
{
    int first, last, step;
    command_key_range(command, &first, &last, &step);
    reply_array(reply, 10);
    reply_bulk_text(reply, command_full_name(command));
    reply_int(reply, command->arity);
    reply_flags(reply, command->flags, command_flags);
    reply_int(reply, first);
    reply_int(reply, last);
    reply_int(reply, step);
    reply_flags(reply, command->acl, categories);
    reply_tips(reply, command->tips);
    reply_key_specs(reply, command);
    if (!command->subcommands) {
        reply_set(reply, 0);
        return;
    }
    reply_array(reply, count_subcommands(command));
    for (const struct command *row = command->subcommands; row->name; row++)
        command_docs_info(reply, row);
}

/* ---- DOCS ---- */

/* Which key specification the next key argument belongs to: a range of a fixed length covers as
 * many arguments as it has keys, any other kind one. */
struct spec_cursor {
    const struct command *command;
    uint32_t index, used;
};

/* The specification of the keys that patterns name, KEY_SPEC_MAX where there is none. */
static uint32_t pattern_spec(const struct command *command)
{
    uint32_t index = 0;
    while (index < KEY_SPEC_MAX && !command->keys[index].is_unknown)
        index++;
    return index;
}

static uint32_t next_spec(struct spec_cursor *cursor)
{
    const struct key_spec *spec = &cursor->command->keys[cursor->index];
    uint32_t index = cursor->index;
    int step = spec->step ? spec->step : 1;
    uint32_t covers = spec->counted || spec->last < 0 ? 1 : (uint32_t)(spec->last / step) + 1;
    bool has_next = index + 1 < KEY_SPEC_MAX && cursor->command->keys[index + 1].flags;
    if (++cursor->used >= covers && has_next) {
        cursor->index++;
        cursor->used = 0;
        if (cursor->index == pattern_spec(cursor->command))
            cursor->index++;
    }
    return index;
}

static void reply_args(struct reply *reply, const struct syntax_arg *args,
                       struct spec_cursor *cursor);

static void reply_arg(struct reply *reply, const struct syntax_arg *arg, struct spec_cursor *cursor)
{
    size_t mark = reply_mark(reply), pairs = 2;
    bool is_group = arg->type == SYNTAX_ONEOF || arg->type == SYNTAX_BLOCK;
    reply_field(reply, "name", arg->name);
    reply_field(reply, "type", bytes_from_text(syntax_type_name(arg->type)));
    if (!is_group) {
        reply_field(reply, "display_text", arg->shown);
        pairs++;
    }
    if (arg->type == SYNTAX_KEY && cursor->command->keys[0].flags) {
        reply_number_field(reply, "key_spec_index", next_spec(cursor));
        pairs++;
    }
    if (arg->type == SYNTAX_PATTERN && pattern_spec(cursor->command) < KEY_SPEC_MAX) {
        reply_number_field(reply, "key_spec_index", pattern_spec(cursor->command));
        pairs++;
    }
    if (arg->token.len) {
        reply_field(reply, "token", arg->token);
        pairs++;
    }
    if (arg->since.len) {
        reply_field(reply, "since", arg->since);
        pairs++;
    }
    if (arg->deprecated_since.len) {
        reply_field(reply, "deprecated_since", arg->deprecated_since);
        pairs++;
    }
    if (arg->flags) {
        reply_bulk_text(reply, "flags");
        reply_flags(reply, arg->flags, argument_flags);
        pairs++;
    }
    if (is_group) {
        reply_bulk_text(reply, "arguments");
        reply_args(reply, arg->args, cursor);
        pairs++;
    }
    reply_map_at(reply, mark, pairs);
}

static void reply_args(struct reply *reply, const struct syntax_arg *args,
                       struct spec_cursor *cursor)
{
    size_t mark = reply_mark(reply), count = 0;
    for (const struct syntax_arg *arg = args; arg; arg = arg->next, count++)
        reply_arg(reply, arg, cursor);
    reply_array_at(reply, mark, count);
}

bool command_docs_change(const char **at, struct bytes *out_version, struct bytes *out_change)
{
    if (!**at)
        return false;
    const char *end = strstr(*at, "; ");
    size_t len = end ? (size_t)(end - *at) : strlen(*at);
    size_t version_len = strcspn(*at, " ;");
    ASSERT(version_len + 1 < len); /* a version, a blank and a text: rows are ours */
    *out_version = bytes_of(*at, version_len);
    *out_change = bytes_of(*at + version_len + 1, len - version_len - 1);
    *at += end ? len + strlen("; ") : len;
    return true;
}

/* A field that a row may lack; returns how many it has written. */
static size_t reply_text_field(struct reply *reply, const char *name, const char *value)
{
    if (!value || !value[0])
        return 0;
    reply_field(reply, name, bytes_from_text(value));
    return 1;
}

static size_t reply_doc_flags(struct reply *reply, const struct command *command)
{
    bool is_syscmd = command->flags & CMD_SYSCMD, is_deprecated = command->deprecated_since;
    if (!is_syscmd && !is_deprecated)
        return 0;
    reply_bulk_text(reply, "doc_flags");
    reply_set(reply, (size_t)is_deprecated + is_syscmd);
    if (is_deprecated)
        reply_simple(reply, "deprecated");
    if (is_syscmd)
        reply_simple(reply, "syscmd");
    return 1;
}

/* A set of pairs: a version, and what it has added. */
static size_t reply_history(struct reply *reply, const char *history)
{
    if (!history)
        return 0;
    reply_bulk_text(reply, "history");
    size_t mark = reply_mark(reply), count = 0;
    for (struct bytes version, change; command_docs_change(&history, &version, &change); count++) {
        reply_array(reply, 2);
        reply_bulk(reply, version);
        reply_bulk(reply, change);
    }
    reply_set_at(reply, mark, count);
    return 1;
}

void command_docs_map(struct reply *reply, const struct command *command, struct arena *arena)
{
    size_t mark = reply_mark(reply), pairs = 0;
    pairs += reply_text_field(reply, "summary", command->brief);
    pairs += reply_text_field(reply, "since", command->since);
    pairs += reply_text_field(reply, "group", command->group);
    pairs += reply_text_field(reply, "complexity", command->cost);
    pairs += reply_doc_flags(reply, command);
    pairs += reply_text_field(reply, "deprecated_since", command->deprecated_since);
    pairs += reply_text_field(reply, "replaced_by", command->replaced_by);
    pairs += reply_history(reply, command->history);
    const struct syntax_arg *args = command->syntax ? syntax_parse(command->syntax, arena) : NULL;
    if (args) {
        struct spec_cursor cursor = {.command = command};
        reply_bulk_text(reply, "arguments");
        reply_args(reply, args, &cursor);
        pairs++;
    }
    if (command->subcommands) {
        reply_bulk_text(reply, "subcommands");
        reply_map(reply, count_subcommands(command));
        for (const struct command *row = command->subcommands; row->name; row++) {
            reply_bulk_text(reply, command_full_name(row));
            command_docs_map(reply, row, arena);
        }
        pairs++;
    }
    reply_map_at(reply, mark, pairs);
}
