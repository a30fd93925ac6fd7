/*
 * process: what the process is to the system around it: daemon or not, its pid file, its
 * supervisor, its title in ps, its weight for the out-of-memory killer.
 *
 * Thread: at start and end, by the one thread that there is; titles and weights: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/check.h"

/* Goes on in a child that has a session of its own, and returns there. The parent stays until the
 * child says process_ready(), then exits with status 0, or ends, then exits with status 1: so who
 * started us learns whether that went well. Before any other thread or ring is made. A negative
 * errno when there can be no child. */
MUST_CHECK int process_detach(void);

/* We serve: frees the waiting parent and gives up the terminal. Without a parent: nothing. */
void process_ready(void);

/* Is there a supervisor that waits for us: systemd (type notify), upstart? */
bool process_has_systemd(void);
bool process_has_upstart(void);
/* Sends one line such as "STOPPING=1" to systemd. 0 or a negative errno. */
int process_notify(const char *state);
/* Tells upstart that we are up, by stopping ourselves for it. */
void process_stop_for_upstart(void);

/* Our number, and a line end, in a file. 0 or a negative errno. */
MUST_CHECK int process_write_pid(const char *path);

/* Restricts this process to CPUs as taskset writes them: "0-3,8,10-20:2". 0, -EINVAL for another
 * text, or what the system says. */
MUST_CHECK int process_set_cpus(const char *list);

/* Takes the memory of the command line and of the environment for titles; `argv` and `environ` are
 * moved elsewhere. Once, first of all. */
void process_title_init(int argc, char **argv);
/* What ps shows; cut to the room there is. */
void process_set_title(const char *title);

/* The out-of-memory killer's weight of this process, -1000..1000: `score`, added to what it was at
 * first if `is_relative`. 0 or a negative errno. */
MUST_CHECK int process_weigh(bool is_relative, int score);
/* As it was before the first process_weigh(). */
MUST_CHECK int process_unweigh(void);
