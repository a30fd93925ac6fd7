/*
 * scan: SCAN, KEYS and RANDOMKEY, which find keys without knowing their names.
 *
 * SCAN and RANDOMKEY walk from shard to shard. Slots are dealt to shards in ascending ranges, so a
 * walk in order of shards is one in order of slots, and a cursor (`slot << 32 | hash bits`) says by
 * itself where to go on, whatever the number of shards. One SCAN crosses shards until it has looked
 * at COUNT keys.
 *
 * A part of SCAN answers [cursor, keys looked at, [names that match]], where the cursor is
 * SHARD_DONE at the shard's end; a part of RANDOMKEY answers [shard, [name, if there is one]]. Only
 * the merges below see these.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/glob.h"
#include "core/base/num.h"
#include "net/answer.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

#define SCAN_COUNT_DEFAULT 10
#define SHARD_DONE (-1)
#define CURSOR_SLOT_SHIFT 32

struct scan {
    uint64_t cursor;
    int64_t count;
    bool has_pattern, has_type, type_exists;
    struct bytes pattern;
    enum type type;
    /* What the walk has found on this shard. */
    struct reply *reply;
    int64_t looked, found;
};

/* ---- SCAN's words -------------------------------------------------------------------------- */

/* As strtoul() reads it, which is how Redis reads a cursor: a sign is allowed, a space before it
 * is not. */
static enum status parse_cursor(struct call *call, struct bytes word, uint64_t *out)
{
    const char *text = arena_format(call->arena, "%.*s", (int)word.len, word.ptr);
    char *end;
    errno = 0;
    unsigned long cursor = strtoul(text, &end, 10);
    if (isspace((unsigned char)text[0]) || *end || errno == ERANGE)
        return call_fail_text(call, "ERR invalid cursor");
    *out = cursor;
    return OK;
}

static void parse_type(struct scan *scan, struct bytes word)
{
    scan->has_type = true;
    scan->type_exists = false; /* a type that there is not: no key is of it, and no error */
    for (int type = 0; type < TYPE_COUNT; type++) {
        if (bytes_is(word, type_name(type))) {
            scan->type = type;
            scan->type_exists = true;
        }
    }
}

static enum status parse_scan(struct call *call, struct scan *out)
{
    struct scan scan = {.count = SCAN_COUNT_DEFAULT};
    TRY(parse_cursor(call, call_arg(call, 1), &scan.cursor));
    for (uint32_t i = 2; i < call->arg_count; i += 2) {
        if (i + 1 == call->arg_count)
            return ERR_SYNTAX;
        if (call_arg_is(call, i, "COUNT")) {
            TRY(call_arg_int(call, i + 1, &scan.count));
            if (scan.count < 1)
                return ERR_SYNTAX;
        } else if (call_arg_is(call, i, "MATCH")) {
            scan.pattern = call_arg(call, i + 1);
            scan.has_pattern = !glob_is_all(scan.pattern);
        } else if (call_arg_is(call, i, "TYPE")) {
            parse_type(&scan, call_arg(call, i + 1));
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = scan;
    return OK;
}

static enum status check_scan(struct call *call)
{
    struct scan scan;
    return parse_scan(call, &scan);
}

/* The words of a command that check_scan() has let through. */
static struct scan scan_words(struct call *call)
{
    struct scan scan;
    enum status status = parse_scan(call, &scan);
    ASSERT(status == OK);
    return scan;
}

/* ---- SCAN on one shard --------------------------------------------------------------------- */

static void scan_visit(void *context, const struct value *value)
{
    struct scan *scan = context;
    scan->looked++;
    if (scan->has_type && !(scan->type_exists && value_type(value) == scan->type))
        return;
    if (scan->has_pattern && !glob_matches(scan->pattern, value_name(value)))
        return;
    reply_bulk(scan->reply, value_name(value));
    scan->found++;
}

static enum status cmd_scan(struct call *call)
{
    struct scan scan;
    TRY(parse_scan(call, &scan));

    struct buf names = {0};
    struct reply names_reply = {.out = &names, .resp = call->resp};
    scan.reply = &names_reply;
    uint64_t next = db_scan(call->db, scan.cursor, (uint64_t)scan.count, scan_visit, &scan);

    reply_array(call->reply, 3);
    reply_int(call->reply, next == DB_SCAN_END ? SHARD_DONE : (int64_t)next);
    reply_int(call->reply, scan.looked);
    reply_array(call->reply, (size_t)scan.found);
    reply_raw(call->reply, buf_bytes(&names));
    buf_fini(&names);
    return OK;
}

/* ---- SCAN at home -------------------------------------------------------------------------- */

struct scan_part {
    int64_t cursor; /* or SHARD_DONE */
    int64_t looked;
    size_t name_count;
    struct bytes names;
};

static struct scan_part scan_part_read(struct bytes part)
{
    struct scan_part read;
    struct bytes rest;
    (void)answer_elements(part, &rest);
    read.cursor = answer_int(answer_next(&rest));
    read.looked = answer_int(answer_next(&rest));
    read.name_count = answer_elements(answer_next(&rest), &read.names);
    return read;
}

/* Where a walk from `cursor` starts. One that no SCAN has given out is behind all keys. */
static int first_shard(const struct call *call, uint64_t cursor)
{
    uint64_t slot = cursor >> CURSOR_SLOT_SHIFT;
    return call->slot_map[slot < SLOT_COUNT ? slot : SLOT_COUNT - 1];
}

static int scan_next_shard(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct scan scan = scan_words(call);
    int first = first_shard(call, scan.cursor);
    if (part_count == 0)
        return first;
    int64_t looked = 0;
    for (uint32_t i = 0; i < part_count; i++)
        looked += scan_part_read(parts[i]).looked;
    int next = first + (int)part_count;
    bool is_done = scan_part_read(parts[part_count - 1]).cursor == SHARD_DONE;
    return is_done && looked < scan.count && next < call->shard_count ? next : -1;
}

/* The cursor after a walk that ended with the last key of shard `last`: the first slot of the
 * shards that are left, or 0 when there is none. */
static uint64_t cursor_behind(const struct call *call, int last)
{
    for (uint64_t slot = 0; slot < SLOT_COUNT; slot++) {
        if (call->slot_map[slot] > last)
            return slot << CURSOR_SLOT_SHIFT;
    }
    return 0;
}

static void scan_merge(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    size_t name_count = 0;
    for (uint32_t i = 0; i < part_count; i++)
        name_count += scan_part_read(parts[i]).name_count;
    int last = first_shard(call, scan_words(call).cursor) + (int)part_count - 1;
    int64_t stopped_at = scan_part_read(parts[part_count - 1]).cursor;
    uint64_t cursor = stopped_at == SHARD_DONE ? cursor_behind(call, last) : (uint64_t)stopped_at;

    char digits[NUM_INT_CAP];
    reply_array(call->reply, 2);
    reply_bulk(call->reply, bytes_of(digits, num_from_uint(digits, cursor)));
    reply_array(call->reply, name_count);
    for (uint32_t i = 0; i < part_count; i++)
        reply_raw(call->reply, scan_part_read(parts[i]).names);
}

/* ---- KEYS ---------------------------------------------------------------------------------- */

struct listing {
    struct reply *reply;
    struct bytes pattern;
    bool is_all;
    size_t count;
};

static void list_visit(void *context, const struct value *value)
{
    struct listing *listing = context;
    if (!listing->is_all && !glob_matches(listing->pattern, value_name(value)))
        return;
    reply_bulk(listing->reply, value_name(value));
    listing->count++;
}

static enum status cmd_keys(struct call *call)
{
    struct listing listing = {.reply = call->reply, .pattern = call_arg(call, 1)};
    listing.is_all = glob_is_all(listing.pattern);
    size_t mark = reply_mark(call->reply);
    db_each(call->db, list_visit, &listing);
    reply_array_at(call->reply, mark, listing.count);
    return OK;
}

/* ---- RANDOMKEY ----------------------------------------------------------------------------- */

static enum status cmd_randomkey(struct call *call)
{
    const struct value *value = db_random(call->db);
    reply_array(call->reply, 2);
    reply_int(call->reply, call->shard->id);
    reply_array(call->reply, value ? 1 : 0);
    if (value)
        reply_bulk(call->reply, value_name(value));
    return OK;
}

struct random_part {
    int shard;
    bool has_name;
    struct bytes name; /* encoded */
};

static struct random_part random_part_read(struct bytes part)
{
    struct random_part read;
    struct bytes rest;
    (void)answer_elements(part, &rest);
    read.shard = (int)answer_int(answer_next(&rest));
    read.has_name = answer_elements(answer_next(&rest), &read.name) > 0;
    return read;
}

/* Any shard first, since they hold about as many keys each; then round until one has a key. */
static int random_next_shard(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    if (part_count == 0)
        return (int)rng_below(&call->shard->rng, call->shard_count);
    struct random_part last = random_part_read(parts[part_count - 1]);
    bool goes_on = !last.has_name && part_count < call->shard_count;
    return goes_on ? (last.shard + 1) % call->shard_count : -1;
}

static void random_merge(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct random_part last = random_part_read(parts[part_count - 1]);
    if (last.has_name)
        reply_raw(call->reply, last.name);
    else
        reply_null(call->reply);
}

/* clang-format off */
const struct command scan_commands[] = {
    {.name = "keys", .arity = 2, .run = cmd_keys, .plan = PLAN_ALL, .merge = merge_concat,
     .flags = CMD_READONLY, .acl = ACL_KEYSPACE | ACL_DANGEROUS,
     .syntax = "pattern", .since = "1.0.0",
     .cost = "O(N) where N is the number of keys of the database.",
     .brief = "Lists all keys whose name matches a pattern.",
     .tips = "request_policy:all_shards,nondeterministic_output_order"},

    {.name = "randomkey", .arity = 1, .run = cmd_randomkey, .plan = PLAN_WALK,
     .next_shard = random_next_shard, .merge = random_merge,
     .flags = CMD_READONLY, .acl = ACL_KEYSPACE,
     .syntax = "", .since = "1.0.0", .cost = "O(1)",
     .brief = "Names some key of the database.",
     .tips = "request_policy:all_shards,response_policy:special,nondeterministic_output"},

    {.name = "scan", .arity = -2, .run = cmd_scan, .plan = PLAN_WALK,
     .next_shard = scan_next_shard, .merge = scan_merge, .check = check_scan,
     .flags = CMD_READONLY, .acl = ACL_KEYSPACE,
     .syntax = "cursor [MATCH pattern] [COUNT count] [TYPE type]@6.0.0", .since = "2.8.0",
     .cost = "O(COUNT) for a call, O(N) for a walk over the N keys of the database.",
     .history = "6.0.0 Takes a TYPE.",
     .brief = "Lists the keys of the database a few at a time.",
     .tips = "nondeterministic_output,request_policy:special,response_policy:special"},
    {0},
};
/* clang-format on */
