/*
 * merge: makes one reply of the replies of parts: the standard ways (command.h declares them).
 *
 * Parts are complete replies in order of shards. The first error among them is the answer.
 */
#include "net/answer.h"
#include "shards/call/call.h"
#include "shards/route/shard_set.h"

/* Writes the first error among the parts, if there is one. */
static bool merge_error(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    for (uint32_t i = 0; i < part_count; i++) {
        if (answer_is_error(parts[i])) {
            reply_raw(call->reply, parts[i]);
            return true;
        }
    }
    return false;
}

void merge_ok(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (!merge_error(call, parts, part_count))
        reply_ok(call->reply);
}

void merge_sum(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (merge_error(call, parts, part_count))
        return;
    int64_t sum = 0;
    for (uint32_t i = 0; i < part_count; i++)
        sum += answer_int(parts[i]);
    reply_int(call->reply, sum);
}

void merge_concat(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (merge_error(call, parts, part_count))
        return;
    size_t count = 0;
    struct bytes elements;
    for (uint32_t i = 0; i < part_count; i++)
        count += answer_elements(parts[i], &elements);
    reply_array(call->reply, count);
    for (uint32_t i = 0; i < part_count; i++) {
        answer_elements(parts[i], &elements);
        reply_raw(call->reply, elements);
    }
}

/* The keys were dealt in order, so each shard's elements are in the order of its keys. */
void merge_by_key(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (merge_error(call, parts, part_count))
        return;
    uint32_t step = (uint32_t)call->command->keys[0].step;
    uint32_t key_count = (call->arg_count - 1) / step;
    struct bytes rest[SHARD_MAX]; /* [shard] what of its part is not dealt back yet */
    uint16_t *shard_of = arena_alloc(call->arena, key_count * sizeof(*shard_of));
    struct shard_set set = {0};
    for (uint32_t i = 0; i < key_count; i++) {
        shard_of[i] = call->slot_map[key_slot(call->args[1 + i * step])];
        shard_set_add(&set, shard_of[i]);
    }
    uint32_t part = 0;
    SHARD_SET_EACH(shard, &set)
    {
        ASSERT(part < part_count);
        answer_elements(parts[part++], &rest[shard]);
    }
    reply_array(call->reply, key_count);
    for (uint32_t i = 0; i < key_count; i++)
        reply_raw(call->reply, answer_next(&rest[shard_of[i]]));
}
