/*
 * floor: a server that only answers: what the network and the parsing cost by themselves.
 *
 * One thread, the real ring, connections and parser, and constant replies: +OK for SET, a value of
 * `--value-bytes` for GET, nothing looked up or kept. What sherd takes more than this, in the same
 * run, is what its engine costs. Understands what memtier_benchmark and redis-benchmark send.
 *
 *     floor --port 7000 [--value-bytes 3] [--io-backend io_uring|epoll]
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/num.h"
#include "core/os/clock.h"
#include "core/os/ring.h"
#include "net/conn.h"
#include "net/listener.h"
#include "net/reply.h"

#define READY_MAX 20000
#define ARENA_KEEP 65536u
#define VALUE_MAX (1u << 20)

struct floor {
    struct ring *ring;
    struct conns *conns;
    struct arena arena;
    struct bytes value;
    struct conn *ready[READY_MAX];
    uint32_t ready_count;
};

static _Atomic int stopping;

static void on_signal(int number)
{
    atomic_store(&stopping, number);
}

static void on_open(void *context, struct conn *conn)
{
    conn->owner = context;
    conn->trusted = true;
}

static void on_input(void *context, struct conn *conn)
{
    struct floor *floor = context;
    if (!conn->is_ready && floor->ready_count < READY_MAX) {
        conn->is_ready = true;
        floor->ready[floor->ready_count++] = conn;
    }
}

static void on_close(void *context, struct conn *conn)
{
    struct floor *floor = context;
    for (uint32_t i = 0; i < floor->ready_count; i++)
        if (floor->ready[i] == conn)
            floor->ready[i] = floor->ready[--floor->ready_count];
}

static void on_accept(void *context, int fd)
{
    struct floor *floor = context;
    conns_adopt(floor->conns, fd);
}

static void answer(struct floor *floor, struct conn *conn)
{
    struct args args;
    struct bytes error;
    conn->is_ready = false;
    while (conn_may_parse(conn)) {
        enum conn_next_result next = conn_next(conn, &floor->arena, &args, &error);
        struct reply reply = {.out = conn_output(conn), .resp = 2};
        if (next == CONN_NEXT_NONE)
            break;
        if (next == CONN_NEXT_ERROR) {
            conn_finish(conn);
            break;
        }
        if (args.words[0].len == 3 && (args.words[0].ptr[0] | 0x20) == 'g')
            reply_bulk(&reply, floor->value);
        else if (bytes_is(args.words[0], "ping"))
            reply_simple(&reply, "PONG");
        else if (bytes_is(args.words[0], "config"))
            reply_array(&reply, 0);
        else
            reply_ok(&reply);
    }
    conn_settle(conn);
}

static void serve(struct floor *floor)
{
    while (!atomic_load(&stopping)) {
        ring_wait(floor->ring, 100000000);
        for (uint32_t i = 0; i < floor->ready_count; i++)
            answer(floor, floor->ready[i]);
        floor->ready_count = 0;
        arena_reset(&floor->arena, ARENA_KEEP);
        conns_flush(floor->conns, clock_wall_ms());
    }
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    static struct floor floor;
    static char value[VALUE_MAX];
    static const char *const any[] = {"127.0.0.1"};
    static const struct conn_options options = {.query_buffer_max = 1u << 30,
                                                .bulk_max = 512u << 20};
    char error[256];
    int64_t port = 0, value_len = 0;
    if (!num_to_int(bytes_from_text(option(argc, argv, "--port", "")), &port) ||
        !num_to_int(bytes_from_text(option(argc, argv, "--value-bytes", "3")), &value_len) ||
        port < 1 || port > 65535 || value_len < 0 || value_len > VALUE_MAX) {
        fprintf(stderr, "usage: floor --port N [--value-bytes N] [--io-backend io_uring|epoll]\n");
        return 1;
    }
    memset(value, 'x', sizeof(value));
    floor.value = bytes_of(value, (size_t)value_len);
    bool epoll = strcmp(option(argc, argv, "--io-backend", ""), "epoll") == 0;
    struct ring_options ring_options = {.backend = epoll ? RING_BACKEND_EPOLL : RING_BACKEND_AUTO,
                                        .buffer_count = 256};
    struct net_handler handler = {
        .on_open = on_open, .on_input = on_input, .on_close = on_close, .context = &floor};
    struct listener_options listen = {
        .bind = any, .bind_count = 1, .port = (uint16_t)port, .backlog = 511};
    struct listener *listener;

    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGPIPE, SIG_IGN);
    if (ring_create(&ring_options, &floor.ring) < 0) {
        fprintf(stderr, "no ring\n");
        return 1;
    }
    floor.conns = conns_create(floor.ring, &handler, &options);
    if (listener_create(floor.ring, &listen, on_accept, &floor, &listener, error, sizeof(error)) <
        0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    serve(&floor);
    listener_destroy(listener);
    conns_destroy(floor.conns);
    ring_destroy(floor.ring);
    return 0;
}
