/*
 * What only io_uring can be refused: the reasons that ring_probe() names.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "core/os/ring.h"
#include "tests/support/deny.h"

static void probe_when_denied(int call, const char *call_name, int error, const char *error_name,
                              const char *remedy)
{
    if (deny_call(call, error) != 0)
        cr_skip_test("seccomp filters are forbidden here");
    char reason[256];
    cr_assert_eq(ring_probe(reason, sizeof(reason)), -error);
    cr_assert_eq(strncmp(reason, call_name, strlen(call_name)), 0, "%s", reason);
    cr_assert_not_null(strstr(reason, error_name), "%s", reason);
    cr_assert_not_null(strstr(reason, remedy), "%s", reason);
    cr_assert_null(strchr(reason, '\n'));
}

Test(ring_uring_probe, names_the_container_profile_when_set_up_is_denied)
{
    probe_when_denied(SYS_io_uring_setup, "io_uring_setup", EPERM, "EPERM", "seccomp");
}

Test(ring_uring_probe, names_the_kernel_when_the_call_is_missing)
{
    probe_when_denied(SYS_io_uring_setup, "io_uring_setup", ENOSYS, "ENOSYS", "6.1");
}

Test(ring_uring_probe, names_the_version_when_a_flag_is_unknown)
{
    probe_when_denied(SYS_io_uring_setup, "io_uring_setup", EINVAL, "EINVAL", "too old");
}

Test(ring_uring_probe, finds_out_when_only_registering_is_denied)
{
    char reason[256];
    if (ring_probe(reason, sizeof(reason)) != 0)
        cr_skip_test("%s", reason);
    probe_when_denied(SYS_io_uring_register, "io_uring_register", EPERM, "EPERM", "seccomp");
}

Test(ring_uring_probe, finds_out_when_only_entering_is_denied)
{
    char reason[256];
    if (ring_probe(reason, sizeof(reason)) != 0)
        cr_skip_test("%s", reason);
    probe_when_denied(SYS_io_uring_enter, "io_uring_enter", EPERM, "EPERM", "seccomp");
}

Test(ring_uring_probe, auto_falls_back_to_epoll_and_io_uring_is_an_error)
{
    if (deny_call(SYS_io_uring_setup, EPERM) != 0)
        cr_skip_test("seccomp filters are forbidden here");
    struct ring *ring = NULL;
    struct ring_options options = {.backend = RING_BACKEND_IO_URING, .buffer_count = 64};
    cr_assert_eq(ring_create(&options, &ring), -EPERM);
    cr_assert_null(ring);
    options.backend = RING_BACKEND_AUTO;
    cr_assert_eq(ring_create(&options, &ring), 0);
    cr_assert_eq(ring_backend(ring), RING_BACKEND_EPOLL);
    ring_destroy(ring);
}

#define PATIENCE_NS 20000000000u /* a wait that only a failing test sits out */

static size_t received_len;
static struct ring *receiving_ring;

static void count_bytes(struct ring_op *op, const struct ring_event *event)
{
    (void)op;
    received_len += event->result > 0 ? (size_t)event->result : 0;
    if (event->buffer)
        ring_buffer_release(receiving_ring, event->buffer_id);
}

static int send_result;

static void note_result(struct ring_op *op, const struct ring_event *event)
{
    (void)op;
    send_result = event->result;
}

/* One submission takes 1 GiB; what is longer goes in pieces. Pages that nobody wrote to are all the
 * same page, so this needs no memory. */
Test(ring_uring_only, sends_more_than_one_submission_can_carry)
{
    const size_t len = (1u << 30) + 5;
    struct ring_options options = {.backend = RING_BACKEND_IO_URING, .buffer_count = 64};
    char reason[256];
    if (ring_probe(reason, sizeof(reason)) != 0)
        cr_skip_test("%s", reason);
    cr_assert_eq(ring_create(&options, &receiving_ring), 0);
    char *sent = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(sent, MAP_FAILED);
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct ring_op in = {.done = count_bytes}, out = {.done = note_result};
    ring_receive(receiving_ring, &in, fds[0]);
    ring_send(receiving_ring, &out, fds[1], sent, len);
    while (received_len < len && ring_wait(receiving_ring, PATIENCE_NS) > 0)
        ;
    while (out.armed && ring_wait(receiving_ring, PATIENCE_NS) > 0)
        ;
    cr_assert_eq(received_len, len);
    cr_assert_eq(send_result, (int)len);
    ring_destroy(receiving_ring);
    munmap(sent, len);
}

Test(ring_uring_probe, cuts_a_reason_that_does_not_fit)
{
    if (deny_call(SYS_io_uring_setup, EPERM) != 0)
        cr_skip_test("seccomp filters are forbidden here");
    char reason[8];
    cr_assert_eq(ring_probe(reason, sizeof(reason)), -EPERM);
    cr_assert_str_eq(reason, "io_urin");
}
