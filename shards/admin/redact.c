/* How: the few commands that take secrets are known by name; all others are let through by their
 * first letter. */
#include "shards/admin/redact.h"

#include "shards/call/call.h"

static bool hides_hello(const struct call *call, uint32_t index)
{
    for (uint32_t i = 2; i + 2 < call->arg_count; i++) {
        if (call_arg_is(call, i, "auth"))
            return index == i + 1 || index == i + 2;
        if (call_arg_is(call, i, "setname"))
            i++;
    }
    return false;
}

/* CONFIG SET name value ...: the values of names that are secrets. */
static bool hides_config(const struct call *call, uint32_t index)
{
    if (index < 3 || index % 2 == 0 || !call_arg_is(call, 1, "set"))
        return false;
    return call_arg_is(call, index - 1, "requirepass") ||
           call_arg_is(call, index - 1, "masterauth") ||
           call_arg_is(call, index - 1, "masteruser") ||
           call_arg_is(call, index - 1, "tls-key-file-pass") ||
           call_arg_is(call, index - 1, "tls-client-key-file-pass");
}

bool redact_hides(const struct call *call, uint32_t index)
{
    const struct command *row = call->command->parent ? call->command->parent : call->command;
    switch (row->name[0]) {
    case 'a':
        return index > 0 && strcmp(row->name, "auth") == 0;
    case 'h':
        return strcmp(row->name, "hello") == 0 && hides_hello(call, index);
    case 'c':
        return strcmp(row->name, "config") == 0 && hides_config(call, index);
    default:
        return false;
    }
}
