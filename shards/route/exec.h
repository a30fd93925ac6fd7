/*
 * exec: how an EXEC goes out, comes home and is finished (multi.h says in which steps). Thread:
 * home.
 */
#pragma once

#include <stdbool.h>

struct group;
struct home;
struct planned;
struct session;

/* Begins EXEC for `session`. Its first step is run here if all its keys are, and the group is
 * returned, to be gone on with; else it is sent out, and NULL. */
struct group *exec_start(struct home *home, struct session *session, struct planned *plan);

/* Hands the queue over to the group; the session is no longer in MULTI. */
void exec_hand_over(struct session *session, struct group *group);

/* The other steps, as far as they go without waiting. True: the group is out again, to look at
 * threads. */
bool exec_go_on(struct home *home, struct group *group);

/* Writes EXEC's reply: those of the queue, in its order. */
void exec_write_replies(struct home *home, struct group *group);
