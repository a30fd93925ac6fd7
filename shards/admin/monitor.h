/*
 * monitor: MONITOR: shows each command that is run, on whatever thread, to those who asked.
 *
 * While anybody monitors, every home writes a line for each command of its clients and posts it to
 * the homes that have monitors; nobody listens otherwise, and commands pay nothing.
 *
 * Counting   each home knows how many monitors there are in the process: raised on all homes before
 *            MONITOR is answered (so that what is sent after the answer is seen), lowered by posts
 *            when one leaves. How many live on a home is published for the others.
 * Thread: home, except where marked.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "core/base/buf.h"

struct call;
struct home;
struct session;
struct tap_event;

struct monitor {
    uint32_t everywhere;   /* monitors in the process, as far as this home has heard */
    _Atomic uint32_t here; /* of those, on this home. Thread: any may read */
};

/* One more monitor in the process; called on every home. */
void monitor_expect(struct home *home);

/* The session, of this home, becomes a monitor: its lines begin. False if it was one already. */
bool monitor_start(struct home *home, struct session *session);

/* One monitor fewer in the process; tells every home. */
void monitor_expect_less(struct home *home);

/* Undoes both, everywhere. Nothing happens to a session that is no monitor. */
void monitor_stop(struct home *home, struct session *session);

/* Appends the line for a command: `+1690000000.123456 [0 127.0.0.1:1234] "get" "k"` and a line end.
 */
void monitor_add_line(struct buf *line, const struct tap_event *event, const char *unix_path);
