/*
 * bytes: a borrowed run of bytes, not terminated, possibly binary.
 *
 * A `struct bytes` never owns: it is valid as long as what it points into, by default
 * until the current call returns. Passed by value. `struct buf` owns.
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const char *ptr; /* may be NULL when len is 0 */
    size_t len;
};

/* The bytes of a string literal, without its terminator. */
#define BYTES(literal) ((struct bytes){(literal), sizeof(literal) - 1})

static inline struct bytes bytes_of(const void *ptr, size_t len)
{
    return (struct bytes){ptr, len};
}

/* Borrows a terminated string. */
static inline struct bytes bytes_from_text(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Like memcmp, a shorter run being smaller than a longer one that begins with it. */
int bytes_compare(struct bytes a, struct bytes b);

/* ASCII letters match in either case; for option words and command names. */
bool bytes_equal_nocase(struct bytes a, struct bytes b);
bool bytes_is(struct bytes a, const char *word); /* the same, against a terminated word */
bool bytes_starts_nocase(struct bytes a, const char *prefix);

/* Where `needle` first occurs in `hay`, or SIZE_MAX. */
size_t bytes_find(struct bytes hay, struct bytes needle);
