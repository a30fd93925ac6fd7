/*
 * string_options: one table for all three commands. It says which words exclude each other: at
 * most one condition, and at most one word about the time to live.
 */
#include "shards/cmd/string_options.h"

#include <assert.h>

#include "core/base/digest.h"
#include "core/type/str.h"
#include "shards/call/call.h"
#include "shards/local/db.h"

static_assert(STRING_DIGEST_LEN == 2 * DIGEST_XXH3_LEN, "two characters a byte");

/* clang-format off */
static const struct option {
    const char *word;
    uint32_t bit;
    uint32_t group; /* of which only one may be said */
} options_known[] = {
    {"NX",      STRING_IF_ABSENT,       STRING_ANY_CONDITION},
    {"XX",      STRING_IF_PRESENT,      STRING_ANY_CONDITION},
    {"IFEQ",    STRING_IF_EQUAL,        STRING_ANY_CONDITION},
    {"IFNE",    STRING_IF_OTHER,        STRING_ANY_CONDITION},
    {"IFDEQ",   STRING_IF_DIGEST,       STRING_ANY_CONDITION},
    {"IFDNE",   STRING_IF_OTHER_DIGEST, STRING_ANY_CONDITION},
    {"GET",     STRING_GIVE_OLD,        0},
    {"KEEPTTL", STRING_KEEP_TTL,        STRING_ANY_TTL},
    {"PERSIST", STRING_DROP_TTL,        STRING_ANY_TTL},
    {"EX",      STRING_IN_SECONDS,      STRING_ANY_TTL},
    {"PX",      STRING_IN_MS,           STRING_ANY_TTL},
    {"EXAT",    STRING_AT_SECONDS,      STRING_ANY_TTL},
    {"PXAT",    STRING_AT_MS,           STRING_ANY_TTL},
};
/* clang-format on */

static const struct option *option_find(struct bytes word, uint32_t allowed)
{
    for (size_t i = 0; i < sizeof(options_known) / sizeof(options_known[0]); i++) {
        if ((options_known[i].bit & allowed) && bytes_is(word, options_known[i].word))
            return &options_known[i];
    }
    return NULL;
}

enum status string_options_read(const struct call *call, uint32_t first, uint32_t allowed,
                                struct string_options *out)
{
    struct string_options options = {0};
    for (uint32_t i = first; i < call->arg_count; i++) {
        const struct option *option = option_find(call_arg(call, i), allowed);
        if (!option || (options.bits & option->group & ~option->bit))
            return ERR_SYNTAX;
        if (option->bit & (STRING_ANY_TIME | STRING_COMPARES)) {
            if (++i == call->arg_count)
                return ERR_SYNTAX;
            *(option->bit & STRING_ANY_TIME ? &options.time_index : &options.match_index) = i;
        }
        options.bits |= option->bit;
    }
    *out = options;
    return OK;
}

enum status string_options_time(const struct call *call, const struct string_options *options,
                                int64_t *out_at_ms)
{
    if (!(options->bits & STRING_ANY_TIME)) {
        *out_at_ms = options->bits & STRING_KEEP_TTL ? DB_KEEP_TTL : DB_NO_EXPIRE;
        return OK;
    }
    int64_t at_ms;
    TRY(call_arg_int(call, options->time_index, &at_ms));
    if (at_ms <= 0)
        return ERR_INVALID_EXPIRE;
    if ((options->bits & (STRING_IN_SECONDS | STRING_AT_SECONDS)) &&
        __builtin_mul_overflow(at_ms, 1000, &at_ms))
        return ERR_INVALID_EXPIRE;
    if ((options->bits & (STRING_IN_SECONDS | STRING_IN_MS)) &&
        __builtin_add_overflow(at_ms, call_now_ms(call), &at_ms))
        return ERR_INVALID_EXPIRE;
    *out_at_ms = at_ms;
    return OK;
}

void string_digest(const struct value *value, char to[STRING_DIGEST_LEN])
{
    char scratch[STR_SCRATCH];
    uint8_t digest[DIGEST_XXH3_LEN];
    digest_xxh3(str_view(value, scratch), digest);
    digest_hex(to, digest, sizeof(digest));
}

/* What is no hex digit is no error, it only never matches. */
static enum status has_digest(struct call *call, const struct value *value, struct bytes wanted,
                              bool *out)
{
    if (wanted.len != STRING_DIGEST_LEN)
        return call_fail_text(call, "ERR must be exactly %u hexadecimal characters",
                              STRING_DIGEST_LEN);
    char digest[STRING_DIGEST_LEN];
    string_digest(value, digest);
    *out = bytes_equal_nocase(bytes_of(digest, sizeof(digest)), wanted);
    return OK;
}

enum status string_options_meet(struct call *call, const struct string_options *options,
                                const struct value *value, bool *out_met)
{
    uint32_t bits = options->bits;
    if (!value) {
        *out_met = !(bits & (STRING_IF_PRESENT | STRING_IF_EQUAL | STRING_IF_DIGEST));
        return OK;
    }
    if (!(bits & STRING_COMPARES)) {
        *out_met = !(bits & STRING_IF_ABSENT);
        return OK;
    }
    if (value_type(value) != TYPE_STRING)
        return ERR_WRONG_TYPE;

    struct bytes wanted = call_arg(call, options->match_index);
    bool equal;
    if (bits & (STRING_IF_DIGEST | STRING_IF_OTHER_DIGEST)) {
        TRY(has_digest(call, value, wanted, &equal));
    } else {
        char scratch[STR_SCRATCH];
        equal = bytes_equal(str_view(value, scratch), wanted);
    }
    *out_met = equal == !!(bits & (STRING_IF_EQUAL | STRING_IF_DIGEST));
    return OK;
}
