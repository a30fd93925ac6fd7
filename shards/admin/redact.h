/*
 * redact: which words of a command are secrets, not to be shown by MONITOR or kept by SLOWLOG.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call;

#define REDACTED "(redacted)" /* what is shown instead */

/* Is the word at `index` a password or a user's name? */
bool redact_hides(const struct call *call, uint32_t index);
