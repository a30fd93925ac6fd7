/*
 * listener: an array of sockets, each with its accept op.
 *
 * TCP_NODELAY is set on the listening socket: accepted ones inherit it. So is how much of a reply
 * the kernel takes that it cannot send yet: else each client that does not read may hold megabytes
 * of the memory that all sockets of the machine share, where no limit of ours counts them. (100
 * clients that read nothing: 31 MiB without, 1.5 with it; time per GET the same for values of 1000
 * and 100,000 bytes.) IPv6 sockets are IPv6 only, so that "*" and "::*" can stand side by side.
 *
 * Out of descriptors: an accept op then fails at once, whether or not somebody is waiting, so to
 * arm it again would spin. The socket is polled instead, and accepted from by hand. One descriptor
 * is kept in reserve: it is closed to take a connection off the queue and refuse it by closing it,
 * and opened again. The first connection that finds a free descriptor brings the accept op back.
 */
#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/ilist.h"
#include "core/base/mem.h"
#include "core/os/log.h"

#define RETRY_MS 20u           /* between two attempts to bind an address in use */
#define DRAIN_WAIT_NS 1000000u /* one wait for the kernel in listener_destroy() */
#define DRAIN_WAITS_MAX 5000u  /* after so many of them something is wrong */

struct listening {
    struct listener *listener;
    struct ring_op op;
    int fd;
    bool is_armed;
    bool is_poll_over; /* descriptors are free again: back to the accept op */
};

struct listener {
    struct ring *ring;
    listener_accept_fn on_accept;
    void *context;
    char *unix_path; /* to be removed at the end, or NULL */
    int reserve_fd;  /* -1 when even that could not be had */
    bool is_closing;
    uint64_t refused_count; /* for want of descriptors; logged at powers of two */
    uint32_t count;
    struct listening sockets[];
};

/* ---- Addresses
 * ------------------------------------------------------------------------------------ */

/* Is it an address that may be missing? `*out_text` is it without the mark. */
static bool is_optional(const char *bind_address, const char **out_text)
{
    *out_text = bind_address + (*bind_address == '-');
    return *bind_address == '-';
}

static bool parse_address(const char *text, uint16_t port, struct addr *out)
{
    *out = (struct addr){0};
    if (strchr(text, ':')) {
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&out->storage;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        in6->sin6_addr = in6addr_any;
        out->len = sizeof(*in6);
        return strcmp(text, "::*") == 0 || inet_pton(AF_INET6, text, &in6->sin6_addr) == 1;
    }
    struct sockaddr_in *in = (struct sockaddr_in *)&out->storage;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    in->sin_addr.s_addr = htonl(INADDR_ANY);
    out->len = sizeof(*in);
    if (strcmp(text, "*") == 0)
        return true;
    if (strcmp(text, "localhost") == 0)
        text = "127.0.0.1";
    return inet_pton(AF_INET, text, &in->sin_addr) == 1;
}

static bool is_family_missing(int error)
{
    return error == EAFNOSUPPORT || error == EPFNOSUPPORT || error == EPROTONOSUPPORT ||
           error == ESOCKTNOSUPPORT || error == ENOPROTOOPT;
}

/* ---- Sockets
 * -------------------------------------------------------------------------------------- */

static int set_option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value));
}

/* A bound TCP socket, or a negative errno and which step failed. */
static int bind_tcp(const struct addr *addr, bool shared, const char **out_step)
{
    *out_step = "socket";
    int family = addr->storage.ss_family;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    *out_step = "setsockopt";
    if ((family == AF_INET6 && set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) != 0) ||
        set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) != 0 ||
        (shared && set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) != 0) ||
        set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1) != 0)
        goto fail;
    /* Where it is refused, clients that do not read take more memory of the kernel's: no failure.
     */
    set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, LISTENER_UNSENT_BYTES);
    *out_step = "bind";
    if (bind(fd, (const struct sockaddr *)&addr->storage, addr->len) != 0)
        goto fail;
    return fd;

fail:;
    int result = -errno;
    close(fd);
    return result;
}

static int bind_unix(const char *path, uint32_t perm, const char **out_step)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    *out_step = "path";
    if (strlen(path) >= sizeof(un.sun_path))
        return -ENAMETOOLONG;
    memcpy(un.sun_path, path, strlen(path) + 1);

    *out_step = "socket";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    unlink(path); /* left behind by a process that was killed */
    *out_step = "bind";
    if (bind(fd, (struct sockaddr *)&un, sizeof(un)) != 0)
        goto fail;
    *out_step = "chmod";
    if (perm != 0 && chmod(path, (mode_t)perm) != 0)
        goto fail;
    return fd;

fail:;
    int result = -errno;
    close(fd);
    return result;
}

/* ---- Accepting
 * ------------------------------------------------------------------------------------ */

/* Refuses the connection that no descriptor is left for. False when there was none. */
static bool refuse_one(struct listener *listener, int listen_fd)
{
    if (listener->reserve_fd >= 0)
        close(listener->reserve_fd);
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        close(fd);
    listener->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    uint64_t count = ++listener->refused_count;
    if ((count & (count - 1)) == 0)
        log_warn("listener.no_descriptors",
                 "refused=%llu remedy=\"raise RLIMIT_NOFILE or lower maxclients\"",
                 (unsigned long long)count);
    return true;
}

static bool is_out_of_descriptors(int result)
{
    return result == -EMFILE || result == -ENFILE;
}

/* Takes all that wait, by hand. True when there was a descriptor for each of them, and at least
 * one. */
static bool accept_by_hand(struct listening *listening)
{
    struct listener *listener = listening->listener;
    bool has_accepted = false, has_refused = false;
    for (;;) {
        int fd = accept4(listening->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            has_accepted = true;
            listener->on_accept(listener->context, fd);
        } else if (is_out_of_descriptors(-errno) && refuse_one(listener, listening->fd)) {
            has_refused = true;
        } else {
            return has_accepted && !has_refused;
        }
    }
}

static void arm(struct listening *listening, bool by_hand);

static void polled(struct ring_op *op, const struct ring_event *event)
{
    struct listening *listening = ILIST_ITEM(struct listening, op, op);
    listening->is_armed = event->more;
    if (!listening->listener->is_closing && accept_by_hand(listening)) {
        listening->is_poll_over = true;
        if (event->more)
            ring_cancel(listening->listener->ring, op);
    }
    if (!event->more && !listening->listener->is_closing)
        arm(listening, !listening->is_poll_over);
}

static void accepted(struct ring_op *op, const struct ring_event *event)
{
    struct listening *listening = ILIST_ITEM(struct listening, op, op);
    struct listener *listener = listening->listener;
    listening->is_armed = event->more;

    if (event->result >= 0) {
        if (listener->is_closing)
            close(event->result);
        else
            listener->on_accept(listener->context, event->result);
    } else if (is_out_of_descriptors(event->result)) {
        refuse_one(listener, listening->fd);
    } else if (event->result != -ECANCELED && event->result != -ECONNABORTED) {
        log_warn("listener.accept_failed", "error=\"%s\"", strerror(-event->result));
    }
    if (!event->more && !listener->is_closing)
        arm(listening, is_out_of_descriptors(event->result));
}

static void arm(struct listening *listening, bool by_hand)
{
    struct ring *ring = listening->listener->ring;
    listening->is_armed = true;
    listening->is_poll_over = false;
    listening->op.done = by_hand ? polled : accepted;
    if (by_hand)
        ring_poll(ring, &listening->op, listening->fd);
    else
        ring_accept(ring, &listening->op, listening->fd);
}

/* ---- Public
 * --------------------------------------------------------------------------------------- */

/* Describes a failure as Redis's log does. */
static int fail_tcp(int result, const char *text, uint16_t port, const char *step, char *out_error,
                    size_t error_cap)
{
    snprintf(out_error, error_cap, "Could not create server TCP listening socket %s:%u: %s: %s",
             text, port, step, strerror(-result));
    return result;
}

int listener_check(const struct listener_options *options, uint32_t wait_ms, char *out_error,
                   size_t error_cap)
{
    for (uint32_t i = 0; options->port > 0 && i < options->bind_count; i++) {
        const char *text, *step = "parse";
        bool optional = is_optional(options->bind[i], &text);
        struct addr addr;
        if (!parse_address(text, options->port, &addr))
            return fail_tcp(-EINVAL, text, options->port, step, out_error, error_cap);

        int fd;
        for (uint32_t waited_ms = 0;; waited_ms += RETRY_MS) {
            fd = bind_tcp(&addr, false, &step);
            if (fd != -EADDRINUSE || waited_ms >= wait_ms)
                break;
            nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
        }
        if (fd >= 0)
            close(fd);
        else if (!(optional && fd == -EADDRNOTAVAIL) && !is_family_missing(-fd))
            return fail_tcp(fd, text, options->port, step, out_error, error_cap);
    }
    return 0;
}

/* Adds a bound socket. */
static int add_socket(struct listener *listener, int fd, uint32_t backlog)
{
    if (listen(fd, (int)backlog) != 0) {
        int result = -errno;
        close(fd);
        return result;
    }
    struct listening *listening = &listener->sockets[listener->count++];
    listening->listener = listener;
    listening->fd = fd;
    return 0;
}

static int open_sockets(struct listener *listener, const struct listener_options *options,
                        char *out_error, size_t error_cap)
{
    const char *step = "parse";
    for (uint32_t i = 0; options->port > 0 && i < options->bind_count; i++) {
        const char *text;
        bool optional = is_optional(options->bind[i], &text);
        struct addr addr;
        if (!parse_address(text, options->port, &addr))
            return fail_tcp(-EINVAL, text, options->port, step, out_error, error_cap);

        int result = bind_tcp(&addr, true, &step);
        if ((optional && result == -EADDRNOTAVAIL) || (result < 0 && is_family_missing(-result)))
            continue;
        if (result >= 0) {
            step = "listen";
            result = add_socket(listener, result, options->backlog);
        }
        if (result < 0)
            return fail_tcp(result, text, options->port, step, out_error, error_cap);
    }
    if (!options->unix_path)
        return 0;

    int result = bind_unix(options->unix_path, options->unix_perm, &step);
    if (result >= 0) {
        listener->unix_path = mem_copy_text(options->unix_path);
        step = "listen";
        result = add_socket(listener, result, options->backlog);
    }
    if (result < 0)
        snprintf(out_error, error_cap, "Failed opening Unix socket %s: %s: %s", options->unix_path,
                 step, strerror(-result));
    return result;
}

int listener_create(struct ring *ring, const struct listener_options *options,
                    listener_accept_fn on_accept, void *context, struct listener **out_listener,
                    char *out_error, size_t error_cap)
{
    size_t count_max = (size_t)options->bind_count + 1;
    struct listener *listener = mem_zalloc(sizeof(*listener) +
                                           count_max * sizeof(listener->sockets[0]));
    listener->ring = ring;
    listener->on_accept = on_accept;
    listener->context = context;
    listener->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    int result = open_sockets(listener, options, out_error, error_cap);
    if (result < 0) {
        listener_destroy(listener);
        return result;
    }
    for (uint32_t i = 0; i < listener->count; i++)
        arm(&listener->sockets[i], false);
    *out_listener = listener;
    return 0;
}

uint32_t listener_socket_count(const struct listener *listener)
{
    return listener->count;
}

static bool is_any_armed(const struct listener *listener)
{
    for (uint32_t i = 0; i < listener->count; i++)
        if (listener->sockets[i].is_armed)
            return true;
    return false;
}

void listener_destroy(struct listener *listener)
{
    if (!listener)
        return;
    listener->is_closing = true;
    for (uint32_t i = 0; i < listener->count; i++)
        if (listener->sockets[i].is_armed)
            ring_cancel(listener->ring, &listener->sockets[i].op);
    for (uint32_t waits = 0; is_any_armed(listener); waits++) {
        ASSERT(waits < DRAIN_WAITS_MAX);
        ring_wait(listener->ring, DRAIN_WAIT_NS);
    }
    for (uint32_t i = 0; i < listener->count; i++)
        close(listener->sockets[i].fd);
    if (listener->unix_path)
        unlink(listener->unix_path);
    if (listener->reserve_fd >= 0)
        close(listener->reserve_fd);
    mem_free(listener->unix_path);
    mem_free(listener);
}
