/*
 * handler: what the network tells the server. Filled in at assembly, by shards/route/dispatch.c.
 *
 * All functions run on the connection's thread: on_open inside conns_adopt(), on_input inside
 * ring_reap() or ring_wait(), on_close inside conns_flush() or conns_destroy().
 */
#pragma once

struct conn;

struct net_handler {
    /* A connection has been adopted; its owner pointer may be set. */
    void (*on_open)(void *context, struct conn *conn);
    /* Unparsed bytes have arrived, or output that held parsing back has drained. Nothing may be run
     * from here: the connection is put on the list of those to be served this turn. */
    void (*on_input)(void *context, struct conn *conn);
    /* The connection is gone: closed by the peer, by conn_close() or by a limit. Last call for it;
     * the struct is freed later, once it is neither pinned nor on the ready list. */
    void (*on_close)(void *context, struct conn *conn);
    void *context;
};
