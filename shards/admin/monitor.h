/*
 * monitor: MONITOR: shows each command that is run, on whatever thread, to those who asked.
 *
 * While anybody monitors, every home writes a line for each command of its clients and posts it to
 * the homes that have monitors; nobody listens otherwise, and commands pay nothing.
 *
 * Beginning  MONITOR makes every home listen before it is answered, so that what is sent after the
 *            answer is seen.
 * Ending     how many monitors live on a home is published; a home that has seen none anywhere for
 *            MONITOR_LINGER_MS stops listening. So it does not matter how a monitor ends, nor
 * whether a client was gone before it became one. Thread: home, except where marked.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

struct home;
struct session;
struct tap_event;

#define MONITOR_LINGER_MS 10000 /* far longer than a MONITOR takes to reach all threads */

struct monitor {
    bool listens;
    int64_t expected_at_ms; /* when a monitor was last announced */
    _Atomic uint32_t here;  /* monitors that live on this home. Thread: any may read */
};

/* A monitor is about to begin somewhere: listen. */
void monitor_expect(struct home *home, int64_t now_ms);

/* The session, of this home, becomes a monitor (or stays one), or ends being one. */
void monitor_start(struct home *home, struct session *session);
void monitor_stop(struct home *home, struct session *session);

/* Listens no longer than is needed; for the cron. */
void monitor_tend(struct home *home, int64_t now_ms);

/* Appends the line for a command: `+1690000000.123456 [0 127.0.0.1:1234] "get" "k"` and a line end.
 */
void monitor_add_line(struct buf *line, const struct tap_event *event, const char *unix_path);
