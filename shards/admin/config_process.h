/*
 * config_process: settings of the process as a whole, put into effect: daemon, log, pid file,
 * supervisor, title, CPUs.
 *
 * Thread: the main thread, except where marked.
 */
#pragma once

#include <stdio.h>

#include "core/base/check.h"
#include "shards/admin/options.h"
#include "shards/local/config.h"

/* Before any other thread or ring: becomes a daemon if asked to, opens the log, writes the pid file
 * (`config` gets its default name), and logs which settings have no effect. 0, or -1 with one line
 * on `err`. */
MUST_CHECK int config_process_begin(struct config *config, FILE *err);

/* Tells the log when more is used already than maxmemory allows: at start, where the empty server
 * may be that large, and when it is set. Thread: any. */
void config_process_warn_of_memory(const struct config *config);

/* Clients are served now: tells whoever waits for that. */
void config_process_ready(const struct config *config);

/* Takes the pid file away, tells the supervisor that we stop. Also after a start that failed. */
void config_process_end(const struct config *config);

/* Puts into effect what differs between the two. False with the reason; what was changed is then
 * changed back. Thread: any home. */
MUST_CHECK bool config_process_change(const struct config *before, const struct config *after,
                                      struct option_error *error);

/* Says that what `option` was set to has no effect here, if that is so. Thread: any. */
void config_process_log_idle(const struct option *option);
