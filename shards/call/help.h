/*
 * help: the HELP subcommand of every container, derived from the rows beside it.
 *
 * A row with .name = "help", .arity = 2 and .run = help_run is all that a container needs.
 */
#pragma once

#include "core/base/status.h"

struct call;

/* Lists the siblings of call->command: each with its syntax, and what it does. */
enum status help_run(struct call *call);

/* For a subcommand with a number of words that its row allows and it does not:
 * "ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP." */
enum status help_wrong_words(struct call *call);
