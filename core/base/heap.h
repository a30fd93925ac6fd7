/*
 * heap: the memory of one shard's data.
 *
 * Blocks up to HEAP_SMALL_MAX come from slabs of 64 KiB, in steps of 8 bytes to 256 and of an
 * eighth above; larger ones from an arena of the allocator that belongs to this heap. A block is
 * freed with its size, so that small blocks carry no header. A small block of another heap (a
 * value that moved between shards) may be freed through any heap: it goes home by a lock-free list
 * and is counted there until its owner takes it back. Large blocks change hands by
 * heap_adopt().
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

/* `size` > 0 bytes, aligned to 8 (multiples of 64: to 64). Never NULL. */
void *heap_alloc(struct heap *heap, size_t size);

/* NULL when memory is short; for sizes that a client chooses. */
void *heap_try_alloc(struct heap *heap, size_t size);

/* Gives back what heap_alloc() returned for this `size`, or for another of the same
 * heap_usable(). A large block must be one that this heap allocated or adopted. */
void heap_free(struct heap *heap, void *ptr, size_t size);

/* What a block of `size` bytes really takes; a block may be used up to this size. */
size_t heap_usable(size_t size);

/* The heap that a small block comes from. Thread: any that may read the block. */
struct heap *heap_of_small(const void *ptr);

/* A large block (above HEAP_SMALL_MAX) of `from` is from now on one of `heap`; it stays where it
 * is, and is counted here. The caller owns both heaps. */
void heap_adopt(struct heap *heap, struct heap *from, void *ptr, size_t size);

/* Bytes this heap has taken from the system, slack of slabs included. Thread: any. */
size_t heap_used(const struct heap *heap);

/* Of those, what lies free inside slabs, ready for the next blocks. Thread: any; may lag. */
size_t heap_spare(const struct heap *heap);

/* Bytes of the blocks that are handed out. */
size_t heap_live(const struct heap *heap);

/* For a round of moving blocks together, so that slabs with few of them become empty. First, and
 * again from time to time, heap_prefer_full(): from now on fuller slabs are filled first. Then
 * heap_compact() for each block: a small one in a sparse slab is moved, and its new place returned,
 * else `ptr` itself. Sparse is what has a quarter to spare; for a round that is `thorough`, what is
 * less full than the average: then half of all may have to move. */
void heap_prefer_full(struct heap *heap, bool thorough);
bool heap_is_sparse(const struct heap *heap, const void *ptr, size_t size);
void *heap_compact(struct heap *heap, void *ptr, size_t size);

/* Takes home what others freed; to be called once a turn. */
void heap_tend(struct heap *heap);

/* Gives one empty slab back to the system, some 10 us of work, unless only those are left that are
 * kept for the next need. True while there are more to give: best done in slices, since many become
 * empty at once when a database is flushed. */
bool heap_give_back(struct heap *heap);

/* Gives all empty slabs back, the kept ones too (MEMORY PURGE). */
void heap_release_unused(struct heap *heap);

/* Ends the process if the heap's own structures contradict each other. For tests. */
void heap_validate(struct heap *heap);
