/*
 * ring_epoll: the same ring where io_uring is denied.
 *
 * A table by descriptor says which op waits for reading and which for writing, and what epoll has
 * been told (level-triggered). Events carry the descriptor and are looked up in that table when
 * their turn comes, so an event that is out of date, because an earlier one of the same batch
 * cancelled the op, finds nothing to do.
 *
 * Fair       a ready receive is one recv() of at most RING_BUFFER_BYTES a turn.
 * Sends      are queued, and tried when the turn hands its ops over. Nearly all are over then;
 *            their `done` follows in the same or the next ring_reap() or ring_wait(), which does
 *            not sleep first. The rest waits for EPOLLOUT.
 * Starved    a receive without a buffer is taken out of epoll, which would report it for ever.
 * Wakes      are writes to the eventfd, watched edge-triggered: each one ends a wait, none is read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/ring_backend.h"

#define EVENTS_MAX 256  /* of one system call; more come with the next */
#define ACCEPTS_MAX 64  /* of one listener and turn, so that a flood leaves time for others */
#define WATCHES_MIN 256 /* descriptors */

struct watch {
    struct ring_op *in, *out;
    uint32_t told; /* events epoll knows; 0: it does not know the descriptor */
};

struct epoll_ring {
    struct ring head;
    int epoll_fd;
    bool has_ns_wait; /* epoll_pwait2() works */
    struct watch *watches;
    int watch_count;
    struct ring_ops sends; /* queued */
};

static struct epoll_ring *epoll_of(struct ring *ring)
{
    return (struct epoll_ring *)ring;
}

/* ---- What epoll is told ---------------------------------------------------------------------- */

static struct watch *watch_of(struct epoll_ring *er, int fd)
{
    ASSERT(fd >= 0);
    if (unlikely(fd >= er->watch_count)) {
        int count = er->watch_count ? er->watch_count : WATCHES_MIN;
        while (count <= fd)
            count *= 2;
        er->watches = mem_realloc(er->watches, (size_t)count * sizeof(struct watch));
        memset(er->watches + er->watch_count, 0,
               (size_t)(count - er->watch_count) * sizeof(struct watch));
        er->watch_count = count;
    }
    return &er->watches[fd];
}

/* Tells epoll what the ops of `fd` wait for; nothing told means no event, not even of a hang-up.
 * 0 or a negative errno. */
static int tell(struct epoll_ring *er, int fd)
{
    struct watch *watch = watch_of(er, fd);
    uint32_t wanted = (watch->in ? EPOLLIN : 0u) | (watch->out ? EPOLLOUT : 0u);
    if (wanted == watch->told)
        return 0;
    struct epoll_event event = {.events = wanted, .data.fd = fd};
    int r = epoll_ctl(er->epoll_fd,
                      wanted == 0        ? EPOLL_CTL_DEL
                      : watch->told == 0 ? EPOLL_CTL_ADD
                                         : EPOLL_CTL_MOD,
                      fd, &event);
    if (r != 0 && wanted != 0)
        return -errno;
    watch->told = wanted;
    return 0;
}

/* The op leaves the table and is over; its last `done` is due. */
static void end_watch(struct epoll_ring *er, struct ring_op *op, int result)
{
    struct watch *watch = watch_of(er, op->fd);
    if (watch->in == op)
        watch->in = NULL;
    else if (watch->out == op)
        watch->out = NULL;
    int r = tell(er, op->fd);
    (void)r; /* less than before: cannot be refused in a way that matters */
    ring_end(&er->head, op, result);
}

static void wait_readable(struct epoll_ring *er, struct ring_op *op)
{
    struct watch *watch = watch_of(er, op->fd);
    ASSERT(!watch->in);
    watch->in = op;
    op->place = RING_PLACE_KERNEL;
    int r = tell(er, op->fd);
    if (r < 0)
        end_watch(er, op, r);
}

static void wait_writable(struct epoll_ring *er, struct ring_op *op)
{
    struct watch *watch = watch_of(er, op->fd);
    ASSERT(!watch->out || watch->out == op);
    watch->out = op;
    op->place = RING_PLACE_KERNEL;
    int r = tell(er, op->fd);
    if (r < 0)
        end_watch(er, op, r);
}

/* ---- Ready descriptors ----------------------------------------------------------------------- */

static bool is_passing(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* Sends what the socket takes; ends the op or lets it wait for more room. */
static void try_send(struct epoll_ring *er, struct ring_op *op)
{
    size_t rest = op->send_len - op->sent_len;
    ssize_t sent = send(op->fd, op->send_ptr + op->sent_len, rest, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
        op->sent_len += (size_t)sent;
    if (op->sent_len == op->send_len)
        end_watch(er, op, ring_send_result(op));
    else if (sent < 0 && !is_passing(errno))
        end_watch(er, op, -errno);
    else
        wait_writable(er, op);
}

static uint32_t receive(struct epoll_ring *er, struct ring_op *op)
{
    struct ring *ring = &er->head;
    if (ring->spare_count == 0) {
        watch_of(er, op->fd)->in = NULL;
        int r = tell(er, op->fd);
        (void)r;
        ring_ops_add(&ring->starved, op, RING_PLACE_STARVED);
        return 0;
    }
    const uint16_t id = ring->spares[ring->spare_count - 1];
    ssize_t got = recv(op->fd, ring_buffer(ring, id), RING_BUFFER_BYTES, MSG_DONTWAIT);
    if (got < 0 && is_passing(errno))
        return 0;
    if (got <= 0) {
        end_watch(er, op, got == 0 ? 0 : -errno);
        return 0;
    }
    ring->spare_count--;
    const struct ring_event event = {
        .result = (int)got, .more = true, .buffer_id = id, .buffer = ring_buffer(ring, id)};
    op->done(op, &event);
    return 1;
}

static uint32_t accept_ready(struct epoll_ring *er, struct ring_op *op)
{
    const int listener = op->fd;
    uint32_t count = 0;
    /* `done` may cancel the op: it is in the table as long as it goes on. */
    while (count < ACCEPTS_MAX && watch_of(er, listener)->in == op) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == ECONNABORTED)
            continue;
        if (fd < 0) {
            if (!is_passing(errno))
                end_watch(er, op, -errno);
            break;
        }
        const struct ring_event event = {.result = fd, .more = true};
        op->done(op, &event);
        count++;
    }
    return count;
}

static uint32_t run_ready(struct epoll_ring *er, int fd, uint32_t events)
{
    struct ring_op *out = watch_of(er, fd)->out;
    if (out && (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
        try_send(er, out);
    struct ring_op *in = watch_of(er, fd)->in;
    if (!in || !(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return 0;
    switch (in->kind) {
    case RING_OP_ACCEPT:
        return accept_ready(er, in);
    case RING_OP_RECEIVE:
        return receive(er, in);
    default: {
        const struct ring_event event = {.result = (int)events, .more = true};
        in->done(in, &event);
        return 1;
    }
    }
}

/* ---- Methods --------------------------------------------------------------------------------- */

static void epoll_ring_submit(struct ring *ring)
{
    struct epoll_ring *er = epoll_of(ring);
    while (er->sends.first) {
        struct ring_op *op = er->sends.first;
        ring_ops_remove(&er->sends, op);
        try_send(er, op);
    }
}

/* Kernels before 5.11, and sandboxes, have no wait in nanoseconds: rounded up then, so that a
 * deadline that is near is not a spin. */
static int wait_events(struct epoll_ring *er, struct epoll_event *events, uint64_t timeout_ns)
{
    if (er->has_ns_wait) {
        struct timespec timeout = {.tv_sec = (time_t)(timeout_ns / 1000000000u),
                                   .tv_nsec = (long)(timeout_ns % 1000000000u)};
        int n = epoll_pwait2(er->epoll_fd, events, EVENTS_MAX,
                             timeout_ns == UINT64_MAX ? NULL : &timeout, NULL);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM))
            return n;
        er->has_ns_wait = false;
    }
    int timeout_ms = -1;
    if (timeout_ns != UINT64_MAX) {
        uint64_t ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);
        timeout_ms = ms > 60000 ? 60000 : (int)ms; /* an early return is allowed */
    }
    return epoll_wait(er->epoll_fd, events, EVENTS_MAX, timeout_ms);
}

static uint32_t epoll_ring_wait(struct ring *ring, uint64_t timeout_ns)
{
    struct epoll_ring *er = epoll_of(ring);
    for (uint32_t i = ring->spare_count; i > 0 && ring->starved.first; i--) {
        struct ring_op *op = ring->starved.first;
        ring_ops_remove(&ring->starved, op);
        wait_readable(er, op);
    }
    epoll_ring_submit(ring);

    struct epoll_event events[EVENTS_MAX];
    int n = wait_events(er, events, ring->ended.first ? 0 : timeout_ns);
    uint32_t count = 0;
    for (int i = 0; i < n; i++)
        if (events[i].data.fd != ring->wake_fd)
            count += run_ready(er, events[i].data.fd, events[i].events);
    return count + ring_run_ended(ring);
}

static uint32_t epoll_ring_reap(struct ring *ring)
{
    return epoll_ring_wait(ring, 0);
}

static void epoll_ring_start(struct ring *ring, struct ring_op *op)
{
    struct epoll_ring *er = epoll_of(ring);
    if (op->kind == RING_OP_SEND) {
        ring_ops_add(&er->sends, op, RING_PLACE_QUEUED);
        return;
    }
    if (op->kind == RING_OP_ACCEPT) {
        /* The other calls can be told not to block; accept4() asks the listening socket. */
        int flags = fcntl(op->fd, F_GETFL);
        if (flags >= 0)
            fcntl(op->fd, F_SETFL, flags | O_NONBLOCK);
    }
    wait_readable(er, op);
}

static void epoll_ring_cancel(struct ring *ring, struct ring_op *op)
{
    struct epoll_ring *er = epoll_of(ring);
    switch (op->place) {
    case RING_PLACE_QUEUED:
        ring_ops_remove(&er->sends, op);
        ring_end(ring, op, -ECANCELED);
        break;
    case RING_PLACE_STARVED:
        ring_ops_remove(&ring->starved, op);
        ring_end(ring, op, -ECANCELED);
        break;
    case RING_PLACE_ENDED: /* what came first */
        break;
    default:
        end_watch(er, op, -ECANCELED);
    }
}

static void epoll_ring_wake(struct ring *ring, struct ring *peer)
{
    (void)ring; /* a write now costs the same as one at the end of the turn */
    ring_wake(NULL, peer);
}

static void epoll_ring_destroy(struct ring *ring)
{
    struct epoll_ring *er = epoll_of(ring);
    close(er->epoll_fd);
    ring_head_fini(ring);
    mem_free(er->watches);
    mem_free(er);
}

static int epoll_ring_create(const struct ring_options *options, struct ring **out_ring)
{
    struct epoll_ring *er = mem_zalloc(sizeof(*er));
    int r = ring_head_init(&er->head, &ring_epoll_methods, RING_BACKEND_EPOLL,
                           options->buffer_count);
    if (r < 0)
        goto free_memory;
    er->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (er->epoll_fd < 0) {
        r = -errno;
        goto fini_head;
    }
    struct epoll_event wake = {.events = EPOLLIN | EPOLLET, .data.fd = er->head.wake_fd};
    if (epoll_ctl(er->epoll_fd, EPOLL_CTL_ADD, er->head.wake_fd, &wake) != 0) {
        r = -errno;
        goto close_epoll;
    }
    er->has_ns_wait = true;
    *out_ring = &er->head;
    return 0;

close_epoll:
    close(er->epoll_fd);
fini_head:
    ring_head_fini(&er->head);
free_memory:
    mem_free(er);
    return r;
}

const struct ring_methods ring_epoll_methods = {
    .create = epoll_ring_create,
    .destroy = epoll_ring_destroy,
    .start = epoll_ring_start,
    .cancel = epoll_ring_cancel,
    .reap = epoll_ring_reap,
    .submit = epoll_ring_submit,
    .wait = epoll_ring_wait,
    .wake = epoll_ring_wake,
};
