/*
 * conns: what the files that make up a connection know of each other: the set they belong to, and
 * the two halves of a connection, rx (bytes in) and outbox (bytes out). For net/ only.
 *
 * Thread: the set's.
 */
#pragma once

#include "core/base/ilist.h"
#include "net/conn.h"
#include "net/resp.h"

#define SPARE_BYTES 16384u  /* of a spare buffer */
#define SPARE_COUNT_MAX 64u /* spare buffers of a thread */
#define CONNS_WATCH_MS 100  /* how often the clock is looked at for those that are watched */

struct conns {
    struct ring *ring;
    struct net_handler handler;
    const struct conn_options *options;
    struct conns_stats stats;
    struct conn *first, *last;
    size_t count;
    struct ilist dirty;   /* have output, or are to close after it */
    struct ilist watched; /* over their soft limit, or lingering: time decides */
    struct ilist closing; /* closed; the kernel may still hold their ops */
    struct ilist gone;    /* reported as closed, but pinned */
    int64_t watched_at_ms;
    char *spare[SPARE_COUNT_MAX]; /* buffers of SPARE_BYTES, so that a steady state allocates
                                     nothing */
    uint32_t spare_count;
};

/* An empty buf gets memory: a spare buffer, or more if `len` needs more. */
void spare_take(struct conns *conns, struct buf *buf, size_t len);
/* A buf gives its memory back and is the zero value then. */
void spare_give(struct conns *conns, struct buf *buf);

/* ---- rx: the way in ---- */

void rx_start(struct conn *conn); /* sends the receive op out for the first time */
/* Pauses or resumes receiving, by what is unparsed and unsent. */
void rx_update(struct conn *conn);
/* Returns borrowed memory; for a connection that is to be buried. */
void rx_drop(struct conn *conn);

/* What is unparsed, at its place. */
static inline struct bytes rx_window(const struct conn *conn)
{
    if (conn->has_received)
        return bytes_of(conn->received, conn->received_len);
    return bytes_of(conn->in.ptr + conn->in_at, conn->in.len - conn->in_at);
}

static inline void rx_consume(struct conn *conn, size_t len)
{
    if (conn->has_received) {
        conn->received += len;
        conn->received_len -= len;
    } else {
        conn->in_at += len;
    }
}

/* ---- outbox: the way out ---- */

/* Sends what has been written, if no send is out. */
void outbox_send(struct conn *conn);
/* Is there more unsent than its class allows? Starts and ends the soft limit's time. */
bool outbox_is_over_limit(struct conn *conn, int64_t now_ms);
void outbox_drop(struct conn *conn); /* frees both buffers; no send may be out */
/* Unsent bytes above which input waits. */
size_t outbox_pause_bytes(const struct conn *conn);
void outbox_sent(struct ring_op *op, const struct ring_event *event); /* the send op's `done` */
