/*
 * reply: one writer for two protocols.
 *
 * Every function makes room once, for the longest form that it may write, and then stores straight
 * into the buf: no intermediate text, no second bounds check. A count that comes late
 * (reply_array_at) is inserted where its mark stands, which moves what was written since; marks are
 * offsets, so they outlive a buf that grows.
 */
#include "net/reply.h"

#include "core/base/num.h"

/* A sign byte, a number of at most 20 bytes and a line end. */
#define HEAD_CAP (1 + NUM_INT_CAP + 2)

static inline char *put_line_end(char *to)
{
    memcpy(to, "\r\n", 2);
    return to + 2;
}

/* Lengths and counts are short as a rule: up to two digits are written without a loop. */
static inline char *put_head(char *to, char sign, uint64_t value)
{
    *to++ = sign;
    if (value < 10) {
        *to++ = (char)('0' + value);
    } else if (value < 100) {
        *to++ = (char)('0' + value / 10);
        *to++ = (char)('0' + value % 10);
    } else {
        to += num_from_uint(to, value);
    }
    return put_line_end(to);
}

static void add_head(struct buf *out, char sign, uint64_t value)
{
    char *from = buf_room(out, HEAD_CAP);
    out->len += (size_t)(put_head(from, sign, value) - from);
}

#define ADD(out, literal) buf_add((out), (literal), sizeof(literal) - 1)

void reply_ok(struct reply *reply)
{
    ADD(reply->out, "+OK\r\n");
}

void reply_int(struct reply *reply, int64_t value)
{
    if (likely(value >= 0)) {
        add_head(reply->out, ':', (uint64_t)value);
        return;
    }
    char *from = buf_room(reply->out, HEAD_CAP);
    char *to = from;
    *to++ = ':';
    to += num_from_int(to, value);
    reply->out->len += (size_t)(put_line_end(to) - from);
}

void reply_bulk(struct reply *reply, struct bytes bytes)
{
    char *from = buf_room(reply->out, HEAD_CAP + bytes.len + 2);
    char *to = put_head(from, '$', bytes.len);
    if (bytes.len)
        memcpy(to, bytes.ptr, bytes.len);
    to = put_line_end(to + bytes.len);
    reply->out->len += (size_t)(to - from);
}

void reply_bulk_text(struct reply *reply, const char *text)
{
    reply_bulk(reply, bytes_from_text(text));
}

void reply_bulk_int(struct reply *reply, int64_t value)
{
    char digits[NUM_INT_CAP];
    reply_bulk(reply, bytes_of(digits, num_from_int(digits, value)));
}

void reply_simple(struct reply *reply, const char *text)
{
    size_t len = strlen(text);
    char *to = buf_room(reply->out, 1 + len + 2);
    *to = '+';
    memcpy(to + 1, text, len);
    put_line_end(to + 1 + len);
    reply->out->len += 1 + len + 2;
}

void reply_null(struct reply *reply)
{
    if (reply->resp == 2)
        ADD(reply->out, "$-1\r\n");
    else
        ADD(reply->out, "_\r\n");
}

void reply_null_array(struct reply *reply)
{
    if (reply->resp == 2)
        ADD(reply->out, "*-1\r\n");
    else
        ADD(reply->out, "_\r\n");
}

void reply_array(struct reply *reply, size_t count)
{
    add_head(reply->out, '*', count);
}

void reply_map(struct reply *reply, size_t pair_count)
{
    if (reply->resp == 2)
        add_head(reply->out, '*', pair_count * 2);
    else
        add_head(reply->out, '%', pair_count);
}

void reply_set(struct reply *reply, size_t count)
{
    add_head(reply->out, reply->resp == 2 ? '*' : '~', count);
}

void reply_push(struct reply *reply, size_t count)
{
    add_head(reply->out, reply->resp == 2 ? '*' : '>', count);
}

void reply_attribute(struct reply *reply, size_t pair_count)
{
    ASSERT(reply->resp >= 3); /* RESP2 has no form for what is not a reply */
    add_head(reply->out, '|', pair_count);
}

void reply_bool(struct reply *reply, bool value)
{
    if (reply->resp == 2)
        add_head(reply->out, ':', value);
    else if (value)
        ADD(reply->out, "#t\r\n");
    else
        ADD(reply->out, "#f\r\n");
}

void reply_double(struct reply *reply, double value)
{
    char digits[NUM_DOUBLE_CAP];
    size_t len = num_from_double(digits, value);
    if (reply->resp == 2) {
        reply_bulk(reply, bytes_of(digits, len));
        return;
    }
    char *to = buf_room(reply->out, 1 + len + 2);
    *to = ',';
    memcpy(to + 1, digits, len);
    put_line_end(to + 1 + len);
    reply->out->len += 1 + len + 2;
}

void reply_long_double(struct reply *reply, long double value)
{
    char digits[NUM_LONG_DOUBLE_CAP];
    reply_bulk(reply, bytes_of(digits, num_from_long_double(digits, value)));
}

void reply_big_number(struct reply *reply, struct bytes digits)
{
    if (reply->resp == 2) {
        reply_bulk(reply, digits);
        return;
    }
    char *to = buf_room(reply->out, 1 + digits.len + 2);
    *to = '(';
    memcpy(to + 1, digits.ptr, digits.len);
    put_line_end(to + 1 + digits.len);
    reply->out->len += 1 + digits.len + 2;
}

void reply_verbatim(struct reply *reply, struct bytes text, const char format[4])
{
    if (reply->resp == 2) {
        reply_bulk(reply, text);
        return;
    }
    char *from = buf_room(reply->out, HEAD_CAP + 4 + text.len + 2);
    char *to = put_head(from, '=', text.len + 4);
    memcpy(to, format, 3);
    to[3] = ':';
    to += 4;
    if (text.len)
        memcpy(to, text.ptr, text.len);
    to = put_line_end(to + text.len);
    reply->out->len += (size_t)(to - from);
}

void reply_raw(struct reply *reply, struct bytes encoded)
{
    buf_add_bytes(reply->out, encoded);
}

void reply_error(struct reply *reply, struct bytes text)
{
    while (text.len && (text.ptr[text.len - 1] == '\r' || text.ptr[text.len - 1] == '\n'))
        text.len--;
    char *to = buf_room(reply->out, 1 + text.len + 2);
    *to++ = '-';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        *to++ = c == '\r' || c == '\n' ? ' ' : c;
    }
    put_line_end(to);
    reply->out->len += 1 + text.len + 2;
}

size_t reply_mark(const struct reply *reply)
{
    return reply->out->len;
}

static void insert_head(struct reply *reply, size_t mark, char sign, size_t count)
{
    char head[HEAD_CAP];
    ASSERT(mark <= reply->out->len);
    buf_insert(reply->out, mark, head, (size_t)(put_head(head, sign, count) - head));
}

void reply_array_at(struct reply *reply, size_t mark, size_t count)
{
    insert_head(reply, mark, '*', count);
}

void reply_map_at(struct reply *reply, size_t mark, size_t pair_count)
{
    if (reply->resp == 2)
        insert_head(reply, mark, '*', pair_count * 2);
    else
        insert_head(reply, mark, '%', pair_count);
}

void reply_set_at(struct reply *reply, size_t mark, size_t count)
{
    insert_head(reply, mark, reply->resp == 2 ? '*' : '~', count);
}

void reply_rewind(struct reply *reply, size_t mark)
{
    ASSERT(mark <= reply->out->len);
    reply->out->len = mark;
}
