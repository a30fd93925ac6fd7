/*
 * reply: writes one client's answer in its protocol, RESP2 or RESP3.
 *
 * The caller says what a thing is (a map, a set, a null array) and the writer finds the form.
 * Replies go to a `struct buf`: a connection's output at home, a hop's reply buffer elsewhere.
 * Thread: the owner of the buf.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/status.h"

struct reply {
    struct buf *out;
    uint8_t resp; /* 2 or 3 */
};

void reply_ok(struct reply *reply);
void reply_int(struct reply *reply, int64_t value);
void reply_bulk(struct reply *reply, struct bytes bytes);
void reply_bulk_text(struct reply *reply, const char *text);
void reply_bulk_int(struct reply *reply, int64_t value);  /* an integer as a bulk string */
void reply_simple(struct reply *reply, const char *text); /* +text; one line */
void reply_null(struct reply *reply);                     /* $-1, _ */
void reply_null_array(struct reply *reply);               /* *-1, _ */
void reply_array(struct reply *reply, size_t count);
void reply_map(struct reply *reply, size_t pair_count);         /* *2n, %n */
void reply_set(struct reply *reply, size_t count);              /* *n, ~n */
void reply_push(struct reply *reply, size_t count);             /* *n, >n */
void reply_attribute(struct reply *reply, size_t pair_count);   /* RESP3 only */
void reply_bool(struct reply *reply, bool value);               /* :1, #t */
void reply_double(struct reply *reply, double value);           /* bulk, ",": Redis's digits */
void reply_long_double(struct reply *reply, long double value); /* bulk, human form (INCRBYFLOAT) */
void reply_big_number(struct reply *reply, struct bytes digits);                   /* bulk, "(" */
void reply_verbatim(struct reply *reply, struct bytes text, const char format[4]); /* bulk, "=" */
void reply_raw(struct reply *reply, struct bytes encoded); /* already RESP */

/* An error line: `text` begins with its code. Line ends in it become spaces, those at its end go.
 */
void reply_error(struct reply *reply, struct bytes text);

/* For a count that is only known afterwards: mark, write the elements, then say what it was. */
size_t reply_mark(const struct reply *reply);
void reply_array_at(struct reply *reply, size_t mark, size_t count);
void reply_map_at(struct reply *reply, size_t mark, size_t pair_count);
void reply_set_at(struct reply *reply, size_t mark, size_t count);

/* Drops what was written since `mark` (dispatch: a failed command leaves no half reply). */
void reply_rewind(struct reply *reply, size_t mark);
