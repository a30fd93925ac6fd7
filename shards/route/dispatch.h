/*
 * dispatch: the door: commands of connections in, replies to connections out.
 *
 * Serves, in order of arrival, the connections that have input: parses, plans, and either runs a
 * command here, in chunks over all connections, or sends it out as part of the connection's group.
 * Commands that come home are answered and their connections served on. Thread: home.
 */
#pragma once

#include <stdbool.h>

#include "net/handler.h"

struct conn;
struct dispatch;
struct group;
struct home;
struct hop;
struct session;

struct dispatch *dispatch_create(void);
void dispatch_destroy(struct dispatch *dispatch);

/* The functions that net calls. */
struct net_handler dispatch_net_handler(struct home *home);

/* Serves `session` (again) this turn: it may have input, and nothing holds it any more. */
void dispatch_wake(struct home *home, struct session *session);

/* A hop of this home has come back. */
void dispatch_arrival(struct home *home, struct hop *hop);

/* A group's replies are written, and its connection is served on. */
void dispatch_release(struct home *home, struct group *group);

/* Serves all connections that wait; at most a turn's worth. */
void dispatch_run(struct home *home);
/* Is anything left to serve? */
bool dispatch_is_busy(const struct home *home);

/* While nothing may be run: keeps what was received. */
void dispatch_settle(struct home *home);

/* CLIENT PAUSE is over: serves those whom it held back. */
void dispatch_resume(struct home *home);
