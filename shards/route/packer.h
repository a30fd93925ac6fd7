/*
 * packer: packs a connection's far commands into hops and entries of this turn.
 *
 * All single-shard groups of a turn for one shard share one hop; all groups that mix shards share
 * one entry of the order log, so that program order over shards costs one entry per thread and
 * turn. Thread: home.
 */
#pragma once

#include "shards/route/group.h"
#include "shards/route/plan.h"

struct packer;
struct tx;

struct packer *packer_create(struct home *home);
void packer_destroy(struct packer *packer);

/* Begins a group: the session is frozen and its connection held and pinned until it is released. */
struct group *packer_begin(struct home *home, struct session *session);
/* Adds a command to the group that visits every thread, and sends it out. */
void packer_looks(struct home *home, struct group *group, const struct planned *plan);
/* Adds a command that travels whole, in `hop`, to the group. */
void packer_whole(struct group *group, const struct planned *plan, struct hop *hop);

/* Sends a run of planned commands (WHERE_ONE, DEALT, EVERYWHERE) of `session`, which has nothing
 * out, as one group. Words are copied, or kept by detaching the connection's input. */
void packer_group(struct home *home, struct session *session, struct planned *plans,
                  uint32_t count);

/* Sends one command that travels alone: WHERE_TOGETHER, LOOKS, EXEC (whose queue is handed over).
 */
void packer_alone(struct home *home, struct session *session, struct planned *plan);

/* Sends a message about what the group has left on its shards: `row` runs there, on all of them
 * together, with the set of shards as its word. */
void packer_message(struct home *home, struct group *group, const struct command *row);

/* WALK: adds the part for `shard` and sends it out, unless that is this home's own: the caller then
 * runs it, the last of the group's hops. The first time with a NULL group, which is then made. */
struct group *packer_walk(struct home *home, struct session *session, struct group *group,
                          const struct planned *plan, uint16_t shard);

/* End of the turn: publishes this turn's entries, queues its hops, or runs them on sleeping shards.
 * What the log has no room for stays for the next turn. */
void packer_send(struct home *home);
/* Adds an entry to those that packer_send() publishes. */
void packer_entry(struct home *home, struct tx *tx);
bool packer_is_waiting(const struct home *home); /* for room in the log */
bool packer_has_hops(const struct home *home);   /* to be sent next turn */
