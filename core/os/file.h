/*
 * file: whole files, read and replaced. These calls block. Thread: any.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"

/* Appends the content of a file. 0 or a negative errno. */
MUST_CHECK int file_read(const char *path, struct buf *out);

/* Puts `content` in the place of a file so that whoever opens it, also after a crash, finds the old
 * or the new one whole. Mode and owner stay where the system allows it; a new file is its owner's
 * alone. 0 or a negative errno; the old file is then untouched. */
MUST_CHECK int file_replace(const char *path, struct bytes content);
