/*
 * ring_uring: io_uring.
 *
 * One ring a thread with SINGLE_ISSUER | DEFER_TASKRUN: completions are made only while the owner
 * is inside io_uring_enter() with GETEVENTS, and IORING_SQ_TASKRUN in the shared flags says
 * beforehand that there are some. Hence ring_reap() costs a load when there is nothing to do, and a
 * turn of the loop costs one system call that submits, makes completions and waits.
 *
 * user_data is the op's address; its low three bits, free through alignment, tell our own requests
 * from ops. No generation is needed: an op stays its owner's until its last completion, so an
 * address is never reused while the kernel knows it.
 *
 * The kernel takes buffers from its ring in order, so it walks through all that it is given: with
 * 512 of them in circulation every receive is written to memory that has long left the cache
 * (against 64: +0.05 us at 40 bytes, +0.7 us at 6.5 KB). It is therefore given a window of few,
 * refilled each turn with those released last. A window that proves too small doubles, and the
 * receive that it stopped goes on; one that is too large shrinks to what the last period needed.
 *
 * A multishot op that the kernel ended for reasons of its own (the completion queue was full, no
 * buffer, a retry limit) is queued again before `done` is told, so a ring_cancel() inside `done`
 * follows it in the submission queue and finds it.
 *
 * Set-up and submission entries are liburing's. The call itself is made here: liburing 2.3 has no
 * function that submits, waits and passes a timeout in one call and leaves the completions alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/ring_backend.h"

/* A turn that queues more than this submits in between, at 0.2 us: nothing per entry. With 256
 * shards on one machine larger rings would add up: this one takes 64 KiB and 128 KiB. A completion
 * queue that overflows loses nothing: the kernel keeps the rest and ends multishots, which start
 * again. */
#define SQ_ENTRIES 1024u
#define CQ_ENTRIES 8192u
#define BUFFER_GROUP 0
#define WINDOW_MIN 32u             /* buffers */
#define WINDOW_PERIOD_TURNS 1024   /* after which an over-large window shrinks */
#define SEND_PIECE_MAX (1u << 30)  /* bytes of one submission; the kernel's own limit is 2 GiB */
#define QUEUE_FULL_RETRIES 1000000 /* far beyond any shortage that passes */

#define SETUP_FLAGS                                                                                \
    (IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG |         \
     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE)

enum tag { TAG_OP, TAG_WOKEN, TAG_WAKE_FD, TAG_WAKE_SENT, TAG_CANCEL, TAG_MASK = 7 };

struct uring {
    struct ring head;
    struct io_uring kernel;
    int enter_fd;
    unsigned enter_flags;
    struct io_uring_buf_ring *buffer_ring;
    size_t buffer_ring_bytes;
    uint32_t offered_count; /* buffers with the kernel, or in completions not yet read */
    uint32_t window;        /* what offered_count is filled up to */
    uint32_t window_needed; /* the most used between two refills of this period */
    uint32_t window_turns;  /* of this period */
};

static struct uring *uring_of(struct ring *ring)
{
    return (struct uring *)ring;
}

/* ---- Into the kernel ------------------------------------------------------------------------- */

static unsigned queued_count(const struct uring *uring)
{
    return uring->kernel.sq.sqe_tail - __atomic_load_n(uring->kernel.sq.khead, __ATOMIC_RELAXED);
}

/* Submits all that is queued; with GETEVENTS in `flags` makes completions and waits for
 * `wait_count` of them, at most `timeout`. Every failure means "look at the completion queue":
 * ETIME and EINTR end a wait; EAGAIN and EBUSY leave entries queued for the next call. */
static void enter(struct uring *uring, unsigned wait_count, unsigned flags,
                  struct __kernel_timespec *timeout)
{
    struct io_uring_sq *sq = &uring->kernel.sq;
    sq->sqe_head = sq->sqe_tail;
    __atomic_store_n(sq->ktail, sq->sqe_tail, __ATOMIC_RELEASE);
    struct io_uring_getevents_arg arg = {.ts = (uintptr_t)timeout};
    int r = io_uring_enter2((unsigned)uring->enter_fd, queued_count(uring), wait_count,
                            flags | uring->enter_flags, timeout ? (void *)&arg : NULL,
                            timeout ? sizeof(arg) : 0);
    ASSERT(r >= 0 || r == -ETIME || r == -EINTR || r == -EAGAIN || r == -EBUSY);
}

static struct io_uring_sqe *next_entry(struct uring *uring, uint64_t user_data)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&uring->kernel);
    for (int i = 0; unlikely(!entry); i++) {
        /* Without GETEVENTS first: completions are best made where they will be read. */
        ASSERT(i < QUEUE_FULL_RETRIES);
        enter(uring, 0, i == 0 ? 0 : IORING_ENTER_GETEVENTS, NULL);
        entry = io_uring_get_sqe(&uring->kernel);
    }
    entry->user_data = user_data;
    return entry;
}

/* liburing's prep functions clear user_data in some versions and not in others: it is set last. */
static void set_user(struct io_uring_sqe *entry, const void *ptr, enum tag tag)
{
    entry->user_data = (uintptr_t)ptr | tag;
}

static void queue_op(struct uring *uring, struct ring_op *op)
{
    struct io_uring_sqe *entry = next_entry(uring, 0);
    switch (op->kind) {
    case RING_OP_ACCEPT:
        io_uring_prep_multishot_accept(entry, op->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        break;
    case RING_OP_RECEIVE:
        io_uring_prep_recv_multishot(entry, op->fd, NULL, 0, 0);
        entry->flags |= IOSQE_BUFFER_SELECT;
        entry->buf_group = BUFFER_GROUP;
        break;
    case RING_OP_POLL:
        io_uring_prep_poll_multishot(entry, op->fd, POLLIN);
        break;
    case RING_OP_SEND: {
        size_t rest = op->send_len - op->sent_len;
        io_uring_prep_send(entry, op->fd, op->send_ptr + op->sent_len,
                           rest < SEND_PIECE_MAX ? rest : SEND_PIECE_MAX,
                           MSG_WAITALL | MSG_NOSIGNAL);
        break;
    }
    }
    set_user(entry, op, TAG_OP);
}

static void queue_wake_fd(struct uring *uring)
{
    struct io_uring_sqe *entry = next_entry(uring, 0);
    io_uring_prep_poll_multishot(entry, uring->head.wake_fd, POLLIN);
    set_user(entry, NULL, TAG_WAKE_FD);
}

/* ---- Out of the kernel ----------------------------------------------------------------------- */

static uint32_t finish_send(struct uring *uring, struct ring_op *op, int result)
{
    bool again = result == -EINTR || result == -EAGAIN;
    if (result > 0) {
        op->sent_len += (size_t)result;
        again = op->sent_len < op->send_len;
    }
    if (again && !op->cancelled) {
        queue_op(uring, op);
        return 0;
    }
    if (result >= 0)
        result = op->sent_len == op->send_len ? ring_send_result(op) : -ECANCELED;
    const struct ring_event event = {.result = result};
    ring_finish(op, &event);
    return 1;
}

/* Is this the end of a multishot only because the kernel would have it so? */
static bool goes_on(const struct ring_op *op, int result)
{
    if (op->cancelled)
        return false;
    if (result == -EINTR || result == -EAGAIN)
        return true;
    if (op->kind == RING_OP_ACCEPT) /* descriptor 0 is one like any other */
        return result >= 0 || result == -ECONNABORTED;
    return result > 0;
}

static uint32_t finish_multishot(struct uring *uring, struct ring_op *op, int result,
                                 unsigned flags)
{
    struct ring *ring = &uring->head;
    struct ring_event event = {.result = result, .more = flags & IORING_CQE_F_MORE};
    if (flags & IORING_CQE_F_BUFFER) {
        event.buffer_id = (uint16_t)(flags >> IORING_CQE_BUFFER_SHIFT);
        event.buffer = ring_buffer(ring, event.buffer_id);
        uring->offered_count--;
        if (unlikely(result <= 0)) {
            ring_buffer_release(ring, event.buffer_id);
            event.buffer = NULL;
        }
    }
    if (unlikely(!event.more)) {
        if (result == -ENOBUFS && op->kind == RING_OP_RECEIVE && !op->cancelled) {
            if (ring->spare_count > 0 && uring->window < ring->buffer_count)
                uring->window *= 2;
            ring_ops_add(&ring->starved, op, RING_PLACE_STARVED);
            return 0;
        }
        if (goes_on(op, result)) {
            event.more = true;
            queue_op(uring, op);
            if (result < 0)
                return 0;
        }
    }
    if (event.more) {
        op->done(op, &event);
        return 1;
    }
    if (op->cancelled && result == -ENOBUFS)
        event.result = -ECANCELED;
    ring_finish(op, &event);
    return 1;
}

static uint32_t finish(struct uring *uring, uint64_t user_data, int result, unsigned flags)
{
    enum tag tag = user_data & TAG_MASK;
    if (likely(tag == TAG_OP)) {
        struct ring_op *op = (struct ring_op *)(uintptr_t)user_data;
        return op->kind == RING_OP_SEND ? finish_send(uring, op, result)
                                        : finish_multishot(uring, op, result, flags);
    }
    if (tag == TAG_WAKE_FD) {
        /* It has done its work by ending the wait. The counter is never read: a multishot poll
         * tells of each write, whatever the count. */
        if (!(flags & IORING_CQE_F_MORE))
            queue_wake_fd(uring);
    } else if (tag == TAG_WAKE_SENT && result < 0) {
        /* The peer must not miss it, so it goes the other way. */
        ring_wake(NULL, (struct ring *)(uintptr_t)(user_data & ~(uint64_t)TAG_MASK));
    }
    return 0; /* TAG_WOKEN: likewise. TAG_CANCEL: it was too late to cancel. */
}

static bool has_completions(const struct uring *uring)
{
    const struct io_uring_cq *cq = &uring->kernel.cq;
    return __atomic_load_n(cq->ktail, __ATOMIC_ACQUIRE) != *cq->khead;
}

static uint32_t run_completions(struct uring *uring)
{
    uint32_t count = ring_run_ended(&uring->head);
    struct io_uring_cq *cq = &uring->kernel.cq;
    /* What `done` makes complete from here on is for the next call. */
    const unsigned tail = __atomic_load_n(cq->ktail, __ATOMIC_ACQUIRE);
    for (unsigned head = *cq->khead; head != tail;) {
        const struct io_uring_cqe entry = {.user_data = cq->cqes[head & cq->ring_mask].user_data,
                                           .res = cq->cqes[head & cq->ring_mask].res,
                                           .flags = cq->cqes[head & cq->ring_mask].flags};
        /* Given back before `done`, which may submit and so need room for completions. */
        __atomic_store_n(cq->khead, ++head, __ATOMIC_RELEASE);
        count += finish(uring, entry.user_data, entry.res, entry.flags);
    }
    return count;
}

/* Lets as many paused receives go on as there are buffers: one more would only pause again. */
static void feed_starved(struct uring *uring)
{
    struct ring *ring = &uring->head;
    for (uint32_t i = uring->offered_count + ring->spare_count; i > 0 && ring->starved.first; i--) {
        struct ring_op *op = ring->starved.first;
        ring_ops_remove(&ring->starved, op);
        queue_op(uring, op);
    }
}

/* Buffers that the window lacks; at the start of a refill, what the turn before it used. */
static uint32_t lacking_count(const struct uring *uring)
{
    return uring->window > uring->offered_count ? uring->window - uring->offered_count : 0;
}

static void fit_window(struct uring *uring)
{
    if (lacking_count(uring) > uring->window_needed)
        uring->window_needed = lacking_count(uring);
    if (++uring->window_turns < WINDOW_PERIOD_TURNS)
        return;
    while (uring->window > WINDOW_MIN && uring->window / 2 > uring->window_needed)
        uring->window /= 2;
    uring->window_turns = uring->window_needed = 0;
}

/* Fills the window up, warmest buffer first. */
static void offer_buffers(struct uring *uring)
{
    struct ring *ring = &uring->head;
    fit_window(uring);
    uint32_t count = lacking_count(uring);
    if (count > ring->spare_count)
        count = ring->spare_count;
    if (count == 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t id = ring->spares[--ring->spare_count];
        io_uring_buf_ring_add(uring->buffer_ring, ring_buffer(ring, id), RING_BUFFER_BYTES, id,
                              (int)ring->buffer_count - 1, (int)i);
    }
    io_uring_buf_ring_advance(uring->buffer_ring, (int)count);
    uring->offered_count += count;
}

/* ---- Methods --------------------------------------------------------------------------------- */

static uint32_t uring_reap(struct ring *ring)
{
    struct uring *uring = uring_of(ring);
    if (unlikely(ring->starved.first))
        feed_starved(uring);
    const unsigned kernel_flags = __atomic_load_n(uring->kernel.sq.kflags, __ATOMIC_RELAXED);
    if (queued_count(uring) || (kernel_flags & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW))) {
        offer_buffers(uring);
        enter(uring, 0, IORING_ENTER_GETEVENTS, NULL);
    }
    return run_completions(uring);
}

static void uring_submit(struct ring *ring)
{
    struct uring *uring = uring_of(ring);
    if (queued_count(uring))
        enter(uring, 0, 0, NULL);
}

static uint32_t uring_wait(struct ring *ring, uint64_t timeout_ns)
{
    struct uring *uring = uring_of(ring);
    if (timeout_ns == 0 || ring->ended.first || has_completions(uring))
        return uring_reap(ring);
    if (unlikely(ring->starved.first))
        feed_starved(uring);
    offer_buffers(uring);
    struct __kernel_timespec timeout = {.tv_sec = (long long)(timeout_ns / 1000000000u),
                                        .tv_nsec = (long long)(timeout_ns % 1000000000u)};
    if (timeout_ns == UINT64_MAX)
        enter(uring, 1, IORING_ENTER_GETEVENTS, NULL);
    else
        enter(uring, 1, IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &timeout);
    return run_completions(uring);
}

static void uring_start(struct ring *ring, struct ring_op *op)
{
    op->place = RING_PLACE_KERNEL;
    queue_op(uring_of(ring), op);
}

static void uring_cancel(struct ring *ring, struct ring_op *op)
{
    if (op->place == RING_PLACE_STARVED) {
        ring_ops_remove(&ring->starved, op);
        ring_end(ring, op, -ECANCELED);
        return;
    }
    struct io_uring_sqe *entry = next_entry(uring_of(ring), 0);
    io_uring_prep_cancel64(entry, (uintptr_t)op | TAG_OP, 0);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    set_user(entry, NULL, TAG_CANCEL);
}

static void uring_wake(struct ring *ring, struct ring *peer)
{
    struct io_uring_sqe *entry = next_entry(uring_of(ring), 0);
    io_uring_prep_msg_ring(entry, uring_of(peer)->kernel.ring_fd, 0, TAG_WOKEN, 0);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    set_user(entry, peer, TAG_WAKE_SENT);
}

static void uring_destroy(struct ring *ring)
{
    struct uring *uring = uring_of(ring);
    io_uring_queue_exit(&uring->kernel);
    munmap(uring->buffer_ring, uring->buffer_ring_bytes);
    ring_head_fini(ring);
    mem_free(uring);
}

/* Makes the kernel's ring of `sq_entries` and registers its descriptor for this thread. */
static int set_up_kernel(struct uring *uring, unsigned sq_entries, unsigned cq_entries)
{
    struct io_uring_params params = {.flags = SETUP_FLAGS, .cq_entries = cq_entries};
    int r = io_uring_queue_init_params(sq_entries, &uring->kernel, &params);
    if (r < 0)
        return r;
    /* Entry i is always submitted as entry i: only the tail has to be told. */
    for (unsigned i = 0; i < params.sq_entries; i++)
        uring->kernel.sq.array[i] = i;
    /* Saves the look-up of the descriptor in every call; where it is refused, the call works
     * without. */
    uring->enter_fd = uring->kernel.ring_fd;
    if (io_uring_register_ring_fd(&uring->kernel) == 1) {
        uring->enter_fd = uring->kernel.enter_ring_fd;
        uring->enter_flags = IORING_ENTER_REGISTERED_RING;
    }
    return 0;
}

/* Makes and registers the ring of `count` buffers, empty. */
static int set_up_buffers(struct uring *uring, uint32_t count)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uring->buffer_ring_bytes = (count * sizeof(struct io_uring_buf) + page - 1) & ~(page - 1);
    void *memory = mmap(NULL, uring->buffer_ring_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    uring->buffer_ring = memory;
    struct io_uring_buf_reg registration = {
        .ring_addr = (uintptr_t)memory, .ring_entries = count, .bgid = BUFFER_GROUP};
    int r = io_uring_register_buf_ring(&uring->kernel, &registration, 0);
    if (r < 0)
        munmap(memory, uring->buffer_ring_bytes);
    return r;
}

static int uring_create(const struct ring_options *options, struct ring **out_ring)
{
    struct uring *uring = mem_zalloc(sizeof(*uring));
    int r = ring_head_init(&uring->head, &ring_uring_methods, RING_BACKEND_IO_URING,
                           options->buffer_count);
    if (r < 0)
        goto free_memory;
    r = set_up_kernel(uring, SQ_ENTRIES, CQ_ENTRIES);
    if (r < 0)
        goto fini_head;
    r = set_up_buffers(uring, options->buffer_count);
    if (r < 0)
        goto exit_kernel;
    uring->window = WINDOW_MIN;
    queue_wake_fd(uring);
    /* Armed from here on: who knows the ring may wake it, however soon. */
    enter(uring, 0, 0, NULL);
    *out_ring = &uring->head;
    return 0;

exit_kernel:
    io_uring_queue_exit(&uring->kernel);
fini_head:
    ring_head_fini(&uring->head);
free_memory:
    mem_free(uring);
    return r;
}

const struct ring_methods ring_uring_methods = {
    .create = uring_create,
    .destroy = uring_destroy,
    .start = uring_start,
    .cancel = uring_cancel,
    .reap = uring_reap,
    .submit = uring_submit,
    .wait = uring_wait,
    .wake = uring_wake,
};

/* ---- Probe ----------------------------------------------------------------------------------- */

/* kernel.io_uring_disabled, or -1 where there is no such setting. */
static int read_disabled(void)
{
    char text[16] = "";
    int fd = open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    close(fd);
    return got > 0 ? (int)strtol(text, NULL, 10) : -1;
}

/* One line: which call was refused, how, and what to change. */
static void explain(const char *call, int error, char *out_reason, size_t cap)
{
    const char *name = strerrorname_np(-error);
    const char *remedy = "see the manual page of this call";
    char text[160];
    int disabled = read_disabled();
    if (error == -EPERM && disabled > 0) {
        snprintf(text, sizeof(text),
                 "kernel.io_uring_disabled=%d: set it to 0%s, or allow io_uring_* in the "
                 "container's seccomp profile",
                 disabled, disabled == 1 ? " or join kernel.io_uring_group" : "");
        remedy = text;
    } else if (error == -EPERM || error == -EACCES) {
        remedy = "allow io_uring_* in the container's seccomp profile (or security module)";
    } else if (error == -ENOSYS) {
        remedy = "the kernel (or sandbox) has no io_uring: Linux 6.1 is needed, with "
                 "CONFIG_IO_URING, and io_uring_* allowed in the container's seccomp profile";
    } else if (error == -EINVAL || error == -EOPNOTSUPP) {
        remedy = "the kernel is too old: Linux 6.1 is needed";
    } else if (error == -ENOMEM) {
        remedy = "raise RLIMIT_MEMLOCK (ulimit -l) or the memory limit of the container";
    } else if (error == -EMFILE || error == -ENFILE) {
        remedy = "raise RLIMIT_NOFILE (ulimit -n)";
    }
    snprintf(out_reason, cap, "%s: %s; %s", call, name ? name : "error", remedy);
}

int ring_uring_probe(char *out_reason, size_t reason_cap)
{
    /* A small ring with all that we use: profiles exist that allow some of the three calls. */
    struct uring *uring = mem_zalloc(sizeof(*uring));
    const char *call = "io_uring_setup";
    int r = set_up_kernel(uring, 4, 8);
    if (r < 0)
        goto free_memory;
    call = "io_uring_register";
    r = set_up_buffers(uring, 1);
    if (r < 0)
        goto exit_kernel;
    munmap(uring->buffer_ring, uring->buffer_ring_bytes);
    call = "io_uring_enter";
    r = io_uring_enter2((unsigned)uring->enter_fd, 0, 0,
                        uring->enter_flags | IORING_ENTER_GETEVENTS, NULL, 0);

exit_kernel:
    io_uring_queue_exit(&uring->kernel);
free_memory:
    mem_free(uring);
    if (r < 0)
        explain(call, r, out_reason, reason_cap);
    return r < 0 ? r : 0;
}
