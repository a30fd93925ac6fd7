/*
 * outbox: replies on their way out.
 *
 * `out` is being written, `sending` belongs to the kernel. A send takes over `out` whole, and
 * completes when all of it has left; what is written meanwhile waits for the next one. Buffers come
 * from the thread's spare ones and go back there when they have been sent, so that an idle
 * connection holds none. A connection whose output was larger than a spare buffer gets a buffer of
 * that size next time (out_hint), rather than growing one by copying.
 */
#include "net/conn.h"

#include <errno.h>

#include "core/os/log.h"
#include "net/conns.h"

#define HINT_MAX (2 * CONN_SEND_EARLY) /* bytes; output beyond this is rare enough to grow into */

static const char *const class_names[CONN_CLASS_COUNT] = {"normal", "replica", "pubsub"};

struct buf *conn_output(struct conn *conn)
{
    if (!ilist_is_linked(&conn->dirty_link))
        ilist_add_last(&conn->conns->dirty, &conn->dirty_link);
    if (conn->out.cap == 0)
        spare_take(conn->conns, &conn->out, conn->out_hint);
    return &conn->out;
}

size_t conn_output_len(const struct conn *conn)
{
    return conn->out.len + conn->sending.len;
}

size_t outbox_pause_bytes(const struct conn *conn)
{
    const struct conn_options *options = conn->conns->options;
    size_t hard = options->output[conn->class].hard_bytes;
    size_t soft = options->output[conn->class].soft_bytes;
    if (hard > 0)
        return hard; /* the limit decides: who fills it is closed, not held up */
    return soft > CONN_OUTPUT_PAUSE ? soft : CONN_OUTPUT_PAUSE;
}

void outbox_send(struct conn *conn)
{
    if (conn->in_flight || conn->out.len == 0 || conn->closing)
        return;
    conn->sending = conn->out;
    conn->out = (struct buf){0};
    conn->out_hint = conn->sending.len < HINT_MAX ? conn->sending.len : HINT_MAX;
    conn->in_flight = true;
    ring_send(conn->conns->ring, &conn->send_op, conn->fd, conn->sending.ptr, conn->sending.len);
}

void conn_flush_early(struct conn *conn)
{
    if (conn->out.len < CONN_SEND_EARLY || conn->in_flight)
        return;
    outbox_send(conn);
    ring_submit(conn->conns->ring);
}

void outbox_sent(struct ring_op *op, const struct ring_event *event)
{
    struct conn *conn = ILIST_ITEM(struct conn, op, send_op);
    struct conns *conns = conn->conns;
    bool could_parse = conn_may_parse(conn);

    conn->in_flight = false;
    if (conn->out.len < conns->options->output[conn->class].soft_bytes)
        conn->soft_since_ms = 0;
    if (event->result > 0) {
        conn->bytes_out += (uint64_t)event->result;
        conns->stats.bytes_out += (uint64_t)event->result;
        conns->stats.sends++;
    }
    bool is_whole = event->result >= 0 && (size_t)event->result == conn->sending.len;
    spare_give(conns, &conn->sending);
    if (!is_whole) {
        conn_close(conn); /* a reply that was cut off cannot be mended */
        return;
    }
    if (conn->out.len > 0 || conn->close_after_reply || conn->ended) {
        if (!ilist_is_linked(&conn->dirty_link))
            ilist_add_last(&conns->dirty, &conn->dirty_link);
    }
    if (!could_parse && conn_may_parse(conn) && rx_window(conn).len > 0)
        conns->handler.on_input(conns->handler.context, conn);
    rx_update(conn);
}

bool outbox_is_over_limit(struct conn *conn, int64_t now_ms)
{
    const struct conn_options *options = conn->conns->options;
    size_t hard = options->output[conn->class].hard_bytes;
    size_t soft = options->output[conn->class].soft_bytes;
    int64_t soft_ms = (int64_t)options->output[conn->class].soft_s * 1000;
    size_t unsent = conn_output_len(conn);

    if (soft == 0 || unsent < soft)
        conn->soft_since_ms = 0;
    else if (conn->soft_since_ms == 0)
        conn->soft_since_ms = now_ms;

    bool is_over_hard = hard > 0 && unsent >= hard;
    bool is_over_soft = conn->soft_since_ms > 0 && now_ms - conn->soft_since_ms > soft_ms;
    if (!is_over_hard && !is_over_soft)
        return false;

    char peer[ADDR_TEXT_MAX];
    addr_text(&conn->peer, peer);
    log_warn("conn.output_limit", "addr=%s fd=%d class=%s limit=%s unsent_bytes=%zu: closed", peer,
             conn->fd, class_names[conn->class], is_over_hard ? "hard" : "soft", unsent);
    conn->conns->stats.output_limit_closed++;
    return true;
}

void outbox_drop(struct conn *conn)
{
    ASSERT(!conn->in_flight);
    spare_give(conn->conns, &conn->out);
    spare_give(conn->conns, &conn->sending);
}
