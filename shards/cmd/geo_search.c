/*
 * geo_search: the members of a sorted set of places that lie within a circle or a box: GEOSEARCH,
 * GEOSEARCHSTORE, and the older GEORADIUS and GEORADIUSBYMEMBER.
 *
 * Places are taken from up to nine ranges of scores that cover the shape, in that order unless
 * another is asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/geo_arg.h"
#include "shards/cmd/zset_key.h"

enum form { SEARCH, SEARCH_STORE, RADIUS, RADIUS_RO, BY_MEMBER, BY_MEMBER_RO };
enum order { ORDER_NONE, ORDER_ASC, ORDER_DESC };

struct search {
    enum form form;
    uint32_t source_index, store_index; /* the words that are keys; 0: not stored */
    struct geo_shape shape;
    bool has_center, has_shape, has_member;
    bool with_distance, with_hash, with_place, stores_distance, any;
    enum order order;
    int64_t count; /* 0: all */
};

struct point {
    struct bytes member;
    struct geo_place place;
    double score, distance;
};

/* ---- Words
 * ---------------------------------------------------------------------------------------- */

static bool is_search(const struct search *search)
{
    return search->form == SEARCH || search->form == SEARCH_STORE;
}

static bool may_store(const struct search *search)
{
    return search->form == RADIUS || search->form == BY_MEMBER;
}

static enum status parse_radius(struct call *call, uint32_t index, struct geo_shape *shape)
{
    if (call_arg_double(call, index, &shape->radius) != OK)
        return call_fail_text(call, "ERR need numeric radius");
    if (shape->radius < 0)
        return call_fail_text(call, "ERR radius cannot be negative");
    shape->is_box = false;
    return geo_arg_unit(call, index + 1, &shape->unit);
}

static enum status parse_box(struct call *call, uint32_t index, struct geo_shape *shape)
{
    if (call_arg_double(call, index, &shape->width) != OK)
        return call_fail_text(call, "ERR need numeric width");
    if (call_arg_double(call, index + 1, &shape->height) != OK)
        return call_fail_text(call, "ERR need numeric height");
    if (shape->width < 0 || shape->height < 0)
        return call_fail_text(call, "ERR height or width cannot be negative");
    shape->is_box = true;
    return geo_arg_unit(call, index + 2, &shape->unit);
}

/* The place of a member; without a sorted set any will do, since nothing will be found. */
static enum status parse_member(struct call *call, uint32_t index, const struct zset *zset,
                                struct geo_shape *shape)
{
    double score;
    if (!zset)
        return OK;
    if (!zset_find(zset, call_arg(call, index), &score))
        return call_fail_text(call, "ERR could not decode requested zset member");
    shape->center = geo_place_of(score);
    return OK;
}

/* One option of GEOSEARCH at `*io_at`, which moves to its last word. */
static enum status parse_search_option(struct call *call, const struct zset *zset,
                                       struct search *search, uint32_t *io_at)
{
    uint32_t at = *io_at, left = call->arg_count - at - 1;
    if (!is_search(search))
        return ERR_SYNTAX;
    if (call_arg_is(call, at, "STOREDIST") && search->form == SEARCH_STORE) {
        search->stores_distance = true;
    } else if (call_arg_is(call, at, "FROMMEMBER") && left >= 1 &&
               (search->has_member || !search->has_center)) {
        TRY(parse_member(call, at + 1, zset, &search->shape));
        search->has_center = search->has_member = true;
        *io_at += 1;
    } else if (call_arg_is(call, at, "FROMLONLAT") && left >= 2 && !search->has_member) {
        TRY(geo_arg_place(call, at + 1, &search->shape.center));
        search->has_center = true;
        *io_at += 2;
    } else if (call_arg_is(call, at, "BYRADIUS") && left >= 2 &&
               !(search->has_shape && search->shape.is_box)) {
        TRY(parse_radius(call, at + 1, &search->shape));
        search->has_shape = true;
        *io_at += 2;
    } else if (call_arg_is(call, at, "BYBOX") && left >= 3 &&
               !(search->has_shape && !search->shape.is_box)) {
        TRY(parse_box(call, at + 1, &search->shape));
        search->has_shape = true;
        *io_at += 3;
    } else {
        return ERR_SYNTAX;
    }
    return OK;
}

static enum status parse_option(struct call *call, const struct zset *zset, struct search *search,
                                uint32_t *io_at)
{
    uint32_t at = *io_at;
    bool has_value = at + 1 < call->arg_count;
    if (call_arg_is(call, at, "WITHDIST")) {
        search->with_distance = true;
    } else if (call_arg_is(call, at, "WITHHASH")) {
        search->with_hash = true;
    } else if (call_arg_is(call, at, "WITHCOORD")) {
        search->with_place = true;
    } else if (call_arg_is(call, at, "ANY")) {
        search->any = true;
    } else if (call_arg_is(call, at, "ASC")) {
        search->order = ORDER_ASC;
    } else if (call_arg_is(call, at, "DESC")) {
        search->order = ORDER_DESC;
    } else if (call_arg_is(call, at, "COUNT") && has_value) {
        TRY(call_arg_int(call, ++*io_at, &search->count));
        if (search->count <= 0)
            return call_fail_text(call, "ERR COUNT must be > 0");
    } else if (may_store(search) && has_value &&
               (call_arg_is(call, at, "STORE") || call_arg_is(call, at, "STOREDIST"))) {
        search->stores_distance = call_arg_is(call, at, "STOREDIST");
        search->store_index = ++*io_at;
    } else {
        return parse_search_option(call, zset, search, io_at);
    }
    return OK;
}

/* The words before the options, of the older forms; returns where options begin. */
static enum status parse_start(struct call *call, const struct zset *zset, struct search *search,
                               uint32_t *out_at)
{
    bool by_member = search->form == BY_MEMBER || search->form == BY_MEMBER_RO;
    *out_at = search->source_index + 1;
    if (is_search(search))
        return OK;
    *out_at = by_member ? 5 : 6;
    if (by_member && !zset)
        return OK;
    if (by_member)
        TRY(parse_member(call, 2, zset, &search->shape));
    else
        TRY(geo_arg_place(call, 2, &search->shape.center));
    return parse_radius(call, *out_at - 2, &search->shape);
}

static enum status check_options(struct call *call, const struct search *search)
{
    struct bytes name = call_arg(call, 0);
    if (search->store_index && (search->with_distance || search->with_hash || search->with_place))
        return call_fail_text(
            call, "ERR %s is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
            search->form == SEARCH_STORE ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    if (is_search(search) && !search->has_center)
        return call_fail_text(
            call, "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for %.*s",
            (int)name.len, name.ptr);
    if (is_search(search) && !search->has_shape)
        return call_fail_text(call,
                              "ERR exactly one of BYRADIUS and BYBOX can be specified for %.*s",
                              (int)name.len, name.ptr);
    if (search->any && !search->count)
        return call_fail_text(call, "ERR the ANY argument requires COUNT argument");
    return OK;
}

static enum status parse(struct call *call, const struct zset *zset, struct search *search)
{
    uint32_t at;
    TRY(parse_start(call, zset, search, &at));
    for (; at < call->arg_count; at++)
        TRY(parse_option(call, zset, search, &at));
    TRY(check_options(call, search));
    /* The nearest so many are meant, unless any will do. */
    if (search->count && search->order == ORDER_NONE && !search->any)
        search->order = ORDER_ASC;
    return OK;
}

/* ---- Searching
 * ------------------------------------------------------------------------------------ */

struct points {
    struct arena *arena;
    struct point *items;
    size_t count, cap;
    size_t limit; /* 0: none */
};

static void add_point(struct points *points, const struct point *point)
{
    if (points->count == points->cap) {
        size_t cap = points->cap ? 2 * points->cap : 16;
        struct point *items = arena_alloc(points->arena, cap * sizeof(*items));
        if (points->count)
            memcpy(items, points->items, points->count * sizeof(*items));
        points->items = items;
        points->cap = cap;
    }
    points->items[points->count] = *point;
    points->items[points->count++].member = arena_copy(points->arena, point->member);
}

static bool is_full(const struct points *points)
{
    return points->limit && points->count >= points->limit;
}

static void search_range(const struct zset *zset, const struct geo_shape *shape,
                         struct geo_range range, struct points *points)
{
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, zset_rank_of_score(zset, range.low, false), false, &cursor);
    while (!is_full(points) && zset_step(&cursor, &entry) && entry.score < range.high) {
        struct point point = {
            .member = entry.member, .place = geo_place_of(entry.score), .score = entry.score};
        if (geo_shape_has(shape, point.place, &point.distance))
            add_point(points, &point);
    }
}

static int nearer(const void *a, const void *b)
{
    double first = ((const struct point *)a)->distance;
    double second = ((const struct point *)b)->distance;
    return first < second ? -1 : first > second;
}

static int farther(const void *a, const void *b)
{
    return nearer(b, a);
}

static void find_points(const struct zset *zset, const struct search *search, struct points *points)
{
    struct geo_range ranges[GEO_RANGES_MAX];
    size_t range_count = geo_shape_ranges(&search->shape, ranges);
    for (size_t i = 0; i < range_count && !is_full(points); i++)
        search_range(zset, &search->shape, ranges[i], points);
    if (search->order != ORDER_NONE && points->count)
        qsort(points->items, points->count, sizeof(*points->items),
              search->order == ORDER_ASC ? nearer : farther);
    if (search->count && points->count > (size_t)search->count)
        points->count = (size_t)search->count;
}

/* ---- Answering
 * ------------------------------------------------------------------------------------ */

static void reply_points(struct call *call, const struct search *search,
                         const struct points *points)
{
    size_t extras = (size_t)search->with_distance + search->with_hash + search->with_place;
    reply_array(call->reply, points->count);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        if (extras)
            reply_array(call->reply, 1 + extras);
        reply_bulk(call->reply, point->member);
        if (search->with_distance)
            geo_reply_distance(call, point->distance / search->shape.unit);
        if (search->with_hash)
            reply_int(call->reply, (int64_t)point->score);
        if (search->with_place)
            geo_reply_place(call, point->place);
    }
}

static void store_points(struct call *call, const struct search *search,
                         const struct points *points)
{
    struct heap *heap = zset_key_heap(call, search->store_index);
    const struct zset_limits *limits = &call->config->zset_limits;
    struct zset *zset = zset_create(heap);
    zset_expect(zset, heap, limits, points->count);
    for (size_t i = 0; i < points->count; i++) {
        const struct point *point = &points->items[i];
        double score = search->stores_distance ? point->distance / search->shape.unit
                                               : point->score;
        (void)zset_put(zset, heap, limits, point->member, score);
    }
    zset_key_replace(call, search->store_index, zset);
    reply_int(call->reply, (int64_t)points->count);
}

static enum status run(struct call *call, enum form form)
{
    struct search search = {.form = form, .source_index = 1};
    struct points points = {.arena = call->arena};
    const struct zset *zset;
    if (form == SEARCH_STORE) {
        search.store_index = 1;
        search.source_index = 2;
    }
    TRY(zset_key_find(call, search.source_index, &zset));
    TRY(parse(call, zset, &search));
    points.limit = search.any ? (size_t)search.count : 0;
    if (zset)
        find_points(zset, &search, &points);
    if (search.store_index)
        store_points(call, &search, &points);
    else
        reply_points(call, &search, &points);
    return OK;
}

static enum status cmd_geosearch(struct call *call)
{
    return run(call, SEARCH);
}

static enum status cmd_geosearchstore(struct call *call)
{
    return run(call, SEARCH_STORE);
}

static enum status cmd_georadius(struct call *call)
{
    return run(call, RADIUS);
}

static enum status cmd_georadius_ro(struct call *call)
{
    return run(call, RADIUS_RO);
}

static enum status cmd_georadiusbymember(struct call *call)
{
    return run(call, BY_MEMBER);
}

static enum status cmd_georadiusbymember_ro(struct call *call)
{
    return run(call, BY_MEMBER_RO);
}

/* The source, and the last STORE or STOREDIST behind word `from`. */
static int find_keys(const struct bytes *args, uint32_t arg_count, uint32_t from,
                     uint32_t *out_index, uint16_t *out_flags)
{
    int count = 1;
    out_index[0] = 1;
    out_flags[0] = KEY_RO | KEY_ACCESS;
    for (uint32_t i = from; i + 1 < arg_count; i++) {
        if (!bytes_is(args[i], "STORE") && !bytes_is(args[i], "STOREDIST"))
            continue;
        out_index[1] = ++i;
        out_flags[1] = KEY_OW | KEY_UPDATE;
        count = 2;
    }
    return count;
}

static int radius_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                       uint16_t *out_flags)
{
    return find_keys(args, arg_count, 6, out_index, out_flags);
}

static int by_member_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                          uint16_t *out_flags)
{
    return find_keys(args, arg_count, 5, out_index, out_flags);
}

#define UNIT "unit=<M | KM | FT | MI>"
#define WHAT                                                                                       \
    "from=<FROMMEMBER member | fromlonlat=FROMLONLAT longitude latitude> "                         \
    "by=<circle=<BYRADIUS radius " UNIT "> | box=<BYBOX width height " UNIT ">> "                  \
    "[ASC | DESC] count-block=[COUNT count [ANY]] "
#define HOW "[WITHCOORD] [WITHDIST] [WITHHASH]"
#define RADIUS_WHAT "radius " UNIT " " HOW
#define STORES "store=[STORE storekey=key | STOREDIST storedistkey=key]"
#define COST                                                                                       \
    "O(N+log(M)) where N is the number of members in the cells around the shape and M that of "    \
    "those "                                                                                       \
    "within it."

/* clang-format off */
#define STORING_KEYS(from) \
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .step = 1}, \
              {.flags = KEY_OW | KEY_UPDATE, .keyword = "STORE", .index = (from), .step = 1}, \
              {.flags = KEY_OW | KEY_UPDATE, .keyword = "STOREDIST", .index = (from), .step = 1}}

const struct command geo_search_commands[] = {
    {.name = "geosearch", .arity = -7, .run = cmd_geosearch, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_GEO,
     .syntax = "key " WHAT HOW, .since = "6.2.0", .cost = COST,
     .history = "7.0.0 Takes names of units in capitals.",
     .brief = "Finds the members within a circle or a box."},

    {.name = "geosearchstore", .arity = -8, .run = cmd_geosearchstore, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_OW | KEY_UPDATE, .index = 1, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .index = 2, .step = 1}},
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_GEO,
     .syntax = "destination source " WHAT "[STOREDIST]", .since = "6.2.0", .cost = COST,
     .history = "7.0.0 Takes names of units in capitals.",
     .brief = "Stores the members within a circle or a box."},

    {.name = "georadius", .arity = -6, .run = cmd_georadius, .plan = PLAN_TOGETHER,
     STORING_KEYS(6), .find_keys = radius_keys,
     .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS, .acl = ACL_GEO,
     .syntax = "key longitude latitude " RADIUS_WHAT
               " count-block=[COUNT count [ANY]@6.2.0] [ASC | DESC] " STORES,
     .since = "3.2.0", .cost = COST,
     .history = "6.2.0 Takes ANY.; 7.0.0 Takes names of units in capitals.",
     .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` argument",
     .deprecated_since = "6.2.0",
     .brief = "Finds the members within a circle, or stores them."},

    {.name = "georadiusbymember", .arity = -5, .run = cmd_georadiusbymember, .plan = PLAN_TOGETHER,
     STORING_KEYS(5), .find_keys = by_member_keys,
     .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS, .acl = ACL_GEO,
     .syntax = "key member " RADIUS_WHAT " count-block=[COUNT count [ANY]] [ASC | DESC] " STORES,
     .since = "3.2.0", .cost = COST,
     .history = "7.0.0 Takes names of units in capitals.",
     .replaced_by = "`GEOSEARCH` and `GEOSEARCHSTORE` with the `BYRADIUS` and `FROMMEMBER` arguments",
     .deprecated_since = "6.2.0",
     .brief = "Finds the members within a circle around one of them, or stores them."},

    {.name = "georadius_ro", .arity = -6, .run = cmd_georadius_ro, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_GEO,
     .syntax = "key longitude latitude " RADIUS_WHAT
               " count-block=[COUNT count [ANY]@6.2.0] [ASC | DESC]",
     .since = "3.2.10", .cost = COST, .history = "6.2.0 Takes ANY.",
     .replaced_by = "`GEOSEARCH` with the `BYRADIUS` argument", .deprecated_since = "6.2.0",
     .brief = "Finds the members within a circle."},

    {.name = "georadiusbymember_ro", .arity = -5, .run = cmd_georadiusbymember_ro,
     .plan = PLAN_ONE, .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY,
     .acl = ACL_GEO,
     .syntax = "key member " RADIUS_WHAT " count-block=[COUNT count [ANY]] [ASC | DESC]",
     .since = "3.2.10", .cost = COST,
     .replaced_by = "`GEOSEARCH` with the `BYRADIUS` and `FROMMEMBER` arguments",
     .deprecated_since = "6.2.0",
     .brief = "Finds the members within a circle around one of them."},
    {0},
};
/* clang-format on */
