/*
 * debug_value: those subcommands of DEBUG that tell how the value at a key is kept.
 *
 * Each is a shard's part of DEBUG; the key is the word at 2. An absent key is an error.
 * Thread: the owner of the call.
 */
#pragma once

#include "core/base/status.h"

struct buf;
struct call;
struct db_table_stats;

/* OBJECT, LISTPACK, QUICKLIST, HTSTATS-KEY. The text that Redis prints on its standard output is
 * here a line in the log. */
MUST_CHECK enum status debug_value_object(struct call *call);
MUST_CHECK enum status debug_value_listpack(struct call *call);
MUST_CHECK enum status debug_value_quicklist(struct call *call);
MUST_CHECK enum status debug_value_table(struct call *call);

/* Adds what HTSTATS says of a table that is not empty. */
void debug_value_add_table(struct buf *text, const struct db_table_stats *stats, bool is_full);
