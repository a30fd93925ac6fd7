/*
 * string_options: the words that may follow the names and values of SET, GETEX and MSETEX, and the
 * conditions that SET shares with DELEX.
 *
 * A word that clashes with an earlier one, or lacks what must follow it, is a syntax error; one
 * that is repeated is not, and what followed it last counts.
 * Thread: the owner of the call.
 */
#pragma once

#include "core/base/status.h"

struct call;
struct value;

#define STRING_IF_ABSENT (1u << 0)       /* NX */
#define STRING_IF_PRESENT (1u << 1)      /* XX */
#define STRING_IF_EQUAL (1u << 2)        /* IFEQ value */
#define STRING_IF_OTHER (1u << 3)        /* IFNE value */
#define STRING_IF_DIGEST (1u << 4)       /* IFDEQ digest */
#define STRING_IF_OTHER_DIGEST (1u << 5) /* IFDNE digest */
#define STRING_GIVE_OLD (1u << 6)        /* GET */
#define STRING_KEEP_TTL (1u << 7)
#define STRING_DROP_TTL (1u << 8) /* PERSIST */
#define STRING_IN_SECONDS (1u << 9)
#define STRING_IN_MS (1u << 10)
#define STRING_AT_SECONDS (1u << 11)
#define STRING_AT_MS (1u << 12)

#define STRING_COMPARES                                                                            \
    (STRING_IF_EQUAL | STRING_IF_OTHER | STRING_IF_DIGEST | STRING_IF_OTHER_DIGEST)
#define STRING_ANY_CONDITION (STRING_IF_ABSENT | STRING_IF_PRESENT | STRING_COMPARES)
#define STRING_ANY_TIME (STRING_IN_SECONDS | STRING_IN_MS | STRING_AT_SECONDS | STRING_AT_MS)
#define STRING_ANY_TTL (STRING_KEEP_TTL | STRING_DROP_TTL | STRING_ANY_TIME)

struct string_options {
    uint32_t bits;
    uint32_t time_index;  /* of the word that is the time, if any of STRING_ANY_TIME */
    uint32_t match_index; /* of the word to compare with, if any of STRING_COMPARES */
};

/* Reads the words from `first` on; only those of the bits in `allowed` are known. */
MUST_CHECK enum status string_options_read(const struct call *call, uint32_t first,
                                           uint32_t allowed, struct string_options *out);

/* When a string written with these options ends: a time, DB_KEEP_TTL or DB_NO_EXPIRE. */
MUST_CHECK enum status string_options_time(const struct call *call,
                                           const struct string_options *options,
                                           int64_t *out_at_ms);

/* Does `value`, NULL if there is none, meet the options' condition? None is always met. To compare
 * with what is no string is an error, and so is a digest that is no 16 characters long. */
MUST_CHECK enum status string_options_meet(struct call *call, const struct string_options *options,
                                           const struct value *value, bool *out_met);

#define STRING_DIGEST_LEN 16u /* characters */

/* Writes the digest of a string as DIGEST answers it, lower-case hex without a terminator. */
void string_digest(const struct value *value, char to[STRING_DIGEST_LEN]);
