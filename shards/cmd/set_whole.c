/*
 * set_whole: SMEMBERS, SPOP, SRANDMEMBER and SSCAN, which look at one set as a whole.
 */
#include "core/type/set.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/element_scan.h"
#include "shards/local/db.h"

/* Members that SRANDMEMBER with a negative count gives at most: the answer must end. */
#define RANDOM_MAX (INT64_C(1) << 24)

static void write_member(void *context, struct bytes member)
{
    reply_bulk(context, member);
}

static enum status find_set(struct call *call, const struct set **out)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_SET, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

static enum status cmd_smembers(struct call *call)
{
    const struct set *set;
    TRY(find_set(call, &set));
    reply_set(call->reply, set ? set_count(set) : 0);
    if (set)
        set_each(set, write_member, call->reply);
    return OK;
}

/* ---- SSCAN --------------------------------------------------------------------------------- */

struct output {
    struct reply *reply;
    const struct element_scan *scan;
    size_t written_count;
};

static void write_match(void *context, struct bytes member)
{
    struct output *output = context;
    if (!element_scan_matches(output->scan, member))
        return;
    reply_bulk(output->reply, member);
    output->written_count++;
}

static enum status cmd_sscan(struct call *call)
{
    uint64_t cursor;
    TRY(element_scan_cursor(call, 2, &cursor));
    const struct set *set;
    TRY(find_set(call, &set));
    if (!set) {
        element_scan_reply_empty(call);
        return OK;
    }
    struct element_scan scan;
    TRY(element_scan_options(call, 3, &scan));

    /* The cursor stands before the members, and is known after them. */
    struct buf members = {0};
    struct reply members_reply = {.out = &members, .resp = call->resp};
    struct output output = {.reply = &members_reply, .scan = &scan};
    element_scan_reply_cursor(call, set_scan(set, cursor, scan.count, write_match, &output));
    reply_array(call->reply, output.written_count);
    reply_raw(call->reply, buf_bytes(&members));
    buf_fini(&members);
    return OK;
}

/* ---- SRANDMEMBER --------------------------------------------------------------------------- */

static enum status reply_one_random(struct call *call)
{
    const struct set *set;
    TRY(find_set(call, &set));
    char scratch[PACK_SCRATCH];
    if (set)
        reply_bulk(call->reply, set_random(set, &call->shard->rng, scratch));
    else
        reply_null(call->reply);
    return OK;
}

static enum status cmd_srandmember(struct call *call)
{
    if (call->arg_count > 3)
        return ERR_SYNTAX;
    if (call->arg_count == 2)
        return reply_one_random(call);
    int64_t count;
    TRY(call_arg_range(call, 2, -INT64_MAX, INT64_MAX, &count));
    const struct set *set;
    TRY(find_set(call, &set));
    if (!set || count == 0) {
        reply_array(call->reply, 0);
        return OK;
    }
    if (count < -RANDOM_MAX)
        return ERR_OUT_OF_RANGE;

    struct rng *rng = &call->shard->rng;
    if (count < 0) {
        char scratch[PACK_SCRATCH];
        reply_array(call->reply, (uint64_t)-count);
        for (; count < 0; count++)
            reply_bulk(call->reply, set_random(set, rng, scratch));
        return OK;
    }
    uint64_t total = set_count(set);
    uint64_t wanted = (uint64_t)count < total ? (uint64_t)count : total;
    reply_array(call->reply, wanted);
    set_sample(set, rng, wanted, call->arena, write_member, call->reply);
    return OK;
}

/* ---- SPOP ---------------------------------------------------------------------------------- */

static enum status cmd_spop(struct call *call)
{
    bool has_count = call->arg_count == 3;
    int64_t count = 1;
    if (call->arg_count > 3)
        return ERR_SYNTAX;
    if (has_count && (call_arg_int(call, 2, &count) != OK || count < 0))
        return call_fail_text(call, "ERR value is out of range, must be positive");
    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_SET, &value));
    if (!value && !has_count) {
        reply_null(call->reply);
        return OK;
    }

    uint64_t total = value ? set_count(value_root(value)) : 0;
    uint64_t wanted = (uint64_t)count < total ? (uint64_t)count : total;
    if (has_count)
        reply_set(call->reply, wanted);
    if (wanted == 0)
        return OK;
    if (wanted == total) {
        set_each(value_root(value), write_member, call->reply);
        (void)db_delete(call->db, &call->key);
    } else {
        set_pop(value_edit_root(db_edit(call->db, &call->key)), db_heap(call->db),
                &call->shard->rng, wanted, write_member, call->reply);
    }
    return OK;
}

/* clang-format off */
const struct command set_whole_commands[] = {
    {.name = "smembers", .arity = 2, .run = cmd_smembers, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key", .since = "1.0.0", .cost = "O(N) where N is the number of members.",
     .brief = "Lists all members of a set.",
     .tips = "nondeterministic_output_order"},

    {.name = "spop", .arity = -2, .run = cmd_spop, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SET,
     .syntax = "key [count@3.2.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members taken.",
     .history = "3.2.0 Takes a count.",
     .brief = "Takes members out of a set by chance; without members the key goes too.",
     .tips = "nondeterministic_output"},

    {.name = "srandmember", .arity = -2, .run = cmd_srandmember, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key [count@2.6.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members given.",
     .history = "2.6.0 Takes a count.",
     .brief = "Picks members of a set by chance.",
     .tips = "nondeterministic_output"},

    {.name = "sscan", .arity = -3, .run = cmd_sscan, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_SET,
     .syntax = "key cursor [MATCH pattern] [COUNT count]", .since = "2.8.0",
     .cost = "O(COUNT) for a call, O(N) for a walk over N members.",
     .brief = "Lists the members of a set a few at a time.",
     .tips = "nondeterministic_output"},
    {0},
};
/* clang-format on */
