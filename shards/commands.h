/* commands: all command families, the one list that names each table. */
#pragma once

#include "shards/call/command.h"

/* NULL-ended; groups[i] is COMMAND DOCS' word for families[i]. */
extern const struct command *const command_families[];
extern const char *const command_family_groups[];
