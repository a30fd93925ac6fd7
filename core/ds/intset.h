/*
 * intset: integers in order, each once, in one block of memory.
 *
 * The bytes are exactly those of Redis's intset, so that dumps are plain copies; intset.c has the
 * format. Looking up is a binary search; adding and removing move what stands behind.
 *
 * Memory     a block of the caller's heap of intset_bytes(); a change may move it, therefore takes
 *            the address of the caller's pointer.
 * Bound      INTSET_COUNT_MAX integers, which the caller sees to.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"

struct heap;
struct intset;

#define INTSET_COUNT_MAX (1u << 30)

typedef bool (*intset_keep_fn)(void *context, int64_t number);

struct intset *intset_create(struct heap *heap); /* an empty one */
void intset_destroy(struct intset *set, struct heap *heap);
struct intset *intset_copy(const struct intset *set, struct heap *heap);

/* True if `bytes` are a whole intset, in order and without repetition. Nothing else may enter one.
 */
bool intset_is_valid(struct bytes bytes);
/* An intset of bytes that intset_is_valid() has let through. */
struct intset *intset_load(struct bytes bytes, struct heap *heap);

/* All bytes: what a dump holds. */
size_t intset_bytes(const struct intset *set);
uint32_t intset_count(const struct intset *set);

/* The integer at `index` < count, the smallest being at 0. */
int64_t intset_get(const struct intset *set, uint32_t index);
bool intset_has(const struct intset *set, int64_t number);

/* True when it is a new one. */
bool intset_add(struct intset **set, struct heap *heap, int64_t number);
/* True when there was one. */
bool intset_remove(struct intset **set, struct heap *heap, int64_t number);
/* Asks `keep` about each integer in order, once, and removes those that it says false of. */
void intset_filter(struct intset **set, struct heap *heap, intset_keep_fn keep, void *context);
