/*
 * conns: the set of a thread's connections, and how they come and go.
 *
 * A connection's end has three steps, so that none of them can happen under somebody's feet.
 * conn_close() takes the receive op back and shuts the socket down, which ends a send that waits.
 * When both ops have reported for the last time, conns_flush() closes the socket and tells the
 * handler. When nobody holds the struct any more (pins, the ready list), a later conns_flush()
 * frees it. The first step may be taken anywhere; the other two are only taken there.
 */
#include "net/conns.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"

#define KEEPALIVE_MAX_S 32767u /* the kernel takes no more */
#define DRAIN_WAIT_NS 1000000u /* one wait for the kernel in conns_destroy() */
#define DRAIN_WAITS_MAX 5000u  /* after so many of them something is wrong */

/* ---- Spare buffers
 * -------------------------------------------------------------------------------- */

void spare_take(struct conns *conns, struct buf *buf, size_t len)
{
    DEBUG_ASSERT(buf->cap == 0);
    if (len > SPARE_BYTES) {
        buf->cap = (len + SPARE_BYTES - 1) / SPARE_BYTES * SPARE_BYTES;
        buf->ptr = mem_alloc(buf->cap);
    } else {
        buf->cap = SPARE_BYTES;
        buf->ptr = conns->spare_count ? conns->spare[--conns->spare_count] : mem_alloc(SPARE_BYTES);
    }
    buf->len = 0;
}

void spare_give(struct conns *conns, struct buf *buf)
{
    if (buf->cap == SPARE_BYTES && conns->spare_count < SPARE_COUNT_MAX)
        conns->spare[conns->spare_count++] = buf->ptr;
    else
        mem_free(buf->ptr);
    *buf = (struct buf){0};
}

/* ---- Coming
 * --------------------------------------------------------------------------------------- */

struct conns *conns_create(struct ring *ring, const struct net_handler *handler,
                           const struct conn_options *options)
{
    struct conns *conns = mem_zalloc(sizeof(*conns));
    conns->ring = ring;
    conns->handler = *handler;
    conns->options = options;
    ilist_init(&conns->dirty);
    ilist_init(&conns->watched);
    ilist_init(&conns->closing);
    ilist_init(&conns->gone);
    return conns;
}

void conns_set_options(struct conns *conns, const struct conn_options *options)
{
    conns->options = options;
}

size_t conns_count(const struct conns *conns)
{
    return conns->count;
}

const struct conns_stats *conns_stats(const struct conns *conns)
{
    return &conns->stats;
}

struct conn *conns_first(struct conns *conns)
{
    return conns->first;
}

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) == 0 ? 0 : -errno;
}

/* After `idle_s` of silence, three probes within as much time again find a dead peer. */
static int set_keepalive(int fd, uint32_t idle_s)
{
    if (idle_s > KEEPALIVE_MAX_S)
        idle_s = KEEPALIVE_MAX_S;
    int step = (int)(idle_s / 3 > 0 ? idle_s / 3 : 1);
    int result = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    if (result == 0)
        result = set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, (int)idle_s);
    if (result == 0)
        result = set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, step);
    if (result == 0)
        result = set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
    return result;
}

/* Reads both addresses and sets what the socket needs. Fails if the peer has gone again already. */
static int prepare_socket(struct conn *conn)
{
    conn->peer.len = sizeof(conn->peer.storage);
    conn->local.len = sizeof(conn->local.storage);
    if (getpeername(conn->fd, (struct sockaddr *)&conn->peer.storage, &conn->peer.len) != 0 ||
        getsockname(conn->fd, (struct sockaddr *)&conn->local.storage, &conn->local.len) != 0)
        return -errno;

    int flags = fcntl(conn->fd, F_GETFL);
    if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(conn->fd, F_SETFL, flags | O_NONBLOCK) != 0))
        return -errno;

    if (conn->local.storage.ss_family == AF_UNIX) {
        conn->peer =
            conn->local; /* clients have no name of their own: shown is the one they used */
        return 0;
    }
    int result = set_option(conn->fd, IPPROTO_TCP, TCP_NODELAY, 1);
    uint32_t keepalive_s = conn->conns->options->keepalive_s;
    if (result == 0 && keepalive_s > 0)
        result = set_keepalive(conn->fd, keepalive_s);
    return result;
}

struct conn *conns_adopt(struct conns *conns, int fd)
{
    struct conn *conn = mem_zalloc(sizeof(*conn));
    conn->conns = conns;
    conn->fd = fd;
    if (prepare_socket(conn) != 0) {
        close(fd);
        mem_free(conn);
        return NULL;
    }
    conn->send_op.done = outbox_sent;
    conn->prev = conns->last;
    if (conns->last)
        conns->last->next = conn;
    else
        conns->first = conn;
    conns->last = conn;
    conns->count++;

    conns->handler.on_open(conns->handler.context, conn);
    rx_start(conn);
    return conn;
}

/* ---- Going
 * ---------------------------------------------------------------------------------------- */

void conn_close(struct conn *conn)
{
    if (conn->closing)
        return;
    conn->closing = true;
    ilist_remove(&conn->fate_link);
    ilist_add_last(&conn->conns->closing, &conn->fate_link);
    if (conn->receiving && !conn->cancelled) {
        conn->cancelled = true;
        ring_cancel(conn->conns->ring, &conn->receive_op);
    }
    shutdown(conn->fd, SHUT_RDWR); /* ends a send that waits for the peer */
}

void conn_finish(struct conn *conn)
{
    conn->close_after_reply = true;
    if (!ilist_is_linked(&conn->dirty_link))
        ilist_add_last(&conn->conns->dirty, &conn->dirty_link);
}

/* Tells the handler and lets go of all but the struct. The kernel is through with both ops. */
static void bury(struct conn *conn)
{
    struct conns *conns = conn->conns;
    rx_drop(conn);
    close(conn->fd);
    conn->fd = -1;

    *(conn->prev ? &conn->prev->next : &conns->first) = conn->next;
    *(conn->next ? &conn->next->prev : &conns->last) = conn->prev;
    conns->count--;

    conn->gone = true;
    ilist_remove(&conn->fate_link);
    ilist_add_last(&conns->gone, &conn->fate_link);
    conns->handler.on_close(conns->handler.context, conn);
}

static void bury_closed(struct conns *conns)
{
    ILIST_EACH(struct conn, conn, &conns->closing, fate_link)
    if (!conn->receiving && !conn->in_flight)
        bury(conn);
}

static void free_gone(struct conns *conns, bool also_pinned)
{
    ILIST_EACH(struct conn, conn, &conns->gone, fate_link)
    {
        if (!also_pinned && (conn->pin_count > 0 || conn->is_ready))
            continue;
        outbox_drop(conn); /* whoever held it may have gone on writing */
        ilist_remove(&conn->dirty_link);
        ilist_remove(&conn->fate_link);
        mem_free(conn);
    }
}

void conns_destroy(struct conns *conns)
{
    if (!conns)
        return;
    for (struct conn *conn = conns->first; conn; conn = conn->next)
        conn_close(conn);
    for (uint32_t waits = 0; bury_closed(conns), conns->count > 0; waits++) {
        ASSERT(waits < DRAIN_WAITS_MAX);
        ring_wait(conns->ring, DRAIN_WAIT_NS);
    }
    free_gone(conns, true);
    while (conns->spare_count > 0)
        mem_free(conns->spare[--conns->spare_count]);
    mem_free(conns);
}

/* ---- Once a turn
 * ---------------------------------------------------------------------------------- */

/* Is it to close, and is there nothing left to wait for? */
static bool is_at_its_end(const struct conn *conn)
{
    return (conn->close_after_reply || conn->ended) && !conn->held &&
           !(conn->is_ready && !conn->close_after_reply) && conn_output_len(conn) == 0;
}

/* Puts it where the clock finds it. */
static void watch(struct conn *conn, int64_t now_ms)
{
    if (conn->linger_until_ms == 0 && (conn->close_after_reply || conn->ended))
        conn->linger_until_ms = now_ms + CONN_LINGER_MS;
    if (!ilist_is_linked(&conn->fate_link))
        ilist_add_last(&conn->conns->watched, &conn->fate_link);
}

/* Returns true when it must be looked at again next turn. */
static bool flush(struct conn *conn, int64_t now_ms)
{
    if (conn->closing)
        return false;
    if (outbox_is_over_limit(conn, now_ms) || is_at_its_end(conn)) {
        conn_close(conn);
        return false;
    }
    if (conn->soft_since_ms > 0 || conn->close_after_reply || conn->ended)
        watch(conn, now_ms);
    if (conn->held)
        return true;
    outbox_send(conn);
    rx_update(conn);
    /* A send brings it back; so does conn_output(). Only its owner's list does not. */
    return conn->ended && !conn->in_flight;
}

/* Those whose time may be over. A held connection is somebody's work in progress and may take
 * longer. */
static void judge_watched(struct conns *conns, int64_t now_ms)
{
    if (ilist_is_empty(&conns->watched) || now_ms - conns->watched_at_ms < CONNS_WATCH_MS)
        return;
    conns->watched_at_ms = now_ms;
    ILIST_EACH(struct conn, conn, &conns->watched, fate_link)
    {
        bool is_late = conn->linger_until_ms > 0 && now_ms >= conn->linger_until_ms && !conn->held;
        if (is_late || outbox_is_over_limit(conn, now_ms))
            conn_close(conn);
        else if (conn->linger_until_ms == 0 && conn->soft_since_ms == 0)
            ilist_remove(&conn->fate_link);
    }
}

void conns_flush(struct conns *conns, int64_t now_ms)
{
    struct ilist again;
    ilist_init(&again);
    for (struct ilist_link *link; (link = ilist_take_first(&conns->dirty));) {
        struct conn *conn = ILIST_ITEM(struct conn, link, dirty_link);
        if (flush(conn, now_ms))
            ilist_add_last(&again, link);
    }
    ilist_move_all(&conns->dirty, &again);

    judge_watched(conns, now_ms);
    if (!ilist_is_empty(&conns->gone))
        free_gone(conns, false);
    if (!ilist_is_empty(&conns->closing))
        bury_closed(conns);
}
