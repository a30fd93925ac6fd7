/*
 * stream_info: what stream_group_info.c adds to XINFO. The rows are in stream_info.c.
 */
#pragma once

#include "core/type/stream.h"
#include "shards/call/call.h"

/* XINFO GROUPS key, XINFO CONSUMERS key group. */
enum status stream_info_groups(struct call *call);
enum status stream_info_consumers(struct call *call);

/* The value of "groups" in XINFO STREAM key FULL: an array of all groups, with up to `count`
 * pending entries of each and of each consumer (0: all). */
void stream_info_reply_groups(struct call *call, const struct stream *stream, uint64_t count);
