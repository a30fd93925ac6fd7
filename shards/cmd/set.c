/*
 * set: SADD, SISMEMBER and their kin, which read or change single members. What looks at a set as a
 * whole is in set_whole.c, what compares several in set_algebra.c.
 */
#include "core/type/set.h"

#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

/* The set at the first key for reading, NULL where there is none. */
static enum status find_set(struct call *call, const struct set **out)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_SET, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

/* The same for those who are about to write, in any database. */
static enum status find_set_to_write(struct db *db, const struct key *key, const struct set **out)
{
    const struct value *value;
    TRY(db_find_to_write(db, key, TYPE_SET, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

static struct set *edit_set(struct db *db, const struct key *key)
{
    return value_edit_root(db_edit(db, key));
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* The set at `key`, `found` or a new one, to put `count` members into, `first` among them. */
static struct set *set_to_fill(struct call *call, struct db *db, const struct key *key,
                               const struct set *found, struct bytes first, uint32_t count)
{
    const struct set_limits *limits = &call->config->set_limits;
    struct set *set;
    if (found) {
        set = edit_set(db, key);
        set_expect(set, db_heap(db), limits, count);
    } else {
        set = set_create_for(db_heap(db), limits, first, count);
        (void)db_put_root(db, key, TYPE_SET, set, DB_NO_EXPIRE);
    }
    return set;
}

static enum status cmd_sadd(struct call *call)
{
    const struct set *found;
    TRY(find_set_to_write(call->db, &call->key, &found));
    uint32_t i = 2;
    while (found && i < call->arg_count && set_has(found, call_arg(call, i)))
        i++;
    int64_t added_count = 0;
    if (i < call->arg_count) { /* otherwise nothing changes, and nobody is told so */
        struct set *set = set_to_fill(call, call->db, &call->key, found, call_arg(call, 2),
                                      call->arg_count - 2);
        for (; i < call->arg_count; i++)
            added_count += set_add(set, db_heap(call->db), &call->config->set_limits,
                                   call_arg(call, i));
    }
    reply_int(call->reply, added_count);
    return OK;
}

static enum status cmd_srem(struct call *call)
{
    const struct set *found;
    TRY(find_set_to_write(call->db, &call->key, &found));
    struct set *set = NULL;
    int64_t removed_count = 0;
    for (uint32_t i = 2; found && i < call->arg_count; i++) {
        if (!set && !set_has(found, call_arg(call, i)))
            continue;
        if (!set)
            set = edit_set(call->db, &call->key);
        removed_count += set_remove(set, db_heap(call->db), call_arg(call, i));
    }
    if (set && set_count(set) == 0)
        (void)db_delete(call->db, &call->key);
    reply_int(call->reply, removed_count);
    return OK;
}

/* Takes a member that is there out of the set at `key`. */
static void take_out(struct db *db, const struct key *key, struct bytes member)
{
    struct set *set = edit_set(db, key);
    (void)set_remove(set, db_heap(db), member);
    if (set_count(set) == 0)
        (void)db_delete(db, key);
}

static enum status cmd_smove(struct call *call)
{
    struct db *from_db = call_db(call, 1), *to_db = call_db(call, 2);
    const struct key *from_key = call_key(call, 1), *to_key = call_key(call, 2);
    struct bytes member = call_arg(call, 3);
    const struct set *from, *to = NULL;
    TRY(find_set_to_write(from_db, from_key, &from));
    if (from)
        TRY(find_set_to_write(to_db, to_key, &to));
    bool is_there = from && set_has(from, member);
    if (is_there && from != to) {
        bool is_new = !to || !set_has(to, member);
        take_out(from_db, from_key, member);
        if (is_new)
            (void)set_add(set_to_fill(call, to_db, to_key, to, member, 1), db_heap(to_db),
                          &call->config->set_limits, member);
    }
    reply_int(call->reply, is_there);
    return OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static enum status cmd_sismember(struct call *call)
{
    const struct set *set;
    TRY(find_set(call, &set));
    reply_int(call->reply, set && set_has(set, call_arg(call, 2)));
    return OK;
}

static enum status cmd_smismember(struct call *call)
{
    const struct set *set;
    TRY(find_set(call, &set));
    reply_array(call->reply, call->arg_count - 2);
    for (uint32_t i = 2; i < call->arg_count; i++)
        reply_int(call->reply, set && set_has(set, call_arg(call, i)));
    return OK;
}

static enum status cmd_scard(struct call *call)
{
    const struct set *set;
    TRY(find_set(call, &set));
    reply_int(call->reply, set ? (int64_t)set_count(set) : 0);
    return OK;
}

/* clang-format off */
const struct command set_commands[] = {
    {.name = "sadd", .arity = -3, .run = cmd_sadd, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_SET,
     .syntax = "key member [member ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members named.",
     .history = "2.4.0 Takes several members.",
     .brief = "Puts members into a set; makes it if need be."},

    {.name = "srem", .arity = -3, .run = cmd_srem, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SET,
     .syntax = "key member [member ...]", .since = "1.0.0",
     .cost = "O(N) where N is the number of members named.",
     .history = "2.4.0 Takes several members.",
     .brief = "Removes members of a set; without members the key goes too."},

    {.name = "smove", .arity = 4, .run = cmd_smove, .plan = PLAN_TOGETHER,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .step = 1},
              {.flags = KEY_RW | KEY_INSERT, .index = 2, .step = 1}},
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_SET,
     .syntax = "source destination member", .since = "1.0.0", .cost = "O(1)",
     .brief = "Moves a member from one set to another."},

    {.name = "sismember", .arity = 3, .run = cmd_sismember, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SET,
     .syntax = "key member", .since = "1.0.0", .cost = "O(1)",
     .brief = "Tells whether a set has a member."},

    {.name = "smismember", .arity = -3, .run = cmd_smismember, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SET,
     .syntax = "key member [member ...]", .since = "6.2.0",
     .cost = "O(N) where N is the number of members named.",
     .brief = "Tells of several members whether a set has them."},

    {.name = "scard", .arity = 2, .run = cmd_scard, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_SET,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Counts the members of a set."},
    {0},
};
/* clang-format on */
