/*
 * hash_ttl: HEXPIRE and its kin, which set, read and take away the time to live of single fields of
 * a hash.
 *
 * A field whose time has passed is absent, even if nothing has deleted it yet; so a new time cannot
 * bring it back. A time that is already past deletes a field at once.
 */
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/cmd/hash_key.h"
#include "shards/local/fields.h"

#define MS_PER_S 1000

#define REPLY_ABSENT (-2)
#define REPLY_LASTS (-1)

#define SETTING_COUNT_TEXT "Parameter `numFields` should be greater than 0"
#define ASKING_COUNT_TEXT "Number of fields must be a positive integer"

/* ---- Setting ------------------------------------------------------------------------------- */

#define REPLY_REFUSED 0
#define REPLY_SET 1
#define REPLY_DELETED 2

enum condition { CONDITION_NONE, CONDITION_NX, CONDITION_XX, CONDITION_GT, CONDITION_LT };

static enum condition parse_condition(struct call *call, uint32_t index)
{
    static const char *const words[] = {
        [CONDITION_NX] = "NX", [CONDITION_XX] = "XX", [CONDITION_GT] = "GT", [CONDITION_LT] = "LT"};
    for (enum condition condition = CONDITION_NX; condition <= CONDITION_LT; condition++) {
        if (call_arg_is(call, index, words[condition]))
            return condition;
    }
    return CONDITION_NONE;
}

/* A field that lasts for ever has the latest time of all: nothing is greater, everything is less.
 */
static bool allows(enum condition condition, int64_t old_at_ms, int64_t at_ms)
{
    bool lasts = old_at_ms == HASH_NO_TTL;
    switch (condition) {
    case CONDITION_NONE:
        return true;
    case CONDITION_NX:
        return lasts;
    case CONDITION_XX:
        return !lasts;
    case CONDITION_GT:
        return !lasts && at_ms > old_at_ms;
    case CONDITION_LT:
        return lasts || at_ms < old_at_ms;
    }
    return false;
}

/* A request to give fields the same time. */
struct request {
    enum condition condition;
    int64_t at_ms;
    const struct hash *found;
    struct hash_edit edit; /* begun with the first change */
};

static int64_t set_one(struct call *call, struct request *request, struct bytes field)
{
    const struct hash *hash = request->edit.value ? request->edit.hash : request->found;
    int64_t old_at_ms;
    if (!hash || !hash_find_ttl(hash, field, &old_at_ms) ||
        hash_is_past(old_at_ms, call_now_ms(call)))
        return REPLY_ABSENT;
    if (!allows(request->condition, old_at_ms, request->at_ms))
        return REPLY_REFUSED;
    if (!request->edit.value)
        request->edit = hash_key_edit(call, request->found);
    if (request->at_ms > call_now_ms(call)) {
        hash_set_ttl(&request->edit.hash, db_heap(call->db), field, request->at_ms);
        return REPLY_SET;
    }
    (void)hash_delete(&request->edit.hash, db_heap(call->db), field);
    call->shard->stats.expired_subkeys++;
    return REPLY_DELETED;
}

static enum status set_times(struct call *call, int64_t unit_ms, int64_t from_ms)
{
    struct request request = {0};
    TRY(hash_key_find_to_write(call, &request.found));
    TRY(hash_key_time(call, 2, unit_ms, from_ms, &request.at_ms));
    request.condition = parse_condition(call, 3);
    uint32_t fields_at = request.condition == CONDITION_NONE ? 3 : 4;
    uint32_t count;
    TRY(hash_key_fields(call, fields_at, SETTING_COUNT_TEXT, &count));
    reply_array(call->reply, count);
    for (uint32_t i = call->arg_count - count; i < call->arg_count; i++)
        reply_int(call->reply, set_one(call, &request, call_arg(call, i)));
    if (request.edit.value)
        hash_key_end(call, &request.edit);
    return OK;
}

static enum status cmd_hexpire(struct call *call)
{
    return set_times(call, MS_PER_S, call_now_ms(call));
}

static enum status cmd_hpexpire(struct call *call)
{
    return set_times(call, 1, call_now_ms(call));
}

static enum status cmd_hexpireat(struct call *call)
{
    return set_times(call, MS_PER_S, 0);
}

static enum status cmd_hpexpireat(struct call *call)
{
    return set_times(call, 1, 0);
}

/* The time of a field, or REPLY_ABSENT or REPLY_LASTS. */
static int64_t time_of(struct call *call, const struct hash *hash, struct bytes field)
{
    int64_t at_ms;
    if (!hash || !hash_find_ttl(hash, field, &at_ms) || hash_is_past(at_ms, call_now_ms(call)))
        return REPLY_ABSENT;
    return at_ms == HASH_NO_TTL ? REPLY_LASTS : at_ms;
}

static enum status cmd_hpersist(struct call *call)
{
    const struct hash *found;
    TRY(hash_key_find_to_write(call, &found));
    uint32_t count;
    TRY(hash_key_fields(call, 2, ASKING_COUNT_TEXT, &count));
    reply_array(call->reply, count);
    struct hash_edit edit = {0}; /* begun with the first change */
    for (uint32_t i = call->arg_count - count; i < call->arg_count; i++) {
        int64_t at_ms = time_of(call, edit.value ? edit.hash : found, call_arg(call, i));
        if (at_ms >= 0) {
            if (!edit.value)
                edit = hash_key_edit(call, found);
            hash_set_ttl(&edit.hash, db_heap(call->db), call_arg(call, i), HASH_NO_TTL);
        }
        reply_int(call->reply, at_ms >= 0 ? REPLY_SET : at_ms);
    }
    if (edit.value)
        hash_key_end(call, &edit);
    return OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Replies with the times from `from_ms` to the fields' ends, in units of `unit_ms`, begun ones as
 * whole. */
static enum status reply_times(struct call *call, int64_t unit_ms, int64_t from_ms)
{
    const struct hash *hash;
    TRY(hash_key_find(call, &hash));
    uint32_t count;
    TRY(hash_key_fields(call, 2, ASKING_COUNT_TEXT, &count));
    reply_array(call->reply, count);
    for (uint32_t i = call->arg_count - count; i < call->arg_count; i++) {
        int64_t at_ms = time_of(call, hash, call_arg(call, i));
        reply_int(call->reply, at_ms < 0 ? at_ms : (at_ms - from_ms + unit_ms - 1) / unit_ms);
    }
    return OK;
}

static enum status cmd_httl(struct call *call)
{
    return reply_times(call, MS_PER_S, call_now_ms(call));
}

static enum status cmd_hpttl(struct call *call)
{
    return reply_times(call, 1, call_now_ms(call));
}

static enum status cmd_hexpiretime(struct call *call)
{
    return reply_times(call, MS_PER_S, 0);
}

static enum status cmd_hpexpiretime(struct call *call)
{
    return reply_times(call, 1, 0);
}

/* clang-format off */
const struct command hash_ttl_commands[] = {
    {.name = "hexpire", .arity = -6, .run = cmd_hexpire, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key seconds [NX | XX | GT | LT] <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Lets fields of a hash live for a number of seconds."},

    {.name = "hpexpire", .arity = -6, .run = cmd_hpexpire, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key milliseconds [NX | XX | GT | LT] <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Lets fields of a hash live for a number of milliseconds."},

    {.name = "hexpireat", .arity = -6, .run = cmd_hexpireat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key unix-time-seconds [NX | XX | GT | LT] <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Lets fields of a hash live until a time in seconds."},

    {.name = "hpexpireat", .arity = -6, .run = cmd_hpexpireat, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key unix-time-milliseconds [NX | XX | GT | LT] <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Lets fields of a hash live until a time in milliseconds."},

    {.name = "httl", .arity = -5, .run = cmd_httl, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Tells how many seconds fields of a hash have to live.",
     .tips = "nondeterministic_output"},

    {.name = "hpttl", .arity = -5, .run = cmd_hpttl, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Tells how many milliseconds fields of a hash have to live.",
     .tips = "nondeterministic_output"},

    {.name = "hexpiretime", .arity = -5, .run = cmd_hexpiretime, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Tells the times in seconds at which fields of a hash end."},

    {.name = "hpexpiretime", .arity = -5, .run = cmd_hpexpiretime, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Tells the times in milliseconds at which fields of a hash end."},

    {.name = "hpersist", .arity = -5, .run = cmd_hpersist, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_HASH,
     .syntax = "key <FIELDS numfields/integer field [field ...]>",
     .since = "7.4.0", .cost = "O(N) where N is the number of fields named.",
     .brief = "Lets fields of a hash live for ever."},
    {0},
};
/* clang-format on */
