/*
 * Whether a node is removed or its entries become tombstones is visible to clients (XINFO STREAM,
 * and how far an approximate trim goes), so it is decided just as in Redis: a node goes when its
 * last entry is deleted one by one, or when a trim finds that all of it may go. A trim by ids can
 * therefore leave a node of tombstones behind.
 */
#include "core/type/stream.h"

#include "core/base/heap.h"
#include "core/type/stream_group.h"

/* ---- Reading ------------------------------------------------------------------------------- */

void stream_seek(const struct stream *stream, struct stream_id low, struct stream_id high,
                 bool is_reverse, struct stream_cursor *out)
{
    out->stream = stream;
    out->low = low;
    out->high = high;
    out->node = (struct tree_cursor){0};
    out->walk = (struct stream_node_walk){.at = PACK_NONE, .is_reverse = is_reverse};
    uint64_t at = 0; /* where to begin upwards, if all begin behind */
    if (!stream_index_find(&stream->nodes, is_reverse ? high : low, &at) && is_reverse)
        return;
    const struct stream_node *node = stream_index_seek(&stream->nodes, at, &out->node);
    if (node)
        stream_node_walk(node, is_reverse, &out->walk);
}

/* False at the end. */
static bool enter_next_node(struct stream_cursor *cursor)
{
    struct stream_node_walk *walk = &cursor->walk;
    if (!walk->pack)
        return false;
    const struct stream_node *node = stream_index_step(&cursor->stream->nodes, walk->is_reverse,
                                                       &cursor->node);
    if (node)
        stream_node_walk(node, walk->is_reverse, walk);
    else
        walk->pack = NULL;
    return node != NULL;
}

/* The next entry, wherever it is, tombstones too. */
static bool step_any(struct stream_cursor *cursor, struct stream_entry *out)
{
    while (!stream_node_step(&cursor->walk, out)) {
        if (!enter_next_node(cursor))
            return false;
    }
    return true;
}

bool stream_step(struct stream_cursor *cursor, struct stream_entry *out)
{
    bool is_reverse = cursor->walk.is_reverse;
    while (step_any(cursor, out)) {
        bool is_low = stream_id_compare(out->id, cursor->low) < 0;
        bool is_high = stream_id_compare(out->id, cursor->high) > 0;
        if (is_reverse ? is_low : is_high) {
            cursor->walk = (struct stream_node_walk){.at = PACK_NONE, .is_reverse = is_reverse};
            return false;
        }
        if (!is_low && !is_high && !out->is_tombstone)
            return true;
    }
    return false;
}

bool stream_find(const struct stream *stream, struct stream_id id, struct stream_entry *out)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, id, id, false, &cursor);
    if (!stream_step(&cursor, &entry))
        return false;
    *out = entry;
    return true;
}

struct stream_id stream_last_entry_id(const struct stream *stream)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, STREAM_ID_MIN, STREAM_ID_MAX, true, &cursor);
    return stream_step(&cursor, &entry) ? entry.id : STREAM_ID_MIN;
}

static void find_first_id(struct stream *stream)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, STREAM_ID_MIN, STREAM_ID_MAX, false, &cursor);
    stream->first_id = stream_step(&cursor, &entry) ? entry.id : STREAM_ID_MIN;
}

/* ---- Adding -------------------------------------------------------------------------------- */

static uint64_t text_bytes_of(const struct bytes *words, uint32_t pair_count)
{
    uint64_t text_bytes = 0;
    for (uint32_t i = 0; i < 2 * pair_count; i++)
        text_bytes += words[i].len;
    return text_bytes;
}

bool stream_can_hold(const struct bytes *words, uint32_t pair_count)
{
    return stream_node_can_hold(text_bytes_of(words, pair_count), pair_count);
}

void stream_append(struct stream *stream, struct heap *heap, const struct stream_limits *limits,
                   struct stream_id id, const struct bytes *words, uint32_t pair_count)
{
    ASSERT(stream_id_compare(id, stream->last_id) > 0);
    struct stream_node *last = &stream->nodes.last;
    uint64_t text_bytes = text_bytes_of(words, pair_count);
    if (last->pack && stream_node_has_room(last, limits, text_bytes, pair_count)) {
        stream_node_append(last, heap, id, words, pair_count);
    } else {
        struct stream_node node;
        stream_node_create(&node, heap, id, words, pair_count);
        (void)stream_index_append(&stream->nodes, heap, node);
    }
    if (stream->length == 0)
        stream->first_id = id;
    stream->length++;
    stream->entries_added++;
    stream->last_id = id;
}

void stream_set_last_id(struct stream *stream, struct heap *heap, struct stream_id id)
{
    /* What has this id or a larger one can only be tombstones: they would stand in the way. */
    struct stream_node *last = &stream->nodes.last;
    while (last->pack && !stream_node_cut(last, heap, id))
        stream_index_drop(&stream->nodes, heap, stream_index_count(&stream->nodes) - 1);
    stream->last_id = id;
}

bool stream_put_node(struct stream *stream, struct heap *heap, struct stream_id master,
                     struct bytes bytes, const struct stream_node_facts *facts)
{
    bool is_first = stream_index_count(&stream->nodes) == 0;
    if (!is_first && stream_id_compare(master, stream->last_id) <= 0)
        return false;
    (void)stream_index_append(&stream->nodes, heap,
                              (struct stream_node){master, pack_load(bytes, heap)});
    stream->last_id = facts->last_id;
    bool was_empty = stream->length == 0;
    stream->length += facts->length;
    if (was_empty && facts->length > 0)
        find_first_id(stream);
    return true;
}

/* ---- Deleting ------------------------------------------------------------------------------ */

/* Makes a tombstone of one entry of the node at `index`, or drops the node with it. */
static void delete_in_node(struct stream *stream, struct heap *heap, uint64_t index,
                           uint32_t start_at)
{
    struct stream_node *node = stream_index_get(&stream->nodes, index);
    if (stream_node_length(node) == 1) {
        stream_index_drop(&stream->nodes, heap, index);
    } else {
        stream_node_mark(node, heap, start_at);
        stream_node_bury(node, heap, 1);
    }
    stream->length--;
}

bool stream_delete(struct stream *stream, struct heap *heap, struct stream_id id)
{
    struct stream_entry entry;
    uint64_t index;
    if (!stream_find(stream, id, &entry) || !stream_index_find(&stream->nodes, id, &index))
        return false;
    delete_in_node(stream, heap, index, entry.start_at);
    if (stream_id_compare(id, stream->max_deleted_id) > 0)
        stream->max_deleted_id = id;
    if (stream_id_compare(id, stream->first_id) == 0)
        find_first_id(stream);
    return true;
}

/* Whether all of a node is to go. */
static bool covers_node(const struct stream *stream, const struct stream_trim *trim,
                        const struct stream_node *node)
{
    if (trim->by == STREAM_TRIM_LENGTH)
        return stream->length - stream_node_length(node) >= trim->max_len;
    return stream_id_compare(stream_node_last_id(node), trim->min_id) < 0;
}

static bool is_trimmed(const struct stream *stream, const struct stream_trim *trim)
{
    return trim->by == STREAM_TRIM_LENGTH && stream->length <= trim->max_len;
}

/* Makes tombstones of the entries of a node that are to go, and may; returns how many. */
static uint64_t trim_in_node(struct stream *stream, struct heap *heap,
                             const struct stream_trim *trim, struct stream_node *node)
{
    struct stream_node_walk walk;
    struct stream_entry entry;
    uint64_t deleted = 0;
    stream_node_walk(node, false, &walk);
    while (stream_node_step(&walk, &entry)) {
        if (is_trimmed(stream, trim) ||
            (trim->by == STREAM_TRIM_ID && stream_id_compare(entry.id, trim->min_id) >= 0))
            break;
        if (entry.is_tombstone)
            continue;
        if (trim->release && !trim->release(trim->release_context, stream, entry.id))
            continue;
        stream_node_mark(node, heap, entry.start_at);
        stream->length--;
        deleted++;
    }
    if (deleted)
        stream_node_bury(node, heap, deleted);
    return deleted;
}

uint64_t stream_trim(struct stream *stream, struct heap *heap, const struct stream_trim *trim)
{
    uint64_t deleted = 0, index = 0; /* of the first node that has not been looked at */
    while (index < stream_index_count(&stream->nodes) && !is_trimmed(stream, trim)) {
        struct stream_node *node = stream_index_get(&stream->nodes, index);
        uint64_t length = stream_node_length(node);
        if (trim->limit && deleted + length > trim->limit)
            break;
        bool is_covered = covers_node(stream, trim, node);
        if (!is_covered && trim->is_approximate)
            break;
        if (is_covered && !trim->release) {
            stream->length -= length;
            deleted += length;
            stream_index_drop(&stream->nodes, heap, index);
            continue;
        }
        deleted += trim_in_node(stream, heap, trim, node);
        if (!is_covered && trim->by == STREAM_TRIM_ID)
            break;
        if (stream_node_length(node) == 0)
            stream_index_drop(&stream->nodes, heap, index);
        else
            index++;
    }
    if (deleted)
        find_first_id(stream);
    return deleted;
}

/* ---- As a compound value ------------------------------------------------------------------- */

struct stream *stream_create(struct heap *heap)
{
    struct stream *stream = heap_alloc(heap, sizeof *stream);
    *stream = (struct stream){0};
    return stream;
}

static const char *encoding(const void *root)
{
    (void)root;
    return "stream";
}

static size_t count(const void *root)
{
    return ((const struct stream *)root)->length;
}

static size_t bytes(const void *root)
{
    const struct stream *stream = root;
    return heap_usable(sizeof *stream) + stream_index_bytes(&stream->nodes) +
           stream_group_list_bytes(stream->groups);
}

static void *copy(const void *root, struct heap *heap)
{
    const struct stream *from = root;
    struct stream *stream = heap_alloc(heap, sizeof *stream);
    *stream = *from;
    stream->nodes = (struct stream_index){0};
    stream_index_copy(&stream->nodes, heap, &from->nodes);
    stream->groups = stream_group_list_copy(from->groups, heap);
    return stream;
}

static bool free_some(void *root, struct heap *heap, size_t element_count)
{
    struct stream *stream = root;
    uint64_t budget = element_count;
    if (stream->groups && !stream_group_list_free_some(stream->groups, heap, &budget))
        return false;
    stream->groups = NULL;
    if (!stream_index_drain(&stream->nodes, heap, &budget))
        return false;
    heap_free(heap, stream, sizeof *stream);
    return true;
}

const struct compound_ops stream_ops = {
    .encoding = encoding,
    .count = count,
    .bytes = bytes,
    .copy = copy,
    .free_some = free_some,
};

/* ---- Checking ------------------------------------------------------------------------------ */

void stream_validate(const struct stream *stream)
{
    stream_index_validate(&stream->nodes);
    struct stream_id first_id = STREAM_ID_MIN, last_id = STREAM_ID_MIN;
    uint64_t length = 0;
    for (uint64_t i = 0; i < stream_index_count(&stream->nodes); i++) {
        struct stream_node node = *stream_index_get(&stream->nodes, i);
        struct stream_node_facts facts;
        struct bytes content = bytes_of(node.pack, pack_bytes(node.pack));
        bool is_valid = stream_node_is_valid(node.master, content, &facts);
        ASSERT(is_valid);
        ASSERT(i == 0 || stream_id_compare(last_id, node.master) < 0);
        length += facts.length;
        last_id = facts.last_id;
    }
    ASSERT(length == stream->length);
    ASSERT(stream_id_compare(last_id, stream->last_id) <= 0);
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, STREAM_ID_MIN, STREAM_ID_MAX, false, &cursor);
    if (stream_step(&cursor, &entry))
        first_id = entry.id;
    ASSERT(stream_id_compare(first_id, stream->first_id) == 0);
}
