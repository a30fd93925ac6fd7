/*
 * ring: one thread's door to the kernel: accept, receive, send, poll, wake.
 *
 * Completion-based, as io_uring is; where io_uring is denied, epoll serves the same header. One
 * ring per thread, made and used by that thread only (ring_wake() excepted: any thread).
 *
 * Ops        A `struct ring_op` lives in its owner (a connection, a listener) and is the caller's
 *            to keep until `done` has been called with `more` false: only then is the kernel
 *            through with it. `done` is only ever called inside ring_reap() or ring_wait().
 * Receive    is multishot into buffers that all connections of the ring share. Data in `done` is
 *            lent: the receiver returns each buffer by ring_buffer_release(), best in order and
 *            soon. With no buffer left a receive pauses and goes on by itself later. It ends with
 *            result 0 (the peer has closed its side) or an error.
 * Accept     is multishot and ends with an error only; whoever wants more starts it again. io_uring
 *            holds it to the RLIMIT_NOFILE of the moment it is started.
 * Poll       is multishot and tells that something has arrived: read until there is nothing left.
 * Send       one in flight per socket is the caller's duty; a send completes whole, or with an
 *            error.
 * Closing    ring_cancel() what is armed, wait for its last `done`, then close: a descriptor that
 *            the kernel still holds for an op sends no FIN.
 * Batching   ops are queued; ring_reap() or ring_wait() hands all to the kernel in the call that
 *            also looks for completions, so a turn that ends in ring_wait() needs no ring_submit().
 * Backends   io_uring: SINGLE_ISSUER | DEFER_TASKRUN, multishot, provided buffers, MSG_RING for
 *            wakes. epoll: level-triggered, read and write from the loop, eventfd for wakes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/check.h"

enum ring_backend { RING_BACKEND_AUTO, RING_BACKEND_IO_URING, RING_BACKEND_EPOLL };

#define RING_BUFFER_BYTES 16384u /* of one receive */

struct ring;
struct ring_op;

/* What a completion brings. `result` is a count of bytes, a descriptor (accept), or a negative
 * errno; a send's count stops at INT_MAX. `buffer` and `buffer_id` are set for a receive with
 * result > 0 only. */
struct ring_event {
    int result;
    bool more;          /* the op stays armed and will report again */
    uint16_t buffer_id; /* for ring_buffer_release() */
    const char *buffer; /* RING_BUFFER_BYTES at most, `result` of them filled */
};

typedef void (*ring_done_fn)(struct ring_op *op, const struct ring_event *event);

struct ring_op {
    ring_done_fn done; /* set by the caller before the first use */
    /* The rest belongs to the ring. */
    uint8_t kind;
    uint8_t place;  /* which list or table of the ring holds it */
    bool armed;     /* from its start until its last `done` begins */
    bool cancelled; /* ring_cancel() was called; the last `done` is still to come */
    int fd;
    int result; /* of an op that has ended inside the ring */
    const char *send_ptr;
    size_t send_len;
    size_t sent_len;
    struct ring_op *next, *prev;
};

struct ring_options {
    enum ring_backend backend;
    uint32_t buffer_count; /* receive buffers, a power of two, 64..4096 */
};

/* Why io_uring cannot be used here: an errno and the remedy in one line ("" when it can).
 * Thread: any. Returns 0 or a negative errno. */
int ring_probe(char *out_reason, size_t reason_cap);

/* Makes the calling thread's ring. AUTO takes io_uring if ring_probe() says 0, else epoll.
 * Returns 0 or a negative errno; ENOMEM from a ring that the kernel is still tearing down is
 * retried for up to 3 s. */
MUST_CHECK int ring_create(const struct ring_options *options, struct ring **out_ring);

/* Accepts NULL. Ops that are still armed are dropped without a last `done`; no thread may wake the
 * ring any more. */
void ring_destroy(struct ring *ring);

enum ring_backend ring_backend(const struct ring *ring);

void ring_accept(struct ring *ring, struct ring_op *op, int fd);  /* multishot */
void ring_receive(struct ring *ring, struct ring_op *op, int fd); /* multishot */
void ring_poll(struct ring *ring, struct ring_op *op, int fd);    /* multishot, readable */
void ring_send(struct ring *ring, struct ring_op *op, int fd, const char *ptr, size_t len);

/* Ends an armed op: `done` follows with -ECANCELED or with what came first, more = false, exactly
 * once. Does nothing to an op that is not armed, or cancelled already. */
void ring_cancel(struct ring *ring, struct ring_op *op);

void ring_buffer_release(struct ring *ring, uint16_t buffer_id);

/* Hands queued ops to the kernel and runs `done` for whatever has completed, without waiting.
 * Returns how many times `done` was called. On io_uring it makes no system call when nothing is
 * queued and the kernel has nothing to tell, so it may be called in a spin. */
uint32_t ring_reap(struct ring *ring);

/* Hands queued ops to the kernel without looking at completions. */
void ring_submit(struct ring *ring);

/* As ring_reap(), but waits until something completes, a wake or a signal arrives, or `timeout_ns`
 * passes (UINT64_MAX: no limit). May return early and with 0. */
uint32_t ring_wait(struct ring *ring, uint64_t timeout_ns);

/* Ends the wait of `peer`, now or the next one; it cannot be lost. `ring` is the caller's own
 * (the wake then leaves with its next submit, or sooner), or NULL: at once, from any thread, also
 * from a signal handler. */
void ring_wake(struct ring *ring, struct ring *peer);
