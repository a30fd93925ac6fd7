/*
 * zset_pick: ZPOPMIN, ZRANDMEMBER, ZSCAN and their kin, which take what the sorted set gives
 * instead of naming it.
 */
#include "core/type/zset.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/element_scan.h"
#include "shards/cmd/zset_key.h"

/* Members that ZRANDMEMBER with a negative count gives at most: the answer must end. */
#define RANDOM_MAX (INT64_C(1) << 24)

/* ---- Popping ------------------------------------------------------------------------------- */

/* Writes up to `count` elements from one end, and deletes them. */
static void pop(struct call *call, uint32_t index, const struct zset *found, bool is_max,
                uint64_t count, bool has_frames)
{
    uint64_t total = zset_count(found), left = count < total ? count : total;
    uint64_t first = is_max ? total - left : 0;
    reply_array(call->reply, has_frames ? left : 2 * left);
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(found, is_max ? total - 1 : 0, is_max, &cursor);
    for (uint64_t i = 0; i < left && zset_step(&cursor, &entry); i++) {
        if (has_frames)
            reply_array(call->reply, 2);
        reply_bulk(call->reply, entry.member);
        reply_double(call->reply, entry.score);
    }
    struct zset *zset = zset_key_edit(call, index, found);
    zset_delete_range(zset, zset_key_heap(call, index), first, left);
    zset_key_trim(call, index, zset);
}

static enum status pop_end(struct call *call, bool is_max)
{
    if (call->arg_count > 3)
        return ERR_SYNTAX;
    bool has_count = call->arg_count == 3;
    int64_t count = 1;
    if (has_count && (call_arg_int(call, 2, &count) != OK || count < 0))
        return call_fail_text(call, "ERR value is out of range, must be positive");
    const struct zset *zset;
    TRY(zset_key_find_to_write(call, 1, &zset));
    if (!zset || count == 0)
        reply_array(call->reply, 0);
    else
        pop(call, 1, zset, is_max, (uint64_t)count, has_count && call->resp > 2);
    return OK;
}

static enum status cmd_zpopmin(struct call *call)
{
    return pop_end(call, false);
}

static enum status cmd_zpopmax(struct call *call)
{
    return pop_end(call, true);
}

struct pop_words {
    uint32_t first_key, key_count;
    bool is_max;
    uint64_t count;
};

/* The words of ZMPOP from the number of keys, at `index`, on. */
static enum status read_pop_words(struct call *call, uint32_t index, struct pop_words *out)
{
    int64_t key_count, count = 0;
    uint32_t first_key = index + 1;
    if (call_arg_int(call, index, &key_count) != OK || key_count < 1)
        return call_fail_text(call, "ERR numkeys should be greater than 0");
    if (key_count >= call->arg_count - first_key)
        return ERR_SYNTAX;
    uint32_t at = first_key + (uint32_t)key_count;
    bool is_max = call_arg_is(call, at, "MAX");
    if (!is_max && !call_arg_is(call, at, "MIN"))
        return ERR_SYNTAX;
    for (at++; at < call->arg_count; at += 2) {
        if (count != 0 || !call_arg_is(call, at, "COUNT") || at + 1 == call->arg_count)
            return ERR_SYNTAX;
        if (call_arg_int(call, at + 1, &count) != OK || count < 1)
            return call_fail_text(call, "ERR count should be greater than 0");
    }
    *out = (struct pop_words){.first_key = first_key,
                              .key_count = (uint32_t)key_count,
                              .is_max = is_max,
                              .count = count ? (uint64_t)count : 1};
    return OK;
}

/* Pops from the first sorted set that there is; says whether there is one. */
static enum status pop_first(struct call *call, const struct pop_words *words, bool *out_found)
{
    *out_found = false;
    for (uint32_t i = words->first_key; i < words->first_key + words->key_count; i++) {
        const struct zset *zset = NULL;
        if (call_may_use(call, i))
            TRY(zset_key_find_to_write(call, i, &zset));
        if (!zset)
            continue;
        reply_array(call->reply, 2);
        reply_bulk(call->reply, call_arg(call, i));
        pop(call, i, zset, words->is_max, words->count, true);
        *out_found = true;
        break;
    }
    return OK;
}

static enum status cmd_zmpop(struct call *call)
{
    struct pop_words words = {0};
    bool found;
    TRY(read_pop_words(call, 1, &words));
    TRY(pop_first(call, &words, &found));
    if (!found)
        reply_null_array(call->reply);
    return OK;
}

/* ---- The same, and wait if there is nothing -------------------------------------------------- */

/* A null array when it may not wait. */
static enum status wait_for_zsets(struct call *call, uint32_t first_key, uint32_t key_count,
                                  int64_t timeout_ms)
{
    if (!call_may_wait(call)) {
        reply_null_array(call->reply);
        return OK;
    }
    return call_wait(call, &(struct call_wait){.type = TYPE_ZSET,
                                               .takes_one = true,
                                               .first_key = first_key,
                                               .key_count = key_count,
                                               .timeout_ms = timeout_ms});
}

static enum status check_last_timeout(struct call *call)
{
    int64_t timeout_ms;
    return call_arg_timeout(call, call->arg_count - 1, &timeout_ms);
}

/* The key, and the member at one end with its score, which is deleted. */
static void pop_one(struct call *call, uint32_t index, const struct zset *found, bool is_max)
{
    uint64_t rank = is_max ? zset_count(found) - 1 : 0;
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(found, rank, is_max, &cursor);
    bool has_one = zset_step(&cursor, &entry);
    ASSERT(has_one);
    reply_array(call->reply, 3);
    reply_bulk(call->reply, call_arg(call, index));
    reply_bulk(call->reply, entry.member);
    reply_double(call->reply, entry.score);
    struct zset *zset = zset_key_edit(call, index, found);
    zset_delete_range(zset, zset_key_heap(call, index), rank, 1);
    zset_key_trim(call, index, zset);
}

static enum status pop_end_or_wait(struct call *call, bool is_max)
{
    uint32_t key_count = call->arg_count - 2;
    int64_t timeout_ms;
    TRY(call_arg_timeout(call, call->arg_count - 1, &timeout_ms));
    for (uint32_t i = 1; i <= key_count; i++) {
        const struct zset *zset = NULL;
        if (call_may_use(call, i))
            TRY(zset_key_find_to_write(call, i, &zset));
        if (zset) {
            pop_one(call, i, zset, is_max);
            return OK;
        }
    }
    return wait_for_zsets(call, 1, key_count, timeout_ms);
}

static enum status cmd_bzpopmin(struct call *call)
{
    return pop_end_or_wait(call, false);
}

static enum status cmd_bzpopmax(struct call *call)
{
    return pop_end_or_wait(call, true);
}

static enum status read_bzmpop(struct call *call, struct pop_words *out, int64_t *out_timeout_ms)
{
    TRY(call_arg_timeout(call, 1, out_timeout_ms));
    return read_pop_words(call, 2, out);
}

static enum status check_bzmpop(struct call *call)
{
    struct pop_words words;
    int64_t timeout_ms;
    return read_bzmpop(call, &words, &timeout_ms);
}

static enum status cmd_bzmpop(struct call *call)
{
    struct pop_words words = {0};
    int64_t timeout_ms = 0;
    bool found;
    TRY(read_bzmpop(call, &words, &timeout_ms));
    TRY(pop_first(call, &words, &found));
    return found ? OK : wait_for_zsets(call, words.first_key, words.key_count, timeout_ms);
}

/* ---- By chance ----------------------------------------------------------------------------- */

struct output {
    struct call *call;
    bool with_scores;
};

static void write_entry(void *context, struct zset_entry entry)
{
    const struct output *output = context;
    zset_reply_entry(output->call, entry, output->with_scores);
}

static void write_random(struct call *call, const struct zset *zset, struct output *output)
{
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, rng_below(&call->shard->rng, zset_count(zset)), false, &cursor);
    if (zset_step(&cursor, &entry))
        write_entry(output, entry);
}

/* Reads the words behind the key. */
static enum status read_random_words(struct call *call, int64_t *out_count, bool *out_with_scores)
{
    TRY(call_arg_range(call, 2, -INT64_MAX, INT64_MAX, out_count));
    bool with_scores = call->arg_count == 4 && call_arg_is(call, 3, "WITHSCORES");
    if (call->arg_count > 3 && !with_scores)
        return ERR_SYNTAX;
    /* Redis doubles it. */
    if (with_scores && (*out_count < -(INT64_MAX / 2) || *out_count > INT64_MAX / 2))
        return ERR_OUT_OF_RANGE;
    *out_with_scores = with_scores;
    return OK;
}

static enum status cmd_zrandmember(struct call *call)
{
    bool is_single = call->arg_count == 2;
    int64_t count = 1;
    struct output output = {.call = call};
    if (!is_single)
        TRY(read_random_words(call, &count, &output.with_scores));
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    if (is_single) {
        if (zset)
            write_random(call, zset, &output);
        else
            reply_null(call->reply);
        return OK;
    }
    if (!zset || count == 0) {
        reply_array(call->reply, 0);
        return OK;
    }
    if (count < -RANDOM_MAX)
        return ERR_OUT_OF_RANGE;
    uint64_t total = zset_count(zset);
    bool may_repeat = count < 0;
    uint64_t wanted = may_repeat ? (uint64_t)-count : (uint64_t)count;
    if (!may_repeat && wanted > total)
        wanted = total;
    zset_reply_begin(call, wanted, output.with_scores);
    if (!may_repeat)
        zset_sample(zset, &call->shard->rng, wanted, call->arena, write_entry, &output);
    for (; may_repeat && wanted > 0; wanted--)
        write_random(call, zset, &output);
    return OK;
}

/* ---- ZSCAN --------------------------------------------------------------------------------- */

struct matches {
    const struct element_scan *scan;
    struct reply reply;
    size_t written_count; /* strings */
};

static void write_match(void *context, struct zset_entry entry)
{
    struct matches *matches = context;
    if (!element_scan_matches(matches->scan, entry.member))
        return;
    char digits[NUM_DOUBLE_CAP];
    reply_bulk(&matches->reply, entry.member);
    reply_bulk(&matches->reply, bytes_of(digits, num_from_double(digits, entry.score)));
    matches->written_count += 2;
}

static enum status cmd_zscan(struct call *call)
{
    uint64_t cursor;
    TRY(element_scan_cursor(call, 2, &cursor));
    const struct zset *zset;
    TRY(zset_key_find(call, 1, &zset));
    if (!zset) {
        element_scan_reply_empty(call);
        return OK;
    }
    struct element_scan scan;
    TRY(element_scan_options(call, 3, &scan));

    /* The cursor stands before the members, and is known after them. */
    struct buf members = {0};
    struct matches matches = {.scan = &scan, .reply = {.out = &members, .resp = call->resp}};
    element_scan_reply_cursor(call, zset_scan(zset, cursor, scan.count, write_match, &matches));
    reply_array(call->reply, matches.written_count);
    reply_raw(call->reply, buf_bytes(&members));
    buf_fini(&members);
    return OK;
}

#define COST_POP "O(M*log(N)) where M is the number of members removed."

/* clang-format off */
#define POPS_AND_WAITS \
     .check = check_last_timeout, .plan = PLAN_TOGETHER, \
     .flags = CMD_WRITE | CMD_NOSCRIPT | CMD_BLOCKING | CMD_FAST, .acl = ACL_SORTEDSET, \
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .last = -2, .step = 1}}, \
     .syntax = "key [key ...] timeout/double", .since = "5.0.0", \
     .cost = "O(log(N)) where N is the number of members.", \
     .history = "6.0.0 Takes a timeout with a fraction."

const struct command zset_pick_commands[] = {
    {.name = "zpopmin", .arity = -2, .run = cmd_zpopmin, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key [count]", .since = "5.0.0", .cost = COST_POP,
     .brief = "Removes the members with the lowest scores and answers with them."},

    {.name = "zpopmax", .arity = -2, .run = cmd_zpopmax, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SORTEDSET,
     .syntax = "key [count]", .since = "5.0.0", .cost = COST_POP,
     .brief = "Removes the members with the highest scores and answers with them."},

    {.name = "zmpop", .arity = -4, .run = cmd_zmpop, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .counted = true,
               .last = 0, .first = 1, .step = 1}},
     .flags = CMD_WRITE | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "numkeys key [key ...] where=<MIN | MAX> [COUNT count]", .since = "7.0.0",
     .cost = "O(K)+O(M*log(N)) where K is the number of keys and M that of members removed.",
     .brief = "Removes members from one end of the first sorted set that has any."},

    {.name = "bzpopmin", .arity = -3, .run = cmd_bzpopmin, POPS_AND_WAITS,
     .brief = "Takes the member with the lowest score of the first sorted set that has any, or waits "
              "for one."},

    {.name = "bzpopmax", .arity = -3, .run = cmd_bzpopmax, POPS_AND_WAITS,
     .brief = "Takes the member with the highest score of the first sorted set that has any, or "
              "waits for one."},

    {.name = "bzmpop", .arity = -5, .run = cmd_bzmpop, .check = check_bzmpop,
     .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 2, .counted = true,
               .last = 0, .first = 1, .step = 1}},
     .flags = CMD_WRITE | CMD_BLOCKING | CMD_MOVABLE_KEYS, .acl = ACL_SORTEDSET,
     .syntax = "timeout/double numkeys key [key ...] where=<MIN | MAX> [COUNT count]",
     .since = "7.0.0",
     .cost = "O(K)+O(M*log(N)) where K is the number of keys and M that of members removed.",
     .brief = "As ZMPOP, and waits for a member if there is none."},

    {.name = "zrandmember", .arity = -2, .run = cmd_zrandmember, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key options=[count [WITHSCORES]]", .since = "6.2.0",
     .cost = "O(M*log(N)) where M is the number of members given.",
     .brief = "Picks members of a sorted set by chance.",
     .tips = "nondeterministic_output"},

    {.name = "zscan", .arity = -3, .run = cmd_zscan, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SORTEDSET,
     .syntax = "key cursor [MATCH pattern] [COUNT count]", .since = "2.8.0",
     .cost = "O(COUNT) for a call, O(N) for a walk over N members.",
     .brief = "Lists the members of a sorted set a few at a time.",
     .tips = "nondeterministic_output"},
    {0},
};
/* clang-format on */
