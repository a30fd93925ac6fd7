/*
 * glob: the patterns of KEYS, SCAN, CONFIG GET, PSUBSCRIBE.
 *
 *     ?        any one byte
 *     *        any run of bytes
 *     [abc]    one of these; [a-z] a range, in either order; [^...] none of them
 *     \x       x itself, also inside brackets
 *
 * As Redis reads them, its corners included: a bracket without its end ends with the pattern, a
 * backslash at the end stands for itself, and an empty text matches nothing but the empty pattern,
 * not even `*`: who means all asks glob_is_all(). Costs at most the product of the two lengths.
 * Thread: any.
 */
#pragma once

#include "core/base/bytes.h"

bool glob_matches(struct bytes pattern, struct bytes text);

/* ASCII letters match in either case. */
bool glob_matches_nocase(struct bytes pattern, struct bytes text);

/* True for `*` alone: KEYS and SCAN take it for every key, the one with the empty name included. */
bool glob_is_all(struct bytes pattern);

/* True when the pattern has no special byte: it then matches itself alone. */
bool glob_is_literal(struct bytes pattern);
