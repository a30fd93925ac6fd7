/*
 * stream_group_arg: the consumer group that a command names, for the files of this family.
 */
#pragma once

#include "core/type/stream_group.h"
#include "shards/call/call.h"

/* The stream at word `key_index` and its group at word `name_index`, to read: both NULL, or the
 * group alone, where there is none. */
MUST_CHECK enum status stream_group_arg_find(struct call *call, uint32_t key_index,
                                             uint32_t name_index, const struct stream **out_stream,
                                             const struct stream_group **out_group);
/* The same for those who cannot do without: "NOGROUP No such key ... or consumer group ...". */
MUST_CHECK enum status stream_group_arg_get(struct call *call, uint32_t key_index,
                                            uint32_t name_index, const struct stream **out_stream,
                                            const struct stream_group **out_group);

/* The stream at the key that is the word at `index`, which exists, to change what its groups
 * remember: to WATCH that is no change of the key. */
struct stream *stream_group_arg_edit(struct call *call, uint32_t index);

/* The group's consumer with this name, made where there is none, who has been seen now. */
struct stream_group_consumer *stream_group_arg_see(struct call *call, struct heap *heap,
                                                   struct stream_group *group, struct bytes name);

/* Milliseconds since then. A dump may bring any time: differences wrap around. */
int64_t stream_group_arg_age_ms(const struct call *call, int64_t at_ms);

/* The heap for what is put at the key that is the word at `index`. */
struct heap *stream_group_arg_heap(struct call *call, uint32_t index);
