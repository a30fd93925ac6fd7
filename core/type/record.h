/*
 * record: how a key and its value lie in memory.
 *
 *     +0  type 4 bits | encoding 4 bits
 *     +1  flags
 *     +2  length of the name; RECORD_LONG_NAME: see below
 *     +3  access, 24 bits: seconds of the last access (LRU), or minutes << 8 | counter (LFU)
 *     +6  length of the embedded value, 16 bits
 *     +8  [long name: length, 8 bytes; the heap of the record, 8 bytes]
 *         [RECORD_HAS_TTL: time of death in ms since 1970, 6 bytes; RECORD_WIDE_TTL: 8 bytes]
 *         name
 *         value: embedded bytes | an integer, 8 bytes | a pointer, 8 bytes
 *
 * One allocation of exactly record_bytes(), no padding: a name of 14 bytes and a number take 30
 * bytes, a block of 32. Fields after the header are therefore unaligned and read by memcpy.
 * For the files that make and read records only; others use value.h.
 */
#pragma once

#include <assert.h>

#include "core/base/heap.h"
#include "core/type/value.h"

enum encoding {
    ENCODING_INT,   /* an integer, 8 bytes */
    ENCODING_EMBED, /* the string's bytes themselves */
    ENCODING_BLOCK, /* a pointer to a struct str_block */
    ENCODING_ROOT,  /* a pointer to a compound value (compound.h) */
};

#define RECORD_HAS_TTL (1u << 0)
#define RECORD_WIDE_TTL (1u << 1) /* it does not fit 48 bits: the year 10889 and later */
#define RECORD_GROWN (1u << 2)    /* a string that APPEND or SETRANGE made: never "embstr" */

/* Names of this length and more have theirs in a field of its own. */
#define RECORD_LONG_NAME 255u
#define RECORD_NO_TTL ((int64_t)-1)
#define RECORD_TTL_BYTES 6u
#define RECORD_WIDE_TTL_BYTES 8u
#define RECORD_NARROW_TTL_MAX ((INT64_C(1) << 48) - 1)
#define RECORD_ACCESS_MAX 0xffffffu

/* Strings up to this long live in their record. Beyond, growing and changing the time to live
 * would copy too much. */
#define STR_EMBED_MAX 512u

struct value {
    uint8_t type_encoding;
    uint8_t flags;
    uint8_t name_len;
    uint8_t access[3];
    uint16_t value_len;
    char body[];
};
static_assert(sizeof(struct value) == 8, "a record's header is 8 bytes");

struct record_long_name {
    uint64_t len;
    struct heap *heap;
};

/* A string outside its record. `cap` bytes of room. */
struct str_block {
    size_t len, cap;
    char bytes[];
};

static inline enum type record_type(const struct value *record)
{
    return (enum type)(record->type_encoding & 15);
}

static inline enum encoding record_encoding(const struct value *record)
{
    return (enum encoding)(record->type_encoding >> 4);
}

static inline void record_set_kind(struct value *record, enum type type, enum encoding encoding)
{
    record->type_encoding = (uint8_t)(type | encoding << 4);
}

static inline uint32_t record_access(const struct value *record)
{
    return (uint32_t)record->access[0] | (uint32_t)record->access[1] << 8 |
           (uint32_t)record->access[2] << 16;
}

static inline void record_set_access(struct value *record, uint32_t access)
{
    record->access[0] = (uint8_t)access;
    record->access[1] = (uint8_t)(access >> 8);
    record->access[2] = (uint8_t)(access >> 16);
}

static inline size_t record_long_bytes(size_t name_len)
{
    return name_len >= RECORD_LONG_NAME ? sizeof(struct record_long_name) : 0;
}

static inline struct record_long_name record_long_name(const struct value *record)
{
    struct record_long_name field;
    memcpy(&field, record->body, sizeof field);
    return field;
}

static inline size_t record_name_len(const struct value *record)
{
    if (__builtin_expect(record->name_len != RECORD_LONG_NAME, 1))
        return record->name_len;
    return record_long_name(record).len;
}

static inline bool record_has_ttl(const struct value *record)
{
    return record->flags & RECORD_HAS_TTL;
}

/* How long the field for a time of death is. */
static inline size_t record_ttl_bytes(const struct value *record)
{
    return (record->flags & RECORD_HAS_TTL ? RECORD_TTL_BYTES : 0) +
           (record->flags & RECORD_WIDE_TTL ? RECORD_WIDE_TTL_BYTES - RECORD_TTL_BYTES : 0);
}

static inline size_t record_ttl_bytes_for(int64_t expire_at_ms)
{
    if (expire_at_ms < 0)
        return 0;
    return expire_at_ms <= RECORD_NARROW_TTL_MAX ? RECORD_TTL_BYTES : RECORD_WIDE_TTL_BYTES;
}

/* Where the name begins, counted from the body. */
static inline size_t record_name_at(const struct value *record)
{
    return record_ttl_bytes(record) +
           (record->name_len == RECORD_LONG_NAME ? sizeof(struct record_long_name) : 0);
}

static inline struct bytes record_name(const struct value *record)
{
    return bytes_of(record->body + record_name_at(record), record_name_len(record));
}

/* memcmp() == 0 without the call, which costs as much as comparing a short name. */
static inline bool record_same_bytes(const char *a, const char *b, size_t len)
{
    uint64_t x, y;
    if (__builtin_expect(len < 8, 0)) {
        for (size_t i = 0; i < len; i++) {
            if (a[i] != b[i])
                return false;
        }
        return true;
    }
    for (size_t i = 0; i < len - 8; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y)
            return false;
    }
    memcpy(&x, a + len - 8, 8); /* the last eight, which may overlap those before */
    memcpy(&y, b + len - 8, 8);
    return x == y;
}

static inline bool record_is_named(const struct value *record, struct bytes name)
{
    return record_name_len(record) == name.len &&
           record_same_bytes(record->body + record_name_at(record), name.ptr, name.len);
}

/* The value's part: what its encoding says. */
static inline char *record_value(const struct value *record)
{
    return (char *)record->body + record_name_at(record) + record_name_len(record);
}

static inline size_t record_value_bytes(const struct value *record)
{
    return record_encoding(record) == ENCODING_EMBED ? record->value_len : 8;
}

/* What the record was allocated with. */
static inline size_t record_bytes(const struct value *record)
{
    return sizeof *record + record_name_at(record) + record_name_len(record) +
           record_value_bytes(record);
}

/* The bytes that such a record takes. */
static inline size_t record_bytes_for(size_t name_len, int64_t expire_at_ms, size_t value_bytes)
{
    return sizeof(struct value) + record_long_bytes(name_len) + record_ttl_bytes_for(expire_at_ms) +
           name_len + value_bytes;
}

/* The record must have the field. */
static inline int64_t record_expire_at(const struct value *record)
{
    int64_t at_ms = 0; /* little-endian, as all that this program runs on */
    size_t bytes = record_ttl_bytes(record);
    memcpy(&at_ms, record->body + record_name_at(record) - bytes, bytes);
    return at_ms;
}

/* The field must be there, and wide enough. */
static inline void record_set_expire_at(struct value *record, int64_t at_ms)
{
    size_t bytes = record_ttl_bytes(record);
    memcpy(record->body + record_name_at(record) - bytes, &at_ms, bytes);
}

static inline bool record_is_expired(const struct value *record, int64_t now_ms)
{
    return __builtin_expect(record_has_ttl(record), 0) && record_expire_at(record) < now_ms;
}

static inline int64_t record_int(const struct value *record)
{
    int64_t number;
    memcpy(&number, record_value(record), sizeof number);
    return number;
}

static inline void *record_pointer(const struct value *record)
{
    void *ptr;
    memcpy(&ptr, record_value(record), sizeof ptr);
    return ptr;
}

static inline void record_set_pointer(struct value *record, void *ptr)
{
    memcpy(record_value(record), &ptr, sizeof ptr);
}

/* The heap that the record and its value come from. */
struct heap *record_heap(const struct value *record);

/* A record with its name and time of death (RECORD_NO_TTL: none), whose value part is for the
 * caller to write. `value_bytes` counts embedded bytes for ENCODING_EMBED and is 8 otherwise.
 * Access is zero. */
struct value *record_create(struct heap *heap, struct bytes name, int64_t expire_at_ms,
                            enum type type, enum encoding encoding, size_t value_bytes);

/* Writes the same into a block of this size class that is already there; access stays, and what
 * lies behind the name is not touched. */
void record_init(struct value *record, struct heap *heap, struct bytes name, int64_t expire_at_ms,
                 enum type type, enum encoding encoding, size_t value_bytes);

/* Gives the record another time of death, or none; it may move to another block. Returns it. */
struct value *record_set_ttl(struct value *record, struct heap *heap, int64_t expire_at_ms);

/* The record's value under another name and in another heap (or the same): the old record is gone.
 * The caller owns both heaps. Time of death, access and encoding stay. */
struct value *record_rename(struct value *record, struct bytes name, struct heap *heap);

/* A copy under another name in `heap`; `record` may lie in any heap. */
struct value *record_copy(const struct value *record, struct bytes name, struct heap *heap);

/* Moves the record, and the block of its string, out of sparse slabs (heap_compact()); returns
 * where it now is. What a compound value hangs on stays where it is. */
struct value *record_compact(struct value *record, struct heap *heap);

/* Frees what hangs off the record, and the record. `heap` is record_heap(). */
void record_destroy(struct value *record, struct heap *heap);
void record_drop_value(struct value *record, struct heap *heap); /* what hangs off it only */

/* Frees about `element_count` of the elements of a compound record; true when all is gone, the
 * record too. */
bool record_free_some(struct value *record, struct heap *heap, size_t element_count);

/* The same as record_destroy(), if few elements hang off the record; else false, and some are left
 * for record_free_some(). */
bool record_try_destroy(struct value *record, struct heap *heap);

/* A block with room for `cap` bytes or some more; NULL when memory is short. */
struct str_block *str_block_create(struct heap *heap, size_t cap);
void str_block_destroy(struct str_block *block, struct heap *heap);
