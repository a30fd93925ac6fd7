/*
 * blocked: blocking commands, from the moment they wait to their reply.
 *
 * Two sides that only send each other messages:
 *
 *   the shard   has the waits (local/wait.h). After a command that made keys ready, whoever runs
 *               the shard runs the words of those who wait there again, first come first served,
 *               and posts what they answer home. A client that waits on several shards for what any
 *               one key has to give is claimed first, so that only one shard serves it. For a wait
 *               that needs other shards too (BLMOVE) it asks home to try again, and those behind it
 * at the key wait on. home        keeps the command's group, and with it the session, until there
 * is an answer. It has the timer. It sends at most one message at a time: *again* runs the words
 * over all shards of the command, *leave* takes the waits away (a timeout, CLIENT UNBLOCK, a client
 * that is gone, or that was served on one of its shards). Who leaves may have been served a moment
 * before: then the answer is on its way, and wins.
 *
 * Thread: home; blocked_serve() by whoever owns the shard.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/ilist.h"
#include "core/os/timer.h"

struct group;
struct home;
struct session;
struct shard;

enum blocked_end {
    BLOCKED_NO_END,    /* it waits */
    BLOCKED_TIMED_OUT, /* answered with a null array */
    BLOCKED_REFUSED,   /* CLIENT UNBLOCK ERROR */
    BLOCKED_GONE,      /* nobody is there any more */
};

/* A group whose command waits. Messages from shards may come before the group itself. */
struct blocked {
    struct ilist_link link; /* of home->blocked, once the group has come home */
    struct timer timer;
    struct home *home;
    struct group *group;
    enum blocked_end end; /* why it is to stop waiting */
    bool has_begun;       /* the group has come home */
    bool is_asked;        /* to try again, as soon as nothing is out */
    bool is_out;          /* a message to the shards */
    bool has_reply;
    struct buf reply;    /* what it was served with */
    uint64_t elapsed_ns; /* of the run that served it */
};

/* A group has come home. True: its command waits, and it is kept. */
bool blocked_begin(struct home *home, struct group *group);

/* What a group that waits had sent out has come home. */
void blocked_home(struct home *home, struct group *group);

/* Lets the session's command stop waiting for the reason `end`; false if it does not wait. */
bool blocked_leave(struct home *home, struct session *session, enum blocked_end end);

/* Writes the reply of a group that has waited. */
void blocked_write_reply(struct home *home, struct group *group);
void blocked_destroy(struct blocked *blocked); /* accepts NULL */

/* The thread ends: forgets all who wait. */
void blocked_forget_all(struct home *home);

/* Serves those who wait at keys of `shard` that have become ready, and then those whose keys became
 * ready by that. */
void blocked_serve(struct home *home, struct shard *shard);
