/*
 * bytes: comparison without locale, since the protocol is ASCII.
 */
#include "core/base/bytes.h"

static inline unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t shared_len = a.len < b.len ? a.len : b.len;
    int order = shared_len ? memcmp(a.ptr, b.ptr, shared_len) : 0;
    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

static bool same_nocase(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (lower((unsigned char)a[i]) != lower((unsigned char)b[i]))
            return false;
    }
    return true;
}

bool bytes_equal_nocase(struct bytes a, struct bytes b)
{
    return a.len == b.len && same_nocase(a.ptr, b.ptr, a.len);
}

bool bytes_is(struct bytes a, const char *word)
{
    return bytes_equal_nocase(a, bytes_from_text(word));
}

bool bytes_starts_nocase(struct bytes a, const char *prefix)
{
    size_t len = strlen(prefix);
    return a.len >= len && same_nocase(a.ptr, prefix, len);
}

size_t bytes_find(struct bytes hay, struct bytes needle)
{
    if (needle.len == 0)
        return 0;
    if (hay.len < needle.len)
        return SIZE_MAX;
    const char *at = memmem(hay.ptr, hay.len, needle.ptr, needle.len);
    return at ? (size_t)(at - hay.ptr) : SIZE_MAX;
}
