/*
 * syntax: what a row's `syntax` says, as the tree of arguments that COMMAND DOCS shows.
 *
 * The notation is that of Redis's manual, without the command's name:
 *
 *     key                a word that stands for a value        NX            itself: capitals, or a
 * sign [a]                may be left out                       <a | b>       one of these ([a |
 * b]: or none) EX seconds         a token and its value                 LIMIT a b     in brackets:
 * a block a [a ...]          once or more often                    <a b> [...]   the group may be
 * repeated
 *
 * Names and types follow from the words, by the tables in syntax.c. What does not follow is noted
 * at the word or group, and left out when the syntax is shown to people:
 *
 *     name=word  name=[a | b]    another name than the usual one
 *     word/double                another type; makes a value of what looks like a token
 *     word@6.2.0  [a]@6.2.0      since which version
 *     word!2.8.12 [a]!2.8.12     deprecated since which
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"

enum syntax_type {
    SYNTAX_STRING,
    SYNTAX_INTEGER,
    SYNTAX_DOUBLE,
    SYNTAX_KEY,
    SYNTAX_PATTERN,
    SYNTAX_UNIX_TIME,
    SYNTAX_PURE_TOKEN,
    SYNTAX_ONEOF,
    SYNTAX_BLOCK,
    SYNTAX_TYPE_COUNT
};

#define SYNTAX_OPTIONAL (1u << 0)
#define SYNTAX_MULTIPLE (1u << 1)
#define SYNTAX_MULTIPLE_TOKEN (1u << 2) /* the token is repeated too */

struct syntax_arg {
    struct syntax_arg *next;
    struct syntax_arg *args; /* of ONEOF and BLOCK */
    enum syntax_type type;
    uint32_t flags;
    struct bytes name, shown; /* `shown` is its word in the syntax; empty for groups */
    struct bytes token, since, deprecated_since; /* empty: none */
};

/* COMMAND DOCS' word for a type. */
const char *syntax_type_name(enum syntax_type type);

/* The arguments that `text` describes, or NULL for none; they live in `arena` and borrow from
 * `text`. Text that is not in the notation ends the process: rows are ours. */
struct syntax_arg *syntax_parse(const char *text, struct arena *arena);

/* Appends `text` for people: without notes. */
void syntax_show(const char *text, struct buf *out);
