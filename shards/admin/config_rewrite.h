/*
 * config_rewrite: the settings as they are now, written into the file that they came from.
 *
 * Comments and order stay. Lines of an option are reused one by one; what is left over of them
 * becomes empty; what is new and not the default is appended after a line that says who wrote it.
 * Thread: any.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"
#include "shards/local/config.h"

/* Appends what the file `old` becomes. */
void config_rewrite(const struct config *config, struct bytes old, struct buf *out);
