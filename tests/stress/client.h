/*
 * client: many connections to one server, driven by one thread, each with a pipeline of requests.
 *
 * A request remembers what its reply must look like and when it was sent; replies come in order, so
 * the oldest request is always the one that is answered. Everything here knows real time: what was
 * acknowledged before a request was sent must be visible to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

#define CLIENT_DEPTH_MAX 512u /* requests of a connection without a reply yet */
#define REPLY_VALUES_MAX 64u

/* A reply; arrays inside arrays (EXEC) are flattened. Nulls are values without a number. */
struct reply {
    char type; /* of the outermost: + - : $ * */
    char text[128];
    int64_t number; /* of : and of a $ that spells one */
    bool is_null;
    size_t len;      /* of a $, or of the longest one in an array */
    bool is_uniform; /* in each $, all bytes are the same */
    uint32_t count;  /* values of an array */
    int64_t values[REPLY_VALUES_MAX];
    bool nulls[REPLY_VALUES_MAX];
};

struct conn;
struct request;

/* Looks at the reply; what is wrong is told by client_fail(). */
typedef void (*check_fn)(struct conn *conn, const struct request *request,
                         const struct reply *reply);

struct request {
    const char *what; /* the command's name, for messages */
    check_fn check;   /* NULL: any reply that is no error */
    int64_t a;        /* what the check wants to remember */
    uint64_t sent_at_ns;
};

/* A request that must not be answered by an error. */
static inline struct request plain(const char *what)
{
    return (struct request){.what = what};
}

static inline struct request checked(const char *what, check_fn check, int64_t a)
{
    return (struct request){.what = what, .check = check, .a = a};
}

struct conn {
    int fd;
    uint32_t index;
    const struct role *role;
    uint32_t group;      /* which of the role's groups of keys */
    int64_t memory[4];   /* the role's */
    bool is_done;        /* issues nothing more */
    uint32_t first, end; /* of requests, modulo CLIENT_DEPTH_MAX */
    struct request requests[CLIENT_DEPTH_MAX];
    struct buf out, in;
    size_t in_at;
    uint32_t depth; /* requests it likes to have out */
};

/* What a connection does. `issue` adds one or several requests; it is called while fewer than
 * `depth` are out. */
struct role {
    const char *name;
    void (*issue)(struct conn *conn); /* NULL: it only answers to client_stir() */
    uint32_t depth_max;
};

struct client_options {
    const char *host;
    uint16_t port;
    double seconds;
    double stall_seconds; /* a reply that takes longer is a failure */
    uint64_t seed;
};

/* Connections are made before client_run(). Out: how many replies came. */
struct conn *client_connect(const struct client_options *options, const struct role *role,
                            uint32_t group);
uint64_t client_run(const struct client_options *options);
void client_fini(void);

/* Sends a command, words parted by single blanks, as a request. */
void client_send(struct conn *conn, struct request request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Connections of `role` and `group` that wait for nothing: `issue` adds requests, which leave at
 * once. */
void client_stir(const struct role *role, uint32_t group, void (*issue)(struct conn *conn));

/* A command outside the run: waits for its reply. */
struct reply client_ask(struct conn *conn, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

uint64_t client_random(uint64_t bound);

/* Something is wrong with the server. The first few are printed in full. */
void client_fail(const struct conn *conn, const struct request *request, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t client_failures(void);
