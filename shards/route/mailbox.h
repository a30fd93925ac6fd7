/*
 * mailbox: the lanes of one thread: hops out, hops in.
 *
 * A full lane never makes its sender wait: the hop joins the sender's overflow list for that peer
 * and is tried again each turn, in order. Otherwise a thread that stands together with others and
 * drains nothing could deadlock with a sender that never arrives. The list is bounded by one group
 * per connection.
 *
 * Lanes belong to threads: whoever runs a lent shard sends by the lanes of his own thread.
 * Thread: the home's, except mailbox_has_arrivals().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shards/route/hop.h"

struct lanes;
struct mailbox;

/* The process's lanes, made when first used. Thread: any, at start. */
struct lanes *lanes_create(uint32_t shard_count);
void lanes_destroy(struct lanes *lanes);

struct mailbox *mailbox_create(struct home *home, struct lanes *lanes);
void mailbox_destroy(struct mailbox *mailbox);

/* Queues `hop` for thread `to`; visible there at mailbox_flush(). To this thread itself: at its
 * next mailbox_drain(). */
void mailbox_send(struct mailbox *mailbox, uint16_t to, struct hop *hop);

/* Makes what was queued visible and pokes each peer that got something, at most once. */
void mailbox_flush(struct mailbox *mailbox);

/* Takes all hops that have arrived, oldest first per lane: appends them to the list at `*tail`.
 * Returns the new tail. */
struct hop **mailbox_drain(struct mailbox *mailbox, struct hop **tail);

/* Has this thread sent itself something that it has not drained yet? */
bool mailbox_has_own(const struct mailbox *mailbox);

/* Has anything arrived from others for thread `id`? Thread: any. */
bool mailbox_has_arrivals(const struct lanes *lanes, uint32_t id);
/* Overflowing hops wait here. `out_can_move`: a lane one of them waits for has room again. */
bool mailbox_has_overflow(struct mailbox *mailbox, bool *out_can_move);
uint64_t mailbox_overflows(const struct mailbox *mailbox);
