/*
 * listener: sockets that accept for one thread.
 *
 * Every thread binds the same addresses with SO_REUSEPORT; the kernel deals connections out, and
 * the caller may hand an accepted socket to another thread. Thread: the ring's.
 */
#pragma once

#include "core/os/ring.h"
#include "net/addr.h"

struct listener;

typedef void (*listener_accept_fn)(void *context, int fd);

struct listener_options {
    const char *const *bind; /* as in redis.conf: "*", "-::*", "127.0.0.1"; a leading '-' may fail */
    uint32_t bind_count;
    uint16_t port; /* 0: no TCP */
    const char *unix_path; /* NULL: none; one thread of the process only */
    uint32_t unix_perm;
    uint32_t backlog;
};

/* Binds, listens and starts to accept; EADDRINUSE is retried for up to 2 s (a ring that the kernel is
 * still tearing down holds its socket). On failure: a negative errno and, in `out_error`, one
 * line with address and reason. */
MUST_CHECK int listener_create(struct ring *ring, const struct listener_options *options,
                               listener_accept_fn on_accept, void *context,
                               struct listener **out_listener, char *out_error, size_t error_cap);
void listener_destroy(struct listener *listener); /* accepts NULL */
