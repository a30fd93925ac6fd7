/*
 * hash_whole: HGETALL, HSCAN, HRANDFIELD and their kin, which look at a hash as a whole.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/element_scan.h"
#include "shards/cmd/hash_key.h"
#include "shards/local/fields.h"

/* Fields that HRANDFIELD with a negative count gives at most: the answer must end. */
#define RANDOM_MAX (INT64_C(1) << 24)
/* Fields of a hash that HRANDFIELD of a single one looks at to delete what is due. */
#define RANDOM_DROP_MAX 4096u

/* What is written of each field that a walk comes to. */
struct output {
    struct reply *reply;
    bool has_fields, has_values;
    bool has_frames; /* each pair is an array of its own */
    const struct element_scan *scan;
    size_t written_count; /* strings */
};

static void write_pair(void *context, struct hash_pair pair)
{
    struct output *output = context;
    if (output->has_frames)
        reply_array(output->reply, 2);
    if (output->has_fields)
        reply_bulk(output->reply, pair.field);
    if (output->has_values)
        reply_bulk(output->reply, pair.value);
}

/* ---- All fields ---------------------------------------------------------------------------- */

static enum status cmd_hgetall(struct call *call)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    struct output output = {.reply = call->reply, .has_fields = true, .has_values = true};
    reply_map(call->reply, hash ? hash_live_count(hash, call_now_ms(call)) : 0);
    if (hash)
        hash_each_live(hash, call_now_ms(call), write_pair, &output);
    return OK;
}

static enum status list_half(struct call *call, struct output output)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    reply_array(call->reply, hash ? hash_live_count(hash, call_now_ms(call)) : 0);
    if (hash)
        hash_each_live(hash, call_now_ms(call), write_pair, &output);
    return OK;
}

static enum status cmd_hkeys(struct call *call)
{
    return list_half(call, (struct output){.reply = call->reply, .has_fields = true});
}

static enum status cmd_hvals(struct call *call)
{
    return list_half(call, (struct output){.reply = call->reply, .has_values = true});
}

/* ---- HSCAN --------------------------------------------------------------------------------- */

static void write_match(void *context, struct hash_pair pair)
{
    struct output *output = context;
    if (!element_scan_matches(output->scan, pair.field))
        return;
    write_pair(output, pair);
    output->written_count += 2;
}

static enum status cmd_hscan(struct call *call)
{
    uint64_t cursor;
    TRY(element_scan_cursor(call, 2, &cursor));
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    if (!hash) {
        element_scan_reply_empty(call);
        return OK;
    }
    struct element_scan scan;
    TRY(element_scan_options(call, 3, &scan));

    /* The cursor stands before the fields, and is known after them. */
    struct buf fields = {0};
    struct reply fields_reply = {.out = &fields, .resp = call->resp};
    struct output output = {
        .reply = &fields_reply, .has_fields = true, .has_values = true, .scan = &scan};
    element_scan_reply_cursor(
        call, hash_scan(hash, call_now_ms(call), cursor, scan.count, write_match, &output));
    reply_array(call->reply, output.written_count);
    reply_raw(call->reply, buf_bytes(&fields));
    buf_fini(&fields);
    return OK;
}

/* ---- HRANDFIELD ---------------------------------------------------------------------------- */

/* The hash at the key, less what is due among `budget` fields. */
static enum status find_fresh(struct call *call, uint64_t budget, const struct hash **out)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    if (hash && fields_may_drop(call->db))
        hash = fields_drop_some_due(call->db, &call->key, hash, budget);
    *out = hash;
    return OK;
}

static enum status reply_one_random(struct call *call)
{
    const struct hash *hash;
    TRY(find_fresh(call, RANDOM_DROP_MAX, &hash));
    struct hash_scratch scratch;
    struct hash_pair pair;
    if (hash && hash_random(hash, call_now_ms(call), &call->shard->rng, &scratch, &pair))
        reply_bulk(call->reply, pair.field);
    else
        reply_null(call->reply);
    return OK;
}

/* Reads the words behind the key. */
static enum status random_words(struct call *call, int64_t *out_count, bool *out_with_values)
{
    TRY(call_arg_range(call, 2, -INT64_MAX, INT64_MAX, out_count));
    bool with_values = call->arg_count == 4 && call_arg_is(call, 3, "WITHVALUES");
    if (call->arg_count > 3 && !with_values)
        return ERR_SYNTAX;
    /* Redis doubles it. */
    if (with_values && (*out_count < -(INT64_MAX / 2) || *out_count > INT64_MAX / 2))
        return ERR_OUT_OF_RANGE;
    *out_with_values = with_values;
    return OK;
}

static enum status cmd_hrandfield(struct call *call)
{
    if (call->arg_count == 2)
        return reply_one_random(call);
    int64_t count;
    bool with_values;
    TRY(random_words(call, &count, &with_values));
    const struct hash *hash;
    TRY(find_fresh(call, FIELDS_ALL, &hash));
    int64_t now_ms = call_now_ms(call);
    uint64_t total = hash ? hash_live_count(hash, now_ms) : 0;
    if (total == 0 || count == 0) {
        reply_array(call->reply, 0);
        return OK;
    }
    if (count < -RANDOM_MAX)
        return ERR_OUT_OF_RANGE;

    bool may_repeat = count < 0;
    uint64_t wanted = may_repeat                ? (uint64_t)-count
                      : (uint64_t)count < total ? (uint64_t)count
                                                : total;
    struct output output = {.reply = call->reply, .has_fields = true, .has_values = with_values};
    output.has_frames = with_values && call->resp > 2;
    reply_array(call->reply, with_values && call->resp == 2 ? 2 * wanted : wanted);
    struct rng *rng = &call->shard->rng;
    if (!may_repeat)
        hash_sample(hash, now_ms, rng, wanted, call->arena, write_pair, &output);
    struct hash_scratch scratch;
    struct hash_pair pair;
    for (; may_repeat && wanted > 0 && hash_random(hash, now_ms, rng, &scratch, &pair); wanted--)
        write_pair(&output, pair);
    return OK;
}

/* clang-format off */
const struct command hash_whole_commands[] = {
    {.name = "hgetall", .arity = 2, .run = cmd_hgetall, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_HASH,
     .syntax = "key", .since = "2.0.0", .cost = "O(N) where N is the number of fields.",
     .brief = "Lists all fields of a hash with their values.",
     .tips = "nondeterministic_output_order"},

    {.name = "hkeys", .arity = 2, .run = cmd_hkeys, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_HASH,
     .syntax = "key", .since = "2.0.0", .cost = "O(N) where N is the number of fields.",
     .brief = "Lists the names of a hash's fields.",
     .tips = "nondeterministic_output_order"},

    {.name = "hvals", .arity = 2, .run = cmd_hvals, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_HASH,
     .syntax = "key", .since = "2.0.0", .cost = "O(N) where N is the number of fields.",
     .brief = "Lists the values of a hash's fields.",
     .tips = "nondeterministic_output_order"},

    {.name = "hrandfield", .arity = -2, .run = cmd_hrandfield, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_HASH,
     .syntax = "key options=[count [WITHVALUES]]", .since = "6.2.0",
     .cost = "O(N) where N is the number of fields given.",
     .brief = "Picks fields of a hash by chance.",
     .tips = "nondeterministic_output"},

    {.name = "hscan", .arity = -3, .run = cmd_hscan, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_HASH,
     .syntax = "key cursor [MATCH pattern] [COUNT count]", .since = "2.8.0",
     .cost = "O(COUNT) for a call, O(N) for a walk over N fields.",
     .brief = "Lists the fields of a hash a few at a time.",
     .tips = "nondeterministic_output"},
    {0},
};
/* clang-format on */
