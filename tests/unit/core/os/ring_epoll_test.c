/*
 * What only epoll needs: older kernels, and descriptors that come and go under one number.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/os/ring.h"
#include "tests/support/deny.h"

struct witness {
    struct ring_op op;
    struct ring *ring;
    int calls, ends, result;
};

static void remember(struct ring_op *op, const struct ring_event *event)
{
    struct witness *witness = (struct witness *)op;
    witness->calls++;
    witness->ends += !event->more;
    witness->result = event->result;
    if (event->buffer)
        ring_buffer_release(witness->ring, event->buffer_id);
}

static struct ring *make_ring(void)
{
    struct ring *ring;
    struct ring_options options = {.backend = RING_BACKEND_EPOLL, .buffer_count = 64};
    cr_assert_eq(ring_create(&options, &ring), 0);
    return ring;
}

Test(ring_epoll_only, waits_in_milliseconds_where_nanoseconds_are_missing)
{
    if (deny_call(SYS_epoll_pwait2, ENOSYS) != 0)
        cr_skip_test("seccomp filters are forbidden here");
    struct ring *ring = make_ring();
    cr_assert_eq(ring_wait(ring, 1), 0);
    cr_assert_eq(ring_reap(ring), 0);
    ring_wake(NULL, ring);
    cr_assert_eq(ring_wait(ring, UINT64_MAX), 0);
    ring_destroy(ring);
}

Test(ring_epoll_only, what_epoll_cannot_watch_is_an_error_of_the_op)
{
    struct ring *ring = make_ring();
    int fd = open("/proc/self/stat", O_RDONLY);
    struct witness in = {.op.done = remember, .ring = ring};
    ring_poll(ring, &in.op, fd);
    cr_assert_eq(in.calls, 0, "done outside of ring_reap() and ring_wait()");
    ring_wait(ring, UINT64_MAX);
    cr_assert_eq(in.ends, 1);
    cr_assert_eq(in.result, -EPERM);
    close(fd);
    ring_destroy(ring);
}

Test(ring_epoll_only, a_descriptor_number_that_comes_back_is_watched_afresh)
{
    struct ring *ring = make_ring();
    int first = -1;
    for (int i = 0; i < 3; i++) {
        int fds[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        first = i == 0 ? fds[0] : first;
        cr_assert_eq(fds[0], first);
        struct witness in = {.op.done = remember, .ring = ring};
        ring_receive(ring, &in.op, fds[0]);
        cr_assert_eq(write(fds[1], "x", 1), 1);
        ring_wait(ring, UINT64_MAX);
        cr_assert_eq(in.result, 1);
        close(fds[1]);
        ring_wait(ring, UINT64_MAX);
        while (!in.ends)
            ring_reap(ring);
        cr_assert_eq(in.result, 0);
        close(fds[0]);
    }
    ring_destroy(ring);
}

Test(ring_epoll_only, a_peer_that_hangs_up_while_nothing_is_armed_does_not_keep_us_awake)
{
    struct ring *ring = make_ring();
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    struct witness in = {.op.done = remember, .ring = ring};
    ring_receive(ring, &in.op, fds[0]);
    ring_reap(ring);
    ring_cancel(ring, &in.op);
    ring_reap(ring);
    cr_assert_eq(in.result, -ECANCELED);
    close(fds[1]);
    for (int i = 0; i < 10; i++)
        cr_assert_eq(ring_reap(ring), 0);
    cr_assert_eq(in.calls, 1);
    ring_destroy(ring);
}

static int drained_fds[2]; /* each of two sockets, by the other's `done` */
static struct witness drained[2];

static void drain_the_other(struct ring_op *op, const struct ring_event *event)
{
    char byte;
    remember(op, event);
    (void)!recv(drained_fds[op == &drained[0].op], &byte, 1, MSG_DONTWAIT);
}

Test(ring_epoll_only, a_socket_that_was_ready_and_is_empty_when_its_turn_comes_stays_armed)
{
    struct ring *ring = make_ring();
    int peers[2];
    for (int i = 0; i < 2; i++) {
        int fds[2];
        cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        drained_fds[i] = fds[0];
        peers[i] = fds[1];
        drained[i] = (struct witness){.op.done = drain_the_other, .ring = ring};
        ring_receive(ring, &drained[i].op, fds[0]);
        cr_assert_eq(write(fds[1], "x", 1), 1);
    }
    cr_assert_eq(ring_wait(ring, UINT64_MAX), 1);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(drained[i].ends, 0);
        drained[i].op.done = remember;
        drained[i].calls = 0;
        cr_assert_eq(write(peers[i], "y", 1), 1);
    }
    ring_wait(ring, UINT64_MAX);
    cr_assert_eq(drained[0].calls + drained[1].calls, 2);
    ring_destroy(ring);
}
