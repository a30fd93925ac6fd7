/*
 * config_cmd: CONFIG GET, SET, REWRITE, RESETSTAT. The shard's settings count, not those that the
 * thread began its turn with: what a client has set it finds again in the same pipeline.
 */
#include <errno.h>
#include <string.h>

#include "core/base/glob.h"
#include "core/os/file.h"
#include "core/os/log.h"
#include "net/addr.h"
#include "shards/admin/config_change.h"
#include "shards/admin/config_rewrite.h"
#include "shards/admin/home_admin.h"
#include "shards/admin/options.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/call/session.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

/* ---- GET
 * ----------------------------------------------------------------------------------------- */

struct found {
    struct bytes name; /* as it is answered: a name or an alias */
    const struct option *option;
};

struct found_list {
    struct found *items; /* room for all names of all options */
    uint32_t count;
};

static void add_found(struct found_list *list, struct bytes name, const struct option *option)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (bytes_equal_nocase(list->items[i].name, name))
            return;
    list->items[list->count++] = (struct found){name, option};
}

static void find_by_pattern(struct found_list *list, struct bytes pattern)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        const char *names[] = {option->name, option->alias};
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
            if (names[j] && !(option->flags & OPTION_HIDDEN) &&
                glob_matches_nocase(pattern, bytes_from_text(names[j])))
                add_found(list, bytes_from_text(names[j]), option);
    }
}

static bool is_pattern(struct bytes word)
{
    return memchr(word.ptr, '*', word.len) || memchr(word.ptr, '?', word.len) ||
           memchr(word.ptr, '[', word.len);
}

static enum status cmd_get(struct call *call)
{
    const struct config *config = call->shard->config;
    struct found_list list = {
        .items = arena_alloc(call->arena, 2 * option_count() * sizeof(struct found))};
    for (uint32_t i = 2; i < call->arg_count; i++) {
        struct bytes word = call_arg(call, i);
        const struct option *option = option_find(word);
        if (is_pattern(word))
            find_by_pattern(&list, word);
        else if (option)
            add_found(&list, word, option);
    }

    struct buf value = {0};
    reply_map(call->reply, list.count);
    for (uint32_t i = 0; i < list.count; i++) {
        value.len = 0;
        option_get(list.items[i].option, config, &value);
        reply_bulk(call->reply, list.items[i].name);
        reply_bulk(call->reply, buf_bytes(&value));
    }
    buf_fini(&value);
    return OK;
}

/* ---- SET
 * ----------------------------------------------------------------------------------------- */

static bool may_change_protected(const struct call *call)
{
    enum protected_word word = call->config->enable_protected_configs;
    return word == PROTECTED_YES ||
           (word == PROTECTED_LOCAL && addr_is_local(&call->session->conn->peer));
}

static enum status fail_option(struct call *call, const char *name, const char *reason)
{
    return call_fail_text(call, "ERR CONFIG SET failed (possibly related to argument '%s') - %s",
                          name, reason);
}

/* May be set at start only; of ours that is no error when nothing would change. */
static bool is_immutable(const struct call *call, const struct option *option, struct bytes value)
{
    if (!(option->flags & OPTION_IMMUTABLE) || !(option->flags & OPTION_OURS))
        return option->flags & OPTION_IMMUTABLE;
    struct buf now = {0};
    option_get(option, call->shard->config, &now);
    bool is_same = bytes_equal(buf_bytes(&now), value);
    buf_fini(&now);
    return !is_same;
}

/* Finds all options first: an unknown name is told before any value is looked at. */
static enum status find_options(struct call *call, const struct option **options)
{
    for (uint32_t i = 2; i < call->arg_count; i += 2) {
        struct bytes name = call_arg(call, i);
        const char *text = arena_format(call->arena, "%.*s", (int)name.len, name.ptr);
        const struct option *option = option_find(name);
        if (!option)
            return call_fail_text(
                call, "ERR Unknown option or number of arguments for CONFIG SET - '%s'", text);
        if (is_immutable(call, option, call_arg(call, i + 1)))
            return fail_option(call, text, "can't set immutable config");
        if (option->flags & OPTION_PROTECTED && !may_change_protected(call))
            return fail_option(call, text, "can't set protected config");
        /* A name and its alias are two names. */
        for (uint32_t j = 2; j < i; j += 2)
            if (bytes_equal_nocase(name, call_arg(call, j)))
                return fail_option(call, text, "duplicate parameter");
        options[i / 2 - 1] = option;
    }
    return OK;
}

/* The option's name as Redis says it: by the alias if it was called so. */
static const char *said_name(const struct option *option, struct bytes word)
{
    return option->alias && bytes_is(word, option->alias) ? option->alias : option->name;
}

static enum status cmd_set(struct call *call)
{
    if (call->arg_count % 2)
        return ERR_SYNTAX;
    uint32_t count = call->arg_count / 2 - 1;
    const struct option **options = arena_alloc(call->arena, count * sizeof *options);
    TRY(find_options(call, options));

    struct config_change *change = config_change_begin(call->shard->config);
    struct option_error error;
    for (uint32_t i = 0; i < count; i++)
        if (!config_change_add(change, options[i], call_arg(call, 2 * i + 3), &error)) {
            config_change_cancel(change);
            return fail_option(call, said_name(options[i], call_arg(call, 2 * i + 2)), error.text);
        }
    const struct option *culprit;
    if (!config_change_apply(change, call->home->server->shard_count, &culprit, &error)) {
        config_change_cancel(change);
        return fail_option(call, culprit->name, error.text);
    }
    config_change_publish(change, call->home);
    reply_ok(call->reply);
    return OK;
}

/* ---- REWRITE
 * ------------------------------------------------------------------------------------- */

static int rewrite_file(const struct config *config)
{
    struct buf before = {0}, after = {0};
    int result = file_read(config->config_file, &before);
    if (result == -ENOENT)
        result = 0;
    if (result == 0) {
        config_rewrite(config, buf_bytes(&before), &after);
        result = file_replace(config->config_file, buf_bytes(&after));
    }
    buf_fini(&before);
    buf_fini(&after);
    return result;
}

/* Blocks this thread for as long as the disk takes: the reply promises that the file is safe. */
static enum status cmd_rewrite(struct call *call)
{
    const struct config *config = call->shard->config;
    if (!config->config_file[0])
        return call_fail_text(call, "ERR The server is running without a config file");
    int result = rewrite_file(config);
    if (result < 0) {
        log_warn("config.rewrite_failed", "file=\"%s\" error=\"%s\"", config->config_file,
                 strerror(-result));
        return call_fail_text(call, "ERR Rewriting config file: %s", strerror(-result));
    }
    log_info("config.rewritten", "file=\"%s\"", config->config_file);
    reply_ok(call->reply);
    return OK;
}

/* ---- RESETSTAT
 * ----------------------------------------------------------------------------------- */

static enum status cmd_resetstat(struct call *call)
{
    home_admin_reset_stats(call->home);
    reply_ok(call->reply);
    return OK;
}

/* ---- Rows
 * ---------------------------------------------------------------------------------------- */

#define ALL_NODES "request_policy:all_nodes,response_policy:all_succeeded"
#define CONFIG_FLAGS (CMD_ADMIN | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE)

/* clang-format off */
static const struct command config_subcommands[] = {
    {.name = "get", .arity = -3, .run = cmd_get, .plan = PLAN_HERE, .flags = CONFIG_FLAGS,
     .syntax = "parameter [parameter ...]", .since = "2.0.0", .cost = "O(N), N parameters asked for",
     .history = "7.0.0 Takes several patterns.",
     .brief = "Returns the settings whose names match, and their values."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE, .flags = CMD_LOADING | CMD_STALE,
     .syntax = "", .since = "5.0.0", .cost = "O(1)", .brief = "Lists the subcommands."},
    {.name = "resetstat", .arity = 2, .run = cmd_resetstat, .plan = PLAN_ALL, .merge = merge_ok, .flags = CONFIG_FLAGS | CMD_LOOKS,
     .syntax = "", .since = "2.0.0", .cost = "O(1)", .tips = ALL_NODES, .brief = "Sets the counters that INFO shows back to zero."},
    {.name = "rewrite", .arity = 2, .run = cmd_rewrite, .plan = PLAN_HERE, .flags = CONFIG_FLAGS,
     .syntax = "", .since = "2.8.0", .cost = "O(1)", .tips = ALL_NODES, .brief = "Writes the settings as they are now into the configuration file."},
    {.name = "set", .arity = -4, .run = cmd_set, .plan = PLAN_HERE, .flags = CONFIG_FLAGS,
     .syntax = "parameter value [parameter value ...]", .since = "2.0.0", .cost = "O(N), N parameters asked for",
     .tips = ALL_NODES,
     .history = "7.0.0 Sets several parameters.",
     .brief = "Changes settings while the server runs: all of them, or none."},
    {0},
};

const struct command config_commands[] = {
    {.name = "config", .arity = -2, .subcommands = config_subcommands,
     .since = "2.0.0", .cost = "that of the subcommand", .brief = "Settings: look at them, change them, keep them."},
    {0},
};
/* clang-format on */
