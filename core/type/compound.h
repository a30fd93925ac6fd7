/*
 * compound: what the types that hold elements have in common.
 *
 * A compound value is a root object, of the type's own making, that the key's record points to. The
 * root changes its encoding inside, and mostly stays where it is as long as the key does; a type
 * may use the low bits of its roots' addresses, and value_set_root() when a change moves one. Every
 * type says here how it is measured, copied and freed, so that records, COPY, RENAME over shards
 * and lazy freeing need not know types. Thread: the owner of the heap concerned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/type/value.h"

struct heap;
struct table;

struct compound_ops {
    /* OBJECT ENCODING's word. */
    const char *(*encoding)(const void *root);
    /* Elements, as the type counts them (LLEN, HLEN, SCARD, ZCARD, XLEN). */
    size_t (*count)(const void *root);
    /* Bytes of heap memory, the root included; O(nodes) at most. */
    size_t (*bytes)(const void *root);
    /* A deep copy in `heap`. */
    void *(*copy)(const void *root, struct heap *heap);
    /* Frees at most about `element_count` elements. True when all is gone, the root too. */
    bool (*free_some)(void *root, struct heap *heap, size_t element_count);
    /* The hash table that finds its elements, NULL while there is none. NULL: there never is one.
     * For those who look inside. */
    const struct table *(*table)(const void *root);
};

/* Of a type other than TYPE_STRING. NULL: this version has no such values. */
const struct compound_ops *compound_ops(enum type type);
