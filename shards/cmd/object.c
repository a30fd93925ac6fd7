/*
 * object: OBJECT, which looks at how a key is held without using it.
 *
 * Looking leaves the access time alone. Nothing is shared between keys, so the reference count of
 * every value is one.
 */
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/local/db.h"

#define KEY_INDEX 2

#define SWITCHING_NOTE                                                                             \
    "Please note that when switching between policies at runtime LRU and LFU data will take some " \
    "time to adjust."

static bool counts_frequency(const struct config *config)
{
    return config->maxmemory_policy == MAXMEMORY_ALLKEYS_LFU ||
           config->maxmemory_policy == MAXMEMORY_VOLATILE_LFU;
}

/* The value to look at; NULL, and null replied, when there is none. */
static const struct value *look(struct call *call)
{
    const struct value *value = db_examine(call_db(call, KEY_INDEX), call_key(call, KEY_INDEX));
    if (!value)
        reply_null(call->reply);
    return value;
}

static enum status cmd_object_encoding(struct call *call)
{
    const struct value *value = look(call);
    if (value)
        reply_bulk_text(call->reply, value_encoding(value));
    return OK;
}

static enum status cmd_object_freq(struct call *call)
{
    const struct value *value = look(call);
    if (!value)
        return OK;
    if (!counts_frequency(call->config))
        return call_fail_text(call, "ERR An LFU maxmemory policy is not selected, access frequency "
                                    "not tracked. " SWITCHING_NOTE);
    reply_int(call->reply, db_frequency(call_db(call, KEY_INDEX), value));
    return OK;
}

static enum status cmd_object_idletime(struct call *call)
{
    const struct value *value = look(call);
    if (!value)
        return OK;
    if (counts_frequency(call->config))
        return call_fail_text(call, "ERR An LFU maxmemory policy is selected, idle time not "
                                    "tracked. " SWITCHING_NOTE);
    reply_int(call->reply, db_idle_s(call_db(call, KEY_INDEX), value));
    return OK;
}

static enum status cmd_object_refcount(struct call *call)
{
    if (look(call))
        reply_int(call->reply, 1);
    return OK;
}

/* clang-format off */
#define LOOKS_AT_KEY \
     .arity = 3, .plan = PLAN_ONE, .flags = CMD_READONLY, .acl = ACL_KEYSPACE, \
     .keys = {{.flags = KEY_RO, .index = KEY_INDEX, .step = 1}}, \
     .syntax = "key", .cost = "O(1)", .tips = "nondeterministic_output"

static const struct command object_subcommands[] = {
    {.name = "encoding", .run = cmd_object_encoding, LOOKS_AT_KEY, .since = "2.2.3",
     .brief = "Tells how the value is encoded inside the server."},

    {.name = "freq", .run = cmd_object_freq, LOOKS_AT_KEY, .since = "4.0.0",
     .brief = "Tells how often the key is used, on a logarithmic scale; needs an LFU policy."},

    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE, .acl = ACL_KEYSPACE,
     .syntax = "", .since = "6.2.0", .cost = "O(1)",
     .brief = "Shows this text."},

    {.name = "idletime", .run = cmd_object_idletime, LOOKS_AT_KEY, .since = "2.2.3",
     .brief = "Tells how many seconds ago the key was used; not with an LFU policy."},

    {.name = "refcount", .run = cmd_object_refcount, LOOKS_AT_KEY, .since = "2.2.3",
     .brief = "Tells how many references to the value there are."},
    {0},
};

const struct command object_commands[] = {
    {.name = "object", .arity = -2, .subcommands = object_subcommands,
     .syntax = "", .since = "2.2.3", .cost = "Depends on the subcommand.",
     .brief = "Looks at how a key is held."},
    {0},
};
/* clang-format on */
