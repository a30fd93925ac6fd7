/*
 * string_if: DELEX, DELIFEQ and DIGEST, which compare a string with what the client believes to be
 * there. (SET compares too: string.c.)
 *
 * DELEX and DIGEST are as in Redis 8.4, DELIFEQ as in Valkey 9. A digest stands for a string that
 * is too long to be sent just to be compared.
 */
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/string_options.h"
#include "shards/local/db.h"

/* Judges in Redis's order: the count of words before the key, the key before the condition. */
static enum status check_condition(struct call *call, bool *out_met)
{
    if (call->arg_count != 4)
        return ERR_WRONG_ARITY;
    const struct value *value = db_lookup_to_write(call->db, &call->key);
    if (!value) {
        *out_met = false;
        return OK;
    }
    if (value_type(value) != TYPE_STRING)
        return call_fail_text(call, "ERR Key should be of string type if conditions are specified");
    struct string_options options;
    if (string_options_read(call, 2, STRING_COMPARES, &options) != OK)
        return call_fail_text(call, "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
    return string_options_meet(call, &options, value, out_met);
}

static enum status cmd_delex(struct call *call)
{
    bool met = true;
    if (call->arg_count > 2)
        TRY(check_condition(call, &met));
    reply_int(call->reply, met && db_delete(call->db, &call->key));
    return OK;
}

static enum status cmd_delifeq(struct call *call)
{
    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &value));
    char scratch[STR_SCRATCH];
    bool met = value && bytes_equal(str_view(value, scratch), call_arg(call, 2));
    reply_int(call->reply, met && db_delete(call->db, &call->key));
    return OK;
}

static enum status cmd_digest(struct call *call)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        reply_null(call->reply);
        return OK;
    }
    char digest[STRING_DIGEST_LEN];
    string_digest(value, digest);
    reply_bulk(call->reply, bytes_of(digest, sizeof(digest)));
    return OK;
}

/* Without a condition the string is not looked at. */
static int delex_find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                           uint16_t *out_flags)
{
    out_index[0] = 1;
    out_flags[0] = (arg_count > 2 ? KEY_RW : KEY_RM) | KEY_DELETE;
    return 1;
}

/* clang-format off */
const struct command string_if_commands[] = {
    {.name = "delex", .arity = -2, .run = cmd_delex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE | KEY_VARIABLE_FLAGS), .find_keys = delex_find_keys,
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key [IFEQ ifeq-value | IFNE ifne-value | IFDEQ ifdeq-digest | IFDNE ifdne-digest]",
     .since = "8.4.0",
     .cost = "O(1), with IFDEQ and IFDNE O(N) where N is the length of the string.",
     .brief = "Deletes a key, if asked only when its string is, or is not, what one believes."},

    {.name = "delifeq", .arity = 3, .run = cmd_delifeq, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RM | KEY_ACCESS | KEY_DELETE),
     .flags = CMD_WRITE | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key value", .since = "9.0.0", .cost = "O(1)",
     .brief = "Deletes a key if its string is the one given."},

    {.name = "digest", .arity = 2, .run = cmd_digest, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STRING,
     .syntax = "key", .since = "8.4.0", .cost = "O(N) where N is the length of the string.",
     .brief = "Answers 16 hex digits that stand for the string at a key."},
    {0},
};
/* clang-format on */
