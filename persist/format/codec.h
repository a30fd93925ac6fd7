/*
 * codec: a value as the bytes of Redis's dump format, and back.
 *
 * Written is what Redis 7.0 reads, byte for byte as it would write it, but for the order of what
 * has none; the types of Redis 7.4 only for hashes whose fields have a time to live. Read is what
 * any Redis since 2.8 has written. A value is built anew, by the functions that commands use, and
 * each part of it is checked before it enters: of bytes that contradict themselves nothing stays.
 * Thread: the owner of the value and of the heap.
 */
#pragma once

#include "core/base/status.h"
#include "core/type/hash.h"
#include "core/type/list.h"
#include "core/type/set.h"
#include "core/type/stream.h"
#include "core/type/value.h"
#include "core/type/zset.h"
#include "persist/format/rdb.h"

/* How large the small forms may become. */
struct codec_limits {
    struct list_limits list;
    struct set_limits set;
    struct zset_limits zset;
    struct hash_limits hash;
};

/* What was read. */
struct codec_value {
    enum type type;
    struct bytes text; /* TYPE_STRING: borrowed from what was read, or from the reader's arena */
    void *root;        /* of other types: the caller's, of the given heap */
};

/* Which of the types the value is written as. */
enum rdb_type codec_type(const struct value *value);
/* The lowest version that has this type. */
uint32_t codec_version(enum rdb_type type);
/* Its content, as that type. */
void codec_write(struct buf *out, const struct value *value, enum rdb_type type, bool compress);

/* Reads the content of a value of type `type`. False for bytes that are no such value; of what is
 * empty or past there is none either. `now_ms` is for consumers of old streams. */
MUST_CHECK bool codec_read(struct rdb_reader *reader, enum rdb_type type, struct heap *heap,
                           const struct codec_limits *limits, int64_t now_ms,
                           struct codec_value *out);

/* Frees a root that was read and is not wanted. */
void codec_drop(struct codec_value *value, struct heap *heap);

/* ---- For the parts of the codec ---- */

void codec_write_stream(struct buf *out, const struct stream *stream, bool compress);
MUST_CHECK bool codec_read_stream(struct rdb_reader *reader, enum rdb_type type, struct heap *heap,
                                  int64_t now_ms, struct stream *stream);

/* The texts of a ziplist or zipmap, one after the other. */
typedef bool (*codec_text_fn)(void *context, struct bytes text);
/* Calls `visit` for each entry; false when the bytes are not sound, or it says so. */
MUST_CHECK bool codec_each_of_ziplist(struct bytes ziplist, codec_text_fn visit, void *context);
MUST_CHECK bool codec_each_of_zipmap(struct bytes zipmap, codec_text_fn visit, void *context);
