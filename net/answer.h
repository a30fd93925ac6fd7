/*
 * answer: reads encoded replies back, for merging the parts of a command and for links to peers.
 *
 * Works on complete, well-formed replies of our own making; asserts on others. Thread: any.
 */
#pragma once

#include "core/base/bytes.h"

/* Splits the first whole reply (nested ones included) off `*rest`. */
struct bytes answer_next(struct bytes *rest);

/* The value of an integer reply ":n\r\n". */
int64_t answer_int(struct bytes reply);

/* Is it an error reply? */
bool answer_is_error(struct bytes reply);

/* For an aggregate: its element count, and in `*out_elements` what follows its head. */
size_t answer_elements(struct bytes reply, struct bytes *out_elements);
