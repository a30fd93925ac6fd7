#include "tests/stress/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/base/rng.h"

#define CONNS_MAX 1024u
#define RECEIVE_BYTES 65536u
#define FAILURES_PRINTED 12u
#define ASK_TIMEOUT_MS 30000
#define COMMAND_BYTES_MAX (512u << 10)

static struct client {
    struct conn *conns[CONNS_MAX];
    uint32_t conn_count;
    struct rng rng;
    bool is_seeded;
    uint64_t failures;
    uint64_t replies;
    bool is_ending;
} client;

uint64_t client_random(uint64_t bound)
{
    return rng_below(&client.rng, bound);
}

uint64_t client_failures(void)
{
    return client.failures;
}

static uint64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

void client_fail(const struct conn *conn, const struct request *request, const char *format, ...)
{
    if (client.failures++ >= FAILURES_PRINTED)
        return;
    printf("WRONG %s, connection %u, %s: ", conn->role->name, conn->index,
           request ? request->what : "");
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

/* ---- sending -------------------------------------------------------------------------------- */

static void add_command(struct buf *out, const char *format, va_list args)
{
    static char text[COMMAND_BYTES_MAX];
    int len = vsnprintf(text, sizeof(text), format, args);
    ASSERT(len > 0 && (size_t)len < sizeof(text));
    uint32_t words = 1;
    for (const char *at = text; (at = strchr(at, ' ')); at++)
        words++;
    buf_add_format(out, "*%u\r\n", words);
    for (char *word = text; word;) {
        char *blank = strchr(word, ' ');
        size_t word_len = blank ? (size_t)(blank - word) : strlen(word);
        buf_add_format(out, "$%zu\r\n%.*s\r\n", word_len, (int)word_len, word);
        word = blank ? blank + 1 : NULL;
    }
}

void client_send(struct conn *conn, struct request request, const char *format, ...)
{
    ASSERT(conn->end - conn->first < CLIENT_DEPTH_MAX);
    request.sent_at_ns = now_ns();
    conn->requests[conn->end++ % CLIENT_DEPTH_MAX] = request;
    va_list args;
    va_start(args, format);
    add_command(&conn->out, format, args);
    va_end(args);
}

/* False when the connection is gone. */
static bool send_some(struct conn *conn)
{
    while (conn->out.len > 0) {
        ssize_t sent = send(conn->fd, conn->out.ptr, conn->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        buf_drop_front(&conn->out, (size_t)sent);
    }
    return true;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* The line at `*at` without its end, and `*at` behind it; NULL when it is not complete. */
static const char *take_line(const struct conn *conn, size_t *at, size_t *out_len)
{
    const char *start = conn->in.ptr + *at;
    const char *end = memchr(start, '\r', conn->in.len - *at);
    if (!end || (size_t)(end - conn->in.ptr) + 1 >= conn->in.len)
        return NULL;
    *out_len = (size_t)(end - start);
    *at += *out_len + 2;
    return start;
}

static void add_value(struct reply *reply, int64_t value, bool is_null)
{
    if (reply->count < REPLY_VALUES_MAX) {
        reply->values[reply->count] = value;
        reply->nulls[reply->count] = is_null;
    }
    reply->count++;
}

/* One item, at the top (`depth` 0) or within an array. False when it is not complete. */
static bool take_item(const struct conn *conn, size_t *at, struct reply *reply, int depth)
{
    size_t len;
    const char *line = *at < conn->in.len ? take_line(conn, at, &len) : NULL;
    if (!line)
        return false;
    char type = line[0];
    const char *text = line + 1;
    size_t text_len = len - 1;
    long long number = strtoll(line + 1, NULL, 10);
    bool is_null = number < 0 && (type == '$' || type == '*');
    if (type == '$' && !is_null) {
        if (conn->in.len - *at < (size_t)number + 2)
            return false;
        text = conn->in.ptr + *at;
        text_len = (size_t)number;
        *at += (size_t)number + 2;
        reply->len = text_len > reply->len ? text_len : reply->len;
        reply->is_uniform &= text_len == 0 || memcmp(text, text + 1, text_len - 1) == 0;
        char digits[24];
        snprintf(digits, sizeof(digits), "%.*s", (int)(text_len < 23 ? text_len : 23), text);
        number = strtoll(digits, NULL, 10);
    }
    if (depth == 0) {
        reply->type = type;
        reply->number = number;
        reply->is_null = is_null;
        snprintf(reply->text, sizeof(reply->text), "%.*s", (int)text_len, text);
    } else if (type != '*') {
        add_value(reply, number, is_null);
    }
    for (long long i = 0; type == '*' && i < number; i++)
        if (!take_item(conn, at, reply, depth + 1))
            return false;
    return true;
}

static bool take_reply(struct conn *conn, struct reply *out_reply)
{
    size_t at = conn->in_at;
    *out_reply = (struct reply){.is_uniform = true};
    if (!take_item(conn, &at, out_reply, 0))
        return false;
    conn->in_at = at;
    return true;
}

/* False when the server has closed the connection. */
static bool receive_some(struct conn *conn)
{
    buf_drop_front(&conn->in, conn->in_at);
    conn->in_at = 0;
    char *into = buf_room(&conn->in, RECEIVE_BYTES);
    ssize_t got = recv(conn->fd, into, RECEIVE_BYTES, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    if (got > 0)
        conn->in.len += (size_t)got;
    return true;
}

static void handle_replies(struct conn *conn)
{
    struct reply reply;
    while (conn->first != conn->end && take_reply(conn, &reply)) {
        struct request request = conn->requests[conn->first++ % CLIENT_DEPTH_MAX];
        client.replies++;
        if (request.check)
            request.check(conn, &request, &reply);
        else if (reply.type == '-')
            client_fail(conn, &request, "%s", reply.text);
    }
    if (conn->first == conn->end && conn->in.len > conn->in_at)
        client_fail(conn, NULL, "a reply that nobody asked for");
}

/* ---- connections ---------------------------------------------------------------------------- */

struct conn *client_connect(const struct client_options *options, const struct role *role,
                            uint32_t group)
{
    ASSERT(client.conn_count < CONNS_MAX);
    if (!client.is_seeded) {
        rng_init(&client.rng, options->seed);
        client.is_seeded = true;
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(options->port)};
    ASSERT(inet_pton(AF_INET, options->host, &address.sin_addr) == 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        perror("stress: connect");
        exit(2);
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct conn *conn = mem_zalloc(sizeof(*conn));
    conn->fd = fd;
    conn->role = role;
    conn->group = group;
    conn->index = client.conn_count;
    client.conns[client.conn_count++] = conn;
    return conn;
}

struct reply client_ask(struct conn *conn, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_command(&conn->out, format, args);
    va_end(args);
    struct reply reply;
    while (!take_reply(conn, &reply)) {
        struct pollfd wait = {.fd = conn->fd, .events = POLLIN};
        if (!send_some(conn) || poll(&wait, 1, ASK_TIMEOUT_MS) <= 0 || !receive_some(conn)) {
            fprintf(stderr, "stress: no reply to %s\n", format);
            exit(2);
        }
    }
    return reply;
}

static void issue_some(struct conn *conn)
{
    if (conn->is_done || conn->end - conn->first >= conn->depth)
        return;
    while (conn->end - conn->first < conn->depth)
        conn->role->issue(conn);
    /* A pipeline of another length next time; sometimes the replies are waited for first. */
    uint32_t most = conn->role->depth_max;
    conn->depth = 1 + (uint32_t)client_random(client_random(2) || most < 3 ? most : 3);
}

void client_stir(const struct role *role, uint32_t group, void (*issue)(struct conn *conn))
{
    if (client.is_ending)
        return;
    for (uint32_t i = 0; i < client.conn_count; i++) {
        struct conn *conn = client.conns[i];
        if (conn->role != role || conn->group != group || conn->first != conn->end)
            continue;
        issue(conn);
        send_some(conn); /* a few bytes to an idle connection: what is left, if anything, goes next
                            turn */
    }
}

static void watch(int epoll, struct conn *conn, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (conn->out.len ? EPOLLOUT : 0),
                                .data.ptr = conn};
    ASSERT(epoll_ctl(epoll, operation, conn->fd, &event) == 0);
}

static void find_stalls(const struct client_options *options)
{
    uint64_t limit_ns = (uint64_t)(options->stall_seconds * 1e9), at_ns = now_ns();
    for (uint32_t i = 0; i < client.conn_count; i++) {
        struct conn *conn = client.conns[i];
        if (conn->first == conn->end)
            continue;
        struct request *oldest = &conn->requests[conn->first % CLIENT_DEPTH_MAX];
        if (at_ns - oldest->sent_at_ns < limit_ns)
            continue;
        client_fail(conn, oldest, "no reply for %.1f s",
                    (double)(at_ns - oldest->sent_at_ns) / 1e9);
        oldest->sent_at_ns = at_ns; /* say it again only after as long again */
    }
}

static bool is_anything_out(void)
{
    for (uint32_t i = 0; i < client.conn_count; i++)
        if (client.conns[i]->first != client.conns[i]->end)
            return true;
    return false;
}

uint64_t client_run(const struct client_options *options)
{
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    uint64_t end_ns = now_ns() + (uint64_t)(options->seconds * 1e9);
    uint64_t give_up_ns = end_ns + (uint64_t)(options->stall_seconds * 2e9);
    uint64_t look_ns = 0;
    for (uint32_t i = 0; i < client.conn_count; i++) {
        struct conn *conn = client.conns[i];
        conn->depth = 1;
        conn->is_done = conn->role->issue == NULL;
        issue_some(conn);
        send_some(conn);
        watch(epoll, conn, EPOLL_CTL_ADD);
    }
    for (uint64_t at_ns = now_ns(); at_ns < end_ns || is_anything_out(); at_ns = now_ns()) {
        client.is_ending = at_ns >= end_ns;
        if (at_ns > give_up_ns)
            break; /* find_stalls() has told */
        if (at_ns > look_ns) {
            find_stalls(options);
            look_ns = at_ns + 200000000u;
        }
        struct epoll_event events[64];
        int count = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < count; i++) {
            struct conn *conn = events[i].data.ptr;
            bool is_open = receive_some(conn);
            handle_replies(conn);
            if (at_ns < end_ns)
                issue_some(conn);
            if (!is_open || !send_some(conn)) {
                client_fail(conn, NULL, "the server has closed the connection");
                close(epoll);
                return client.replies;
            }
            watch(epoll, conn, EPOLL_CTL_MOD);
        }
    }
    close(epoll);
    return client.replies;
}

void client_fini(void)
{
    for (uint32_t i = 0; i < client.conn_count; i++) {
        struct conn *conn = client.conns[i];
        close(conn->fd);
        buf_fini(&conn->in);
        buf_fini(&conn->out);
        mem_free(conn);
    }
    client.conn_count = 0;
}
