/*
 * hash_key: for all hash commands: the hash at the call's key, to read and to change, and the words
 * that name fields.
 */
#pragma once

#include "core/type/hash.h"
#include "shards/call/call.h"

/* The hash at the key, NULL where there is none; to read, and for those about to write. */
MUST_CHECK enum status hash_key_find(struct call *call, const struct hash **out);
MUST_CHECK enum status hash_key_find_to_write(struct call *call, const struct hash **out);

/* The value of a field of the hash that was found, which may be NULL; false where there is none.
 * A field whose time has passed is deleted on the way, unless expiry is paused and the command
 * only reads: `*io_hash` is what is left. */
MUST_CHECK bool hash_key_read(struct call *call, const struct hash **io_hash, struct bytes field,
                              char scratch[PACK_SCRATCH], struct bytes *out_value);

/* A hash that is being changed, and whose it is. */
struct hash_edit {
    struct value *value; /* NULL: not begun */
    struct hash *hash;
};

/* The hash that was found, to write to; made where there was none. */
struct hash_edit hash_key_edit(struct call *call, const struct hash *found);
/* To be called when all is done. Without a field left, the key is deleted. */
void hash_key_end(struct call *call, struct hash_edit *edit);

bool hash_key_put(struct call *call, struct hash_edit *edit, struct hash_pair pair);
/* The whole of a change to one field, whose time stays. */
void hash_key_set_value(struct call *call, const struct hash *found, struct bytes field,
                        struct bytes value);

/* Reads "FIELDS count field ..." from the word `index` on, to the end. `count_text` is the error of
 * a count that is none. The fields are the last `*out_count` words. */
MUST_CHECK enum status hash_key_fields(struct call *call, uint32_t index, const char *count_text,
                                       uint32_t *out_count);

/* The word `index` as a time for a field: in units of `unit_ms`, counted from `from_ms`. */
#define HASH_KEY_EXPIRE_AT_MAX ((INT64_C(1) << 46) - 1) /* Redis keeps two of 48 bits for later */
MUST_CHECK enum status hash_key_time(struct call *call, uint32_t index, int64_t unit_ms,
                                     int64_t from_ms, int64_t *out_at_ms);
