/*
 * command_docs: what COMMAND INFO and COMMAND DOCS say of one row.
 *
 * Thread: home.
 */
#pragma once

#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/bytes.h"
#include "net/reply.h"

struct command;

/* The array of ten that COMMAND INFO answers for a command; subcommands included. */
void command_docs_info(struct reply *reply, const struct command *command);

/* The map that COMMAND DOCS answers; `arena` is scratch. */
void command_docs_map(struct reply *reply, const struct command *command, struct arena *arena);

/* Takes the next change from a row's `history`, which `*at` points into; false at its end. Text
 * that is not in the form that command.h shows ends the process: rows are ours. */
bool command_docs_change(const char **at, struct bytes *out_version, struct bytes *out_change);

/* The flags of a key (KEY_*), as a set. */
void command_docs_key_flags(struct reply *reply, uint32_t flags);

/* The ACL category (ACL_*) with that name, in any case and without '@'; 0: there is none. */
uint32_t command_docs_category(struct bytes name);
