/*
 * stream_arg: the words that commands on streams share: ids, bounds of ranges, how to trim; and how
 * ids and entries look in replies.
 */
#pragma once

#include "core/type/stream.h"
#include "shards/call/call.h"

/* ---- Ids ---- */

/* "ms-seq", or "ms" alone, which means ms-`missing_seq`. "-" and "+" are refused. */
MUST_CHECK enum status stream_arg_id(struct call *call, uint32_t index, uint64_t missing_seq,
                                     struct stream_id *out);

/* The bounds of a range: an id, "-" and "+" for the least and the largest one, "(id" for one beside
 * it. An id without a sequence number means the first (the last) of its millisecond. */
MUST_CHECK enum status stream_arg_low(struct call *call, uint32_t index, struct stream_id *out);
MUST_CHECK enum status stream_arg_high(struct call *call, uint32_t index, struct stream_id *out);

/* KEEPREF, DELREF or ACKED; false when the word is another one. */
MUST_CHECK bool stream_arg_refs(const struct call *call, uint32_t index, enum stream_refs *out);

/* How long to wait, in ms, as BLOCK gives it. */
MUST_CHECK enum status stream_arg_timeout(struct call *call, uint32_t index, int64_t *out_ms);

/* ---- XADD and XTRIM ---- */

enum stream_new_id { STREAM_NEW_ID, STREAM_NEW_SEQ, STREAM_GIVEN_ID }; /* *, ms-*, ms-seq */

struct stream_arg_add {
    enum stream_new_id id_form;
    struct stream_id id;
    uint32_t id_index; /* the word; fields follow */
    bool must_exist;   /* NOMKSTREAM */
    enum stream_refs refs;
    struct stream_trim trim;
};

/* The words of XADD up to its id, and those of XTRIM. `trim.release` is not set. */
MUST_CHECK enum status stream_arg_add(struct call *call, struct stream_arg_add *out);
MUST_CHECK enum status stream_arg_trim(struct call *call, struct stream_arg_add *out);

/* ---- Keys ---- */

/* The stream at word `index`, NULL when there is none: to read, and for commands that write. */
MUST_CHECK enum status stream_arg_find(struct call *call, uint32_t index,
                                       const struct stream **out);
MUST_CHECK enum status stream_arg_find_to_write(struct call *call, uint32_t index,
                                                const struct stream **out);
/* The stream at word `index`, which exists, to write to. */
struct stream *stream_arg_edit(struct call *call, uint32_t index);

/* ---- Replies ---- */

void stream_reply_id(struct reply *reply, struct stream_id id);
/* [id, [field, value, ...]] */
void stream_reply_entry(struct reply *reply, struct stream_entry entry);
/* An array of the entries from `low` to `high`, at most `count` (0: all); returns how many. */
uint64_t stream_reply_range(struct reply *reply, const struct stream *stream, struct stream_id low,
                            struct stream_id high, bool is_reverse, uint64_t count);
