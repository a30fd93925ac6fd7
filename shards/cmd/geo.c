/*
 * geo: places in a sorted set, whose scores are what core/type/geo.h makes of them: GEOADD, GEOPOS,
 * GEODIST, GEOHASH. GEOSEARCH and its kin are in geo_search.
 */
#include <stdio.h>

#include "core/base/num.h"
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/geo_arg.h"
#include "shards/cmd/zset_key.h"

#define DISTANCE_CAP 400 /* digits of any double, four of them behind the point */

/* ---- Words and replies
 * ------------------------------------------------------------------------------- */

enum status geo_arg_place(struct call *call, uint32_t index, struct geo_place *out)
{
    struct geo_place place;
    TRY(call_arg_double(call, index, &place.longitude));
    TRY(call_arg_double(call, index + 1, &place.latitude));
    if (!geo_is_place(place))
        return call_fail_text(call, "ERR invalid longitude,latitude pair %f,%f", place.longitude,
                              place.latitude);
    *out = place;
    return OK;
}

enum status geo_arg_unit(struct call *call, uint32_t index, double *out)
{
    static const struct {
        const char *name;
        double metres;
    } units[] = {{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (call_arg_is(call, index, units[i].name)) {
            *out = units[i].metres;
            return OK;
        }
    }
    return call_fail_text(call, "ERR unsupported unit provided. please use M, KM, FT, MI");
}

void geo_reply_distance(struct call *call, double distance)
{
    char digits[DISTANCE_CAP];
    int len = snprintf(digits, sizeof(digits), "%.4f", distance);
    reply_bulk(call->reply, bytes_of(digits, (size_t)len));
}

static void reply_degrees(struct reply *reply, double degrees)
{
    if (reply->resp == 2) {
        reply_long_double(reply, degrees);
        return;
    }
    char line[1 + NUM_LONG_DOUBLE_CAP + 2] = ",";
    size_t len = 1 + num_from_long_double(line + 1, degrees);
    line[len++] = '\r';
    line[len++] = '\n';
    reply_raw(reply, bytes_of(line, len));
}

void geo_reply_place(struct call *call, struct geo_place place)
{
    reply_array(call->reply, 2);
    reply_degrees(call->reply, place.longitude);
    reply_degrees(call->reply, place.latitude);
}

/* ---- GEOADD
 * ------------------------------------------------------------------------------------------- */

struct add {
    bool only_new, only_old, counts_changes;
    uint32_t first, count; /* triples of longitude, latitude, member */
    double *scores;
};

static enum status parse_add(struct call *call, struct add *add)
{
    uint32_t at = 2;
    for (; at < call->arg_count; at++) {
        if (call_arg_is(call, at, "NX"))
            add->only_new = true;
        else if (call_arg_is(call, at, "XX"))
            add->only_old = true;
        else if (call_arg_is(call, at, "CH"))
            add->counts_changes = true;
        else
            break;
    }
    add->first = at;
    add->count = (call->arg_count - at) / 3;
    if ((call->arg_count - at) % 3 || (add->only_new && add->only_old))
        return ERR_SYNTAX;
    add->scores = arena_alloc(call->arena, add->count * sizeof(*add->scores));
    for (uint32_t i = 0; i < add->count; i++) {
        struct geo_place place;
        TRY(geo_arg_place(call, at + 3 * i, &place));
        add->scores[i] = (double)geo_score(place);
    }
    return add->count ? OK : ERR_SYNTAX;
}

static enum status cmd_geoadd(struct call *call)
{
    struct add add = {0};
    const struct zset *found;
    TRY(parse_add(call, &add));
    TRY(zset_key_find_to_write(call, 1, &found));
    struct heap *heap = zset_key_heap(call, 1);
    const struct zset_limits *limits = &call->config->zset_limits;
    struct zset *zset = NULL; /* what nothing changes is not edited, or made */
    int64_t added_count = 0, changed_count = 0;
    for (uint32_t i = 0; i < add.count; i++) {
        struct bytes member = call_arg(call, add.first + 3 * i + 2);
        double old;
        bool exists = found && zset_find(found, member, &old);
        if (exists ? add.only_new || old == add.scores[i] : add.only_old)
            continue;
        if (!zset) {
            zset = zset_key_edit(call, 1, found);
            zset_expect(zset, heap, limits, add.count);
            found = zset;
        }
        added_count += zset_put(zset, heap, limits, member, add.scores[i]);
        changed_count++;
    }
    reply_int(call->reply, add.counts_changes ? changed_count : added_count);
    return OK;
}

/* ---- GEOPOS, GEOHASH, GEODIST
 * --------------------------------------------------------------------------- */

static enum status cmd_geopos(struct call *call)
{
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++) {
        double score;
        if (zset && zset_find(zset, call_arg(call, i), &score))
            geo_reply_place(call, geo_place_of(score));
        else
            reply_null_array(call->reply);
    }
    return OK;
}

static enum status cmd_geohash(struct call *call)
{
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++) {
        double score;
        char text[GEO_TEXT_LEN];
        if (!zset || !zset_find(zset, call_arg(call, i), &score)) {
            reply_null(call->reply);
            continue;
        }
        geo_text(geo_place_of(score), text);
        reply_bulk(call->reply, bytes_of(text, GEO_TEXT_LEN));
    }
    return OK;
}

static enum status cmd_geodist(struct call *call)
{
    double unit = 1, a, b;
    const struct zset *zset;
    if (call->arg_count == 5)
        TRY(geo_arg_unit(call, 4, &unit));
    if (call->arg_count > 5)
        return ERR_SYNTAX;
    TRY(zset_key_find(call, 1, &zset));
    if (zset && zset_find(zset, call_arg(call, 2), &a) && zset_find(zset, call_arg(call, 3), &b))
        geo_reply_distance(call, geo_distance(geo_place_of(a), geo_place_of(b)) / unit);
    else
        reply_null(call->reply);
    return OK;
}

/* clang-format off */
const struct command geo_commands[] = {
    {.name = "geoadd", .arity = -5, .run = cmd_geoadd, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE), .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_GEO,
     .syntax = "key condition=[NX | XX]@6.2.0 [change=CH]@6.2.0 "
               "data=<longitude latitude member> [...]",
     .since = "3.2.0", .cost = "O(log(N)) for each place.",
     .history = "6.2.0 Takes NX, XX and CH.",
     .brief = "Puts members at places on the earth."},

    {.name = "geopos", .arity = -2, .run = cmd_geopos, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_GEO,
     .syntax = "key [member [member ...]]", .since = "3.2.0",
     .cost = "O(1) for each member asked for.",
     .brief = "Reads the longitudes and latitudes of members."},

    {.name = "geodist", .arity = -4, .run = cmd_geodist, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_GEO,
     .syntax = "key member1 member2 unit=[M | KM | FT | MI]", .since = "3.2.0", .cost = "O(1)",
     .brief = "Measures the distance between two members."},

    {.name = "geohash", .arity = -2, .run = cmd_geohash, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_GEO,
     .syntax = "key [member [member ...]]", .since = "3.2.0",
     .cost = "O(1) for each member asked for.",
     .brief = "Gives the places of members as geohashes."},
    {0},
};
/* clang-format on */
