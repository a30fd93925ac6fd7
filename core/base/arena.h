/*
 * arena: scratch memory that is given back all at once.
 *
 * Allocation moves a pointer; nothing is freed singly. arena_reset() keeps the first block, so
 * that a steady state allocates nothing. The zero value is an empty arena.
 * Thread: the owner's; an arena may be handed over whole (a hop travels with its arena).
 */
#pragma once

#include "core/base/bytes.h"

struct arena_block;

struct arena {
    char *next; /* first free byte of the current block */
    char *end;
    struct arena_block *first;
    struct arena_block *current;
    size_t taken_bytes; /* of all blocks */
};

void *arena_alloc_slow(struct arena *arena, size_t len);

/* `len` bytes, aligned to 8, not cleared. Never NULL. */
static inline void *arena_alloc(struct arena *arena, size_t len)
{
    size_t size = (len + !len + 7) & ~(size_t)7; /* nothing, too, lies at a place of its own */
    if (__builtin_expect((size_t)(arena->end - arena->next) >= size, 1)) {
        void *ptr = arena->next;
        arena->next += size;
        return ptr;
    }
    return arena_alloc_slow(arena, size);
}

void *arena_zalloc(struct arena *arena, size_t len);

/* A copy of `bytes` that lives as long as the arena. */
struct bytes arena_copy(struct arena *arena, struct bytes bytes);

/* Text made by printf's rules, terminated. */
const char *arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Forgets all; keeps one block of at most `keep_bytes` for next time. */
void arena_reset(struct arena *arena, size_t keep_bytes);

void arena_fini(struct arena *arena);
