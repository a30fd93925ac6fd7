/*
 * restore_fuzz: of a hostile payload either nothing enters, or a value that is sound.
 *
 * The input is what DUMP writes, without version and checksum: a type, and content. What is let in
 * is looked through by its own type, written again and read again: both must agree in count.
 * Whatever happens, no memory stays behind. The corpus, of every type that can be read, is made by
 * tests/fuzz/make_restore_corpus.
 */
#include "core/base/check.h"
#include "core/base/heap.h"
#include "core/type/record.h"
#include "core/type/stream_group.h"
#include "persist/format/codec.h"

static const struct codec_limits limits = {
    .list = {.node = {8192, UINT32_MAX}, .small = {4096, UINT32_MAX}},
    .set = {512, 128, 64},
    .zset = {128, 64},
    .hash = {128, 64},
};

static void validate(const struct codec_value *value)
{
    switch (value->type) {
    case TYPE_LIST:
        list_validate(value->root);
        break;
    case TYPE_SET:
        set_validate(value->root);
        break;
    case TYPE_ZSET:
        zset_validate(value->root);
        break;
    case TYPE_HASH:
        hash_validate(value->root);
        break;
    case TYPE_STREAM:
        stream_validate(value->root);
        stream_group_validate(value->root);
        break;
    case TYPE_STRING:
    case TYPE_COUNT:
        break;
    }
}

static bool read_value(struct bytes payload, struct heap *heap, struct arena *arena,
                       struct codec_value *out)
{
    struct rdb_reader reader = {
        .at = payload.ptr + 1, .end = payload.ptr + payload.len, .arena = arena};
    return payload.len > 0 &&
           codec_read(&reader, (unsigned char)payload.ptr[0], heap, &limits, 1700000000000, out);
}

/* Writes the value as the content of a key, which a record is. */
static void write_value(struct buf *out, struct heap *heap, const struct codec_value *value)
{
    struct value *record = record_create(heap, BYTES("k"), -1, value->type, ENCODING_ROOT,
                                         sizeof(void *));
    record_set_pointer(record, value->root);
    enum rdb_type type = codec_type(record);
    buf_add_char(out, (char)type);
    codec_write(out, record, type, true);
    heap_free(heap, record, record_bytes(record));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heap *heap = heap_create(-1);
    struct arena arena = {0};
    struct codec_value value, again;
    if (read_value(bytes_of(data, size), heap, &arena, &value) && value.type != TYPE_STRING) {
        struct buf written = {0};
        validate(&value);
        write_value(&written, heap, &value);
        bool is_read = read_value(buf_bytes(&written), heap, &arena, &again);
        ASSERT(is_read && again.type == value.type);
        ASSERT(compound_ops(value.type)->count(value.root) ==
               compound_ops(value.type)->count(again.root));
        validate(&again);
        codec_drop(&again, heap);
        codec_drop(&value, heap);
        buf_fini(&written);
    }
    heap_validate(heap);
    ASSERT(heap_live(heap) == 0);
    arena_fini(&arena);
    heap_destroy(heap);
    return 0;
}
