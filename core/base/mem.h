/*
 * mem: the only place that calls malloc and its kin, and counts what is taken.
 *
 * mem_*       general memory of a thread: connections, hops, buffers. Never NULL: a small, bounded
 *             allocation that fails ends the process. mem_try_* may be NULL and are for sizes that
 *             a client chooses.
 * Shard data  comes from heap.h, which builds on the pools and pages at the end of this header.
 * Accounting  mem_used() is what all threads and heaps together have taken and not given back,
 *             slack of size classes and of slabs included. It is exact once all are at rest, and
 *             never behind by more than the change under way. Thread: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *ptr, size_t size);
void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *ptr, size_t size);
char *mem_copy_text(const char *text);
void mem_free(void *ptr); /* accepts NULL; any thread */

/* `size` bytes at a multiple of `align`, a power of two of at least 64: for what must share no
 * cache line with others. Freed by mem_free(). */
void *mem_alloc_aligned(size_t size, size_t align);

/* Bytes that hold data, over all threads. Reads one cache line for each thread and each heap. */
size_t mem_used(void);

/* The most mem_used() has been at any time it was asked. */
size_t mem_used_peak(void);

/* What the allocator says about itself (INFO memory): bytes handed out, in pages that hold such
 * bytes, and resident. Zero where the allocator cannot tell. */
struct mem_allocator_stats {
    size_t allocated, active, resident;
};
struct mem_allocator_stats mem_allocator_stats(void);

/* "jemalloc-5.3.0-…" or "libc". */
const char *mem_allocator_name(void);

/* The allocator's own report, line by line, for people (MEMORY MALLOC-STATS). */
void mem_allocator_report(void (*write)(void *context, const char *text), void *context);

/* Makes the allocator give unused pages back to the system now (MEMORY PURGE). */
void mem_release_unused(void);

/* Out of memory: says so on standard error and ends the process. */
_Noreturn void mem_exhausted(size_t size);

/* ---- Accounts: one running total each, with one writer at a time. ---- */

struct mem_account {
    _Atomic int64_t bytes;
    _Atomic bool taken;
} __attribute__((aligned(64)));

/* Never NULL: when all MEM_ACCOUNTS_MAX are taken the process ends. Thread: any. */
#define MEM_ACCOUNTS_MAX 1024u
struct mem_account *mem_account_open(void);
/* Its balance is forgotten: what it counted is gone. */
void mem_account_close(struct mem_account *account);

static inline void mem_account_add(struct mem_account *account, int64_t delta)
{
    /* Only one thread writes, so a plain addition will do; others may read any of its values. */
    int64_t bytes = atomic_load_explicit(&account->bytes, memory_order_relaxed);
    atomic_store_explicit(&account->bytes, bytes + delta, memory_order_relaxed);
}

static inline int64_t mem_account_bytes(const struct mem_account *account)
{
    return atomic_load_explicit(&account->bytes, memory_order_relaxed);
}

/* ---- Pools: an arena of the allocator for one user at a time, and uncounted pages. ---- */

/* Memory from a pool is not counted: its user keeps an account. */
struct mem_pool {
    int flags;
    unsigned arena, tcache;
};

void mem_pool_init(struct mem_pool *pool);
/* Frees all that it gave, at the latest when the last pool ends: others may have blocks of it. */
void mem_pool_fini(struct mem_pool *pool);
/* NULL when short. Starts a cache line if `size` is a multiple of 64 above 1 KiB. */
void *mem_pool_alloc(struct mem_pool *pool, size_t size);
void mem_pool_free(struct mem_pool *pool, void *ptr, size_t size); /* a block of any pool */
size_t mem_pool_usable(size_t size); /* what a block of `size` bytes really takes */

/* `size` bytes of zeroed pages at a multiple of `align`, on NUMA node `node` (-1: anywhere), or
 * NULL. Both are powers of two of at least a page. */
void *mem_map(size_t size, size_t align, int node);
void mem_unmap(void *ptr, size_t size);
/* The pages' content is forgotten, and their memory the system's until they are next touched. */
void mem_forget(void *ptr, size_t size);
