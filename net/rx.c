/*
 * rx: received bytes, from the ring's buffer to the connection's own.
 *
 * The window of unparsed bytes is in one place at a time: in a borrowed buffer of the ring, as long
 * as nothing older is unparsed, or in `in`. Whatever arrives while something is unparsed is
 * appended to `in`, whose front is cut off only when at least half of it is parsed: each byte moves
 * O(1) times.
 *
 * Growth: `in` doubles; when a word is known to be long, `in` is grown to the end of that word at
 * once, but to no more than RX_RESERVE_FACTOR times what has arrived (or RX_RESERVE_MIN): who
 * announces 512 MB and sends nothing costs RX_RESERVE_MIN, and who sends it all has it copied only
 * a few per cent.
 *
 * Back-pressure: what cannot be served now is not received. The receive op is cancelled when too
 * much is unparsed or unsent, and sent out again when half of that is left. Data that completes
 * while the cancellation is under way is kept as usual.
 */
#include "net/conn.h"

#include <errno.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/log.h"
#include "net/conns.h"

#define RX_RESERVE_MIN (256u << 10) /* bytes that a long word may claim before they arrive */
#define RX_RESERVE_FACTOR 16u       /* and how many times as much as has arrived */
#define RX_LONG_WORD (64u << 10)    /* bytes of a word that is worth claiming memory for */
#define RX_KEEP (64u << 10)         /* bytes of memory that may stay nearly empty */

static void give_received(struct conn *conn)
{
    ring_buffer_release(conn->conns->ring, conn->received_id);
    conn->has_received = false;
    conn->received = NULL;
    conn->received_len = 0;
}

static void cut_parsed(struct conn *conn)
{
    struct buf *in = &conn->in;
    size_t rest = in->len - conn->in_at;
    if (conn->in_at == 0 || rest > conn->in_at)
        return;
    memmove(in->ptr, in->ptr + conn->in_at, rest);
    in->len = rest;
    conn->in_at = 0;
}

static bool awaits_long_word(const struct conn *conn)
{
    return conn->parser && conn->parser->has_bulk_len && conn->parser->bulk_len >= RX_LONG_WORD;
}

/* Makes room for `len` more bytes. False when memory is short. */
static bool reserve(struct conn *conn, size_t len)
{
    struct buf *in = &conn->in;
    bool is_long = awaits_long_word(conn);
    if (in->cap == 0 && len <= SPARE_BYTES && !is_long) {
        spare_take(conn->conns, in, len);
        return true;
    }
    if (in->cap - in->len >= len)
        return true;
    cut_parsed(conn);
    if (in->cap - in->len >= len)
        return true;

    size_t needed = in->len + len;
    size_t cap = needed * 2;
    if (is_long) {
        /* Some more than the word, lest what follows it in its last receive moves it all. */
        size_t word_end = conn->in_at + resp_wanted(conn->parser, 0) + RING_BUFFER_BYTES;
        size_t most = needed > RX_RESERVE_MIN / RX_RESERVE_FACTOR ? needed * RX_RESERVE_FACTOR
                                                                  : RX_RESERVE_MIN;
        cap = word_end < needed ? needed : word_end;
        cap = cap > most ? most : cap;
    }
    cap = cap < SPARE_BYTES ? SPARE_BYTES : cap;
    char *grown = mem_try_realloc(in->ptr, cap);
    if (!grown)
        return false;
    in->ptr = grown;
    in->cap = cap;
    return true;
}

/* Copies to the end of `in`. */
static void append(struct conn *conn, const char *ptr, size_t len)
{
    if (conn->in_at == conn->in.len)
        conn->in_at = conn->in.len = 0;
    if (!reserve(conn, len)) {
        log_warn("conn.no_memory", "fd=%d input_bytes=%zu", conn->fd, conn->in.len + len);
        conn_close(conn);
        return;
    }
    memcpy(conn->in.ptr + conn->in.len, ptr, len);
    conn->in.len += len;
}

/* Moves what is unparsed to `in`, and the borrowed buffer home. */
static void settle_received(struct conn *conn)
{
    if (conn->received_len > 0)
        append(conn, conn->received, conn->received_len);
    give_received(conn);
}

/* Gives `in` away and moves its unparsed rest to fresh memory. */
static void renew(struct conn *conn, struct buf *out_old)
{
    struct bytes rest = rx_window(conn);
    *out_old = conn->in;
    conn->in = (struct buf){0};
    conn->in_at = 0;
    if (rest.len > 0)
        append(conn, rest.ptr, rest.len);
}

/* Lets memory go that a large command has left behind. */
static void tidy_own(struct conn *conn)
{
    size_t rest = conn->in.len - conn->in_at;
    if (rest == 0) {
        conn->in_at = 0;
        spare_give(conn->conns, &conn->in);
    } else if (conn->in.cap > RX_KEEP && rest < conn->in.cap / 4 && !awaits_long_word(conn)) {
        struct buf old;
        renew(conn, &old);
        spare_give(conn->conns, &old);
    } else {
        cut_parsed(conn);
    }
}

void conn_unread(struct conn *conn, const struct args *args)
{
    DEBUG_ASSERT(!conn->parser);
    if (conn->has_received) {
        conn->received -= args->wire_bytes;
        conn->received_len += args->wire_bytes;
    } else {
        conn->in_at -= args->wire_bytes;
    }
}

/* What was kept aside joins the rest. */
static void take_late(struct conn *conn)
{
    struct buf late = conn->late;
    conn->late = (struct buf){0};
    append(conn, late.ptr, late.len);
    buf_fini(&late);
    if (!conn->closing)
        conn->conns->handler.on_input(conn->conns->handler.context, conn);
}

void conn_settle(struct conn *conn)
{
    conn->has_inline = false;
    conn->is_served = false;
    if (conn->has_received)
        settle_received(conn);
    else
        tidy_own(conn);
    if (unlikely(conn->late.len > 0))
        take_late(conn);
    rx_update(conn);
}

void conn_words_done(struct conn *conn)
{
    conn->is_served = false;
    if (unlikely(conn->late.len > 0))
        conn_settle(conn);
}

bool conn_detach_input(struct conn *conn, struct buf *out_input)
{
    if (conn->has_received || conn->in.cap == 0 || conn->has_inline)
        return false;
    renew(conn, out_input);
    return true;
}

/* Bytes that wait to be looked at: not those of an unfinished command's finished words. */
static size_t unread_len(const struct conn *conn)
{
    return rx_window(conn).len - (conn->parser ? conn->parser->at : 0) + conn->late.len;
}

static bool is_too_much(const struct conn *conn)
{
    /* Once paused, half must have gone before it is worth sending the op out again. */
    unsigned shift = conn->paused ? 1 : 0;
    size_t input_max = CONN_INPUT_PAUSE >> shift;
    if (conn->parser && conn->parser->has_bulk_len)
        input_max += conn->parser->bulk_len + 2;
    return unread_len(conn) > input_max ||
           conn_output_len(conn) > outbox_pause_bytes(conn) >> shift;
}

void rx_update(struct conn *conn)
{
    if (conn->closing || conn->ended)
        return;
    conn->paused = is_too_much(conn);
    if (conn->paused && conn->receiving && !conn->cancelled) {
        conn->cancelled = true;
        ring_cancel(conn->conns->ring, &conn->receive_op);
    } else if (!conn->paused && !conn->receiving) {
        conn->receiving = true;
        ring_receive(conn->conns->ring, &conn->receive_op, conn->fd);
    }
}

/* Behind what is unparsed; in the ring's buffer if nothing is. */
static void keep(struct conn *conn, const struct ring_event *event)
{
    size_t len = (size_t)event->result;
    if (conn->has_received)
        settle_received(conn);
    if (conn->in_at < conn->in.len) {
        append(conn, event->buffer, len);
        ring_buffer_release(conn->conns->ring, event->buffer_id);
        return;
    }
    conn->received = event->buffer;
    conn->received_len = len;
    conn->received_id = event->buffer_id;
    conn->has_received = true;
}

static void take_in(struct conn *conn, const struct ring_event *event)
{
    struct conns *conns = conn->conns;
    size_t len = (size_t)event->result;
    conn->bytes_in += len;
    conns->stats.bytes_in += len;
    conns->stats.receives++;

    if (conn->closing || conn->close_after_reply || conn->broken) {
        ring_buffer_release(conns->ring, event->buffer_id);
        return;
    }
    bool is_late = conn->is_served; /* announced when the words are no longer used */
    if (is_late) {
        buf_add(&conn->late, event->buffer, len);
        ring_buffer_release(conns->ring, event->buffer_id);
    } else {
        keep(conn, event);
    }
    if (unread_len(conn) > conns->options->query_buffer_max) {
        char peer[ADDR_TEXT_MAX];
        addr_text(&conn->peer, peer);
        log_warn("conn.query_limit", "addr=%s fd=%d unparsed_bytes=%zu limit=%zu: closed", peer,
                 conn->fd, unread_len(conn), conns->options->query_buffer_max);
        conns->stats.query_limit_closed++;
        conn_close(conn);
    }
    if (!conn->closing && !is_late)
        conns->handler.on_input(conns->handler.context, conn);
}

/* The peer sends no more: what it sent is served, then the connection closes. */
static void end_input(struct conn *conn)
{
    conn->ended = true;
    if (!ilist_is_linked(&conn->dirty_link))
        ilist_add_last(&conn->conns->dirty, &conn->dirty_link);
}

static void received(struct ring_op *op, const struct ring_event *event)
{
    struct conn *conn = ILIST_ITEM(struct conn, op, receive_op);
    if (!event->more) {
        conn->receiving = false;
        conn->cancelled = false;
    }
    if (event->result > 0)
        take_in(conn, event);
    else if (event->result == 0)
        end_input(conn);
    else if (event->result != -ECANCELED)
        conn_close(conn);
    rx_update(conn);
}

void rx_start(struct conn *conn)
{
    conn->receive_op.done = received;
    rx_update(conn);
}

void rx_drop(struct conn *conn)
{
    if (conn->has_received)
        give_received(conn);
    if (conn->parser)
        resp_parser_fini(conn->parser);
    mem_free(conn->parser);
    conn->parser = NULL;
    conn->in_at = 0;
    buf_fini(&conn->late);
    spare_give(conn->conns, &conn->in);
}
