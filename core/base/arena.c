/*
 * arena: blocks in a list, filled from the front; `current` is the last one.
 *
 * A block is a header and its bytes. The first has ARENA_BLOCK_BYTES, each further one twice as
 * much as the one before up to ARENA_BLOCK_MAX; a larger request gets a block of its own size.
 */
#include "core/base/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/base/check.h"
#include "core/base/mem.h"

#define ARENA_BLOCK_BYTES 1024u /* header included */
#define ARENA_BLOCK_MAX (1u << 20)

struct arena_block {
    struct arena_block *next;
    size_t cap; /* bytes after the header */
    char bytes[];
};

static_assert(sizeof(struct arena_block) % 8 == 0, "what follows the header is aligned to 8");

static void use_block(struct arena *arena, struct arena_block *block)
{
    arena->current = block;
    arena->next = block->bytes;
    arena->end = block->bytes + block->cap;
}

void *arena_alloc_slow(struct arena *arena, size_t len)
{
    size_t cap = ARENA_BLOCK_BYTES - sizeof(struct arena_block);
    if (arena->current) {
        size_t doubled = 2 * (arena->current->cap + sizeof(struct arena_block));
        cap = (doubled < ARENA_BLOCK_MAX ? doubled : ARENA_BLOCK_MAX) - sizeof(struct arena_block);
    }
    if (cap < len)
        cap = len;

    struct arena_block *block = mem_alloc(sizeof(*block) + cap);
    block->next = NULL;
    block->cap = cap;
    if (arena->current)
        arena->current->next = block;
    else
        arena->first = block;
    arena->taken_bytes += sizeof(*block) + cap;
    use_block(arena, block);
    arena->next += len;
    return block->bytes;
}

void *arena_zalloc(struct arena *arena, size_t len)
{
    return memset(arena_alloc(arena, len), 0, len);
}

struct bytes arena_copy(struct arena *arena, struct bytes bytes)
{
    if (bytes.len == 0)
        return (struct bytes){"", 0};
    return bytes_of(memcpy(arena_alloc(arena, bytes.len), bytes.ptr, bytes.len), bytes.len);
}

const char *arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    ASSERT(len >= 0);

    char *text = arena_alloc(arena, (size_t)len + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

void arena_reset(struct arena *arena, size_t keep_bytes)
{
    struct arena_block *kept = NULL;
    struct arena_block *block = arena->first;
    while (block) {
        struct arena_block *next = block->next;
        size_t size = sizeof(*block) + block->cap;
        /* The largest that may be kept: a call that needed much will likely come again. */
        if (size <= keep_bytes && (!kept || block->cap > kept->cap)) {
            mem_free(kept);
            kept = block;
        } else {
            mem_free(block);
        }
        block = next;
    }
    *arena = (struct arena){0};
    if (kept) {
        kept->next = NULL;
        arena->first = kept;
        arena->taken_bytes = sizeof(*kept) + kept->cap;
        use_block(arena, kept);
    }
}

void arena_fini(struct arena *arena)
{
    arena_reset(arena, 0);
}
