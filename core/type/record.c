#include "core/type/record.h"

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/type/compound.h"

#define RECORD_LARGE                                                                               \
    64u /* elements that are freed at once; Redis frees as many without a thread                   \
         */

struct heap *record_heap(const struct value *record)
{
    /* Only a long name makes a record too large for the slabs, which know their heap. */
    if (record->name_len == RECORD_LONG_NAME)
        return record_long_name(record).heap;
    return heap_of_small(record);
}

void record_init(struct value *record, struct heap *heap, struct bytes name, int64_t expire_at_ms,
                 enum type type, enum encoding encoding, size_t value_bytes)
{
    bool is_long = name.len >= RECORD_LONG_NAME;
    size_t ttl_bytes = record_ttl_bytes_for(expire_at_ms);
    record_set_kind(record, type, encoding);
    record->flags = (uint8_t)((ttl_bytes ? RECORD_HAS_TTL : 0) |
                              (ttl_bytes == RECORD_WIDE_TTL_BYTES ? RECORD_WIDE_TTL : 0));
    record->name_len = is_long ? RECORD_LONG_NAME : (uint8_t)name.len;
    record->value_len = encoding == ENCODING_EMBED ? (uint16_t)value_bytes : 0;

    /* The name may be borrowed from this very record. */
    size_t name_at = ttl_bytes + record_long_bytes(name.len);
    if (name.len)
        memmove(record->body + name_at, name.ptr, name.len);
    if (is_long) {
        struct record_long_name field = {name.len, heap};
        memcpy(record->body, &field, sizeof field);
    }
    if (ttl_bytes)
        record_set_expire_at(record, expire_at_ms);
}

struct value *record_create(struct heap *heap, struct bytes name, int64_t expire_at_ms,
                            enum type type, enum encoding encoding, size_t value_bytes)
{
    ASSERT(encoding != ENCODING_EMBED || value_bytes <= STR_EMBED_MAX);
    struct value *record = heap_alloc(heap, record_bytes_for(name.len, expire_at_ms, value_bytes));
    record_init(record, heap, name, expire_at_ms, type, encoding, value_bytes);
    record_set_access(record, 0);
    return record;
}

/* A record like `from` in all but its name, time of death and place. The value part is copied, so
 * both now point to what hangs off it. */
static struct value *clone(const struct value *from, struct bytes name, int64_t expire_at_ms,
                           struct heap *heap)
{
    size_t value_bytes = record_value_bytes(from);
    struct value *to = record_create(heap, name, expire_at_ms, record_type(from),
                                     record_encoding(from), value_bytes);
    to->flags |= from->flags & RECORD_GROWN;
    record_set_access(to, record_access(from));
    memcpy(record_value(to), record_value(from), value_bytes);
    return to;
}

struct value *record_set_ttl(struct value *record, struct heap *heap, int64_t expire_at_ms)
{
    size_t old_bytes = record_bytes(record);
    size_t old_ttl_bytes = record_ttl_bytes(record);
    size_t ttl_bytes = record_ttl_bytes_for(expire_at_ms);
    if (ttl_bytes == old_ttl_bytes) {
        if (ttl_bytes)
            record_set_expire_at(record, expire_at_ms);
        return record;
    }
    size_t new_bytes = old_bytes - old_ttl_bytes + ttl_bytes;
    if (heap_usable(new_bytes) != heap_usable(old_bytes)) {
        struct value *moved = clone(record, record_name(record), expire_at_ms, heap);
        heap_free(heap, record, old_bytes);
        return moved;
    }
    /* All behind the field moves up or down within the block. */
    size_t fixed_bytes = record_long_bytes(record_name_len(record));
    char *field = record->body + fixed_bytes;
    size_t rest_bytes = old_bytes - sizeof *record - fixed_bytes - old_ttl_bytes;
    memmove(field + ttl_bytes, field + old_ttl_bytes, rest_bytes);
    record->flags &= (uint8_t) ~(RECORD_HAS_TTL | RECORD_WIDE_TTL);
    if (ttl_bytes)
        record->flags |= RECORD_HAS_TTL;
    if (ttl_bytes == RECORD_WIDE_TTL_BYTES)
        record->flags |= RECORD_WIDE_TTL;
    if (ttl_bytes)
        record_set_expire_at(record, expire_at_ms);
    return record;
}

static struct str_block *copy_block(const struct str_block *from, struct heap *heap)
{
    struct str_block *to = str_block_create(heap, from->len);
    if (!to)
        mem_exhausted(from->len);
    memcpy(to->bytes, from->bytes, from->len);
    to->len = from->len;
    return to;
}

static void *copy_root(const struct value *record, struct heap *heap)
{
    return compound_ops(record_type(record))->copy(record_pointer(record), heap);
}

static void free_root(struct value *record, struct heap *heap)
{
    bool gone =
        compound_ops(record_type(record))->free_some(record_pointer(record), heap, SIZE_MAX);
    ASSERT(gone);
}

struct value *record_copy(const struct value *record, struct bytes name, struct heap *heap)
{
    struct value *copy = clone(record, name, value_expire_at_ms(record), heap);
    if (record_encoding(record) == ENCODING_BLOCK)
        record_set_pointer(copy, copy_block(record_pointer(record), heap));
    if (record_encoding(record) == ENCODING_ROOT)
        record_set_pointer(copy, copy_root(record, heap));
    return copy;
}

struct value *record_rename(struct value *record, struct bytes name, struct heap *heap)
{
    struct heap *from = record_heap(record);
    struct value *renamed = clone(record, name, value_expire_at_ms(record), heap);
    if (from != heap && record_encoding(record) == ENCODING_BLOCK) {
        /* Large blocks change hands where they are, small ones belong to a slab. */
        struct str_block *block = record_pointer(record);
        size_t block_bytes = sizeof *block + block->cap;
        if (block_bytes > HEAP_SMALL_MAX) {
            heap_adopt(heap, from, block, block_bytes);
        } else {
            record_set_pointer(renamed, copy_block(block, heap));
            str_block_destroy(block, from);
        }
    }
    if (from != heap && record_encoding(record) == ENCODING_ROOT) {
        /* Its many small blocks belong to slabs of the old heap: it is made anew in the new one. */
        record_set_pointer(renamed, copy_root(record, heap));
        free_root(record, from);
    }
    heap_free(from, record, record_bytes(record));
    return renamed;
}

struct value *record_compact(struct value *record, struct heap *heap)
{
    if (record_encoding(record) == ENCODING_BLOCK) {
        struct str_block *block = record_pointer(record);
        record_set_pointer(record, heap_compact(heap, block, sizeof *block + block->cap));
    }
    return heap_compact(heap, record, record_bytes(record));
}

void record_drop_value(struct value *record, struct heap *heap)
{
    if (record_encoding(record) == ENCODING_BLOCK)
        str_block_destroy(record_pointer(record), heap);
    else if (record_encoding(record) == ENCODING_ROOT)
        free_root(record, heap);
}

void record_destroy(struct value *record, struct heap *heap)
{
    record_drop_value(record, heap);
    heap_free(heap, record, record_bytes(record));
}

bool record_free_some(struct value *record, struct heap *heap, size_t element_count)
{
    void *root = record_pointer(record);
    if (!compound_ops(record_type(record))->free_some(root, heap, element_count))
        return false;
    heap_free(heap, record, record_bytes(record));
    return true;
}

bool record_try_destroy(struct value *record, struct heap *heap)
{
    if (record_encoding(record) == ENCODING_ROOT)
        return record_free_some(record, heap, RECORD_LARGE);
    record_destroy(record, heap);
    return true;
}

struct str_block *str_block_create(struct heap *heap, size_t cap)
{
    size_t size = heap_usable(sizeof(struct str_block) + cap);
    struct str_block *block = heap_try_alloc(heap, size);
    if (block)
        *block = (struct str_block){.cap = size - sizeof *block};
    return block;
}

void str_block_destroy(struct str_block *block, struct heap *heap)
{
    heap_free(heap, block, sizeof *block + block->cap);
}
