/*
 * A stream is kept as:
 *
 *     count, then for each node: its master id as a string, its bytes as a string
 *     length, last id
 *     from version 2 on: first id, largest deleted id, entries ever added
 *     count, then for each group: name, last id, from version 2 on: entries read
 *         count, then for each pending entry: id, 8 bytes of time, deliveries
 *         count, then for each consumer: name, 8 bytes of when it was seen, from version 3 on: of
 *             when it was active; count, then the ids of its pending entries
 *
 * Ids in this list are two lengths, but those of nodes and of pending entries are 16 bytes, the
 * highest first.
 */
#include "core/type/stream_group.h"
#include "persist/format/codec.h"

#define ID_BYTES 16

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_id(struct buf *out, struct stream_id id)
{
    rdb_write_len(out, id.ms);
    rdb_write_len(out, id.seq);
}

static void put_id_bytes(char to[ID_BYTES], struct stream_id id)
{
    for (int i = 0; i < 8; i++) {
        to[i] = (char)(id.ms >> (56 - 8 * i) & 0xff);
        to[8 + i] = (char)(id.seq >> (56 - 8 * i) & 0xff);
    }
}

static void write_id_bytes(struct buf *out, struct stream_id id)
{
    put_id_bytes(buf_room(out, ID_BYTES), id);
    out->len += ID_BYTES;
}

static void write_nodes(struct buf *out, const struct stream *stream, bool compress)
{
    const struct stream_index *nodes = &stream->nodes;
    struct tree_cursor cursor;
    char id[ID_BYTES];
    rdb_write_len(out, stream_index_count(nodes));
    const struct stream_node *node = stream_index_seek(nodes, 0, &cursor);
    for (; node; node = stream_index_step(nodes, false, &cursor)) {
        put_id_bytes(id, node->master);
        rdb_write_string(out, bytes_of(id, ID_BYTES), compress);
        rdb_write_string(out, bytes_of(node->pack, pack_bytes(node->pack)), compress);
    }
}

static void write_consumer(struct buf *out, const struct stream_group_consumer *consumer,
                           bool compress)
{
    rdb_write_string(out, stream_group_consumer_name(consumer), compress);
    rdb_write_u64(out, (uint64_t)consumer->seen_at_ms);
    rdb_write_len(out, consumer->pending.count);
    struct tree_cursor cursor = tree_seek(&consumer->pending, 0);
    for (const struct stream_group_pending *pending; (pending = tree_item(&cursor)) != NULL;
         tree_next(&cursor))
        write_id_bytes(out, pending->id);
}

static void write_group(struct buf *out, const struct stream_group *group, bool compress)
{
    rdb_write_string(out, stream_group_name(group), compress);
    write_id(out, group->last_id);
    rdb_write_len(out, (uint64_t)group->entries_read);
    rdb_write_len(out, group->pending.count);
    struct tree_cursor cursor = tree_seek(&group->pending, 0);
    for (const struct stream_group_pending *pending; (pending = tree_item(&cursor)) != NULL;
         tree_next(&cursor)) {
        write_id_bytes(out, pending->id);
        rdb_write_u64(out, (uint64_t)pending->delivered_at_ms);
        rdb_write_len(out, pending->delivery_count);
    }
    rdb_write_len(out, group->consumers.count);
    for (uint64_t i = 0; i < group->consumers.count; i++)
        write_consumer(out, stream_group_consumer_at(group, i), compress);
}

void codec_write_stream(struct buf *out, const struct stream *stream, bool compress)
{
    write_nodes(out, stream, compress);
    rdb_write_len(out, stream->length);
    write_id(out, stream->last_id);
    write_id(out, stream->first_id);
    write_id(out, stream->max_deleted_id);
    rdb_write_len(out, stream->entries_added);
    uint64_t count = stream_group_count(stream);
    rdb_write_len(out, count);
    for (uint64_t i = 0; i < count; i++)
        write_group(out, stream_group_at(stream, i), compress);
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct input {
    struct rdb_reader *reader;
    struct heap *heap;
    struct stream *stream;
    enum rdb_type type;
    int64_t now_ms;
};

static struct stream_id read_id(struct rdb_reader *reader)
{
    uint64_t ms = rdb_read_len(reader);
    return (struct stream_id){ms, rdb_read_len(reader)};
}

static struct stream_id id_of_bytes(struct bytes bytes)
{
    struct stream_id id = {0, 0};
    for (int i = 0; i < 8; i++) {
        id.ms = id.ms << 8 | (unsigned char)bytes.ptr[i];
        id.seq = id.seq << 8 | (unsigned char)bytes.ptr[8 + i];
    }
    return id;
}

static struct stream_id read_id_bytes(struct rdb_reader *reader)
{
    if (reader->failed || rdb_left(reader) < ID_BYTES) {
        reader->failed = true;
        return STREAM_ID_MIN;
    }
    struct stream_id id = id_of_bytes(bytes_of(reader->at, ID_BYTES));
    reader->at += ID_BYTES;
    return id;
}

static bool read_nodes(struct input *input)
{
    struct rdb_reader *reader = input->reader;
    uint64_t count = rdb_read_count(reader, ID_BYTES + 1 + PACK_EMPTY_LEN / 2);
    for (uint64_t i = 0; i < count; i++) {
        struct bytes id = rdb_read_string(reader);
        struct bytes bytes = arena_copy(reader->arena, rdb_read_string(reader));
        struct stream_node_facts facts;
        if (reader->failed || id.len != ID_BYTES ||
            !stream_node_is_valid(id_of_bytes(id), bytes, &facts) ||
            !stream_put_node(input->stream, input->heap, id_of_bytes(id), bytes, &facts))
            return false;
    }
    return !reader->failed;
}

/* How many entries a group has read that was kept by a version which did not say so. */
static int64_t guess_entries_read(const struct stream *stream, struct stream_id last_id)
{
    if (!stream->entries_added)
        return 0;
    if (stream_id_compare(last_id, stream->last_id) == 0 ||
        (!stream->length && stream_id_compare(last_id, stream->last_id) < 0))
        return (int64_t)stream->entries_added;
    if (stream_id_compare(last_id, stream->first_id) < 0)
        return (int64_t)(stream->entries_added - stream->length);
    if (stream_id_compare(last_id, stream->first_id) == 0)
        return (int64_t)(stream->entries_added - stream->length + 1);
    return STREAM_GROUP_READ_UNKNOWN;
}

static bool read_counters(struct input *input)
{
    struct rdb_reader *reader = input->reader;
    struct stream *stream = input->stream;
    uint64_t length = rdb_read_len(reader);
    struct stream_id last_id = read_id(reader), first_id = stream->first_id;
    struct stream_id max_deleted_id = STREAM_ID_MIN;
    uint64_t entries_added = length;
    if (input->type != RDB_STREAM_1) {
        first_id = read_id(reader);
        max_deleted_id = read_id(reader);
        entries_added = rdb_read_len(reader);
    }
    if (reader->failed || length != stream->length || entries_added < length ||
        stream_id_compare(last_id, stream->last_id) < 0 ||
        (length && stream_id_compare(first_id, stream->first_id) != 0))
        return false;
    if (stream_id_compare(last_id, stream->last_id) > 0)
        stream_set_last_id(stream, input->heap, last_id);
    stream->max_deleted_id = max_deleted_id;
    stream->entries_added = entries_added;
    return true;
}

static bool read_pending(struct input *input, struct stream_group *group)
{
    struct rdb_reader *reader = input->reader;
    uint64_t count = rdb_read_count(reader, ID_BYTES + 9);
    for (uint64_t i = 0; i < count; i++) {
        struct stream_id id = read_id_bytes(reader);
        int64_t delivered_at_ms = (int64_t)rdb_read_u64(reader);
        uint64_t delivery_count = rdb_read_len(reader);
        if (reader->failed ||
            !stream_group_load_pending(group, input->heap, id, delivered_at_ms, delivery_count))
            return false;
    }
    return !reader->failed;
}

static bool read_consumer(struct input *input, struct stream_group *group)
{
    struct rdb_reader *reader = input->reader;
    struct bytes name = rdb_read_string(reader);
    int64_t seen_at_ms = (int64_t)rdb_read_u64(reader);
    int64_t active_at_ms = input->type == RDB_STREAM_3 ? (int64_t)rdb_read_u64(reader) : seen_at_ms;
    uint64_t count = rdb_read_count(reader, ID_BYTES);
    if (reader->failed)
        return false;
    struct stream_group_consumer *consumer = stream_group_create_consumer(group, input->heap, name,
                                                                          input->now_ms);
    if (!consumer)
        return false;
    consumer->seen_at_ms = seen_at_ms;
    consumer->active_at_ms = active_at_ms;
    for (uint64_t i = 0; i < count; i++)
        if (!stream_group_load_owner(group, input->heap, consumer, read_id_bytes(reader)))
            return false;
    return !reader->failed;
}

static bool read_group(struct input *input)
{
    struct rdb_reader *reader = input->reader;
    struct bytes name = rdb_read_string(reader);
    struct stream_id last_id = read_id(reader);
    int64_t entries_read = input->type == RDB_STREAM_1 ? guess_entries_read(input->stream, last_id)
                                                       : (int64_t)rdb_read_len(reader);
    if (reader->failed)
        return false;
    struct stream_group *group = stream_group_create(input->stream, input->heap, name, last_id,
                                                     entries_read);
    if (!group || !read_pending(input, group))
        return false;
    uint64_t count = rdb_read_count(reader, 10);
    for (uint64_t i = 0; i < count; i++)
        if (!read_consumer(input, group))
            return false;
    return !reader->failed && stream_group_is_whole(group);
}

bool codec_read_stream(struct rdb_reader *reader, enum rdb_type type, struct heap *heap,
                       int64_t now_ms, struct stream *stream)
{
    struct input input = {
        .reader = reader, .heap = heap, .stream = stream, .type = type, .now_ms = now_ms};
    if (!read_nodes(&input) || !read_counters(&input))
        return false;
    uint64_t count = rdb_read_count(reader, 6);
    for (uint64_t i = 0; i < count; i++)
        if (!read_group(&input))
            return false;
    return !reader->failed;
}
