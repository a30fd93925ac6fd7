/*
 * heap: the memory of one shard's data.
 *
 * Blocks up to HEAP_SMALL_MAX come from slabs of 64 KiB, in steps of 8 bytes to 256 and of an
 * eighth above; larger ones from the allocator's arena of this heap. A block is freed with its
 * size, so that small blocks carry no header. A block of another heap (a value that moved between
 * shards) may be freed through any heap: it goes home by a lock-free list and is counted there
 * until its owner takes it back.
 *
 * Thread: the shard's current owner, except where marked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_SMALL_MAX 1024u /* bytes */

struct heap;

/* A heap whose memory lies on NUMA node `node` (-1: anywhere). Thread: any. */
struct heap *heap_create(int node);
void heap_destroy(struct heap *heap); /* frees all that it holds; accepts NULL */

/* `size` > 0 bytes, aligned to 8 (to 64 from 64 bytes in multiples of 64 on). Never NULL. */
void *heap_alloc(struct heap *heap, size_t size);

/* NULL when memory is short; for sizes that a client chooses. */
void *heap_try_alloc(struct heap *heap, size_t size);

/* Gives back what heap_alloc() of any heap returned for this very `size`. */
void heap_free(struct heap *heap, void *ptr, size_t size);

/* What a block of `size` bytes really takes; a block may be used up to this size. */
size_t heap_usable(size_t size);

/* Bytes this heap has taken, slack of slabs included. Thread: any (published each 64 KiB). */
size_t heap_used(const struct heap *heap);

/* Takes home what others freed, gives back empty slabs; to be called once a turn. */
void heap_tend(struct heap *heap);
