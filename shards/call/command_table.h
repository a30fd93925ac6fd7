/*
 * command_table: finds a row by its name, and the keys among a command's words.
 *
 * Built once at start from the families of shards/commands.c; immutable afterwards. Thread: any.
 */
#pragma once

#include "core/store/key.h"
#include "shards/call/command.h"

/* Collects `families` (a NULL-ended list of zero-row-ended tables; `groups[i]` is COMMAND DOCS'
 * group). Numbers the rows, links subcommands, adds derived ACL categories. Once only. Ends the
 * process on a name that occurs twice. */
void command_table_build(const struct command *const *families, const char *const *groups);

/* rename-command: the row answers to `new_name` only, or, when that is empty, to no name. 0,
 * -ENOENT when there is no `old_name`, -EEXIST when `new_name` is taken. Thread: any, before others
 * start. */
MUST_CHECK int command_table_rename(struct bytes old_name, struct bytes new_name);

/* The row for a name in any case, or NULL. Containers answer themselves. */
const struct command *command_find(struct bytes name);
const struct command *command_find_sub(const struct command *container, struct bytes name);
/* "get", "client" or "client|kill", in any case; NULL when there is none. */
const struct command *command_find_full(struct bytes name);

/* All rows, containers and subcommands included, by id: 0..command_count()-1. */
uint32_t command_count(void);
const struct command *command_at(uint32_t id);
/* Top-level rows that can be called, in table order. */
uint32_t command_top_count(void);
const struct command *command_top_at(uint32_t index);

/* "client|kill" or "get"; terminated, lives for ever. */
const char *command_full_name(const struct command *command);

#define COMMAND_KEYS_FAST 16
/* Where the keys are among `args`. Returns their count and in `*out_index` their indices (in `fast`
 * if at most COMMAND_KEYS_FAST, else in memory of the arena); -1 when the words cannot be of this
 * command
 * ("Invalid arguments specified for command"). `out_flags` may be NULL. */
struct arena;
int command_keys(const struct command *command, const struct bytes *args, uint32_t arg_count,
                 uint32_t fast[COMMAND_KEYS_FAST], struct arena *arena, const uint32_t **out_index,
                 const uint16_t **out_flags);
/* Redis's firstkey, lastkey, step of COMMAND INFO. */
void command_key_range(const struct command *command, int *out_first, int *out_last, int *out_step);
