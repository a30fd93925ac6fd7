/*
 * part: what the visited threads send home in commands that look at all of them.
 *
 * A part is any bytes, wrapped into a bulk string to pass for a reply; the merge unwraps it. Plain
 * values are written and read as they lie in memory: both ends are this process.
 * Thread: home.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"
#include "net/answer.h"
#include "shards/call/call.h"

/* Writes `content` as this thread's part. */
static inline void part_write(struct call *call, struct buf *content)
{
    reply_bulk(call->reply, buf_bytes(content));
    buf_fini(content);
}

static inline void part_add(struct buf *content, const void *value, size_t len)
{
    buf_add(content, value, len);
}

static inline void part_add_bytes(struct buf *content, struct bytes bytes)
{
    uint64_t len = bytes.len;
    buf_add(content, &len, sizeof(len));
    buf_add_bytes(content, bytes);
}

/* The content of a part. */
static inline struct bytes part_open(struct bytes part)
{
    const char *line_end = memchr(part.ptr, '\n', part.len);
    ASSERT(part.ptr[0] == '$' && line_end);
    size_t head_len = (size_t)(line_end + 1 - part.ptr);
    return bytes_of(part.ptr + head_len, part.len - head_len - 2);
}

static inline void part_take(struct bytes *content, void *out_value, size_t len)
{
    ASSERT(content->len >= len);
    memcpy(out_value, content->ptr, len);
    content->ptr += len;
    content->len -= len;
}

/* Borrowed from the part. */
static inline struct bytes part_take_bytes(struct bytes *content)
{
    uint64_t len;
    part_take(content, &len, sizeof(len));
    ASSERT(content->len >= len);
    struct bytes bytes = bytes_of(content->ptr, len);
    content->ptr += len;
    content->len -= len;
    return bytes;
}
