/*
 * slowlog: the last commands of this thread's clients that took long.
 *
 * Each home keeps its own, at most slowlog-max-len of them; ids come from one counter of the
 * process, so that the newest ones of all homes together are the slow log that clients see. The
 * zero value is an empty log. Thread: home.
 */
#pragma once

#include <stdint.h>

#include "core/base/buf.h"
#include "shards/call/tap.h"

struct home;

#define SLOWLOG_ARGS_MAX                                                                           \
    32u /* words kept of a command; the last tells how many more there were                        \
         */
#define SLOWLOG_ARG_BYTES_MAX 128u /* bytes kept of a word, before a note on the rest */

/* One entry: its id, and itself as clients get it, encoded. */
struct slowlog_entry {
    struct slowlog_entry *older;
    uint64_t id;
    uint32_t len;
    char encoded[];
};

struct slowlog {
    struct slowlog_entry *newest;
    uint64_t count;
};

/* Notes the command of `event` if it took long enough by the settings of the home's shard. */
void slowlog_note(struct home *home, struct slowlog *log, const struct tap_event *event);

void slowlog_clear(struct slowlog *log);
