/*
 * lane: a one-way road between two shards.
 *
 * Every ordered pair of shards has a lane of its own, so a lane has exactly one sender and one
 * receiver, and neither ever waits for the other. The sender is whoever owns the sending shard at
 * the moment (a lent shard lends the sending end of its lanes too).
 *
 * Order      messages arrive in the order they were sent.
 * Bound      a lane holds at most `capacity` messages; a full lane refuses.
 * Ownership  a message is the receiver's from the moment lane_send() says true.
 * Visible    a sent message may be seen by the receiver only after lane_flush(): one store a turn.
 * Waking     a lane wakes nobody: route/together.h does that, at most once per receiver and turn.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LANE_CAPACITY_MAX 65536u /* messages */

struct lane;

/* An empty lane on NUMA node `node` (-1: anywhere), which should be the receiver's. `capacity`
 * counts messages: a power of two, 2..LANE_CAPACITY_MAX. Never NULL. Thread: any, before either
 * end starts. */
struct lane *lane_create(uint32_t capacity, int node);

/* Frees a lane and accepts NULL. Messages left inside have no owner: drain it first.
 * Thread: any, after both ends have stopped. */
void lane_destroy(struct lane *lane);

/* Queues `message`, which is not NULL. False when the lane is full: the message is then still the
 * caller's. Thread: sender. */
bool lane_send(struct lane *lane, void *message);

/* Makes queued messages visible (release). Returns true when there were any. Thread: sender. */
bool lane_flush(struct lane *lane);

/* Has the lane room for one more, as seen by the sender now? Thread: sender. */
bool lane_has_room(struct lane *lane);

/* Takes up to `max` messages, oldest first, into `out_messages`; returns how many. Zero means
 * the lane was empty. `*out_was_full` tells whether the sender may have been refused, so that the
 * receiver should poke it (DESIGN: "its overflow can move"). Thread: receiver. */
size_t lane_receive(struct lane *lane, void **out_messages, size_t max, bool *out_was_full);

/* Thread: any; a hint for the sender, exact for the receiver (acquire). */
bool lane_is_empty(const struct lane *lane);
