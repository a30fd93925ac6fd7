#include "shards/cmd/stream_group_arg.h"

#include "shards/cmd/stream_arg.h"

enum status stream_group_arg_find(struct call *call, uint32_t key_index, uint32_t name_index,
                                  const struct stream **out_stream,
                                  const struct stream_group **out_group)
{
    TRY(stream_arg_find(call, key_index, out_stream));
    *out_group = *out_stream ? stream_group_find(*out_stream, call_arg(call, name_index)) : NULL;
    return OK;
}

enum status stream_group_arg_get(struct call *call, uint32_t key_index, uint32_t name_index,
                                 const struct stream **out_stream,
                                 const struct stream_group **out_group)
{
    TRY(stream_group_arg_find(call, key_index, name_index, out_stream, out_group));
    if (*out_group)
        return OK;
    struct bytes key = call_arg(call, key_index), name = call_arg(call, name_index);
    return call_fail_text(call, "NOGROUP No such key '%.*s' or consumer group '%.*s'", (int)key.len,
                          key.ptr, (int)name.len, name.ptr);
}

struct stream *stream_group_arg_edit(struct call *call, uint32_t index)
{
    return value_edit_root(db_edit_aside(call_db(call, index), call_key(call, index)));
}

struct stream_group_consumer *stream_group_arg_see(struct call *call, struct heap *heap,
                                                   struct stream_group *group, struct bytes name)
{
    int64_t now_ms = call_now_ms(call);
    struct stream_group_consumer *consumer = stream_group_edit_consumer(group, name);
    if (!consumer)
        consumer = stream_group_create_consumer(group, heap, name, now_ms);
    consumer->seen_at_ms = now_ms;
    return consumer;
}

int64_t stream_group_arg_age_ms(const struct call *call, int64_t at_ms)
{
    return (int64_t)((uint64_t)call_now_ms(call) - (uint64_t)at_ms);
}

struct heap *stream_group_arg_heap(struct call *call, uint32_t index)
{
    return db_heap(call_db(call, index));
}
