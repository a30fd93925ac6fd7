/*
 * conn: one client's connection: bytes in, commands out; replies in, bytes out.
 *
 * Input      Received bytes stay in the ring's shared buffer while they are parsed (no copy); what
 *            is left at the end of the turn is copied to a buffer of the connection's own
 *            (conn_settle). A large bulk sizes that buffer in advance, in proportion to what has
 *            arrived. What arrives between conn_next() and conn_settle() (the ring may be waited in
 *            meanwhile) is kept aside and announced afterwards: words stay where they are.
 * Output     Two buffers: one being sent, one being filled. Replies are appended to
 *            conn_output(); conns_flush() sends all that are due, one send per connection.
 * Limits     Input: client-query-buffer-limit, 10 words of 16 KiB before authentication; while
 *            CONN_INPUT_PAUSE bytes wait to be parsed, no more is received. Output: the limit of
 *            the connection's class; if that has no hard limit, then while more than
 *            CONN_OUTPUT_PAUSE bytes are unsent the connection is neither parsed nor received
 *            from.
 * End        When the peer has closed its side, what it had sent is still served: the connection
 *            closes once it is neither on the ready list nor held and its output has left. A
 *            connection dies in conns_flush() and nowhere else, so conn_close() is safe anywhere.
 * Thread     the one that adopted it.
 */
#pragma once

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/ilist.h"
#include "core/os/ring.h"
#include "net/addr.h"
#include "net/args.h"
#include "net/handler.h"

#define CONN_OUTPUT_PAUSE (1u << 20) /* bytes unsent at which reading stops */
#define CONN_INPUT_PAUSE (1u << 20)  /* bytes unparsed, beyond the current word, likewise */
#define CONN_SEND_EARLY (64u << 10)  /* bytes at which replies leave before the turn ends */
#define CONN_LINGER_MS 10000         /* how long a connection that is to close may take to drain */

enum conn_class { CONN_NORMAL, CONN_REPLICA, CONN_PUBSUB, CONN_CLASS_COUNT };

/* Plain values, shared by all connections of a thread, owned by the caller. */
struct conn_options {
    size_t query_buffer_max; /* client-query-buffer-limit */
    size_t bulk_max;         /* proto-max-bulk-len */
    uint32_t keepalive_s;    /* tcp-keepalive; 0: none */
    struct {
        size_t hard_bytes, soft_bytes; /* 0: none */
        uint32_t soft_s;
    } output[CONN_CLASS_COUNT];
};

/* What a thread's connections have done since it started. */
struct conns_stats {
    uint64_t bytes_in, bytes_out;
    uint64_t receives, sends; /* completed */
    uint64_t query_limit_closed, output_limit_closed;
};

struct conns;       /* all connections of one thread */
struct resp_parser; /* net/resp.h */

struct conn {
    /* For the layer above. */
    void *owner;             /* its session */
    struct conn *next_ready; /* its list of connections to serve */
    bool is_ready;           /* on that list */
    bool held;               /* replies of a group are incomplete: do not flush yet, nor close at
                                the end of input; a client that merely blocks is not held */
    bool trusted;            /* authenticated: full input limits apply */
    bool close_after_reply;  /* set by conn_finish() */
    enum conn_class class;

    /* The rest belongs to net; readable. */
    bool closing;    /* conn_close() was called: output is dropped, on_close follows */
    bool ended;      /* the peer sends no more */
    bool broken;     /* a protocol error: no more input is taken */
    bool gone;       /* on_close was called; the struct waits to be unpinned */
    bool receiving;  /* receive_op is out */
    bool cancelled;  /* and is being taken back */
    bool paused;     /* and is not to be sent out again yet */
    bool in_flight;  /* send_op is out */
    bool has_inline; /* words since the last conn_settle() may lie in the arena */
    bool is_served;  /* from conn_serve() or conn_next() to conn_settle() */
    bool has_received;
    uint16_t received_id;
    int fd;
    struct conns *conns;
    const char *received; /* borrowed receive buffer: unparsed bytes */
    size_t received_len;
    struct buf in;              /* own copy of unparsed bytes; empty while has_received */
    size_t in_at;               /* parsed so far */
    struct buf late;            /* what arrived while it was served */
    struct resp_parser *parser; /* of a command that spans receives; NULL between commands */
    struct buf out, sending;
    size_t out_hint; /* bytes of output last time */
    struct ring_op receive_op, send_op;
    struct conn *next, *prev;     /* all connections */
    struct ilist_link dirty_link; /* to be looked at by conns_flush() */
    struct ilist_link fate_link;  /* watched by the clock, closing, or gone */
    uint64_t bytes_in, bytes_out;
    int64_t soft_since_ms;   /* since when output is over the soft limit; 0: it is not */
    int64_t linger_until_ms; /* until when it may drain before it closes; 0: not yet known */
    uint32_t pin_count;
    struct addr peer, local;
};

struct conns *conns_create(struct ring *ring, const struct net_handler *handler,
                           const struct conn_options *options);
/* Closes all, waiting in the ring until the kernel is through with them; accepts NULL. */
void conns_destroy(struct conns *conns);
/* New limits; `options` replaces the old pointer. */
void conns_set_options(struct conns *conns, const struct conn_options *options);
size_t conns_count(const struct conns *conns);
const struct conns_stats *conns_stats(const struct conns *conns);
/* All connections, in order of adoption. */
struct conn *conns_first(struct conns *conns);

/* Takes a connected socket (set non-blocking, no delay, keep-alive) and starts receiving. NULL and
 * the socket closed when that fails. */
struct conn *conns_adopt(struct conns *conns, int fd);

/* Begins to serve: until conn_settle() no input is announced, and what arrives moves no word.
 * conn_next() does the same. */
static inline void conn_serve(struct conn *conn)
{
    conn->is_served = true;
}

enum conn_next_result {
    CONN_NEXT_NONE,    /* no complete command yet */
    CONN_NEXT_COMMAND, /* *out_args is set */
    CONN_NEXT_ERROR,   /* a protocol error: *out_error is its text, "ERR Protocol error: ...", which
                          is constant or in the arena; the caller answers, then conn_finish() */
};
/* The next command of the input. Empty lines and empty arrays are passed over, as Redis does. */
enum conn_next_result conn_next(struct conn *conn, struct arena *arena, struct args *out_args,
                                struct bytes *out_error);

/* Puts the command that conn_next() returned last back: it comes again, later. Not after
 * conn_settle() or conn_detach_input(). */
void conn_unread(struct conn *conn, const struct args *args);

/* Copies what is unparsed into the connection's own buffer and returns the ring's buffer. Words of
 * earlier commands become invalid. To be called for every served connection before the turn
 * ends. May call on_input: for what arrived since conn_next(). */
void conn_settle(struct conn *conn);

/* The same, but without the copy if that can wait: for a connection that is served again soon. */
void conn_words_done(struct conn *conn);

/* If the last words lie in the connection's own buffer: hands that buffer over, so that words stay
 * valid as long as `*out_input` lives; the unparsed rest moves to a fresh buffer. False, and
 * nothing done, when they lie elsewhere: they must be copied then. */
bool conn_detach_input(struct conn *conn, struct buf *out_input);

/* Bytes received and not yet parsed, and what the buffer for them takes (CLIENT LIST). */
size_t conn_input_len(const struct conn *conn);

/* Where replies go; marks the connection for conns_flush(). */
struct buf *conn_output(struct conn *conn);
/* Unsent bytes, in both buffers. */
size_t conn_output_len(const struct conn *conn);
/* May more commands be parsed now, or must output drain first? */
bool conn_may_parse(const struct conn *conn);

/* Queues sends for all connections with output that are not held, checks output limits, and buries
 * what is to close. Once a turn, and about once a second when there are none: soft limits and
 * lingering connections are judged here. Calls on_close, and nothing else. */
void conns_flush(struct conns *conns, int64_t now_ms);
/* Sends this one's output now if it has grown past CONN_SEND_EARLY, held or not. */
void conn_flush_early(struct conn *conn);

/* Parses no more, drops further input, and closes once all output has left, after CONN_LINGER_MS at
 * the latest. */
void conn_finish(struct conn *conn);

/* Closes without further ado: on_close follows from conns_flush(). */
void conn_close(struct conn *conn);

/* While pinned a closed connection's struct stays (a hop will come home to it). */
void conn_pin(struct conn *conn);
void conn_unpin(struct conn *conn);
