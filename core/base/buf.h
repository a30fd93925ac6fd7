/*
 * buf: a growing run of bytes that owns its memory.
 *
 * Grows by doubling, so appending is amortised O(1). The zero value is an empty buf that
 * owns nothing. Not for memory that belongs to a shard's data: that comes from heap.h.
 * Thread: the owner's; a buf may be handed to another thread whole.
 */
#pragma once

#include "core/base/bytes.h"

struct buf {
    char *ptr;
    size_t len;
    size_t cap;
};

/* Makes room for `extra_len` more bytes and returns where they go; len is unchanged, the caller
 * adds what it wrote. The slow path of buf_room(). */
char *buf_grow(struct buf *buf, size_t extra_len);

static inline char *buf_room(struct buf *buf, size_t extra_len)
{
    if (__builtin_expect(buf->cap - buf->len >= extra_len, 1))
        return buf->ptr + buf->len;
    return buf_grow(buf, extra_len);
}

static inline void buf_add(struct buf *buf, const void *ptr, size_t len)
{
    char *to = buf_room(buf, len);
    if (len)
        memcpy(to, ptr, len);
    buf->len += len;
}

static inline void buf_add_bytes(struct buf *buf, struct bytes bytes)
{
    buf_add(buf, bytes.ptr, bytes.len);
}

static inline void buf_add_text(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

static inline void buf_add_char(struct buf *buf, char c)
{
    *buf_room(buf, 1) = c;
    buf->len++;
}

void buf_add_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_add_int(struct buf *buf, int64_t value); /* decimal */

static inline struct bytes buf_bytes(const struct buf *buf)
{
    return (struct bytes){buf->ptr, buf->len};
}

/* Opens a gap of `len` bytes at `at` (at most buf->len) and copies `ptr` into it. */
void buf_insert(struct buf *buf, size_t at, const void *ptr, size_t len);

/* Drops the first `len` bytes. O(what stays). */
void buf_drop_front(struct buf *buf, size_t len);

/* Forgets the content and keeps the memory, unless it is more than `keep_bytes`. */
void buf_clear(struct buf *buf, size_t keep_bytes);

/* Frees the memory; the buf is then the zero value. */
void buf_fini(struct buf *buf);
