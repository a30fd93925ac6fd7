/*
 * args: one command as it came: its words.
 *
 * The words are borrowed from the connection's input and the vector from the arena given to
 * conn_next(); both are valid until the connection's next conn_settle() or conn_detach_input().
 */
#pragma once

#include "core/base/bytes.h"

struct args {
    struct bytes *words; /* words[0] is the command's name */
    uint32_t count;      /* 1 or more */
    uint32_t wire_bytes; /* what the command took on the wire */
};
