/*
 * value: what a key holds.
 *
 * A `struct value` is the key's record in its table: one allocation with name, time to live and,
 * for a small string, the bytes themselves; larger and compound values hang off it. Its layout is
 * record.h's business; readers use the functions here and those of the types (str.h, ...).
 * A const value can be read; only local/db.h yields what may be written.
 * Thread: the shard's current owner.
 */
#pragma once

#include <stdint.h>

#include "core/base/bytes.h"

struct value;

enum type { TYPE_STRING, TYPE_LIST, TYPE_SET, TYPE_ZSET, TYPE_HASH, TYPE_STREAM, TYPE_COUNT };

/* "string", "list", "set", "zset", "hash", "stream": TYPE's words. */
const char *type_name(enum type type);

enum type value_type(const struct value *value);
/* OBJECT ENCODING's word: "int", "embstr", "raw", ... with Redis's thresholds. */
const char *value_encoding(const struct value *value);
struct bytes value_name(const struct value *value);    /* the key's name, borrowed */
int64_t value_expire_at_ms(const struct value *value); /* -1: never */
/* Bytes of memory that the key takes, record and value, without the table. */
size_t value_bytes(const struct value *value);

/* The root object of a compound value (any type but TYPE_STRING), e.g. a `const struct list *`. */
const void *value_root(const struct value *value);
/* The same, to write to: only for what db_edit() has given. */
void *value_edit_root(struct value *value);
/* Of a type whose changes may give another root: puts back what has become of it. */
void value_set_root(struct value *value, void *root);
