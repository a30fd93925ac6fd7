/*
 * proc_title: what ps shows for this process, by a template such as
 * "{title} {listen-addr} {server-mode}". "{{" stands for a brace. Thread: any.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"
#include "shards/local/config.h"

/* Appends the template with its variables filled in, blanks at its ends cut. `title` is the name by
 * which the program was called. False, and nothing appended, when a brace is open or a variable
 * unknown. */
MUST_CHECK bool proc_title_expand(struct bytes template, const char *title,
                                  const struct config *config, struct buf *out);
