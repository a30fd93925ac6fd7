/*
 * house: a small server for the tests of net: a ring, its connections, and clients at the other end
 * of a socket pair. Time is what a test says it is. Each test runs with either backend.
 */
#pragma once

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "net/conn.h"

#define TURNS_MAX 2000 /* of a millisecond at most, which only a failing test uses up */

struct house {
    struct ring *ring;
    struct conns *conns;
    struct conn_options options;
    struct arena arena;
    struct conn *ready;
    struct buf notes; /* the words of all commands, in brackets, a line a command */
    int opened, inputs, closed;
    int64_t now_ms;
    const char *reply;   /* to each command; "" for none */
    bool keeps_ready;    /* leaves connections on the ready list, unserved */
    bool closes_at_once; /* from inside on_input */
};

static inline void house_on_open(void *context, struct conn *conn)
{
    struct house *house = context;
    house->opened++;
    conn->trusted = true;
}

static inline void house_on_input(void *context, struct conn *conn)
{
    struct house *house = context;
    house->inputs++;
    if (house->closes_at_once)
        conn_close(conn);
    if (conn->is_ready)
        return;
    conn->is_ready = true;
    conn->next_ready = house->ready;
    house->ready = conn;
}

static inline void house_on_close(void *context, struct conn *conn)
{
    ((struct house *)context)->closed++;
}

/* Reads all there is, replies to each command, and to an error as a server does. */
static inline void house_serve(struct house *house, struct conn *conn)
{
    struct args args;
    struct bytes error;
    enum conn_next_result result = CONN_NEXT_NONE;
    while (conn_may_parse(conn) &&
           (result = conn_next(conn, &house->arena, &args, &error)) == CONN_NEXT_COMMAND) {
        for (uint32_t i = 0; i < args.count; i++) {
            buf_add_char(&house->notes, '[');
            buf_add_bytes(&house->notes, args.words[i]);
            buf_add_char(&house->notes, ']');
        }
        buf_add_char(&house->notes, '\n');
        if (*house->reply)
            buf_add_text(conn_output(conn), house->reply);
    }
    if (result == CONN_NEXT_ERROR) {
        struct buf *out = conn_output(conn);
        buf_add_char(out, '-');
        buf_add_bytes(out, error);
        buf_add_text(out, "\r\n");
        conn_finish(conn);
    }
    conn_settle(conn);
    arena_reset(&house->arena, 4096);
}

/* One turn of a loop. */
static inline void house_turn(struct house *house)
{
    ring_wait(house->ring, 1000000);
    while (house->ready && !house->keeps_ready) {
        struct conn *conn = house->ready;
        house->ready = conn->next_ready;
        conn->is_ready = false;
        house_serve(house, conn);
    }
    conns_flush(house->conns, house->now_ms);
    ring_submit(house->ring);
}

/* The condition is tried before each turn, and no more once it was true. */
#define house_turn_until(house, condition)                                                         \
    do {                                                                                           \
        bool is_true_ = false;                                                                     \
        for (int turns_ = 0; !(is_true_ = (condition)) && turns_ < TURNS_MAX; turns_++)            \
            house_turn(house);                                                                     \
        cr_assert(is_true_, "%s", #condition);                                                     \
    } while (0)

static inline void house_turns(struct house *house, int count)
{
    for (int i = 0; i < count; i++)
        house_turn(house);
}

static inline void house_init(struct house *house, enum ring_backend backend)
{
    char reason[256];
    if (backend == RING_BACKEND_IO_URING && ring_probe(reason, sizeof(reason)) != 0)
        cr_skip_test("no io_uring here: %s", reason);
    *house = (struct house){.reply = "+OK\r\n", .now_ms = 1000000};
    house->options.query_buffer_max = 1u << 30;
    house->options.bulk_max = 512u << 20;
    struct ring_options ring_options = {.backend = backend, .buffer_count = 64};
    cr_assert_eq(ring_create(&ring_options, &house->ring), 0);
    struct net_handler handler = {house_on_open, house_on_input, house_on_close, house};
    house->conns = conns_create(house->ring, &handler, &house->options);
}

static inline void house_fini(struct house *house)
{
    conns_destroy(house->conns);
    ring_destroy(house->ring);
    arena_fini(&house->arena);
    buf_fini(&house->notes);
}

/* A client, as its connection and its end of the pair. */
static inline struct conn *house_connect(struct house *house, int *out_client)
{
    int fds[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct conn *conn = conns_adopt(house->conns, fds[0]);
    cr_assert_not_null(conn);
    *out_client = fds[1];
    return conn;
}

static inline void client_send(int client, struct bytes bytes)
{
    cr_assert_eq(send(client, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT),
                 (ssize_t)bytes.len);
}

/* What has arrived at the client, as text that the caller frees; "<end>" stands for the end. */
static inline char *client_receive(int client)
{
    struct buf text = {0};
    for (;;) {
        ssize_t len = recv(client, buf_room(&text, 65536), 65536, MSG_DONTWAIT);
        if (len <= 0) {
            if (len == 0)
                buf_add_text(&text, "<end>");
            break;
        }
        text.len += (size_t)len;
    }
    buf_add_char(&text, '\0');
    return text.ptr;
}

static inline void expect_received(int client, const char *expected)
{
    char *text = client_receive(client);
    cr_expect_str_eq(text, expected);
    mem_free(text);
}

static inline void expect_notes(struct house *house, const char *expected)
{
    buf_add_char(&house->notes, '\0');
    cr_expect_str_eq(house->notes.ptr, expected);
    house->notes.len = 0;
}

static const enum ring_backend house_backends[] = {RING_BACKEND_IO_URING, RING_BACKEND_EPOLL};

/* A test with a house, run once with each backend. */
#define HouseTest(suite, name)                                                                     \
    static void suite##_##name##_in(struct house *house);                                          \
    ParameterizedTestParameters(suite, name)                                                       \
    {                                                                                              \
        return cr_make_param_array(enum ring_backend, (void *)house_backends, 2);                  \
    }                                                                                              \
    ParameterizedTest(enum ring_backend *backend, suite, name)                                     \
    {                                                                                              \
        struct house house;                                                                        \
        house_init(&house, *backend);                                                              \
        suite##_##name##_in(&house);                                                               \
        house_fini(&house);                                                                        \
    }                                                                                              \
    static void suite##_##name##_in(struct house *house)
