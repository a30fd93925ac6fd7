/*
 * A pack or an intset that may stay one is checked and copied as it is. Of all others, the elements
 * are put one after the other into a new value, which finds its own form; what occurs twice then
 * shows when it is put.
 */
#include <math.h>

#include "core/base/bits.h"
#include "core/base/fingerprint.h"
#include "core/base/num.h"
#include "core/ds/intset.h"
#include "persist/format/codec.h"

#define PAIR_LEN 2u   /* of a hash's pack: field, value */
#define TRIPLE_LEN 3u /* and time */

/* A value that is being built. `root` is NULL until there is one. */
struct build {
    struct rdb_reader *reader;
    struct heap *heap;
    const struct codec_limits *limits;
    void *root;
    struct pack *pack;  /* that a ziplist becomes */
    struct bytes first; /* of a pair: what came before */
    bool has_first;
    int64_t now_ms;
};

static bool text_to_score(struct bytes text, double *out)
{
    return num_to_double(text, out) && !isnan(*out);
}

/* ---- One element ---------------------------------------------------------------------------- */

static bool put_element(void *context, struct bytes text)
{
    struct build *build = context;
    list_push(build->root, build->heap, &build->limits->list, LIST_LAST, &text, 1);
    return true;
}

static bool put_member(void *context, struct bytes text)
{
    struct build *build = context;
    return set_add(build->root, build->heap, &build->limits->set, text);
}

static bool put_field(struct build *build, struct bytes field, struct bytes value, int64_t at_ms)
{
    struct hash *hash = build->root;
    struct hash_pair pair = {.field = field, .value = value, .expire_at_ms = at_ms};
    bool is_new = at_ms == HASH_NO_TTL
                      ? hash_put(&hash, build->heap, &build->limits->hash, field, value)
                      : hash_put_pair(&hash, build->heap, &build->limits->hash, pair);
    build->root = hash;
    return is_new;
}

static bool put_score(struct build *build, struct bytes member, double score)
{
    return !isnan(score) && zset_put(build->root, build->heap, &build->limits->zset, member, score);
}

/* Remembers the first of two texts, whose bytes may be gone when the second comes. */
static bool is_first(struct build *build, struct bytes text)
{
    build->has_first = !build->has_first;
    if (build->has_first)
        build->first = arena_copy(build->reader->arena, text);
    return build->has_first;
}

static bool put_field_text(void *context, struct bytes text)
{
    struct build *build = context;
    return is_first(build, text) || put_field(build, build->first, text, HASH_NO_TTL);
}

static bool put_score_text(void *context, struct bytes text)
{
    struct build *build = context;
    double score;
    return is_first(build, text) ||
           (text_to_score(text, &score) && put_score(build, build->first, score));
}

/* ---- Blocks of elements --------------------------------------------------------------------- */

/* A string that is a block of memory of ours: at an address where such blocks may lie. */
static struct bytes read_block(struct rdb_reader *reader)
{
    struct bytes bytes = rdb_read_string(reader);
    bool lies_right = (uintptr_t)bytes.ptr % sizeof(uint64_t) == 0;
    return lies_right ? bytes : arena_copy(reader->arena, bytes);
}

/* A sound pack, of our heap from now on; NULL if there is none. */
static struct pack *read_pack(struct build *build)
{
    struct bytes bytes = read_block(build->reader);
    return build->reader->failed || !pack_is_valid(bytes) ? NULL : pack_load(bytes, build->heap);
}

static bool append_entry(void *context, struct bytes text)
{
    struct build *build = context;
    if (!pack_has_room(build->pack, text.len + PACK_ENTRY_EXTRA_MAX))
        return false;
    pack_append(&build->pack, build->heap, text);
    return true;
}

/* The same of a ziplist: its entries as a pack. */
static struct pack *read_ziplist(struct build *build)
{
    struct bytes bytes = rdb_read_string(build->reader);
    build->pack = pack_create(build->heap);
    if (!build->reader->failed && codec_each_of_ziplist(bytes, append_entry, build))
        return build->pack;
    pack_destroy(build->pack, build->heap);
    return NULL;
}

/* Does no group of `group_len` entries begin as another does? */
static bool names_differ(const struct build *build, const struct pack *pack, uint32_t group_len)
{
    uint64_t slot_count = bits_power_of_two_from(2 * ((uint64_t)pack_count(pack) / group_len + 1));
    /* By open addressing: the upper half of a name's hash, and where it is. */
    uint64_t *slots = arena_zalloc(build->reader->arena, slot_count * sizeof *slots);
    char scratch[PACK_SCRATCH];
    for (uint32_t at = pack_first(pack); at != PACK_NONE;) {
        struct bytes name = pack_view(pack, at, scratch);
        uint64_t hash = fingerprint(name), slot = hash & (slot_count - 1);
        for (; slots[slot]; slot = (slot + 1) & (slot_count - 1)) {
            if (slots[slot] >> 32 == hash >> 32 && pack_equals(pack, (uint32_t)slots[slot], name))
                return false;
        }
        slots[slot] = (hash & ~(uint64_t)UINT32_MAX) | at;
        for (uint32_t i = 0; i < group_len; i++)
            at = pack_next(pack, at);
    }
    return true;
}

static bool each_of_pack(struct build *build, const struct pack *pack, codec_text_fn put)
{
    char scratch[PACK_SCRATCH];
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, at))
        if (!put(build, pack_view(pack, at, scratch)))
            return false;
    return true;
}

static bool each_string(struct build *build, uint64_t count, codec_text_fn put)
{
    for (uint64_t i = 0; i < count; i++) {
        struct bytes text = rdb_read_string(build->reader);
        if (build->reader->failed || !put(build, text))
            return false;
    }
    return !build->reader->failed;
}

static bool read_scores(struct build *build, bool as_text)
{
    uint64_t count = rdb_read_count(build->reader, 2);
    zset_expect(build->root, build->heap, &build->limits->zset, count);
    for (uint64_t i = 0; i < count; i++) {
        struct bytes member = rdb_read_string(build->reader);
        double score = as_text ? rdb_read_text_double(build->reader)
                               : rdb_read_double(build->reader);
        if (build->reader->failed || !put_score(build, member, score))
            return false;
    }
    return !build->reader->failed;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

/* Empty nodes are passed over, as Redis does. */
static void put_node(struct build *build, struct pack *pack)
{
    if (pack_is_empty(pack))
        pack_destroy(pack, build->heap);
    else
        list_put_pack(build->root, build->heap, &build->limits->list, pack);
}

static bool read_packs(struct build *build)
{
    uint64_t count = rdb_read_count(build->reader, 2);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t kind = rdb_read_len(build->reader);
        struct bytes bytes = read_block(build->reader);
        if (build->reader->failed)
            return false;
        if (kind == RDB_NODE_PLAIN) {
            put_element(build, bytes);
        } else if (kind == RDB_NODE_PACK && pack_is_valid(bytes)) {
            put_node(build, pack_load(bytes, build->heap));
        } else {
            return false;
        }
    }
    return !build->reader->failed;
}

static bool read_ziplists(struct build *build)
{
    uint64_t count = rdb_read_count(build->reader, 1);
    for (uint64_t i = 0; i < count; i++) {
        struct pack *pack = read_ziplist(build);
        if (!pack)
            return false;
        put_node(build, pack);
    }
    return !build->reader->failed;
}

/* One ziplist, however large: dealt to nodes anew. */
static bool read_single_ziplist(struct build *build)
{
    struct bytes bytes = rdb_read_string(build->reader);
    return !build->reader->failed && codec_each_of_ziplist(bytes, put_element, build);
}

static bool read_list(struct build *build, enum rdb_type type)
{
    build->root = list_create(build->heap);
    switch (type) {
    case RDB_LIST:
        return each_string(build, rdb_read_count(build->reader, 1), put_element);
    case RDB_LIST_ZIPLIST:
        return read_single_ziplist(build);
    case RDB_LIST_QUICKLIST:
        return read_ziplists(build);
    default:
        return read_packs(build);
    }
}

/* ---- Sets and sorted sets ------------------------------------------------------------------- */

/* An intset of more numbers than may stay one becomes a table. */
static bool read_intset(struct build *build)
{
    struct bytes bytes = read_block(build->reader);
    if (build->reader->failed || !intset_is_valid(bytes))
        return false;
    struct intset *numbers = intset_load(bytes, build->heap);
    uint32_t count = intset_count(numbers);
    build->root = set_of_intset(numbers, build->heap);
    set_expect(build->root, build->heap, &build->limits->set, count);
    return true;
}

/* What is too large to be taken as it is, is put anew, and so below. */
static bool take_set_pack(struct build *build, struct pack *pack)
{
    if (!pack)
        return false;
    bool is_small = pack_count(pack) <= build->limits->set.text_count;
    if (is_small && names_differ(build, pack, 1)) {
        build->root = set_of_pack(pack, build->heap);
        return true;
    }
    build->root = set_create(build->heap);
    bool is_sound = !is_small && each_of_pack(build, pack, put_member);
    pack_destroy(pack, build->heap);
    return is_sound;
}

static bool read_set(struct build *build, enum rdb_type type)
{
    if (type == RDB_SET_INTSET)
        return read_intset(build);
    if (type == RDB_SET_PACK)
        return take_set_pack(build, read_pack(build));
    build->root = set_create(build->heap);
    uint64_t count = rdb_read_count(build->reader, 1);
    set_expect(build->root, build->heap, &build->limits->set, count);
    return each_string(build, count, put_member);
}

/* So is what is not in order. */
static bool take_zset_pack(struct build *build, struct pack *pack)
{
    if (!pack)
        return false;
    bool is_small = pack_count(pack) / 2 <= build->limits->zset.member_count &&
                    zset_pairs_are_valid(pack);
    if (is_small && names_differ(build, pack, 2)) {
        build->root = zset_of_pack(pack, build->heap);
        return true;
    }
    build->root = zset_create(build->heap);
    bool is_sound = !is_small && each_of_pack(build, pack, put_score_text) && !build->has_first;
    pack_destroy(pack, build->heap);
    return is_sound;
}

static bool read_zset(struct build *build, enum rdb_type type)
{
    if (type == RDB_ZSET_PACK)
        return take_zset_pack(build, read_pack(build));
    if (type == RDB_ZSET_ZIPLIST)
        return take_zset_pack(build, read_ziplist(build));
    build->root = zset_create(build->heap);
    return read_scores(build, type == RDB_ZSET_TEXT);
}

/* ---- Hashes --------------------------------------------------------------------------------- */

static bool is_time(int64_t at_ms)
{
    return at_ms > 0 && at_ms <= HASH_TTL_MAX;
}

static bool read_times(struct build *build)
{
    uint64_t first_ms = rdb_read_u64(build->reader);
    uint64_t count = rdb_read_count(build->reader, 3);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t distance = rdb_read_len(build->reader);
        struct bytes field = rdb_read_string(build->reader);
        struct bytes value = rdb_read_string(build->reader);
        int64_t at_ms = HASH_NO_TTL;
        if (distance && distance - 1 <= (uint64_t)HASH_TTL_MAX &&
            first_ms <= (uint64_t)HASH_TTL_MAX)
            at_ms = (int64_t)(first_ms + distance - 1);
        if (build->reader->failed || (distance && !is_time(at_ms)) ||
            !put_field(build, field, value, at_ms))
            return false;
    }
    return !build->reader->failed;
}

static bool is_small_hash(const struct build *build, const struct pack *pack, uint32_t group_len)
{
    return pack_count(pack) % group_len == 0 &&
           pack_count(pack) / group_len <= build->limits->hash.field_count;
}

static bool take_hash_pack(struct build *build, struct pack *pack)
{
    if (!pack)
        return false;
    bool is_small = is_small_hash(build, pack, PAIR_LEN);
    if (is_small && names_differ(build, pack, PAIR_LEN)) {
        build->root = hash_of_pack(pack, build->heap, false);
        return true;
    }
    build->root = hash_create(build->heap);
    bool is_sound = !is_small && each_of_pack(build, pack, put_field_text) && !build->has_first;
    pack_destroy(pack, build->heap);
    return is_sound;
}

/* Of Valkey: the time follows the value, and is -1 of a field that lasts for ever. */
static bool read_valkey_times(struct build *build)
{
    uint64_t count = rdb_read_count(build->reader, 2 + sizeof(int64_t));
    for (uint64_t i = 0; i < count; i++) {
        struct bytes field = rdb_read_string(build->reader);
        struct bytes value = rdb_read_string(build->reader);
        int64_t at_ms = (int64_t)rdb_read_u64(build->reader);
        if (build->reader->failed || (at_ms != HASH_NO_TTL && !is_time(at_ms)) ||
            !put_field(build, field, value, at_ms))
            return false;
    }
    return !build->reader->failed;
}

/* Puts the fields of sound triples. */
static bool each_of_triples(struct build *build, const struct pack *pack)
{
    char field_scratch[PACK_SCRATCH], value_scratch[PACK_SCRATCH];
    for (uint32_t at = pack_first(pack); at != PACK_NONE;) {
        uint32_t value_at = pack_next(pack, at), time_at = pack_next(pack, value_at);
        int64_t at_ms = pack_get(pack, time_at).number;
        if (!put_field(build, pack_view(pack, at, field_scratch),
                       pack_view(pack, value_at, value_scratch), at_ms ? at_ms : HASH_NO_TTL))
            return false;
        at = pack_next(pack, time_at);
    }
    return true;
}

static bool read_pack_times(struct build *build)
{
    (void)rdb_read_u64(build->reader); /* the first time: it is in the pack as well */
    struct pack *pack = read_pack(build);
    if (!pack)
        return false;
    bool is_valid = hash_triples_are_valid(pack);
    bool is_small = is_valid && is_small_hash(build, pack, TRIPLE_LEN);
    if (is_small && names_differ(build, pack, TRIPLE_LEN)) {
        build->root = hash_of_pack(pack, build->heap, true);
        return true;
    }
    build->root = hash_create(build->heap);
    bool is_sound = is_valid && !is_small && each_of_triples(build, pack);
    pack_destroy(pack, build->heap);
    return is_sound;
}

static bool read_hash(struct build *build, enum rdb_type type)
{
    if (type == RDB_HASH_PACK)
        return take_hash_pack(build, read_pack(build));
    if (type == RDB_HASH_ZIPLIST)
        return take_hash_pack(build, read_ziplist(build));
    if (type == RDB_HASH_PACK_TIMES)
        return read_pack_times(build);
    build->root = hash_create(build->heap);
    switch (type) {
    case RDB_HASH_ZIPMAP: {
        struct bytes bytes = rdb_read_string(build->reader);
        return !build->reader->failed && codec_each_of_zipmap(bytes, put_field_text, build) &&
               !build->has_first;
    }
    case RDB_HASH_TIMES:
        return read_times(build);
    case RDB_HASH_VALKEY_TIMES:
        return read_valkey_times(build);
    default:
        return each_string(build, 2 * rdb_read_count(build->reader, 2), put_field_text);
    }
}

/* ---- Any value ------------------------------------------------------------------------------ */

/* The type of values that are kept so; TYPE_COUNT for what is not known. */
static enum type type_of(enum rdb_type type)
{
    switch (type) {
    case RDB_STRING:
        return TYPE_STRING;
    case RDB_LIST:
    case RDB_LIST_ZIPLIST:
    case RDB_LIST_QUICKLIST:
    case RDB_LIST_PACKS:
        return TYPE_LIST;
    case RDB_SET:
    case RDB_SET_INTSET:
    case RDB_SET_PACK:
        return TYPE_SET;
    case RDB_ZSET_TEXT:
    case RDB_ZSET:
    case RDB_ZSET_ZIPLIST:
    case RDB_ZSET_PACK:
        return TYPE_ZSET;
    case RDB_HASH:
    case RDB_HASH_ZIPMAP:
    case RDB_HASH_ZIPLIST:
    case RDB_HASH_PACK:
    case RDB_HASH_VALKEY_TIMES:
    case RDB_HASH_TIMES:
    case RDB_HASH_PACK_TIMES:
        return TYPE_HASH;
    case RDB_STREAM_1:
    case RDB_STREAM_2:
    case RDB_STREAM_3:
        return TYPE_STREAM;
    }
    return TYPE_COUNT;
}

void codec_drop(struct codec_value *value, struct heap *heap)
{
    if (!value->root)
        return;
    while (!compound_ops(value->type)->free_some(value->root, heap, SIZE_MAX))
        continue;
    value->root = NULL;
}

bool codec_read(struct rdb_reader *reader, enum rdb_type type, struct heap *heap,
                const struct codec_limits *limits, int64_t now_ms, struct codec_value *out)
{
    struct build build = {.reader = reader, .heap = heap, .limits = limits, .now_ms = now_ms};
    bool is_sound = false;
    *out = (struct codec_value){.type = type_of(type)};
    switch (out->type) {
    case TYPE_STRING:
        out->text = rdb_read_string(reader);
        return !reader->failed;
    case TYPE_LIST:
        is_sound = read_list(&build, type);
        break;
    case TYPE_SET:
        is_sound = read_set(&build, type);
        break;
    case TYPE_ZSET:
        is_sound = read_zset(&build, type);
        break;
    case TYPE_HASH:
        is_sound = read_hash(&build, type);
        break;
    case TYPE_STREAM:
        build.root = stream_create(heap);
        is_sound = codec_read_stream(reader, type, heap, now_ms, build.root);
        break;
    case TYPE_COUNT:
        return false;
    }
    out->root = build.root;
    bool may_be_empty = out->type == TYPE_STREAM;
    if (is_sound && (may_be_empty || compound_ops(out->type)->count(out->root) > 0))
        return true;
    codec_drop(out, heap);
    return false;
}
