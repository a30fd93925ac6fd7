/*
 * answer: a reader for replies of our own making.
 *
 * An aggregate is skipped without recursion: `pending` counts the replies that are still to come,
 * and the head of an aggregate adds its elements to it. An attribute ('|') stands before the reply
 * that it belongs to, so it does not count as one.
 */
#include "net/answer.h"

#include "core/base/check.h"
#include "core/base/num.h"

/* Takes the line that `*rest` begins with, without its end; its first byte is the reply's type. */
static struct bytes take_line(struct bytes *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, '\r', rest->len) : NULL;
    ASSERT(end && (size_t)(end - rest->ptr) + 2 <= rest->len && end > rest->ptr);
    struct bytes line = bytes_of(rest->ptr, (size_t)(end - rest->ptr));
    rest->ptr += line.len + 2;
    rest->len -= line.len + 2;
    return line;
}

static int64_t line_int(struct bytes line)
{
    int64_t value;
    bool is_int = num_to_int(bytes_of(line.ptr + 1, line.len - 1), &value);
    ASSERT(is_int);
    return value;
}

struct bytes answer_next(struct bytes *rest)
{
    const char *first = rest->ptr;
    for (uint64_t pending = 1; pending > 0; pending--) {
        struct bytes line = take_line(rest);
        switch (line.ptr[0]) {
        case '$':
        case '=':
        case '!': {
            int64_t len = line_int(line);
            if (len < 0)
                break; /* the null of RESP2 */
            ASSERT(rest->len >= 2 && (uint64_t)len <= rest->len - 2);
            rest->ptr += len + 2;
            rest->len -= (size_t)len + 2;
            break;
        }
        case '*':
        case '~':
        case '>': {
            int64_t count = line_int(line);
            pending += count > 0 ? (uint64_t)count : 0;
            break;
        }
        case '%':
            pending += 2 * (uint64_t)line_int(line);
            break;
        case '|':
            pending += 2 * (uint64_t)line_int(line) + 1;
            break;
        default:
            ASSERT(strchr("+-:_#,(", line.ptr[0]));
        }
    }
    return bytes_of(first, (size_t)(rest->ptr - first));
}

int64_t answer_int(struct bytes reply)
{
    struct bytes line = take_line(&reply);
    ASSERT(line.ptr[0] == ':');
    return line_int(line);
}

bool answer_is_error(struct bytes reply)
{
    return reply.len > 0 && (reply.ptr[0] == '-' || reply.ptr[0] == '!');
}

size_t answer_elements(struct bytes reply, struct bytes *out_elements)
{
    struct bytes line = take_line(&reply);
    ASSERT(strchr("*~>%", line.ptr[0]));
    int64_t count = line_int(line);
    *out_elements = reply;
    if (count < 0)
        return 0;
    return line.ptr[0] == '%' ? 2 * (size_t)count : (size_t)count;
}
