/*
 * The promises of ring.h, each checked on both backends; io_uring's are skipped where it is denied.
 */
#include "core/os/ring.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BUFFERS 64u
/* Waits have no limit of their own: what should end one and does not runs into this. */
#define TIMEOUT_S 60

/* Defines a function of the backend, and a test of it for each backend. */
#define RING_TEST(name)                                                                            \
    static void name(enum ring_backend backend);                                                   \
    Test(ring_uring, name, .timeout = TIMEOUT_S)                                                   \
    {                                                                                              \
        char reason[256];                                                                          \
        if (ring_probe(reason, sizeof(reason)) != 0)                                               \
            cr_skip_test("%s", reason);                                                            \
        name(RING_BACKEND_IO_URING);                                                               \
    }                                                                                              \
    Test(ring_epoll, name, .timeout = TIMEOUT_S)                                                   \
    {                                                                                              \
        name(RING_BACKEND_EPOLL);                                                                  \
    }                                                                                              \
    static void name(enum ring_backend backend)

/* An op that remembers what it was told. */
struct listener {
    struct ring_op op;
    struct ring *ring;
    int calls;
    int ends; /* calls with more = false */
    int result;
    uint16_t held[1024]; /* buffers not yet given back */
    uint32_t held_count;
    bool keeps_buffers;
    char *data; /* received so far; NULL: only counted */
    size_t data_len, data_cap;
};

static void remember(struct ring_op *op, const struct ring_event *event)
{
    struct listener *listener = (struct listener *)op;
    cr_assert_eq(listener->ends, 0, "a call after the last one");
    listener->calls++;
    listener->ends += !event->more;
    listener->result = event->result;
    if (!event->buffer)
        return;
    cr_assert_gt(event->result, 0);
    cr_assert_leq((unsigned)event->result, RING_BUFFER_BYTES);
    if (listener->data) {
        cr_assert_leq(listener->data_len + (size_t)event->result, listener->data_cap);
        memcpy(listener->data + listener->data_len, event->buffer, (size_t)event->result);
    }
    listener->data_len += (size_t)event->result;
    if (listener->keeps_buffers)
        listener->held[listener->held_count++] = event->buffer_id;
    else
        ring_buffer_release(listener->ring, event->buffer_id);
}

static struct listener listener_on(struct ring *ring)
{
    return (struct listener){.op.done = remember, .ring = ring};
}

static struct ring *make_ring(enum ring_backend backend)
{
    struct ring *ring;
    struct ring_options options = {.backend = backend, .buffer_count = BUFFERS};
    cr_assert_eq(ring_create(&options, &ring), 0);
    cr_assert_eq(ring_backend(ring), backend);
    return ring;
}

static void make_pair(int out_fds[2])
{
    /* Blocking sockets: the ring must not block on them. */
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out_fds), 0);
}

/* Turns the loop until the listener has ended. */
static void wait_for_end(struct ring *ring, const struct listener *listener)
{
    while (!listener->ends)
        ring_wait(ring, UINT64_MAX);
    cr_assert_eq(listener->ends, 1);
}

static void wait_for_data(struct ring *ring, const struct listener *listener, size_t len)
{
    while (listener->data_len < len)
        ring_wait(ring, UINT64_MAX);
    cr_assert_eq(listener->data_len, len);
}

static void cancel_and_wait(struct ring *ring, struct listener *listener)
{
    ring_cancel(ring, &listener->op);
    wait_for_end(ring, listener);
}

/* Bytes that differ from those before and after, so that a piece out of place shows. */
static void fill(char *ptr, size_t len)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525u + 1013904223u;
        ptr[i] = (char)(state >> 24);
    }
}

RING_TEST(receives_again_and_again_until_the_peer_closes)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(write(fds[1], "hello", 5), 5);
        wait_for_data(ring, &in, (size_t)i * 5);
        cr_assert_eq(in.ends, 0);
        cr_assert(in.op.armed);
    }
    close(fds[1]);
    wait_for_end(ring, &in);
    cr_assert_eq(in.result, 0, "the end of the stream");
    cr_assert_not(in.op.armed);
    close(fds[0]);
    ring_destroy(ring);
}

RING_TEST(receives_more_than_one_buffer_in_order)
{
    enum { LEN = 5 * RING_BUFFER_BYTES + 123 };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    static char sent[LEN], received[LEN];
    fill(sent, LEN);
    struct listener in = listener_on(ring);
    in.data = received;
    in.data_cap = LEN;
    ring_receive(ring, &in.op, fds[0]);
    cr_assert_eq(write(fds[1], sent, LEN), LEN);
    wait_for_data(ring, &in, LEN);
    cr_assert_geq(in.calls, 6);
    cr_assert_eq(memcmp(in.data, sent, LEN), 0);
    cancel_and_wait(ring, &in);
    ring_destroy(ring);
}

RING_TEST(a_receive_without_buffers_pauses_and_goes_on_by_itself)
{
    enum { LEN = (BUFFERS + 3) * RING_BUFFER_BYTES };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    int room = 2 * LEN;
    setsockopt(fds[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    static char sent[LEN], received[LEN];
    fill(sent, LEN);

    struct listener in = listener_on(ring), out = listener_on(ring);
    in.data = received;
    in.data_cap = LEN;
    in.keeps_buffers = true;
    ring_receive(ring, &in.op, fds[0]);
    ring_send(ring, &out.op, fds[1], sent, LEN);
    while (in.held_count < BUFFERS)
        ring_wait(ring, UINT64_MAX);
    cr_assert_eq(in.held_count, BUFFERS);
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(in.calls, (int)BUFFERS, "received without a buffer");
    cr_assert_eq(in.ends, 0, "a lack of buffers is not the end");

    in.keeps_buffers = false;
    while (in.held_count > 0)
        ring_buffer_release(ring, in.held[--in.held_count]);
    wait_for_data(ring, &in, LEN);
    wait_for_end(ring, &out);
    cr_assert_eq(out.result, LEN);
    cr_assert_eq(memcmp(in.data, sent, LEN), 0);
    cancel_and_wait(ring, &in);
    ring_destroy(ring);
}

RING_TEST(a_paused_receive_can_be_cancelled)
{
    struct ring *ring = make_ring(backend);
    int fds[2][2];
    make_pair(fds[0]);
    make_pair(fds[1]);
    struct listener greedy = listener_on(ring), hungry = listener_on(ring);
    greedy.keeps_buffers = true;
    ring_receive(ring, &greedy.op, fds[0][0]);
    for (uint32_t i = 1; i <= BUFFERS; i++) {
        cr_assert_eq(write(fds[0][1], "x", 1), 1);
        wait_for_data(ring, &greedy, i);
    }
    ring_receive(ring, &hungry.op, fds[1][0]);
    cr_assert_eq(write(fds[1][1], "x", 1), 1);
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(hungry.calls, 0);
    cancel_and_wait(ring, &hungry);
    cr_assert_eq(hungry.result, -ECANCELED);
    cancel_and_wait(ring, &greedy);
    ring_destroy(ring);
}

RING_TEST(many_paused_receives_share_few_buffers_without_starving)
{
    enum { PAIRS = 200 };
    struct ring *ring = make_ring(backend);
    static struct listener in[PAIRS];
    int fds[PAIRS][2];
    for (int i = 0; i < PAIRS; i++) {
        make_pair(fds[i]);
        in[i] = listener_on(ring);
        in[i].keeps_buffers = true;
        ring_receive(ring, &in[i].op, fds[i][0]);
        cr_assert_eq(write(fds[i][1], "x", 1), 1);
    }
    uint32_t served = 0;
    while (served < PAIRS) {
        ring_wait(ring, UINT64_MAX);
        for (int i = 0; i < PAIRS; i++)
            while (in[i].held_count > 0) {
                ring_buffer_release(ring, in[i].held[--in[i].held_count]);
                served++;
            }
    }
    cr_assert_eq(served, PAIRS);
    ring_destroy(ring);
}

RING_TEST(sends_8_mib_to_a_slow_reader_whole_and_in_order)
{
    enum { LEN = 8 << 20, SIP = 50000 };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    static char sent[LEN], received[LEN];
    fill(sent, LEN);
    struct listener out = listener_on(ring);
    ring_send(ring, &out.op, fds[1], sent, LEN);
    size_t received_len = 0;
    while (received_len < LEN) {
        ring_reap(ring);
        ssize_t n = recv(fds[0], received + received_len,
                         LEN - received_len < SIP ? LEN - received_len : SIP, MSG_DONTWAIT);
        if (n > 0)
            received_len += (size_t)n;
        if (received_len < LEN / 2)
            cr_assert_eq(out.calls, 0, "a send was called complete too early");
    }
    wait_for_end(ring, &out);
    cr_assert_eq(out.result, LEN);
    cr_assert_eq(memcmp(sent, received, LEN), 0);
    ring_destroy(ring);
}

RING_TEST(a_send_to_a_closed_peer_is_an_error_and_no_signal)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    close(fds[0]);
    struct listener out = listener_on(ring);
    ring_send(ring, &out.op, fds[1], "hello", 5);
    wait_for_end(ring, &out);
    cr_assert_eq(out.result, -EPIPE);
    ring_destroy(ring);
}

RING_TEST(a_blocked_send_can_be_cancelled)
{
    enum { LEN = 8 << 20 };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    static char sent[LEN];
    struct listener out = listener_on(ring);
    ring_send(ring, &out.op, fds[1], sent, LEN);
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(out.calls, 0);
    cancel_and_wait(ring, &out);
    cr_assert_eq(out.result, -ECANCELED);
    ring_destroy(ring);
}

RING_TEST(an_op_cancelled_before_the_kernel_has_it_ends_once)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    ring_cancel(ring, &in.op);
    ring_cancel(ring, &in.op);
    wait_for_end(ring, &in);
    cr_assert_eq(in.result, -ECANCELED);
    cr_assert_eq(in.calls, 1);
    ring_cancel(ring, &in.op);
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(in.calls, 1, "cancelling an op at rest did something");
    ring_destroy(ring);
}

RING_TEST(a_send_cancelled_in_its_turn_ends_once)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener out = listener_on(ring);
    ring_send(ring, &out.op, fds[1], "hello", 5);
    ring_cancel(ring, &out.op);
    wait_for_end(ring, &out);
    cr_assert(out.result == -ECANCELED || out.result == 5, "io_uring may send it first");
    char bytes[8];
    ssize_t sent = recv(fds[0], bytes, sizeof(bytes), MSG_DONTWAIT);
    cr_assert_eq(sent, out.result == 5 ? 5 : -1, "what was sent is not what was told");
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(out.calls, 1);
    ring_destroy(ring);
}

static void cancel_at_once(struct ring_op *op, const struct ring_event *event)
{
    struct listener *listener = (struct listener *)op;
    if (event->more)
        ring_cancel(listener->ring, op);
    remember(op, event);
}

RING_TEST(an_op_cancelled_by_its_own_done_ends_once)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    in.op.done = cancel_at_once;
    ring_receive(ring, &in.op, fds[0]);
    cr_assert_eq(write(fds[1], "hello", 5), 5);
    wait_for_end(ring, &in);
    cr_assert_eq(in.data_len, 5);
    for (int i = 0; i < 3; i++)
        ring_reap(ring);
    cr_assert_eq(in.ends, 1);
    ring_destroy(ring);
}

RING_TEST(a_cancelled_receive_can_start_again_and_loses_nothing)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    for (size_t i = 1; i <= 10; i++) {
        in.ends = 0;
        ring_receive(ring, &in.op, fds[0]);
        cr_assert_eq(write(fds[1], "abc", 3), 3);
        wait_for_data(ring, &in, 3 * i);
        cancel_and_wait(ring, &in);
    }
    ring_destroy(ring);
}

RING_TEST(a_descriptor_closed_after_its_last_done_tells_the_peer)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    ring_submit(ring);
    cancel_and_wait(ring, &in);
    close(fds[0]);
    struct pollfd peer = {.fd = fds[1], .events = POLLIN};
    cr_assert_eq(poll(&peer, 1, 10000), 1);
    char byte;
    cr_assert_eq(read(fds[1], &byte, 1), 0);
    ring_destroy(ring);
}

/* A listening socket in the abstract namespace: no file, no port. */
static int listen_on(const char *name, struct sockaddr_un *out_address, socklen_t *out_len)
{
    *out_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int len = snprintf(out_address->sun_path + 1, sizeof(out_address->sun_path) - 1,
                       "sherd-ring-test-%d-%s", (int)getpid(), name);
    *out_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* blocking: the ring must not block */
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)out_address, *out_len), 0);
    cr_assert_eq(listen(fd, 128), 0);
    return fd;
}

static int connect_to(const struct sockaddr_un *address, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)address, len), 0);
    return fd;
}

RING_TEST(accepts_again_and_again)
{
    struct ring *ring = make_ring(backend);
    struct sockaddr_un address;
    socklen_t len;
    int fd = listen_on("many", &address, &len);
    struct listener door = listener_on(ring);
    ring_accept(ring, &door.op, fd);
    for (int i = 1; i <= 100; i++) {
        int client = connect_to(&address, len);
        if (i % 3 == 0)
            continue; /* several at once, too */
        while (door.calls < i)
            ring_wait(ring, UINT64_MAX);
        cr_assert_eq(door.calls, i);
        cr_assert_geq(door.result, 0);
        cr_assert(fcntl(door.result, F_GETFL) & O_NONBLOCK);
        cr_assert(fcntl(door.result, F_GETFD) & FD_CLOEXEC);
        close(door.result);
        close(client);
    }
    cancel_and_wait(ring, &door);
    cr_assert_eq(door.result, -ECANCELED);
    ring_destroy(ring);
}

static void echo(struct ring_op *op, const struct ring_event *event)
{
    static struct listener replies[16];
    static int reply_count;
    struct listener *listener = (struct listener *)op;
    remember(op, event);
    if (event->result > 0) {
        struct listener *reply = &replies[reply_count++];
        *reply = listener_on(listener->ring);
        ring_send(listener->ring, &reply->op, op->fd, "pong", 4);
    }
}

RING_TEST(ops_may_be_started_inside_done)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring), client = listener_on(ring);
    in.op.done = echo;
    ring_receive(ring, &in.op, fds[0]);
    ring_receive(ring, &client.op, fds[1]);
    for (size_t i = 1; i <= 5; i++) {
        struct listener ping = listener_on(ring);
        ring_send(ring, &ping.op, fds[1], "ping", 4);
        wait_for_data(ring, &client, 4 * i);
        while (!ping.ends)
            ring_reap(ring);
        cr_assert_eq(ping.result, 4);
    }
    ring_destroy(ring);
}

RING_TEST(more_ops_in_a_turn_than_the_queue_has_entries)
{
    enum { SENDS = 5000 };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    static struct listener out[SENDS];
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    for (int i = 0; i < SENDS; i++) {
        out[i] = listener_on(ring);
        if (backend == RING_BACKEND_IO_URING || i == 0) {
            ring_send(ring, &out[i].op, fds[1], "x", 1);
            continue;
        }
        /* epoll takes one send of a socket at a time: give it time to be over. */
        wait_for_end(ring, &out[i - 1]);
        ring_send(ring, &out[i].op, fds[1], "x", 1);
    }
    wait_for_data(ring, &in, SENDS);
    ring_destroy(ring);
}

RING_TEST(more_completions_in_a_turn_than_the_queue_holds)
{
    enum { SENDS = 20000 };
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    close(fds[0]);
    static struct listener out[SENDS];
    for (int i = 0; i < SENDS; i++) {
        out[i] = listener_on(ring);
        ring_send(ring, &out[i].op, fds[1], "x", 1); /* fails, and so is over at once */
    }
    uint32_t count = 0;
    while (count < SENDS)
        count += ring_wait(ring, UINT64_MAX);
    cr_assert_eq(count, SENDS);
    for (int i = 0; i < SENDS; i++) {
        cr_assert_eq(out[i].ends, 1);
        cr_assert_eq(out[i].result, -EPIPE);
    }
    ring_destroy(ring);
}

/* Queues so many sends that fail at once that io_uring's queue of completions overflows; it then
 * ends multishot ops, which find no room for theirs. Returns the last of the sends. */
static struct listener *flood(struct ring *ring)
{
    enum { SENDS = 20000 };
    static struct listener out[SENDS];
    int fds[2];
    make_pair(fds);
    close(fds[0]);
    for (int i = 0; i < SENDS; i++) {
        out[i] = listener_on(ring);
        ring_send(ring, &out[i].op, fds[1], "x", 1);
    }
    return &out[SENDS - 1];
}

RING_TEST(a_receive_goes_on_after_the_queue_was_full)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    ring_reap(ring);
    struct listener *last = flood(ring);
    cr_assert_eq(write(fds[1], "a", 1), 1);
    wait_for_data(ring, &in, 1);
    wait_for_end(ring, last);
    cr_assert_eq(write(fds[1], "b", 1), 1);
    wait_for_data(ring, &in, 2);
    cr_assert_eq(in.ends, 0);
    ring_destroy(ring);
}

RING_TEST(a_receive_cancelled_while_the_queue_is_full_ends)
{
    struct ring *ring = make_ring(backend);
    int fds[2];
    make_pair(fds);
    struct listener in = listener_on(ring);
    ring_receive(ring, &in.op, fds[0]);
    ring_reap(ring);
    struct listener *last = flood(ring);
    cr_assert_eq(write(fds[1], "a", 1), 1);
    ring_reap(ring);
    cancel_and_wait(ring, &in);
    wait_for_end(ring, last);
    ring_destroy(ring);
}

RING_TEST(a_wake_works_after_the_queue_was_full)
{
    struct ring *ring = make_ring(backend);
    struct listener *last = flood(ring);
    ring_wake(NULL, ring);
    wait_for_end(ring, last);
    while (ring_reap(ring) > 0)
        ;
    ring_wait(ring, 1); /* may still see the first wake */
    ring_wake(NULL, ring);
    ring_wait(ring, UINT64_MAX);
    ring_destroy(ring);
}

RING_TEST(an_accept_without_descriptors_ends_with_an_error_and_can_start_again)
{
    struct ring *ring = make_ring(backend);
    struct sockaddr_un address;
    socklen_t len;
    int fd = listen_on("full", &address, &len);
    struct listener door = listener_on(ring);
    int client = connect_to(&address, len);
    struct rlimit limit, none;
    getrlimit(RLIMIT_NOFILE, &limit);
    none = (struct rlimit){(rlim_t)client + 1, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    ring_accept(ring, &door.op, fd); /* io_uring remembers the limit of this moment */
    wait_for_end(ring, &door);
    cr_assert_eq(door.result, -EMFILE);

    setrlimit(RLIMIT_NOFILE, &limit);
    door.ends = 0;
    ring_accept(ring, &door.op, fd);
    while (door.result < 0)
        ring_wait(ring, UINT64_MAX);
    cr_assert_geq(door.result, 0);
    cr_assert_eq(door.ends, 0);
    ring_destroy(ring);
}

RING_TEST(polls_until_cancelled)
{
    struct ring *ring = make_ring(backend);
    int fd = eventfd(0, EFD_NONBLOCK);
    struct listener bell = listener_on(ring);
    ring_poll(ring, &bell.op, fd);
    ring_reap(ring);
    cr_assert_eq(bell.calls, 0);
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(eventfd_write(fd, 1), 0);
        while (bell.calls < i)
            ring_wait(ring, UINT64_MAX);
        cr_assert(bell.result & POLLIN);
        eventfd_t value;
        cr_assert_eq(eventfd_read(fd, &value), 0);
    }
    cr_assert_eq(bell.calls, 3);
    cancel_and_wait(ring, &bell);
    cr_assert_eq(bell.result, -ECANCELED);
    ring_destroy(ring);
}

RING_TEST(a_wait_ends_when_its_time_is_over)
{
    struct ring *ring = make_ring(backend);
    cr_assert_eq(ring_wait(ring, 1000000), 0);
    cr_assert_eq(ring_wait(ring, 0), 0);
    cr_assert_eq(ring_reap(ring), 0);
    ring_destroy(ring);
}

/* A wait without limit: had the wake been lost, it would never end. */
RING_TEST(a_wake_before_the_wait_is_not_lost)
{
    struct ring *ring = make_ring(backend);
    for (int i = 0; i < 3; i++) {
        ring_wake(NULL, ring);
        ring_wait(ring, UINT64_MAX);
    }
    ring_destroy(ring);
}

static long sleeps_of_thread(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

RING_TEST(a_wake_ends_one_wait_and_the_next_one_sleeps_again)
{
    struct ring *ring = make_ring(backend);
    for (int i = 0; i < 5; i++)
        ring_wake(NULL, ring);
    ring_wait(ring, UINT64_MAX);
    long before = sleeps_of_thread();
    for (int i = 0; i < 10; i++)
        ring_wait(ring, 100000);
    cr_assert_geq(sleeps_of_thread() - before, 5, "a wake that was seen goes on waking");
    ring_destroy(ring);
}

struct sleeper {
    enum ring_backend backend;
    struct ring *ring;
    pthread_barrier_t made, leaving;
    int rounds;
};

static void *sleep_and_be_woken(void *context)
{
    struct sleeper *sleeper = context;
    sleeper->ring = make_ring(sleeper->backend);
    pthread_barrier_wait(&sleeper->made);
    for (int i = 0; i < sleeper->rounds; i++) {
        ring_wait(sleeper->ring, UINT64_MAX);
        pthread_barrier_wait(&sleeper->leaving);
    }
    ring_destroy(sleeper->ring);
    return NULL;
}

static void wake_from_another_thread(enum ring_backend backend, bool with_own_ring)
{
    struct sleeper sleeper = {.backend = backend, .rounds = 100};
    pthread_barrier_init(&sleeper.made, NULL, 2);
    pthread_barrier_init(&sleeper.leaving, NULL, 2);
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_and_be_woken, &sleeper);
    pthread_barrier_wait(&sleeper.made);
    struct ring *own = with_own_ring ? make_ring(backend) : NULL;
    for (int i = 0; i < sleeper.rounds; i++) {
        ring_wake(own, sleeper.ring);
        if (own)
            ring_submit(own);
        pthread_barrier_wait(&sleeper.leaving);
    }
    pthread_join(thread, NULL);
    if (own)
        cr_assert_eq(ring_reap(own), 0, "a wake that worked is no completion");
    ring_destroy(own);
}

RING_TEST(a_thread_without_a_ring_wakes)
{
    wake_from_another_thread(backend, false);
}

RING_TEST(a_thread_wakes_through_its_own_ring)
{
    wake_from_another_thread(backend, true);
}

RING_TEST(a_ring_of_one_backend_wakes_one_of_the_other)
{
    char reason[256];
    if (ring_probe(reason, sizeof(reason)) != 0)
        cr_skip_test("%s", reason);
    struct ring *peer = make_ring(backend);
    struct ring *own = make_ring(backend == RING_BACKEND_EPOLL ? RING_BACKEND_IO_URING
                                                               : RING_BACKEND_EPOLL);
    ring_wake(own, peer);
    ring_submit(own);
    ring_wait(peer, UINT64_MAX);
    ring_destroy(own);
    ring_destroy(peer);
}

static void ignore_signal(int number)
{
    (void)number;
}

struct nuisance {
    pthread_t target;
    atomic_bool enough;
};

static void *send_signals(void *context)
{
    struct nuisance *nuisance = context;
    while (!atomic_load(&nuisance->enough)) {
        pthread_kill(nuisance->target, SIGUSR1);
        sched_yield();
    }
    return NULL;
}

RING_TEST(a_signal_ends_a_wait)
{
    struct ring *ring = make_ring(backend);
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    struct nuisance nuisance = {.target = pthread_self()};
    pthread_t thread;
    pthread_create(&thread, NULL, send_signals, &nuisance);
    cr_assert_eq(ring_wait(ring, UINT64_MAX), 0);
    atomic_store(&nuisance.enough, true);
    pthread_join(thread, NULL);
    ring_destroy(ring);
}

RING_TEST(a_turn_with_many_ready_sockets_serves_each)
{
    enum { PAIRS = 300 };
    struct ring *ring = make_ring(backend);
    static struct listener in[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        int fds[2];
        make_pair(fds);
        in[i] = listener_on(ring);
        ring_receive(ring, &in[i].op, fds[0]);
        cr_assert_eq(write(fds[1], "hello", 5), 5);
    }
    for (int i = 0; i < PAIRS; i++)
        wait_for_data(ring, &in[i], 5);
    ring_destroy(ring);
}

Test(ring, auto_takes_what_the_probe_allows)
{
    char reason[256];
    int r = ring_probe(reason, sizeof(reason));
    struct ring *ring;
    struct ring_options options = {.backend = RING_BACKEND_AUTO, .buffer_count = BUFFERS};
    cr_assert_eq(ring_create(&options, &ring), 0);
    cr_assert_eq(ring_backend(ring), r == 0 ? RING_BACKEND_IO_URING : RING_BACKEND_EPOLL);
    cr_assert_eq(reason[0] == 0, r == 0);
    ring_destroy(ring);
}

Test(ring, destroying_nothing_is_allowed)
{
    ring_destroy(NULL);
}
