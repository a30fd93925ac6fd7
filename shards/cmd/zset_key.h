/*
 * zset_key: the sorted set at a key, and its elements as replies, for the files of this family.
 */
#pragma once

#include "core/type/zset.h"
#include "shards/call/call.h"

/* The sorted set at the key that is the word at `index`, NULL where there is none. */
MUST_CHECK enum status zset_key_find(struct call *call, uint32_t index, const struct zset **out);
/* The same for those who may write to it. */
MUST_CHECK enum status zset_key_find_to_write(struct call *call, uint32_t index,
                                              const struct zset **out);

/* What was found, to write to; made where there was none. */
struct zset *zset_key_edit(struct call *call, uint32_t index, const struct zset *found);
/* After elements were deleted: without elements, the key goes too. */
void zset_key_trim(struct call *call, uint32_t index, const struct zset *zset);
/* Puts `zset`, of that key's heap, there instead of what there is; an empty one: deletes both. */
void zset_key_replace(struct call *call, uint32_t index, struct zset *zset);

/* The heap for what is put at that key. */
struct heap *zset_key_heap(struct call *call, uint32_t index);

/* Elements with scores are pairs in RESP3, twice as many strings in RESP2. */
void zset_reply_begin(struct call *call, uint64_t count, bool with_scores);
void zset_reply_entry(struct call *call, struct zset_entry entry, bool with_scores);
