/*
 * conn: one client's connection: bytes in, commands out; replies in, bytes out.
 *
 * Input      Received bytes stay in the ring's shared buffer while they are parsed (no copy); what
 *            is left at the end of the turn is copied to a buffer of the connection's own
 *            (conn_settle). A large bulk sizes that buffer in advance.
 * Output     Two buffers: one being sent, one being filled. Replies are appended to
 *            conn_output(); conns_flush() sends all that are due, one send per connection.
 * Limits     Input: client-query-buffer-limit, 10 words of 16 KiB before authentication. Output: the
 *            limit of the connection's class; while more than CONN_OUTPUT_PAUSE bytes
 *            are unsent the connection is neither parsed nor received from.
 * Thread     the one that adopted it.
 */
#pragma once

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/os/ring.h"
#include "net/addr.h"
#include "net/args.h"
#include "net/handler.h"

#define CONN_OUTPUT_PAUSE (1u << 20) /* bytes unsent at which reading stops */
#define CONN_SEND_EARLY (64u << 10)  /* bytes at which replies leave before the turn ends */

enum conn_class { CONN_NORMAL, CONN_REPLICA, CONN_PUBSUB, CONN_CLASS_COUNT };

/* Plain values, shared by all connections of a thread, owned by the caller. */
struct conn_options {
    size_t query_buffer_max;   /* client-query-buffer-limit */
    size_t bulk_max;           /* proto-max-bulk-len */
    uint32_t keepalive_s;      /* tcp-keepalive */
    struct {
        size_t hard_bytes, soft_bytes; /* 0: none */
        uint32_t soft_s;
    } output[CONN_CLASS_COUNT];
};

struct conns; /* all connections of one thread */

struct conn {
    /* For the layer above. */
    void *owner;            /* its session */
    struct conn *next_ready; /* its list of connections to serve */
    bool is_ready;          /* on that list */
    bool held;              /* replies of a group are incomplete: do not flush yet */
    bool trusted;           /* authenticated: full input limits apply */
    bool close_after_reply; /* close once all output has left; parse no more */
    enum conn_class class;
    /* The rest belongs to conn.c and conns.c; readable. */
    struct conns *conns;
    int fd;
    struct addr peer, local;
    const char *received; /* borrowed receive buffer: unparsed bytes */
    size_t received_len;
    uint16_t received_id;
    bool has_received;
    bool closing;
    bool dirty; /* on the flush list */
    struct buf in; /* own copy of unparsed bytes */
    size_t in_at;  /* parsed so far */
    struct resp_parser *parser; /* state of a command that spans receives; NULL between commands */
    struct buf out, sending;
    struct ring_op receive_op, send_op;
    struct conn *next, *prev, *next_dirty;
    uint64_t bytes_in, bytes_out;
    int64_t soft_limit_since_ms;
    uint32_t pin_count;
};

struct conns *conns_create(struct ring *ring, const struct net_handler *handler,
                           const struct conn_options *options);
void conns_destroy(struct conns *conns); /* closes all; accepts NULL */
/* New limits; `options` replaces the old pointer. */
void conns_set_options(struct conns *conns, const struct conn_options *options);
size_t conns_count(const struct conns *conns);
/* All connections, in order of adoption. */
struct conn *conns_first(struct conns *conns);

/* Takes a connected socket (set non-blocking, no delay, keep-alive) and starts receiving. NULL and
 * the socket closed when that fails. */
struct conn *conns_adopt(struct conns *conns, int fd);

enum conn_next_result {
    CONN_NEXT_NONE,    /* no complete command yet */
    CONN_NEXT_COMMAND, /* *out_args is set */
    CONN_NEXT_ERROR,   /* protocol error: *out_error is its text; the caller answers it and closes */
};
/* The next command of the input. Empty lines and empty arrays are passed over, as Redis does. */
enum conn_next_result conn_next(struct conn *conn, struct arena *arena, struct args *out_args,
                                struct bytes *out_error);

/* Copies what is unparsed into the connection's own buffer and returns the ring's buffer. Words of
 * earlier commands become invalid. To be called for every served connection before the turn ends. */
void conn_settle(struct conn *conn);

/* If the last words lie in the connection's own buffer: hands that buffer over, so that words stay
 * valid as long as `*out_input` lives; the unparsed rest moves to a fresh buffer. False, and nothing
 * done, when they lie in the ring's buffer: they must be copied then. */
bool conn_detach_input(struct conn *conn, struct buf *out_input);

/* Where replies go; marks the connection for conns_flush(). */
struct buf *conn_output(struct conn *conn);
/* Unsent bytes, in both buffers. */
size_t conn_output_len(const struct conn *conn);
/* May more commands be parsed now, or must output drain first? */
bool conn_may_parse(const struct conn *conn);

/* Queues sends for all connections with output that are not held, checks output limits. */
void conns_flush(struct conns *conns, int64_t now_ms);
/* Sends this one's output now if it has grown past CONN_SEND_EARLY. */
void conn_flush_early(struct conn *conn);

/* Closes without further ado: on_close follows, at once or from the ring. */
void conn_close(struct conn *conn);

/* While pinned a closed connection's struct stays (a hop will come home to it). */
void conn_pin(struct conn *conn);
void conn_unpin(struct conn *conn);
