/*
 * ring: the face of the two backends, and what they share: the choice between them, the buffers,
 * and the list of ops that have ended without the kernel's doing.
 */
#include "core/os/ring.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/ring_backend.h"

#define CREATE_RETRY_MS 20
#define CREATE_RETRIES 150 /* 3 s in all */

int ring_probe(char *out_reason, size_t reason_cap)
{
    if (reason_cap)
        out_reason[0] = 0;
    return ring_uring_probe(out_reason, reason_cap);
}

int ring_create(const struct ring_options *options, struct ring **out_ring)
{
    ASSERT(options->buffer_count >= 64 && options->buffer_count <= 4096);
    ASSERT((options->buffer_count & (options->buffer_count - 1)) == 0);

    const struct ring_methods *methods = &ring_uring_methods;
    char reason[8];
    if (options->backend == RING_BACKEND_EPOLL ||
        (options->backend == RING_BACKEND_AUTO && ring_probe(reason, sizeof(reason)) != 0))
        methods = &ring_epoll_methods;

    int r = methods->create(options, out_ring);
    for (int i = 0; r == -ENOMEM && i < CREATE_RETRIES; i++) {
        /* The kernel frees a ring some time after its process has ended; a server that is started
         * again at once may find the memory still taken. */
        nanosleep(&(struct timespec){.tv_nsec = CREATE_RETRY_MS * 1000000}, NULL);
        r = methods->create(options, out_ring);
    }
    return r;
}

void ring_destroy(struct ring *ring)
{
    if (ring)
        ring->methods->destroy(ring);
}

enum ring_backend ring_backend(const struct ring *ring)
{
    return ring->backend;
}

static void start(struct ring *ring, struct ring_op *op, int fd, enum ring_op_kind kind)
{
    ASSERT(op->done && !op->armed);
    op->kind = kind;
    op->fd = fd;
    op->armed = true;
    op->cancelled = false;
    ring->methods->start(ring, op);
}

void ring_accept(struct ring *ring, struct ring_op *op, int fd)
{
    start(ring, op, fd, RING_OP_ACCEPT);
}

void ring_receive(struct ring *ring, struct ring_op *op, int fd)
{
    start(ring, op, fd, RING_OP_RECEIVE);
}

void ring_poll(struct ring *ring, struct ring_op *op, int fd)
{
    start(ring, op, fd, RING_OP_POLL);
}

void ring_send(struct ring *ring, struct ring_op *op, int fd, const char *ptr, size_t len)
{
    ASSERT(len > 0);
    op->send_ptr = ptr;
    op->send_len = len;
    op->sent_len = 0;
    start(ring, op, fd, RING_OP_SEND);
}

void ring_cancel(struct ring *ring, struct ring_op *op)
{
    if (!op->armed || op->cancelled)
        return;
    op->cancelled = true;
    ring->methods->cancel(ring, op);
}

void ring_buffer_release(struct ring *ring, uint16_t buffer_id)
{
    DEBUG_ASSERT(buffer_id < ring->buffer_count && ring->spare_count < ring->buffer_count);
    ring->spares[ring->spare_count++] = buffer_id;
}

uint32_t ring_reap(struct ring *ring)
{
    return ring->methods->reap(ring);
}

void ring_submit(struct ring *ring)
{
    ring->methods->submit(ring);
}

uint32_t ring_wait(struct ring *ring, uint64_t timeout_ns)
{
    return ring->methods->wait(ring, timeout_ns);
}

void ring_wake(struct ring *ring, struct ring *peer)
{
    if (ring && ring->methods == peer->methods) {
        ring->methods->wake(ring, peer);
        return;
    }
    /* Cannot fail: the counter would have to reach 2^64 - 1. */
    ssize_t written = write(peer->wake_fd, &(uint64_t){1}, sizeof(uint64_t));
    (void)written;
}

int ring_head_init(struct ring *ring, const struct ring_methods *methods, enum ring_backend backend,
                   uint32_t buffer_count)
{
    /* Pages become resident as receives touch them, which is why nobody clears them here. */
    char *buffers = mmap(NULL, (size_t)buffer_count * RING_BUFFER_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffers == MAP_FAILED)
        return -errno;
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0) {
        int error = -errno;
        munmap(buffers, (size_t)buffer_count * RING_BUFFER_BYTES);
        return error;
    }
    *ring = (struct ring){.methods = methods,
                          .backend = backend,
                          .wake_fd = wake_fd,
                          .buffers = buffers,
                          .buffer_count = buffer_count,
                          .spare_count = buffer_count,
                          .spares = mem_alloc(buffer_count * sizeof(uint16_t))};
    for (uint32_t i = 0; i < buffer_count; i++)
        ring->spares[i] = (uint16_t)(buffer_count - 1 - i);
    return 0;
}

void ring_head_fini(struct ring *ring)
{
    munmap(ring->buffers, (size_t)ring->buffer_count * RING_BUFFER_BYTES);
    close(ring->wake_fd);
    mem_free(ring->spares);
}

void ring_ops_add(struct ring_ops *ops, struct ring_op *op, enum ring_op_place place)
{
    op->place = place;
    op->next = NULL;
    op->prev = ops->last;
    if (ops->last)
        ops->last->next = op;
    else
        ops->first = op;
    ops->last = op;
}

void ring_ops_remove(struct ring_ops *ops, struct ring_op *op)
{
    if (op->prev)
        op->prev->next = op->next;
    else
        ops->first = op->next;
    if (op->next)
        op->next->prev = op->prev;
    else
        ops->last = op->prev;
    op->next = op->prev = NULL;
    op->place = RING_PLACE_KERNEL;
}

void ring_end(struct ring *ring, struct ring_op *op, int result)
{
    op->result = result;
    ring_ops_add(&ring->ended, op, RING_PLACE_ENDED);
}

void ring_finish(struct ring_op *op, const struct ring_event *event)
{
    op->armed = false;
    op->cancelled = false;
    op->done(op, event);
}

uint32_t ring_run_ended(struct ring *ring)
{
    /* `done` may end further ops: those wait for the next call, or two that start each other again
     * would hold the loop. */
    struct ring_ops due = ring->ended;
    ring->ended = (struct ring_ops){0};
    uint32_t count = 0;
    for (; due.first; count++) {
        struct ring_op *op = due.first;
        ring_ops_remove(&due, op);
        const struct ring_event event = {.result = op->result};
        ring_finish(op, &event);
    }
    return count;
}

int ring_send_result(const struct ring_op *op)
{
    return op->send_len > INT_MAX ? INT_MAX : (int)op->send_len;
}
