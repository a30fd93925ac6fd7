/*
 * together: how shards walk the order log, stand together for a command, sleep, and are lent.
 *
 * Every shard has a seat: its cursor in the log, and a baton that says who owns the shard now:
 *
 *   RUNNING    its thread
 *   ASLEEP     nobody; whoever needs the shard may take it (lend), or wake the thread (poke)
 *   LENT       a lender or an entry has it; its thread sleeps
 *   LENT_POLL  the same, but the thread is awake and watches this word
 *   LENT_WAIT  the same, but the thread waits in its ring and must be woken
 *
 * Leaving ASLEEP or a LENT state is by compare-and-swap only, except that the last to arrive takes
 * its own back. Owning a shard is owning its cursor too. Taking the baton is an acquire, giving it
 * a release, so at any instant a shard has exactly one owner. tests/sim has the model of this
 * protocol and of what happens when a rule is left out.
 *
 * Thread: a home's own, except where marked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shards/route/order.h"
#include "shards/route/tx.h"

struct home;
struct hop;
struct mailbox;
struct server;
struct together;

/* Seats for all shards, all RUNNING. Thread: any, at start. */
struct together *together_create(struct server *server, uint32_t log_capacity, bool lend);
void together_destroy(struct together *together);

/* Publishes an entry, then lends or wakes the sleeping shards that must answer. False when the log
 * is full: try again next turn. An entry is never published from inside a part. */
bool together_publish(struct home *home, struct tx *tx);

/* Runs every published entry that involves this home's shard. Sets the shard's clock. */
void together_catch_up(struct home *home, int64_t now_ms);

/* Is there anything to catch up with? One load. */
bool together_is_behind(const struct home *home);

/* Tries to run `hop` right here on its sleeping shard, having caught up there first. False: send it
 * by lane. */
bool together_lend(struct home *home, struct hop *hop);

/* After a message for thread `id` was made visible (by a read-modify-write, a full fence): wakes it
 * if it sleeps. */
void together_poke(struct home *home, uint16_t id);

/* Sleeps in the ring until something happens or `timeout_ns` passes, unless there is work. On
 * return the shard is its thread's own again. */
void together_sleep(struct home *home, uint64_t timeout_ns);

/* A lower bound of all cursors. Thread: any. */
uint64_t together_oldest(const struct together *together);
uint64_t together_position(const struct home *home); /* the own cursor */
