/*
 * listener: sockets that accept for one thread.
 *
 * Every thread binds the same addresses with SO_REUSEPORT; the kernel deals connections out, and
 * the caller may hand an accepted socket to another thread. Thread: the ring's.
 */
#pragma once

#include "core/os/ring.h"
#include "net/addr.h"

#define LISTENER_UNSENT_BYTES                                                                      \
    (128 << 10) /* of replies to one client: the kernel takes no more that it cannot send */
#define LISTENER_WAIT_MS 2000u

struct listener;

typedef void (*listener_accept_fn)(void *context, int fd);

struct listener_options {
    const char *const *bind; /* as in redis.conf: "*", "::*", "127.0.0.1"; with '-': may fail */
    uint32_t bind_count;
    uint16_t port;         /* 0: no TCP */
    const char *unix_path; /* NULL: none; one thread of the process only */
    uint32_t unix_perm;    /* 0: as umask says */
    uint32_t backlog;
};

/* Can these addresses be bound, or does another program hold one? Since all threads bind with
 * SO_REUSEPORT, a second server would not be noticed otherwise. An address in use is tried again
 * for up to `wait_ms` (a ring that the kernel is still tearing down holds its socket), sleeping:
 * before the threads start LISTENER_WAIT_MS, later 0. 0, or a negative errno and one line in
 * `out_error`, e.g. "Could not create server TCP listening socket *:6379: bind: Address already in
 * use". Thread: any. */
MUST_CHECK int listener_check(const struct listener_options *options, uint32_t wait_ms,
                              char *out_error, size_t error_cap);

/* Binds, listens and starts to accept; does not wait. Addresses that may fail, and those of a
 * family that the kernel lacks, are left out. A stale file at unix_path is replaced. Accepted
 * sockets are non-blocking. On failure: a negative errno and, in `out_error`, one line as above. */
MUST_CHECK int listener_create(struct ring *ring, const struct listener_options *options,
                               listener_accept_fn on_accept, void *context,
                               struct listener **out_listener, char *out_error, size_t error_cap);

/* How many sockets it has: 0 when there was nothing to bind, or nothing could be. */
uint32_t listener_socket_count(const struct listener *listener);

/* Stops accepting and removes the unix socket's file. Waits in the ring until the kernel is
 * through. Accepts NULL. */
void listener_destroy(struct listener *listener);
