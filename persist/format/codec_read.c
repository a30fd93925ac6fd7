/*
 * How: whatever form a value was kept in, its elements are put one after the other into a new
 * value, which finds its own form. What occurs twice shows when it is put.
 */
#include <math.h>

#include "core/base/num.h"
#include "core/ds/intset.h"
#include "persist/format/codec.h"

/* A value that is being built. */
struct build {
    struct rdb_reader *reader;
    struct heap *heap;
    const struct codec_limits *limits;
    void *root;
    struct bytes first; /* of a pair: what came before */
    bool has_first;
    int64_t now_ms;
};

static bool text_to_score(struct bytes text, double *out)
{
    return num_to_double(text, out) && !isnan(*out);
}

/* ---- One element
 * --------------------------------------------------------------------------------- */

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

/* ---- Blocks of elements
 * -------------------------------------------------------------------------- */

/* A string that is a block of memory of ours: at an address where such blocks may lie. */
static struct bytes read_block(struct rdb_reader *reader)
{
    struct bytes bytes = rdb_read_string(reader);
    bool lies_right = (uintptr_t)bytes.ptr % sizeof(uint64_t) == 0;
    return lies_right ? bytes : arena_copy(reader->arena, bytes);
}

/* A whole sound pack, borrowed; NULL otherwise. */
static const struct pack *read_pack(struct build *build)
{
    struct bytes bytes = read_block(build->reader);
    return build->reader->failed || !pack_is_valid(bytes) ? NULL : (const struct pack *)bytes.ptr;
}

static bool each_of_pack(struct build *build, codec_text_fn put)
{
    const struct pack *pack = read_pack(build);
    char scratch[PACK_SCRATCH];
    if (!pack)
        return false;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, at))
        if (!put(build, pack_view(pack, at, scratch)))
            return false;
    return true;
}

static bool each_of_intset(struct build *build)
{
    struct bytes bytes = read_block(build->reader);
    char digits[NUM_INT_CAP];
    if (build->reader->failed || !intset_is_valid(bytes))
        return false;
    struct intset *numbers = intset_load(bytes, build->heap);
    bool is_sound = true;
    set_expect(build->root, build->heap, &build->limits->set, intset_count(numbers));
    for (uint32_t i = 0; i < intset_count(numbers) && is_sound; i++)
        is_sound = put_member(build,
                              bytes_of(digits, num_from_int(digits, intset_get(numbers, i))));
    intset_destroy(numbers, build->heap);
    return is_sound;
}

/* `count` strings, `per_element` of them an element. */
static bool each_string(struct build *build, uint32_t per_element, codec_text_fn put)
{
    uint64_t count = rdb_read_count(build->reader, per_element);
    for (uint64_t i = 0; i < count * per_element; i++) {
        struct bytes text = rdb_read_string(build->reader);
        if (build->reader->failed || !put(build, text))
            return false;
    }
    return !build->reader->failed;
}

static bool each_of_ziplist(struct build *build, codec_text_fn put)
{
    struct bytes bytes = rdb_read_string(build->reader);
    return !build->reader->failed && codec_each_of_ziplist(bytes, put, build);
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

/* ---- Lists
 * ------------------------------------------------------------------------------------------ */

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
            struct pack *pack = pack_load(bytes, build->heap);
            if (pack_is_empty(pack)) /* Redis passes over those, too */
                pack_destroy(pack, build->heap);
            else
                list_put_pack(build->root, build->heap, &build->limits->list, pack);
        } else {
            return false;
        }
    }
    return !build->reader->failed;
}

static bool read_ziplists(struct build *build)
{
    uint64_t count = rdb_read_count(build->reader, 1);
    for (uint64_t i = 0; i < count; i++)
        if (!each_of_ziplist(build, put_element))
            return false;
    return !build->reader->failed;
}

static bool read_list(struct build *build, enum rdb_type type)
{
    build->root = list_create(build->heap);
    switch (type) {
    case RDB_LIST:
        return each_string(build, 1, put_element);
    case RDB_LIST_ZIPLIST:
        return each_of_ziplist(build, put_element);
    case RDB_LIST_QUICKLIST:
        return read_ziplists(build);
    default:
        return read_packs(build);
    }
}

/* ---- Sets and sorted sets
 * --------------------------------------------------------------------------- */

static bool read_set(struct build *build, enum rdb_type type)
{
    build->root = set_create(build->heap);
    if (type == RDB_SET_INTSET)
        return each_of_intset(build);
    if (type == RDB_SET_PACK)
        return each_of_pack(build, put_member);
    return each_string(build, 1, put_member);
}

static bool read_zset(struct build *build, enum rdb_type type)
{
    build->root = zset_create(build->heap);
    if (type == RDB_ZSET_PACK)
        return each_of_pack(build, put_score_text) && !build->has_first;
    if (type == RDB_ZSET_ZIPLIST)
        return each_of_ziplist(build, put_score_text) && !build->has_first;
    return read_scores(build, type == RDB_ZSET_TEXT);
}

/* ---- Hashes
 * ----------------------------------------------------------------------------------------- */

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

static bool read_pack_times(struct build *build)
{
    (void)rdb_read_u64(build->reader); /* the first time: it is in the pack as well */
    const struct pack *pack = read_pack(build);
    if (!pack || !hash_triples_are_valid(pack))
        return false;
    char field_scratch[PACK_SCRATCH], value_scratch[PACK_SCRATCH];
    for (uint32_t at = pack_first(pack); at != PACK_NONE;) {
        uint32_t value_at = pack_next(pack, at), time_at = pack_next(pack, value_at);
        int64_t at_ms;
        if (!pack_get_int(pack, time_at, &at_ms) || (at_ms && !is_time(at_ms)) ||
            !put_field(build, pack_view(pack, at, field_scratch),
                       pack_view(pack, value_at, value_scratch), at_ms ? at_ms : HASH_NO_TTL))
            return false;
        at = pack_next(pack, time_at);
    }
    return true;
}

static bool read_hash(struct build *build, enum rdb_type type)
{
    build->root = hash_create(build->heap);
    switch (type) {
    case RDB_HASH_PACK:
        return each_of_pack(build, put_field_text) && !build->has_first;
    case RDB_HASH_ZIPLIST:
        return each_of_ziplist(build, put_field_text) && !build->has_first;
    case RDB_HASH_ZIPMAP: {
        struct bytes bytes = rdb_read_string(build->reader);
        return !build->reader->failed && codec_each_of_zipmap(bytes, put_field_text, build) &&
               !build->has_first;
    }
    case RDB_HASH_TIMES:
        return read_times(build);
    case RDB_HASH_PACK_TIMES:
        return read_pack_times(build);
    default:
        return each_string(build, 2, put_field_text);
    }
}

/* ---- Any value
 * -------------------------------------------------------------------------------------- */

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
