/*
 * How: an id's parts are read as strtoull() reads them, since Redis does so: spaces before, a plus,
 * leading zeros pass, and even a minus where the number is not spelt as it should be.
 */
#include "shards/cmd/stream_arg.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "core/base/num.h"
#include "net/reply.h"
#include "shards/local/db.h"

#define ID_TEXT_MAX 127u /* bytes; longer words are no ids */

/* Trimming whole nodes stops after so many nodes' worth of entries unless LIMIT says otherwise. */
#define TRIM_NODES_MAX 100
#define TRIM_ENTRIES_DEFAULT 10000
#define TRIM_ENTRIES_MAX 1000000

#define ERR_INVALID_ID "ERR Invalid stream ID specified as stream command argument"

/* ---- Ids ----------------------------------------------------------------------------------- */

/* Digits, all of `text`, as a number of 64 bits. */
static bool parse_digits(struct bytes text, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!isdigit((unsigned char)text.ptr[i]) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, text.ptr[i] - '0', &number))
            return false;
    }
    *out = number;
    return text.len > 0;
}

static bool parse_part(struct bytes text, uint64_t *out)
{
    int64_t number;
    if (num_to_int(text, &number)) {
        *out = (uint64_t)number;
        return number >= 0;
    }
    size_t at = 0;
    while (at < text.len && isspace((unsigned char)text.ptr[at]))
        at++;
    bool is_negative = at < text.len && text.ptr[at] == '-';
    if (at < text.len && (is_negative || text.ptr[at] == '+'))
        at++;
    uint64_t magnitude;
    if (!parse_digits(bytes_of(text.ptr + at, text.len - at), &magnitude))
        return false;
    *out = is_negative ? -magnitude : magnitude;
    return true;
}

/* Up to the first zero byte, which ends the words of ids. */
static struct bytes id_text(struct bytes word)
{
    return bytes_of(word.ptr, strnlen(word.ptr, word.len));
}

static bool is_char(struct bytes text, char c)
{
    return text.len == 1 && text.ptr[0] == c;
}

struct id_reading {
    uint64_t missing_seq;
    bool takes_edges; /* "-" and "+" */
    bool takes_star;  /* "ms-*" */
};

static enum status parse_id(struct call *call, struct bytes word, struct id_reading how,
                            struct stream_id *out, bool *out_is_star)
{
    struct bytes text = id_text(word);
    bool is_low = is_char(text, '-'), is_high = is_char(text, '+');
    if (word.len > ID_TEXT_MAX || ((is_low || is_high) && !how.takes_edges))
        return call_fail_text(call, ERR_INVALID_ID);
    if (is_low || is_high) {
        *out = is_low ? STREAM_ID_MIN : STREAM_ID_MAX;
        return OK;
    }
    const char *dash = text.len ? memchr(text.ptr, '-', text.len) : NULL;
    size_t ms_len = dash ? (size_t)(dash - text.ptr) : text.len;
    struct stream_id id = {.seq = how.missing_seq};
    bool is_good = parse_part(bytes_of(text.ptr, ms_len), &id.ms);
    bool is_star = false;
    if (dash) {
        struct bytes seq = bytes_of(dash + 1, text.len - ms_len - 1);
        is_star = how.takes_star && is_char(seq, '*');
        if (is_star)
            id.seq = 0;
        else
            is_good &= parse_part(seq, &id.seq);
    }
    if (!is_good)
        return call_fail_text(call, ERR_INVALID_ID);
    *out = id;
    if (out_is_star)
        *out_is_star = is_star;
    return OK;
}

enum status stream_arg_id(struct call *call, uint32_t index, uint64_t missing_seq,
                          struct stream_id *out)
{
    struct id_reading how = {.missing_seq = missing_seq};
    return parse_id(call, call_arg(call, index), how, out, NULL);
}

/* An id of a range; "(id" means one beside it. */
static enum status parse_bound(struct call *call, uint32_t index, uint64_t missing_seq,
                               struct stream_id *out, bool *out_is_open)
{
    struct bytes word = call_arg(call, index);
    *out_is_open = word.len > 1 && word.ptr[0] == '(';
    if (*out_is_open)
        word = bytes_of(word.ptr + 1, word.len - 1);
    struct id_reading how = {.missing_seq = missing_seq, .takes_edges = !*out_is_open};
    return parse_id(call, word, how, out, NULL);
}

enum status stream_arg_low(struct call *call, uint32_t index, struct stream_id *out)
{
    bool is_open;
    TRY(parse_bound(call, index, 0, out, &is_open));
    if (is_open && !stream_id_next(*out, out))
        return call_fail_text(call, "ERR invalid start ID for the interval");
    return OK;
}

enum status stream_arg_high(struct call *call, uint32_t index, struct stream_id *out)
{
    bool is_open;
    TRY(parse_bound(call, index, UINT64_MAX, out, &is_open));
    if (is_open && !stream_id_prev(*out, out))
        return call_fail_text(call, "ERR invalid end ID for the interval");
    return OK;
}

bool stream_arg_refs(const struct call *call, uint32_t index, enum stream_refs *out)
{
    if (call_arg_is(call, index, "KEEPREF"))
        *out = STREAM_REFS_KEEP;
    else if (call_arg_is(call, index, "DELREF"))
        *out = STREAM_REFS_DELETE;
    else if (call_arg_is(call, index, "ACKED"))
        *out = STREAM_REFS_ACKED;
    else
        return false;
    return true;
}

enum status stream_arg_timeout(struct call *call, uint32_t index, int64_t *out_ms)
{
    int64_t timeout_ms;
    if (call_arg_int(call, index, &timeout_ms) != OK)
        return call_fail_text(call, "ERR timeout is not an integer or out of range");
    if (timeout_ms < 0)
        return call_fail_text(call, "ERR timeout is negative");
    if (timeout_ms > INT64_MAX - call_now_ms(call))
        return call_fail_text(call, "ERR timeout is out of range");
    *out_ms = timeout_ms;
    return OK;
}

/* ---- XADD and XTRIM ------------------------------------------------------------------------ */

/* A number of trimming, which may not be negative. */
static enum status parse_amount(struct call *call, uint32_t index, const char *name, uint64_t *out)
{
    int64_t number;
    TRY(call_arg_int(call, index, &number));
    if (number < 0)
        return call_fail_text(call, "ERR The %s argument must be >= 0.", name);
    *out = (uint64_t)number;
    return OK;
}

/* MAXLEN or MINID at `*io_index`, with what belongs to it; ends at its last word. */
static enum status parse_strategy(struct call *call, struct stream_arg_add *add, uint32_t *io_index)
{
    struct stream_trim *trim = &add->trim;
    uint32_t i = *io_index;
    if (trim->by != STREAM_TRIM_NONE)
        return call_fail_text(call, "ERR syntax error, MAXLEN and MINID options at the same time "
                                    "are not compatible");
    trim->by = call_arg_is(call, i, "MAXLEN") ? STREAM_TRIM_LENGTH : STREAM_TRIM_ID;
    i++;
    bool has_more = i + 1 < call->arg_count;
    trim->is_approximate = has_more && is_char(call_arg(call, i), '~');
    if (trim->is_approximate || (has_more && is_char(call_arg(call, i), '=')))
        i++;
    if (trim->by == STREAM_TRIM_LENGTH)
        TRY(parse_amount(call, i, "MAXLEN", &trim->max_len));
    else
        TRY(stream_arg_id(call, i, 0, &trim->min_id));
    *io_index = i;
    return OK;
}

static uint64_t default_limit(const struct config *config)
{
    uint64_t entries = config->stream_limits.node_entries;
    if (entries == 0 || entries > INT64_MAX / TRIM_NODES_MAX)
        return TRIM_ENTRIES_DEFAULT;
    uint64_t limit = TRIM_NODES_MAX * entries;
    return limit < TRIM_ENTRIES_MAX ? limit : TRIM_ENTRIES_MAX;
}

static enum status check_trim(struct call *call, struct stream_arg_add *add, bool is_add,
                              bool has_limit)
{
    struct stream_trim *trim = &add->trim;
    if (trim->limit > 0 && trim->by == STREAM_TRIM_NONE)
        return call_fail_text(call, "ERR syntax error, LIMIT cannot be used without specifying a "
                                    "trimming strategy");
    if (!is_add && trim->by == STREAM_TRIM_NONE)
        return call_fail_text(call, "ERR syntax error, XTRIM must be called with a trimming "
                                    "strategy");
    if (has_limit && !trim->is_approximate)
        return call_fail_text(call, "ERR syntax error, LIMIT cannot be used without the special ~ "
                                    "option");
    if (!has_limit && trim->is_approximate)
        trim->limit = default_limit(call->config);
    return OK;
}

static enum status parse_new_id(struct call *call, uint32_t index, struct stream_arg_add *add)
{
    struct id_reading how = {.takes_star = true};
    bool is_star;
    TRY(parse_id(call, call_arg(call, index), how, &add->id, &is_star));
    add->id_form = is_star ? STREAM_NEW_SEQ : STREAM_GIVEN_ID;
    return OK;
}

static enum status parse(struct call *call, bool is_add, struct stream_arg_add *out)
{
    struct stream_arg_add add = {0};
    bool has_limit = false, has_refs = false;
    uint32_t i = 2;
    for (; i < call->arg_count; i++) {
        bool has_more = i + 1 < call->arg_count;
        if (is_add && is_char(id_text(call_arg(call, i)), '*')) {
            add.id_form = STREAM_NEW_ID;
            break;
        }
        if (has_more && (call_arg_is(call, i, "MAXLEN") || call_arg_is(call, i, "MINID"))) {
            TRY(parse_strategy(call, &add, &i));
        } else if (has_more && call_arg_is(call, i, "LIMIT")) {
            TRY(parse_amount(call, ++i, "LIMIT", &add.trim.limit));
            has_limit = true;
        } else if (is_add && call_arg_is(call, i, "NOMKSTREAM")) {
            add.must_exist = true;
        } else if (stream_arg_refs(call, i, &add.refs)) {
            if (has_refs)
                return ERR_SYNTAX;
            has_refs = true;
        } else if (is_add) {
            TRY(parse_new_id(call, i, &add));
            break;
        } else {
            return ERR_SYNTAX;
        }
    }
    add.id_index = i;
    TRY(check_trim(call, &add, is_add, has_limit));
    *out = add;
    return OK;
}

enum status stream_arg_add(struct call *call, struct stream_arg_add *out)
{
    return parse(call, true, out);
}

enum status stream_arg_trim(struct call *call, struct stream_arg_add *out)
{
    return parse(call, false, out);
}

/* ---- Keys ---------------------------------------------------------------------------------- */

enum status stream_arg_find(struct call *call, uint32_t index, const struct stream **out)
{
    const struct value *value;
    TRY(db_find(call_db(call, index), call_key(call, index), TYPE_STREAM, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

enum status stream_arg_find_to_write(struct call *call, uint32_t index, const struct stream **out)
{
    const struct value *value;
    TRY(db_find_to_write(call_db(call, index), call_key(call, index), TYPE_STREAM, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

struct stream *stream_arg_edit(struct call *call, uint32_t index)
{
    return value_edit_root(db_edit(call_db(call, index), call_key(call, index)));
}

/* ---- Replies ------------------------------------------------------------------------------- */

void stream_reply_id(struct reply *reply, struct stream_id id)
{
    char text[STREAM_ID_CAP];
    reply_bulk(reply, bytes_of(text, stream_id_write(text, id)));
}

void stream_reply_entry(struct reply *reply, struct stream_entry entry)
{
    reply_array(reply, 2);
    stream_reply_id(reply, entry.id);
    reply_array(reply, 2 * (size_t)entry.pair_count);
    for (uint32_t i = 0; i < entry.pair_count; i++) {
        struct stream_pair pair;
        stream_entry_step(&entry, &pair);
        reply_bulk(reply, pair.field);
        reply_bulk(reply, pair.value);
    }
}

uint64_t stream_reply_range(struct reply *reply, const struct stream *stream, struct stream_id low,
                            struct stream_id high, bool is_reverse, uint64_t count)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    size_t mark = reply_mark(reply);
    uint64_t replied = 0;
    stream_seek(stream, low, high, is_reverse, &cursor);
    while ((count == 0 || replied < count) && stream_step(&cursor, &entry)) {
        stream_reply_entry(reply, entry);
        replied++;
    }
    reply_array_at(reply, mark, replied);
    return replied;
}
