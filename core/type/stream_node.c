/*
 * The words of the pack, one entry of it each:
 *
 *     node     entries | tombstones | fields | field ... | 0 | entry ...
 *     entry    flags | ms | seq | value ... | words                    with SAME_FIELDS
 *              flags | ms | seq | pairs | field | value ... | words    without
 *
 * `ms` and `seq` are what an id has more than the node's master id, without a carry between them.
 * `words` counts the words of its entry before it: the way back for those who come from behind, and
 * the node's own 0 is where they stop. The node's fields are those of its first entry: others that
 * have the same ones do not repeat them.
 */
#include "core/type/stream_node.h"

#include "core/base/heap.h"

#define FLAG_TOMBSTONE 1
#define FLAG_SAME_FIELDS 2
#define FLAGS_ALL (FLAG_TOMBSTONE | FLAG_SAME_FIELDS)

#define ENTRY_WORDS 3u   /* flags, ms, seq */
#define OWN_WORDS_MAX 9u /* of a node and an entry, that are not fields or values */

/* ---- Words --------------------------------------------------------------------------------- */

/* Of a word that is known to be one. */
static int64_t number_at(const struct pack *pack, uint32_t at)
{
    int64_t number;
    bool is_number = pack_get_int(pack, at, &number);
    ASSERT(is_number);
    return number;
}

static uint32_t skip(const struct pack *pack, uint32_t at, uint64_t count)
{
    while (count-- > 0)
        at = pack_next(pack, at);
    return at;
}

/* Words on their way to the end of a pack, so many at a time. */
struct queue {
    struct pack **pack;
    struct heap *heap;
    uint32_t count;
    struct pack_item items[PACK_ITEMS_BATCH];
};

static void flush(struct queue *queue)
{
    pack_append_items(queue->pack, queue->heap, queue->items, queue->count);
    queue->count = 0;
}

static void put_item(struct queue *queue, struct pack_item item)
{
    if (queue->count == PACK_ITEMS_BATCH)
        flush(queue);
    queue->items[queue->count++] = item;
}

static void put_number(struct queue *queue, uint64_t number)
{
    put_item(queue, (struct pack_item){.number = (int64_t)number});
}

static void put_text(struct queue *queue, struct bytes text)
{
    put_item(queue, (struct pack_item){.text = text.len ? text.ptr : "", .len = text.len});
}

static void put_entry(struct queue *queue, struct stream_id distance, bool has_same_fields,
                      const struct bytes *words, uint32_t pair_count)
{
    put_number(queue, has_same_fields ? FLAG_SAME_FIELDS : 0);
    put_number(queue, distance.ms);
    put_number(queue, distance.seq);
    if (!has_same_fields)
        put_number(queue, pair_count);
    for (uint32_t i = 0; i < pair_count; i++) {
        if (!has_same_fields)
            put_text(queue, words[2 * i]);
        put_text(queue, words[2 * i + 1]);
    }
    uint64_t own_fields = has_same_fields ? 0 : (uint64_t)pair_count + 1;
    put_number(queue, ENTRY_WORDS + own_fields + pair_count);
}

/* ---- The node's own words ------------------------------------------------------------------ */

struct head {
    uint32_t tombstones_at;
    uint32_t fields_at; /* the first of them, or what follows */
    uint64_t length, tombstones;
    uint32_t field_count;
};

static struct head read_head(const struct pack *pack)
{
    struct head head;
    uint32_t at = pack_first(pack);
    head.length = (uint64_t)number_at(pack, at);
    at = pack_next(pack, at);
    head.tombstones_at = at;
    head.tombstones = (uint64_t)number_at(pack, at);
    at = pack_next(pack, at);
    head.field_count = (uint32_t)number_at(pack, at);
    head.fields_at = pack_next(pack, at);
    return head;
}

uint64_t stream_node_length(const struct stream_node *node)
{
    return (uint64_t)number_at(node->pack, pack_first(node->pack));
}

/* ---- Appending ----------------------------------------------------------------------------- */

void stream_node_create(struct stream_node *node, struct heap *heap, struct stream_id id,
                        const struct bytes *words, uint32_t pair_count)
{
    *node = (struct stream_node){id, pack_create(heap)};
    struct queue queue;
    queue.pack = &node->pack;
    queue.heap = heap;
    queue.count = 0;
    put_number(&queue, 1);
    put_number(&queue, 0);
    put_number(&queue, pair_count);
    for (uint32_t i = 0; i < pair_count; i++)
        put_text(&queue, words[2 * i]);
    put_number(&queue, 0);
    put_entry(&queue, STREAM_ID_MIN, true, words, pair_count);
    flush(&queue);
}

/* Bytes that an entry may take, at most, with a node's own words, if it is the first one. */
static uint64_t bytes_needed(uint64_t text_bytes, uint32_t pair_count)
{
    return text_bytes + (OWN_WORDS_MAX + 3 * (uint64_t)pair_count) * PACK_ENTRY_EXTRA_MAX;
}

bool stream_node_can_hold(uint64_t text_bytes, uint32_t pair_count)
{
    return bytes_needed(text_bytes, pair_count) <= PACK_BYTES_MAX - PACK_EMPTY_LEN;
}

bool stream_node_has_room(const struct stream_node *node, const struct stream_limits *limits,
                          uint64_t text_bytes, uint32_t pair_count)
{
    if (limits->node_bytes && pack_bytes(node->pack) + text_bytes >= limits->node_bytes)
        return false;
    if (!pack_has_room(node->pack, bytes_needed(text_bytes, pair_count)))
        return false;
    if (limits->node_entries == 0)
        return true;
    struct head head = read_head(node->pack);
    return head.length + head.tombstones < limits->node_entries;
}

static bool has_fields(const struct pack *pack, const struct head *head, const struct bytes *words,
                       uint32_t pair_count)
{
    if (head->field_count != pair_count)
        return false;
    uint32_t at = head->fields_at;
    for (uint32_t i = 0; i < pair_count; i++) {
        struct pack_item field = pack_get(pack, at);
        bool is_equal = field.text ? bytes_equal(bytes_of(field.text, field.len), words[2 * i])
                                   : pack_equals(pack, at, words[2 * i]);
        if (!is_equal)
            return false;
        at = pack_next(pack, at);
    }
    return true;
}

void stream_node_append(struct stream_node *node, struct heap *heap, struct stream_id id,
                        const struct bytes *words, uint32_t pair_count)
{
    struct head head = read_head(node->pack);
    bool has_same_fields = has_fields(node->pack, &head, words, pair_count);
    pack_replace_int(&node->pack, heap, pack_first(node->pack), (int64_t)head.length + 1);
    struct queue queue;
    queue.pack = &node->pack;
    queue.heap = heap;
    queue.count = 0;
    struct stream_id distance = {id.ms - node->master.ms, id.seq - node->master.seq};
    put_entry(&queue, distance, has_same_fields, words, pair_count);
    flush(&queue);
}

void stream_node_free(struct stream_node *node, struct heap *heap)
{
    pack_destroy(node->pack, heap);
    node->pack = NULL;
}

/* ---- Reading ------------------------------------------------------------------------------- */

void stream_entry_step(struct stream_entry *entry, struct stream_pair *out)
{
    const struct pack *pack = entry->pack;
    if (entry->field_at != PACK_NONE) {
        out->field = pack_view(pack, entry->field_at, out->field_scratch);
        entry->field_at = pack_next(pack, entry->field_at);
    } else {
        out->field = pack_view(pack, entry->at, out->field_scratch);
        entry->at = pack_next(pack, entry->at);
    }
    out->value = pack_view(pack, entry->at, out->value_scratch);
    entry->at = pack_next(pack, entry->at);
}

/* Where the first entry begins; PACK_NONE in a node without any, which is none of ours. */
static uint32_t first_entry_at(const struct pack *pack, const struct head *head)
{
    return skip(pack, head->fields_at, (uint64_t)head->field_count + 1);
}

void stream_node_walk(const struct stream_node *node, bool is_reverse, struct stream_node_walk *out)
{
    struct head head = read_head(node->pack);
    *out = (struct stream_node_walk){
        .pack = node->pack,
        .master = node->master,
        .field_count = head.field_count,
        .field_at = head.fields_at,
        .at = is_reverse ? pack_last(node->pack) : first_entry_at(node->pack, &head),
        .is_reverse = is_reverse,
    };
}

/* Reads the entry that begins at `start_at`; returns how many words follow `out->at` in it. */
static uint64_t read_entry(const struct stream_node_walk *walk, uint32_t start_at,
                           struct stream_entry *out)
{
    const struct pack *pack = walk->pack;
    int64_t flags = number_at(pack, start_at);
    uint32_t ms_at = pack_next(pack, start_at);
    uint32_t seq_at = pack_next(pack, ms_at);
    uint32_t at = pack_next(pack, seq_at);
    out->id.ms = walk->master.ms + (uint64_t)number_at(pack, ms_at);
    out->id.seq = walk->master.seq + (uint64_t)number_at(pack, seq_at);
    out->pack = pack;
    out->start_at = start_at;
    out->is_tombstone = flags & FLAG_TOMBSTONE;
    if (flags & FLAG_SAME_FIELDS) {
        out->pair_count = walk->field_count;
        out->field_at = walk->field_at;
        out->at = at;
        return (uint64_t)out->pair_count + 1;
    }
    out->pair_count = (uint32_t)number_at(pack, at);
    out->field_at = PACK_NONE;
    out->at = pack_next(pack, at);
    return 2 * (uint64_t)out->pair_count + 1;
}

bool stream_node_step(struct stream_node_walk *walk, struct stream_entry *out)
{
    const struct pack *pack = walk->pack;
    if (walk->at == PACK_NONE)
        return false;
    if (!walk->is_reverse) {
        uint64_t words = read_entry(walk, walk->at, out);
        walk->at = skip(pack, out->at, words);
        return true;
    }
    int64_t words = number_at(pack, walk->at);
    if (words == 0) {
        walk->at = PACK_NONE;
        return false;
    }
    uint32_t start_at = walk->at;
    while (words-- > 0)
        start_at = pack_prev(pack, start_at);
    (void)read_entry(walk, start_at, out);
    walk->at = pack_prev(pack, start_at);
    return true;
}

struct stream_id stream_node_last_id(const struct stream_node *node)
{
    struct stream_node_walk walk;
    struct stream_entry entry;
    stream_node_walk(node, true, &walk);
    bool has_entry = stream_node_step(&walk, &entry);
    ASSERT(has_entry);
    return entry.id;
}

/* ---- Deleting ------------------------------------------------------------------------------ */

void stream_node_mark(struct stream_node *node, struct heap *heap, uint32_t start_at)
{
    /* Flags are one byte, marked or not: nothing behind them moves. */
    pack_replace_int(&node->pack, heap, start_at, number_at(node->pack, start_at) | FLAG_TOMBSTONE);
}

void stream_node_bury(struct stream_node *node, struct heap *heap, uint64_t count)
{
    struct head head = read_head(node->pack);
    /* The second word first: it moves when the first gets another length. */
    pack_replace_int(&node->pack, heap, head.tombstones_at, (int64_t)(head.tombstones + count));
    pack_replace_int(&node->pack, heap, pack_first(node->pack), (int64_t)(head.length - count));
}

bool stream_node_cut(struct stream_node *node, struct heap *heap, struct stream_id id)
{
    struct stream_node_walk walk;
    struct stream_entry entry;
    uint32_t cut_at = PACK_NONE;
    uint64_t cut = 0;
    bool is_kept = false;
    stream_node_walk(node, true, &walk);
    while (!is_kept && stream_node_step(&walk, &entry)) {
        is_kept = stream_id_compare(entry.id, id) <= 0;
        if (!is_kept) {
            ASSERT(entry.is_tombstone);
            cut_at = entry.start_at;
            cut++;
        }
    }
    if (!is_kept)
        return false;
    if (cut > 0) {
        (void)pack_delete(&node->pack, heap, cut_at, UINT32_MAX);
        struct head head = read_head(node->pack);
        pack_replace_int(&node->pack, heap, head.tombstones_at, (int64_t)(head.tombstones - cut));
    }
    return true;
}

/* ---- Nodes of others ----------------------------------------------------------------------- */

/* Reads words one after the other; the first that is missing or no number spoils all. */
struct reader {
    const struct pack *pack;
    uint32_t at;
    bool is_sound;
};

static void skip_sound(struct reader *reader, uint64_t count)
{
    for (; count > 0 && reader->at != PACK_NONE; count--)
        reader->at = pack_next(reader->pack, reader->at);
    reader->is_sound &= count == 0;
}

/* 0 when there is no such word. */
static int64_t read_sound(struct reader *reader)
{
    int64_t number = 0;
    if (reader->at == PACK_NONE || !pack_get_int(reader->pack, reader->at, &number))
        reader->is_sound = false;
    skip_sound(reader, 1);
    return reader->is_sound ? number : 0;
}

/* A count of words: there cannot be more of them than bytes. */
static uint32_t read_sound_count(struct reader *reader)
{
    int64_t count = read_sound(reader);
    if (count < 0 || count > PACK_BYTES_MAX) {
        reader->is_sound = false;
        return 0;
    }
    return (uint32_t)count;
}

/* The next entry, which has to come after `facts->last_id`. */
static void read_sound_entry(struct reader *reader, struct stream_id master, uint32_t field_count,
                             struct stream_node_facts *facts)
{
    int64_t flags = read_sound(reader);
    struct stream_id id;
    id.ms = master.ms + (uint64_t)read_sound(reader);
    id.seq = master.seq + (uint64_t)read_sound(reader);
    uint64_t pairs = field_count, words = ENTRY_WORDS;
    if (!(flags & FLAG_SAME_FIELDS)) {
        pairs = read_sound_count(reader);
        skip_sound(reader, pairs);
        words += 1 + pairs;
    }
    skip_sound(reader, pairs);
    reader->is_sound &= read_sound(reader) == (int64_t)(words + pairs) && !(flags & ~FLAGS_ALL);

    bool is_first = facts->length + facts->tombstones == 0;
    int order = stream_id_compare(id, is_first ? master : facts->last_id);
    reader->is_sound &= is_first ? order >= 0 : order > 0;
    if (is_first)
        facts->first_id = id;
    facts->last_id = id;
    if (flags & FLAG_TOMBSTONE)
        facts->tombstones++;
    else
        facts->length++;
}

bool stream_node_is_valid(struct stream_id master, struct bytes bytes,
                          struct stream_node_facts *out)
{
    if (!pack_is_valid(bytes))
        return false;
    const struct pack *pack = (const struct pack *)bytes.ptr;
    struct reader reader = {pack, pack_first(pack), true};
    uint32_t length = read_sound_count(&reader);
    uint32_t tombstones = read_sound_count(&reader);
    uint32_t field_count = read_sound_count(&reader);
    skip_sound(&reader, field_count);
    reader.is_sound &= read_sound(&reader) == 0;
    struct stream_node_facts facts = {0};
    while (reader.is_sound && reader.at != PACK_NONE)
        read_sound_entry(&reader, master, field_count, &facts);
    if (!reader.is_sound || facts.length != length || facts.tombstones != tombstones ||
        length + tombstones == 0)
        return false;
    *out = facts;
    return true;
}
