/*
 * mem: the only place that calls malloc and its kin, and counts what is taken.
 *
 * mem_*       general memory of a thread: connections, hops, buffers. Never NULL: a small, bounded
 *             allocation that fails ends the process. mem_try_* may be NULL and are for sizes that
 *             a client chooses.
 * Shard data  comes from heap.h, which takes its slabs here.
 * Accounting  mem_used() is what all threads together have taken and not given back, slack of
 *             size classes and of slabs included. Thread: any; may lag by 64 KiB a thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_realloc(void *ptr, size_t size);
void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *ptr, size_t size);
char *mem_copy_text(const char *text);
void mem_free(void *ptr); /* accepts NULL; any thread */

/* Bytes that hold data, over all threads. */
size_t mem_used(void);
