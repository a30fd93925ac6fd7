/*
 * status: what a client can do wrong, each with its one text.
 *
 * A handler returns a status; dispatch writes the text. Texts are Redis's own. A text may name
 * two things that only the moment knows: {command}, the full name of the command, and {arg}, what
 * call_fail() was given. What the machine does to us is a negative errno, never a status.
 * Thread: any.
 */
#pragma once

#include "core/base/bytes.h"
#include "core/base/check.h"

enum status {
    OK = 0,
    WAITING, /* the client blocks; a reply comes later */
#define STATUS(name, text) name,
#include "core/base/status_list.h"
#undef STATUS
    STATUS_COUNT
};

/* The error line without the leading '-' and the line end, {…} not yet filled in, e.g.
 * "WRONGTYPE Operation against a key holding the wrong kind of value". */
struct bytes status_text(enum status status);
