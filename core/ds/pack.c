/*
 * The format, with all multi-byte numbers little-endian unless marked:
 *
 *     u32 bytes of the whole pack    u16 entries, or 0xffff: count them    entries    0xff
 *
 * An entry is a head that says what it is, its content, and a tail that says how long head and
 * content are, so that it can be found from behind:
 *
 *     0xxxxxxx                      an integer 0..127
 *     10xxxxxx text                 a text of up to 63 bytes
 *     110xxxxx x8                   an integer of 13 bits, big-endian
 *     1110xxxx x8 text              a text of up to 4095 bytes, its length big-endian
 *     0xf0 u32 text                 a longer text
 *     0xf1 0xf2 0xf3 0xf4           an integer of 16, 24, 32, 64 bits follows
 *
 * The tail has 7 bits to a byte, the most significant first; all bytes but the first have their
 * highest bit set. It takes a byte more than it needs at 2^14 - 1, 2^21 - 1 and 2^28 - 1: so it has
 * always been, and so it stays comparable.
 *
 * All changes are one operation, splice(): so many bytes at a place become so many others. The
 * block moves only when its size class changes.
 */
#include "core/ds/pack.h"

#include "core/base/check.h"
#include "core/base/heap.h"

#define END_MARK 0xff
#define HEAD_LEN_MAX 9u /* bytes: 0xf4 and the number */
#define TAIL_LEN_MAX 5u /* bytes */

#define TEXT6_MAX 63u
#define TEXT12_MAX 4095u

#define HEAD_TEXT6 0x80
#define HEAD_INT13 0xc0
#define HEAD_TEXT12 0xe0
#define HEAD_TEXT32 0xf0
#define HEAD_INT16 0xf1
#define HEAD_INT24 0xf2
#define HEAD_INT32 0xf3
#define HEAD_INT64 0xf4

static const uint8_t *bytes_in(const struct pack *pack)
{
    return (const uint8_t *)pack;
}

static uint8_t *bytes_at(struct pack *pack, uint32_t at)
{
    return (uint8_t *)pack + at;
}

static uint32_t header_count(const struct pack *pack)
{
    uint16_t count;
    memcpy(&count, bytes_in(pack) + 4, sizeof count);
    return count;
}

static void set_header_count(struct pack *pack, uint32_t count)
{
    uint16_t stored = count < PACK_COUNT_UNKNOWN ? (uint16_t)count : PACK_COUNT_UNKNOWN;
    memcpy(bytes_at(pack, 4), &stored, sizeof stored);
}

static void set_bytes(struct pack *pack, uint32_t len)
{
    memcpy(pack, &len, sizeof len);
    *bytes_at(pack, len - 1) = END_MARK;
}

/* ---- Entries ------------------------------------------------------------------------------- */

/* Where an entry's content starts and how long it is. */
struct extent {
    uint32_t head_len;
    uint32_t content_len; /* of a text; a number is all head */
};

/* Of a head that is known to be there whole. Other bytes than heads give an extent of 0. */
static inline struct extent extent_of(const uint8_t *entry)
{
    uint8_t head = entry[0];
    if (head < 0x80)
        return (struct extent){1, 0};
    if (head < 0xc0)
        return (struct extent){1, head & 0x3f};
    if (head < 0xe0)
        return (struct extent){2, 0};
    if (head < 0xf0)
        return (struct extent){2, (uint32_t)(head & 0x0f) << 8 | entry[1]};
    switch (head) {
    case HEAD_TEXT32: {
        uint32_t len;
        memcpy(&len, entry + 1, sizeof len);
        return (struct extent){5, len};
    }
    case HEAD_INT16:
        return (struct extent){3, 0};
    case HEAD_INT24:
        return (struct extent){4, 0};
    case HEAD_INT32:
        return (struct extent){5, 0};
    case HEAD_INT64:
        return (struct extent){9, 0};
    default:
        return (struct extent){0, 0};
    }
}

static inline bool is_text(uint8_t head)
{
    return (head & 0xc0) == HEAD_TEXT6 || (head & 0xf0) == HEAD_TEXT12 || head == HEAD_TEXT32;
}

static inline uint32_t tail_len(uint64_t body_len)
{
    if (body_len <= 127)
        return 1;
    if (body_len < (1u << 14) - 1)
        return 2;
    if (body_len < (1u << 21) - 1)
        return 3;
    return body_len < (1u << 28) - 1 ? 4 : 5;
}

static void write_tail(uint8_t *to, uint64_t body_len)
{
    uint32_t len = tail_len(body_len);
    for (uint32_t i = len; i-- > 0; body_len >>= 7)
        to[i] = (uint8_t)((body_len & 0x7f) | (i ? 0x80 : 0));
}

/* The body's length that the tail ending before `end` tells; 0 if there is no tail. */
static uint64_t read_tail(const uint8_t *end)
{
    uint64_t body_len = 0;
    for (uint32_t i = 0; i < TAIL_LEN_MAX; i++) {
        uint8_t byte = *--end;
        body_len |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80))
            return body_len;
    }
    return 0;
}

static inline uint32_t entry_len(const uint8_t *entry)
{
    struct extent extent = extent_of(entry);
    uint32_t body_len = extent.head_len + extent.content_len;
    return body_len + tail_len(body_len);
}

static int64_t read_number(const uint8_t *entry)
{
    uint8_t head = entry[0];
    if (head < 0x80)
        return head;
    if (head < HEAD_TEXT12)
        return (int16_t)(uint16_t)((uint32_t)(head << 8 | entry[1]) << 3) >> 3;
    int64_t number = 0;
    uint32_t len = extent_of(entry).head_len - 1;
    memcpy(&number, entry + 1, len);
    uint32_t unused_bits = 64 - 8 * len;
    return (int64_t)((uint64_t)number << unused_bits) >> unused_bits;
}

/* An entry that is about to be written. */
struct draft {
    struct bytes text; /* not counting what is in the head */
    uint32_t head_len;
    uint8_t head[HEAD_LEN_MAX];
};

static struct draft draft_int(int64_t number)
{
    struct draft draft = {0};
    if (number >= 0 && number <= 127) {
        draft.head_len = 1;
        draft.head[0] = (uint8_t)number;
        return draft;
    }
    if (number >= -4096 && number <= 4095) {
        draft.head_len = 2;
        draft.head[0] = (uint8_t)(HEAD_INT13 | (number >> 8 & 0x1f));
        draft.head[1] = (uint8_t)number;
        return draft;
    }
    if (number >= INT16_MIN && number <= INT16_MAX) {
        draft.head_len = 3;
        draft.head[0] = HEAD_INT16;
    } else if (number >= -(1 << 23) && number < 1 << 23) {
        draft.head_len = 4;
        draft.head[0] = HEAD_INT24;
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
        draft.head_len = 5;
        draft.head[0] = HEAD_INT32;
    } else {
        draft.head_len = 9;
        draft.head[0] = HEAD_INT64;
    }
    memcpy(draft.head + 1, &number, draft.head_len - 1);
    return draft;
}

static struct draft draft_text(struct bytes text)
{
    int64_t number;
    if (text.len <= NUM_INT_CAP && num_to_int(text, &number))
        return draft_int(number);
    ASSERT(text.len < PACK_BYTES_MAX);
    struct draft draft = {.text = text};
    if (text.len <= TEXT6_MAX) {
        draft.head_len = 1;
        draft.head[0] = (uint8_t)(HEAD_TEXT6 | text.len);
    } else if (text.len <= TEXT12_MAX) {
        draft.head_len = 2;
        draft.head[0] = (uint8_t)(HEAD_TEXT12 | text.len >> 8);
        draft.head[1] = (uint8_t)text.len;
    } else {
        uint32_t len = (uint32_t)text.len;
        draft.head_len = 5;
        draft.head[0] = HEAD_TEXT32;
        memcpy(draft.head + 1, &len, sizeof len);
    }
    return draft;
}

static uint32_t draft_body_len(const struct draft *draft)
{
    return draft->head_len + (uint32_t)draft->text.len;
}

static uint32_t draft_len(const struct draft *draft)
{
    return draft_body_len(draft) + tail_len(draft_body_len(draft));
}

static void draft_write(const struct draft *draft, uint8_t *to)
{
    memcpy(to, draft->head, draft->head_len);
    if (draft->text.len)
        memcpy(to + draft->head_len, draft->text.ptr, draft->text.len);
    write_tail(to + draft_body_len(draft), draft_body_len(draft));
}

size_t pack_entry_len(struct bytes text)
{
    struct draft draft = draft_text(text);
    return draft_len(&draft);
}

size_t pack_entry_len_int(int64_t number)
{
    struct draft draft = draft_int(number);
    return draft_len(&draft);
}

/* ---- Whole packs --------------------------------------------------------------------------- */

struct pack *pack_create(struct heap *heap)
{
    struct pack *pack = heap_alloc(heap, PACK_EMPTY_LEN);
    set_bytes(pack, PACK_EMPTY_LEN);
    set_header_count(pack, 0);
    return pack;
}

void pack_destroy(struct pack *pack, struct heap *heap)
{
    if (pack)
        heap_free(heap, pack, pack_bytes(pack));
}

struct pack *pack_copy(const struct pack *pack, struct heap *heap)
{
    return pack_load(bytes_of(pack, pack_bytes(pack)), heap);
}

struct pack *pack_load(struct bytes bytes, struct heap *heap)
{
    struct pack *pack = heap_alloc(heap, bytes.len);
    memcpy(pack, bytes.ptr, bytes.len);
    return pack;
}

/* The length of the entry at `entry`, of which `room` bytes may be read; 0 if it is unsound. */
static uint64_t sound_entry_len(const uint8_t *entry, uint64_t room)
{
    uint8_t head = entry[0];
    uint64_t needed = head == HEAD_TEXT32 ? 5 : (head & 0xf0) == HEAD_TEXT12 ? 2 : 1;
    if (room < needed)
        return 0;
    struct extent extent = extent_of(entry);
    uint64_t body_len = (uint64_t)extent.head_len + extent.content_len;
    if (extent.head_len == 0 || body_len + tail_len(body_len) > room)
        return 0;
    uint64_t len = body_len + tail_len(body_len);
    /* A longer tail than needed would be read from behind, but not from the front. */
    uint8_t expected[TAIL_LEN_MAX];
    write_tail(expected, body_len);
    return memcmp(expected, entry + body_len, tail_len(body_len)) == 0 ? len : 0;
}

bool pack_is_valid(struct bytes bytes)
{
    const struct pack *pack = (const struct pack *)bytes.ptr;
    const uint8_t *start = (const uint8_t *)bytes.ptr;
    if (bytes.len < PACK_EMPTY_LEN || bytes.len > PACK_BYTES_MAX || pack_bytes(pack) != bytes.len ||
        start[bytes.len - 1] != END_MARK)
        return false;
    uint64_t at = PACK_HEADER_LEN;
    uint64_t end = bytes.len - 1;
    uint64_t count = 0;
    for (; at < end; count++) {
        uint64_t len = sound_entry_len(start + at, end - at);
        if (len == 0)
            return false;
        at += len;
    }
    return header_count(pack) == PACK_COUNT_UNKNOWN || header_count(pack) == count;
}

uint32_t pack_count(const struct pack *pack)
{
    uint32_t count = header_count(pack);
    if (likely(count != PACK_COUNT_UNKNOWN))
        return count;
    count = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, at))
        count++;
    return count;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* `at`, unless the end mark is there. */
static inline uint32_t unless_end(const struct pack *pack, uint32_t at)
{
    return bytes_in(pack)[at] == END_MARK ? PACK_NONE : at;
}

uint32_t pack_first(const struct pack *pack)
{
    return unless_end(pack, PACK_HEADER_LEN);
}

uint32_t pack_next(const struct pack *pack, uint32_t at)
{
    return unless_end(pack, at + entry_len(bytes_in(pack) + at));
}

/* The entry that ends before `end`, which is not the first byte of entries. */
static uint32_t entry_before(const struct pack *pack, uint32_t end)
{
    uint32_t body_len = (uint32_t)read_tail(bytes_in(pack) + end);
    return end - body_len - tail_len(body_len);
}

uint32_t pack_prev(const struct pack *pack, uint32_t at)
{
    return at == PACK_HEADER_LEN ? PACK_NONE : entry_before(pack, at);
}

uint32_t pack_last(const struct pack *pack)
{
    return pack_is_empty(pack) ? PACK_NONE : entry_before(pack, pack_bytes(pack) - 1);
}

uint32_t pack_seek(const struct pack *pack, int64_t index)
{
    uint32_t known = header_count(pack);
    if (known != PACK_COUNT_UNKNOWN) {
        if (index >= known || index < -(int64_t)known)
            return PACK_NONE;
        /* From the nearer end. */
        if (index >= 0 && index > known / 2)
            index -= known;
        else if (index < 0 && -index > known / 2)
            index += known;
    }
    uint32_t at;
    if (index >= 0) {
        for (at = pack_first(pack); at != PACK_NONE && index > 0; index--)
            at = pack_next(pack, at);
    } else {
        for (at = pack_last(pack); at != PACK_NONE && index < -1; index++)
            at = pack_prev(pack, at);
    }
    return at;
}

struct pack_item pack_get(const struct pack *pack, uint32_t at)
{
    const uint8_t *entry = bytes_in(pack) + at;
    if (!is_text(entry[0]))
        return (struct pack_item){.number = read_number(entry)};
    struct extent extent = extent_of(entry);
    return (struct pack_item){.text = (const char *)entry + extent.head_len,
                              .len = extent.content_len};
}

struct bytes pack_view(const struct pack *pack, uint32_t at, char scratch[PACK_SCRATCH])
{
    struct pack_item item = pack_get(pack, at);
    if (item.text)
        return bytes_of(item.text, item.len);
    return bytes_of(scratch, num_from_int(scratch, item.number));
}

bool pack_get_int(const struct pack *pack, uint32_t at, int64_t *out)
{
    struct pack_item item = pack_get(pack, at);
    if (item.text)
        return num_to_int(bytes_of(item.text, item.len), out);
    *out = item.number;
    return true;
}

/* A text to look for, and the number that it spells. */
struct wanted {
    struct bytes text;
    bool is_number;
    int64_t number;
};

static struct wanted wanted_of(struct bytes text)
{
    struct wanted wanted = {.text = text};
    wanted.is_number = text.len <= NUM_INT_CAP && num_to_int(text, &wanted.number);
    return wanted;
}

/* A text of digits is compared too: others may have written it so. */
static inline bool entry_is(const uint8_t *entry, struct extent extent, const struct wanted *wanted)
{
    if (is_text(entry[0]))
        return bytes_equal(bytes_of(entry + extent.head_len, extent.content_len), wanted->text);
    return wanted->is_number && read_number(entry) == wanted->number;
}

bool pack_equals(const struct pack *pack, uint32_t at, struct bytes text)
{
    const uint8_t *entry = bytes_in(pack) + at;
    struct wanted wanted = wanted_of(text);
    return entry_is(entry, extent_of(entry), &wanted);
}

uint32_t pack_find(const struct pack *pack, uint32_t at, struct bytes text, uint32_t skip)
{
    if (at == PACK_NONE)
        return PACK_NONE;
    struct wanted wanted = wanted_of(text);
    const uint8_t *entry = bytes_in(pack) + at;
    for (uint32_t to_skip = 0; *entry != END_MARK; to_skip = to_skip ? to_skip - 1 : skip) {
        struct extent extent = extent_of(entry);
        if (to_skip == 0 && entry_is(entry, extent, &wanted))
            return (uint32_t)(entry - bytes_in(pack));
        uint32_t body_len = extent.head_len + extent.content_len;
        entry += body_len + tail_len(body_len);
    }
    return PACK_NONE;
}

/* ---- Changing ------------------------------------------------------------------------------ */

/* Makes the `old_len` bytes at `at` into `new_len` others, to be written by the caller; returns
 * where they go. */
static uint8_t *splice(struct pack **io_pack, struct heap *heap, uint32_t at, uint32_t old_len,
                       uint32_t new_len)
{
    struct pack *old = *io_pack;
    if (old_len == new_len)
        return bytes_at(old, at);
    uint32_t old_bytes = pack_bytes(old);
    uint64_t wanted_bytes = (uint64_t)old_bytes - old_len + new_len;
    ASSERT(wanted_bytes <= PACK_BYTES_MAX);
    uint32_t new_bytes = (uint32_t)wanted_bytes;
    uint32_t behind = old_bytes - at - old_len;
    if (heap_usable(old_bytes) == heap_usable(new_bytes)) {
        memmove(bytes_at(old, at + new_len), bytes_at(old, at + old_len), behind);
    } else {
        struct pack *moved = heap_alloc(heap, new_bytes);
        memcpy(moved, old, at);
        memcpy(bytes_at(moved, at + new_len), bytes_at(old, at + old_len), behind);
        heap_free(heap, old, old_bytes);
        *io_pack = moved;
    }
    set_bytes(*io_pack, new_bytes);
    return bytes_at(*io_pack, at);
}

static void count_more(struct pack *pack, uint32_t more)
{
    uint32_t known = header_count(pack);
    if (known != PACK_COUNT_UNKNOWN)
        set_header_count(pack, known + more);
}

static uint32_t insert(struct pack **pack, struct heap *heap, uint32_t at, struct draft draft)
{
    if (at == PACK_NONE)
        at = pack_bytes(*pack) - 1;
    draft_write(&draft, splice(pack, heap, at, 0, draft_len(&draft)));
    count_more(*pack, 1);
    return at;
}

static void replace(struct pack **pack, struct heap *heap, uint32_t at, struct draft draft)
{
    uint32_t old_len = entry_len(bytes_in(*pack) + at);
    draft_write(&draft, splice(pack, heap, at, old_len, draft_len(&draft)));
}

void pack_append(struct pack **pack, struct heap *heap, struct bytes text)
{
    (void)insert(pack, heap, PACK_NONE, draft_text(text));
}

void pack_append_int(struct pack **pack, struct heap *heap, int64_t number)
{
    (void)insert(pack, heap, PACK_NONE, draft_int(number));
}

void pack_append_items(struct pack **pack, struct heap *heap, const struct pack_item *items,
                       uint32_t count)
{
    ASSERT(count <= PACK_ITEMS_BATCH);
    struct draft drafts[PACK_ITEMS_BATCH];
    uint32_t len = 0;
    for (uint32_t i = 0; i < count; i++) {
        drafts[i] = items[i].text ? draft_text(bytes_of(items[i].text, items[i].len))
                                  : draft_int(items[i].number);
        len += draft_len(&drafts[i]);
    }
    uint8_t *to = splice(pack, heap, pack_bytes(*pack) - 1, 0, len);
    for (uint32_t i = 0; i < count; i++) {
        draft_write(&drafts[i], to);
        to += draft_len(&drafts[i]);
    }
    count_more(*pack, count);
}

void pack_prepend(struct pack **pack, struct heap *heap, struct bytes text)
{
    (void)insert(pack, heap, PACK_HEADER_LEN, draft_text(text));
}

uint32_t pack_insert(struct pack **pack, struct heap *heap, uint32_t at, struct bytes text)
{
    return insert(pack, heap, at, draft_text(text));
}

uint32_t pack_insert_int(struct pack **pack, struct heap *heap, uint32_t at, int64_t number)
{
    return insert(pack, heap, at, draft_int(number));
}

uint32_t pack_insert_pair(struct pack **pack, struct heap *heap, uint32_t at, struct bytes first,
                          struct bytes second)
{
    if (at == PACK_NONE)
        at = pack_bytes(*pack) - 1;
    struct draft drafts[2] = {draft_text(first), draft_text(second)};
    uint32_t first_len = draft_len(&drafts[0]);
    uint8_t *to = splice(pack, heap, at, 0, first_len + draft_len(&drafts[1]));
    draft_write(&drafts[0], to);
    draft_write(&drafts[1], to + first_len);
    count_more(*pack, 2);
    return at;
}

void pack_replace(struct pack **pack, struct heap *heap, uint32_t at, struct bytes text)
{
    replace(pack, heap, at, draft_text(text));
}

void pack_replace_int(struct pack **pack, struct heap *heap, uint32_t at, int64_t number)
{
    replace(pack, heap, at, draft_int(number));
}

uint32_t pack_delete(struct pack **pack, struct heap *heap, uint32_t at, uint32_t count)
{
    uint32_t known = header_count(*pack);
    uint32_t end = at;
    uint32_t deleted = 0;
    for (; deleted < count && bytes_in(*pack)[end] != END_MARK; deleted++)
        end += entry_len(bytes_in(*pack) + end);
    (void)splice(pack, heap, at, end - at, 0);
    if (known != PACK_COUNT_UNKNOWN)
        set_header_count(*pack, known - deleted);
    return unless_end(*pack, at);
}

void pack_interleave_int(struct pack **pack, struct heap *heap, uint32_t group_len, int64_t number)
{
    struct draft draft = draft_int(number);
    uint32_t extra_len = draft_len(&draft);
    uint32_t count = pack_count(*pack);
    ASSERT(count % group_len == 0);
    uint64_t wanted_bytes = pack_bytes(*pack) + (uint64_t)count / group_len * extra_len;
    ASSERT(wanted_bytes <= PACK_BYTES_MAX);
    struct pack *made = heap_alloc(heap, wanted_bytes);
    uint32_t from = PACK_HEADER_LEN, to = PACK_HEADER_LEN;
    for (uint32_t i = 0; i < count / group_len; i++) {
        uint32_t end = from;
        for (uint32_t k = 0; k < group_len; k++)
            end += entry_len(bytes_in(*pack) + end);
        memcpy(bytes_at(made, to), bytes_at(*pack, from), end - from);
        to += end - from;
        draft_write(&draft, bytes_at(made, to));
        to += extra_len;
        from = end;
    }
    *bytes_at(made, to) = END_MARK;
    set_bytes(made, (uint32_t)wanted_bytes);
    set_header_count(made, count + count / group_len);
    pack_destroy(*pack, heap);
    *pack = made;
}

void pack_join(struct pack **pack, struct heap *heap, const struct pack *from)
{
    uint32_t known = header_count(*pack);
    uint32_t more = header_count(from);
    uint32_t at = pack_bytes(*pack) - 1;
    uint32_t len = pack_bytes(from) - PACK_EMPTY_LEN;
    memcpy(splice(pack, heap, at, 0, len), bytes_in(from) + PACK_HEADER_LEN, len);
    bool both_known = known != PACK_COUNT_UNKNOWN && more != PACK_COUNT_UNKNOWN;
    set_header_count(*pack, both_known ? known + more : PACK_COUNT_UNKNOWN);
}

struct pack *pack_split(struct pack **pack, struct heap *heap, uint32_t at)
{
    if (at == PACK_NONE)
        return pack_create(heap);
    uint32_t len = pack_bytes(*pack) - 1 - at;
    struct pack *rest = heap_alloc(heap, PACK_EMPTY_LEN + len);
    memcpy(bytes_at(rest, PACK_HEADER_LEN), bytes_at(*pack, at), len);
    set_bytes(rest, PACK_EMPTY_LEN + len);
    set_header_count(rest, PACK_COUNT_UNKNOWN);
    uint32_t moved = pack_count(rest);
    set_header_count(rest, moved);

    uint32_t known = header_count(*pack);
    (void)splice(pack, heap, at, len, 0);
    if (known != PACK_COUNT_UNKNOWN)
        set_header_count(*pack, known - moved);
    return rest;
}
