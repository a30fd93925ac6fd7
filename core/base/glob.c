/*
 * glob: every element but the star eats exactly one byte, whatever its place. So when a match fails
 * after a star, only the last star need try again one byte further: an earlier star could only hand
 * the rest a shorter text, in which it would fail as well. That is what keeps a pattern full of
 * stars from taking exponential time.
 *
 * Bytes are compared as Redis does, in a range as signed ones: [\x80-a] holds what lies between
 * -128 and 'a'. With a backslash inside a bracket case counts even where it otherwise does not.
 */
#include "core/base/glob.h"

static inline signed char fold(char c, bool nocase)
{
    return (signed char)(nocase && c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The bracket whose inside begins at `*at`; moves `*at` behind it. */
static bool bracket_matches(struct bytes pattern, size_t *at, char c, bool nocase)
{
    const char *p = pattern.ptr;
    size_t i = *at;
    bool negated = i < pattern.len && p[i] == '^';
    i += negated;

    bool found = false;
    while (i < pattern.len && p[i] != ']') {
        size_t left = pattern.len - i;
        if (p[i] == '\\' && left >= 2) {
            found |= p[i + 1] == c;
            i += 2;
        } else if (left >= 3 && p[i + 1] == '-') {
            bool ordered = (signed char)p[i] <= (signed char)p[i + 2];
            signed char low = fold(p[ordered ? i : i + 2], nocase);
            signed char high = fold(p[ordered ? i + 2 : i], nocase);
            found |= fold(c, nocase) >= low && fold(c, nocase) <= high;
            i += 3;
        } else {
            found |= fold(p[i], nocase) == fold(c, nocase);
            i++;
        }
    }
    *at = i < pattern.len ? i + 1 : i;
    return found != negated;
}

/* The element at `*at`, which is not a star; moves `*at` behind it. */
static bool element_matches(struct bytes pattern, size_t *at, char c, bool nocase)
{
    char first = pattern.ptr[(*at)++];
    if (first == '?')
        return true;
    if (first == '[')
        return bracket_matches(pattern, at, c, nocase);
    if (first == '\\' && *at < pattern.len)
        first = pattern.ptr[(*at)++];
    return fold(first, nocase) == fold(c, nocase);
}

static bool matches(struct bytes pattern, struct bytes text, bool nocase)
{
    if (text.len == 0)
        return pattern.len == 0;

    size_t p = 0;
    size_t t = 0;
    size_t retry_p = SIZE_MAX; /* behind the last star */
    size_t retry_t = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            p++;
            if (p == pattern.len)
                return true;
            retry_p = p;
            retry_t = t;
        } else if (p < pattern.len && element_matches(pattern, &p, text.ptr[t], nocase)) {
            t++;
        } else if (retry_p == SIZE_MAX) {
            return false;
        } else {
            p = retry_p;
            t = ++retry_t;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

bool glob_matches(struct bytes pattern, struct bytes text)
{
    return matches(pattern, text, false);
}

bool glob_matches_nocase(struct bytes pattern, struct bytes text)
{
    return matches(pattern, text, true);
}

bool glob_is_all(struct bytes pattern)
{
    return pattern.len == 1 && pattern.ptr[0] == '*';
}

bool glob_is_literal(struct bytes pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        if (strchr("*?[\\", pattern.ptr[i]) && pattern.ptr[i])
            return false;
    }
    return true;
}
