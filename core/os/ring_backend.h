/*
 * ring_backend: what the two backends of ring.h have in common. Private to core/os/ring*.c.
 */
#pragma once

#include "core/os/ring.h"

enum ring_op_kind { RING_OP_ACCEPT, RING_OP_RECEIVE, RING_OP_POLL, RING_OP_SEND };

enum ring_op_place {
    RING_PLACE_KERNEL,  /* with the kernel, or in its queue */
    RING_PLACE_QUEUED,  /* epoll: a send not yet tried */
    RING_PLACE_STARVED, /* a receive that waits for a buffer */
    RING_PLACE_ENDED,   /* its last `done` is due, with op->result */
};

struct ring_ops { /* a queue of ops, linked by next and prev */
    struct ring_op *first, *last;
};

struct ring_methods {
    int (*create)(const struct ring_options *options, struct ring **out_ring);
    void (*destroy)(struct ring *ring);
    void (*start)(struct ring *ring, struct ring_op *op);  /* kind, fd and send fields are set */
    void (*cancel)(struct ring *ring, struct ring_op *op); /* armed, and marked as cancelled */
    uint32_t (*reap)(struct ring *ring);
    void (*submit)(struct ring *ring);
    uint32_t (*wait)(struct ring *ring, uint64_t timeout_ns);
    void (*wake)(struct ring *ring, struct ring *peer); /* both of this backend */
};

/* The head of both backends' rings. */
struct ring {
    const struct ring_methods *methods;
    enum ring_backend backend;
    int wake_fd; /* an eventfd; what any thread may write to */
    char *buffers;
    uint32_t buffer_count;
    uint32_t spare_count;
    uint16_t *spares; /* neither lent nor with the kernel; a stack: the last one used is warmest */
    struct ring_ops starved; /* receives, longest wait first */
    struct ring_ops ended;
};

extern const struct ring_methods ring_uring_methods;
extern const struct ring_methods ring_epoll_methods;

/* io_uring's part of ring_probe(). */
int ring_uring_probe(char *out_reason, size_t reason_cap);

/* Fills the head: eventfd and buffers. 0 or a negative errno; then nothing is left to undo. */
MUST_CHECK int ring_head_init(struct ring *ring, const struct ring_methods *methods,
                              enum ring_backend backend, uint32_t buffer_count);
void ring_head_fini(struct ring *ring);

static inline char *ring_buffer(const struct ring *ring, uint16_t buffer_id)
{
    return ring->buffers + (size_t)buffer_id * RING_BUFFER_BYTES;
}

void ring_ops_add(struct ring_ops *ops, struct ring_op *op, enum ring_op_place place);
void ring_ops_remove(struct ring_ops *ops, struct ring_op *op);

/* Marks the op as over and queues its last `done`. It is on no other list. */
void ring_end(struct ring *ring, struct ring_op *op, int result);

/* Calls the last `done` of every op that has ended so far; returns how many. */
uint32_t ring_run_ended(struct ring *ring);

/* Calls the last `done` of an op at once. */
void ring_finish(struct ring_op *op, const struct ring_event *event);

/* What a whole send reports. */
int ring_send_result(const struct ring_op *op);
