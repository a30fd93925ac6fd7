/*
 * buf: doubles its memory, from BUF_CAP_MIN on, so that a byte is moved at most twice on average.
 * Past BUF_DOUBLE_MAX it grows by that much instead: a buffer of a gigabyte must not ask for two.
 */
#include "core/base/buf.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/base/num.h"

#define BUF_CAP_MIN 64u
#define BUF_DOUBLE_MAX ((size_t)64 << 20)

char *buf_grow(struct buf *buf, size_t extra_len)
{
    size_t needed;
    ASSERT(!__builtin_add_overflow(buf->len, extra_len, &needed));
    if (needed <= buf->cap)
        return buf->ptr + buf->len;

    size_t cap = buf->cap < BUF_DOUBLE_MAX ? buf->cap * 2 : buf->cap + BUF_DOUBLE_MAX;
    if (cap < BUF_CAP_MIN)
        cap = BUF_CAP_MIN;
    if (cap < needed)
        cap = needed;
    buf->ptr = mem_realloc(buf->ptr, cap);
    buf->cap = cap;
    return buf->ptr + buf->len;
}

void buf_add_format(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = buf->cap - buf->len;
    int len = vsnprintf(room ? buf->ptr + buf->len : NULL, room, format, args);
    va_end(args);
    ASSERT(len >= 0);

    if ((size_t)len >= room) { /* the terminator needs a place too, while it is being printed */
        char *to = buf_room(buf, (size_t)len + 1);
        va_start(args, format);
        vsnprintf(to, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
}

void buf_add_int(struct buf *buf, int64_t value)
{
    buf->len += num_from_int(buf_room(buf, NUM_INT_CAP), value);
}

void buf_insert(struct buf *buf, size_t at, const void *ptr, size_t len)
{
    ASSERT(at <= buf->len);
    if (len == 0)
        return;
    buf_room(buf, len);
    memmove(buf->ptr + at + len, buf->ptr + at, buf->len - at);
    memcpy(buf->ptr + at, ptr, len);
    buf->len += len;
}

void buf_drop_front(struct buf *buf, size_t len)
{
    ASSERT(len <= buf->len);
    buf->len -= len;
    if (len && buf->len)
        memmove(buf->ptr, buf->ptr + len, buf->len);
}

void buf_clear(struct buf *buf, size_t keep_bytes)
{
    buf->len = 0;
    if (buf->cap > keep_bytes)
        buf_fini(buf);
}

void buf_fini(struct buf *buf)
{
    mem_free(buf->ptr);
    *buf = (struct buf){0};
}
