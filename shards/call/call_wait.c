/*
 * How: the wait is left on every shard that has a key of it. The runner of the call owns them all.
 */
#include <math.h>

#include "core/base/num.h"
#include "shards/call/call.h"
#include "shards/call/command_table.h"
#include "shards/local/wait.h"

static bool has_keys_elsewhere(struct call *call)
{
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    int count = command_keys(call->command, call->args, call->arg_count, fast, call->arena, &index,
                             NULL);
    for (int i = 1; i < count; i++)
        if (call->slot_map[key_slot(call->args[index[i]])] !=
            call->slot_map[key_slot(call->args[index[0]])])
            return true;
    return false;
}

enum status call_wait(struct call *call, const struct call_wait *what)
{
    if (call->flags & CALL_RETRY)
        return WAITING;
    struct wait_request request = {
        .client_id = call->client_id,
        .waiter = call->waiter,
        .home = call->waiter_home,
        .db_index = call->db_index,
        .resp = call->resp,
        .flags = call->flags,
        .is_far = has_keys_elsewhere(call),
        .on_any_change = what->on_any_change,
        .takes_one = what->takes_one,
        .type = what->type,
        .command = call->command,
        .args = call->args,
        .arg_count = call->arg_count,
        .first_key = what->first_key,
        .key_count = what->key_count,
    };
    call->wait_ms = what->timeout_ms;
    for (uint32_t i = what->first_key; i < what->first_key + what->key_count; i++) {
        struct shard *shard = call->shards[call->slot_map[key_slot(call->args[i])]];
        if (!wait_find(shard->waits, call->client_id))
            wait_add(shard->waits, &request, call->slot_map);
    }
    return WAITING;
}

enum status call_arg_timeout(struct call *call, uint32_t index, int64_t *out_ms)
{
    long double seconds;
    if (!num_to_long_double(call_arg(call, index), &seconds))
        return call_fail_text(call, "ERR timeout is not a float or out of range");
    long double ms = ceill(seconds * 1000);
    if (ms > (long double)INT64_MAX)
        return call_fail_text(call, "ERR timeout is out of range");
    if (ms < 0)
        return call_fail_text(call, "ERR timeout is negative");
    *out_ms = (int64_t)ms;
    if (*out_ms > INT64_MAX - call_now_ms(call))
        return call_fail_text(call, "ERR timeout is out of range");
    return OK;
}
