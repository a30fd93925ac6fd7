/*
 * welcome: how connections come in: listening, limits, and which thread takes them.
 *
 * The kernel deals connections out by SO_REUSEPORT, which is lumpy when they are few: each thread
 * hands what it accepts to the thread with the fewest clients. Thread: home.
 */
#pragma once

#include <stddef.h>

#include "core/base/check.h"

struct config;
struct home;

/* Listens as `config` says. 0 or a negative errno, with one line in `out_error`. */
MUST_CHECK int welcome_listen(struct home *home, const struct config *config, char *out_error,
                              size_t error_cap);

/* CONFIG SET may have changed port and addresses. */
void welcome_follow_config(struct home *home, const struct config *old, const struct config *new);
