/*
 * pack: a short list of strings and integers in one block of memory.
 *
 * The bytes are exactly those of Redis's listpack, so that dumps and stream nodes are plain copies;
 * pack.c has the format. A text that spells an integer just as num_from_int() would is kept as one,
 * in as few bytes as it needs, and reads back as the same text.
 *
 * Places     an entry is named by its offset, `at`, valid until the next change before or at it;
 *            PACK_NONE is no entry. Most functions cost O(bytes of the pack).
 * Memory     a block of the caller's heap of pack_bytes(); a change may move it, therefore takes
 *            the address of the caller's pointer. What is put in must not lie in the pack itself.
 * Bound      PACK_BYTES_MAX; the caller asks pack_has_room() first where clients choose sizes.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/base/num.h"

struct heap;
struct pack;

#define PACK_NONE 0u
#define PACK_HEADER_LEN 6u
#define PACK_EMPTY_LEN 7u          /* bytes of a pack without entries */
#define PACK_BYTES_MAX (1u << 30)  /* bytes */
#define PACK_ENTRY_EXTRA_MAX 10u   /* bytes that an entry may take beyond its text */
#define PACK_SCRATCH NUM_INT_CAP   /* room for any integer's text */
#define PACK_ITEMS_BATCH 32u       /* entries that one call appends, at most */
#define PACK_COUNT_UNKNOWN 0xffffu /* in the header: too many entries to say */

/* What an entry holds: a text, borrowed from the pack; or, `text` being NULL, a number. */
struct pack_item {
    const char *text;
    size_t len;
    int64_t number;
};

struct pack *pack_create(struct heap *heap);
void pack_destroy(struct pack *pack, struct heap *heap); /* accepts NULL */
struct pack *pack_copy(const struct pack *pack, struct heap *heap);

/* True if `bytes` are a whole pack whose every entry is sound. Nothing else may enter one. */
bool pack_is_valid(struct bytes bytes);
/* A pack of bytes that pack_is_valid() has let through. */
struct pack *pack_load(struct bytes bytes, struct heap *heap);

/* All bytes, the header and the end mark included: what a dump holds. */
static inline uint32_t pack_bytes(const struct pack *pack)
{
    uint32_t len;
    memcpy(&len, pack, sizeof len);
    return len;
}

/* How many entries. O(1) below PACK_COUNT_UNKNOWN. */
uint32_t pack_count(const struct pack *pack);

static inline bool pack_is_empty(const struct pack *pack)
{
    return pack_bytes(pack) == PACK_EMPTY_LEN;
}

/* Whether `extra_len` more bytes of entries stay within PACK_BYTES_MAX. */
static inline bool pack_has_room(const struct pack *pack, size_t extra_len)
{
    return extra_len <= PACK_BYTES_MAX - pack_bytes(pack);
}

/* Bytes that an entry with this text (this number) takes. */
size_t pack_entry_len(struct bytes text);
size_t pack_entry_len_int(int64_t number);

/* ---- Reading ---- */

uint32_t pack_first(const struct pack *pack); /* PACK_NONE when empty */
uint32_t pack_last(const struct pack *pack);
uint32_t pack_next(const struct pack *pack, uint32_t at); /* PACK_NONE after the last */
uint32_t pack_prev(const struct pack *pack, uint32_t at); /* PACK_NONE before the first */

/* The entry at `index`, negative counting from the end (-1: the last). PACK_NONE outside. */
uint32_t pack_seek(const struct pack *pack, int64_t index);

struct pack_item pack_get(const struct pack *pack, uint32_t at);
/* The entry as text; a number is printed into `scratch`. */
struct bytes pack_view(const struct pack *pack, uint32_t at, char scratch[PACK_SCRATCH]);
/* The entry as a number, if it is one, however it is kept. */
MUST_CHECK bool pack_get_int(const struct pack *pack, uint32_t at, int64_t *out);

bool pack_equals(const struct pack *pack, uint32_t at, struct bytes text);
/* The first entry that reads as `text`, from `at` on (PACK_NONE: none), passing over `skip` entries
 * between those that are looked at: 1 for the fields of field-value pairs. */
uint32_t pack_find(const struct pack *pack, uint32_t at, struct bytes text, uint32_t skip);

/* ---- Changing ---- */

void pack_append(struct pack **pack, struct heap *heap, struct bytes text);
void pack_append_int(struct pack **pack, struct heap *heap, int64_t number);
/* Several at once, at most PACK_ITEMS_BATCH. */
void pack_append_items(struct pack **pack, struct heap *heap, const struct pack_item *items,
                       uint32_t count);
void pack_prepend(struct pack **pack, struct heap *heap, struct bytes text);
/* Before the entry `at`, PACK_NONE: at the end. Returns where the new entry is. */
uint32_t pack_insert(struct pack **pack, struct heap *heap, uint32_t at, struct bytes text);
uint32_t pack_insert_int(struct pack **pack, struct heap *heap, uint32_t at, int64_t number);
/* The same for two entries, one after the other; returns where the first is. */
uint32_t pack_insert_pair(struct pack **pack, struct heap *heap, uint32_t at, struct bytes first,
                          struct bytes second);
/* The entry stays at `at`. */
void pack_replace(struct pack **pack, struct heap *heap, uint32_t at, struct bytes text);
void pack_replace_int(struct pack **pack, struct heap *heap, uint32_t at, int64_t number);
/* Removes `count` entries from `at` on, or as many as there are. Returns the entry that stands
 * there now, PACK_NONE at the end. */
uint32_t pack_delete(struct pack **pack, struct heap *heap, uint32_t at, uint32_t count);

/* Puts `number` behind every group of `group_len` entries; the last may not be broken off. */
void pack_interleave_int(struct pack **pack, struct heap *heap, uint32_t group_len, int64_t number);

/* Appends all entries of `from`, which stays as it is; another pack. */
void pack_join(struct pack **pack, struct heap *heap, const struct pack *from);
/* Moves the entries from `at` on (PACK_NONE: none) into a new pack. */
struct pack *pack_split(struct pack **pack, struct heap *heap, uint32_t at);
