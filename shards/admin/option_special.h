/*
 * option_special: options of several words with a meaning of their own. Thread: any.
 */
#pragma once

#include "shards/admin/options.h"

extern const struct option_special option_bind;            /* bind * -::* */
extern const struct option_special option_output_limit;    /* client-output-buffer-limit */
extern const struct option_special option_oom_values;      /* oom-score-adj-values 0 200 800 */
extern const struct option_special option_percentiles;     /* latency-tracking-info-percentiles */
extern const struct option_special option_keyspace_events; /* notify-keyspace-events KEA */
extern const struct option_special option_save;            /* save 3600 1 300 100 */
extern const struct option_special option_dir;             /* sets the working directory at once */
extern const struct option_special option_replicaof;       /* "no one", or refused */

/* proc-title-template: are all its variables known and its braces closed? */
bool option_check_title(struct bytes text, struct option_error *error);
