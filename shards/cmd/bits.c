/*
 * bits: SETBIT, GETBIT, BITCOUNT, BITPOS and BITOP, which see a string as bits.
 *
 * Behind its end a string is zeros without end for GETBIT, BITOP, and for BITPOS as long as the
 * client has not said where to stop. BITCOUNT and BITPOS look at the key before they look at the
 * rest of their words: an absent key hides what is wrong with them.
 */
#include "core/ds/bitmap.h"
#include "core/type/str.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/cmd/bits_arg.h"
#include "shards/local/db.h"

/* ---- One bit ------------------------------------------------------------------------------- */

static enum status cmd_setbit(struct call *call)
{
    uint64_t offset;
    TRY(bits_arg_offset(call, 2, 0, &offset));
    int64_t bit;
    if (call_arg_int(call, 3, &bit) != OK || (bit & ~INT64_C(1)))
        return call_fail_text(call, "ERR bit is not an integer or out of range");

    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_STRING, &value));
    char scratch[STR_SCRATCH];
    struct bytes map = value ? str_view(value, scratch) : BYTES("");
    uint64_t old = bitmap_read(map, offset, 1);
    /* What does not change is not announced. */
    if (old != (uint64_t)bit || !bits_is_ready(value, offset / 8 + 1)) {
        char *text;
        TRY(bits_edit(call, value, offset / 8 + 1, &map, &text));
        bitmap_write(text, offset, 1, (uint64_t)bit);
    }
    reply_int(call->reply, (int64_t)old);
    return OK;
}

static enum status cmd_getbit(struct call *call)
{
    uint64_t offset;
    TRY(bits_arg_offset(call, 2, 0, &offset));
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    char scratch[STR_SCRATCH];
    struct bytes map = value ? str_view(value, scratch) : BYTES("");
    reply_int(call->reply, (int64_t)bitmap_read(map, offset, 1));
    return OK;
}

/* ---- Ranges -------------------------------------------------------------------------------- */

/* A range of bits within a string; empty when `first` > `last`. */
struct range {
    int64_t first, last;
};

/* The word at `index`, if there is one, says what the two numbers of a range count. */
static enum status parse_unit(const struct call *call, uint32_t index, int64_t *out_bits)
{
    *out_bits = 8;
    if (index >= call->arg_count || call_arg_is(call, index, "BYTE"))
        return OK;
    *out_bits = 1;
    return call_arg_is(call, index, "BIT") ? OK : ERR_SYNTAX;
}

/* Counts from the back what is negative, cuts what is outside, and makes bits of units of
 * `unit_bits` bits. */
static struct range range_within(struct range range, int64_t unit_bits, size_t len)
{
    int64_t count = (int64_t)len * 8 / unit_bits;
    if (range.first < 0)
        range.first = range.first + count > 0 ? range.first + count : 0;
    if (range.last < 0)
        range.last = range.last + count > 0 ? range.last + count : 0;
    if (range.last >= count)
        range.last = count - 1;
    if (range.first > range.last)
        return (struct range){.first = 0, .last = -1};
    return (struct range){.first = range.first * unit_bits,
                          .last = range.last * unit_bits + unit_bits - 1};
}

static enum status cmd_bitcount(struct call *call)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        reply_int(call->reply, 0);
        return OK;
    }
    struct range range = {.first = 0, .last = -1};
    int64_t unit_bits = 8;
    if (call->arg_count == 4 || call->arg_count == 5) {
        TRY(call_arg_int(call, 2, &range.first));
        TRY(call_arg_int(call, 3, &range.last));
        /* Two ends that are both counted from the back are compared before they are cut, and
         * before the unit is read. */
        if (range.first < 0 && range.last < 0 && range.first > range.last) {
            reply_int(call->reply, 0);
            return OK;
        }
        TRY(parse_unit(call, 4, &unit_bits));
    } else if (call->arg_count != 2) {
        return ERR_SYNTAX;
    }

    char scratch[STR_SCRATCH];
    struct bytes map = str_view(value, scratch);
    range = range_within(range, unit_bits, map.len);
    uint64_t count = 0;
    if (range.first <= range.last)
        count = bitmap_count(map, (uint64_t)range.first, (uint64_t)range.last);
    reply_int(call->reply, (int64_t)count);
    return OK;
}

static enum status cmd_bitpos(struct call *call)
{
    int64_t bit;
    TRY(call_arg_int(call, 2, &bit));
    if (bit != 0 && bit != 1)
        return call_fail_text(call, "ERR The bit argument must be 1 or 0.");

    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_STRING, &value));
    if (!value) {
        reply_int(call->reply, bit ? -1 : 0);
        return OK;
    }
    struct range range = {.first = 0, .last = -1};
    int64_t unit_bits = 8;
    if (call->arg_count > 6)
        return ERR_SYNTAX;
    if (call->arg_count > 3)
        TRY(call_arg_int(call, 3, &range.first));
    TRY(parse_unit(call, 5, &unit_bits));
    bool is_open = call->arg_count < 5;
    if (!is_open)
        TRY(call_arg_int(call, 4, &range.last));

    char scratch[STR_SCRATCH];
    struct bytes map = str_view(value, scratch);
    range = range_within(range, unit_bits, map.len);
    uint64_t at = BITMAP_NONE;
    if (range.first <= range.last) {
        at = bitmap_find(map, bit, (uint64_t)range.first, (uint64_t)range.last);
        if (at == BITMAP_NONE && is_open && !bit)
            at = (uint64_t)range.last + 1;
    }
    reply_int(call->reply, at == BITMAP_NONE ? -1 : (int64_t)at);
    return OK;
}

/* ---- Combining ----------------------------------------------------------------------------- */

#define BITOP_FIRST_SOURCE 3u

static bool parse_op(const struct call *call, enum bitmap_op *out)
{
    static const char *const words[] = {
        [BITMAP_AND] = "AND", [BITMAP_OR] = "OR", [BITMAP_XOR] = "XOR", [BITMAP_NOT] = "NOT"};
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (call_arg_is(call, 1, words[i])) {
            *out = (enum bitmap_op)i;
            return true;
        }
    }
    return false;
}

/* What Redis refuses before it looks at any key. */
static enum status check_bitop(struct call *call)
{
    enum bitmap_op op;
    if (!parse_op(call, &op))
        return ERR_SYNTAX;
    if (op == BITMAP_NOT && call->arg_count != BITOP_FIRST_SOURCE + 1)
        return call_fail_text(call, "ERR BITOP NOT must be called with a single source key.");
    return OK;
}

/* The length of the longest source, 0 if there is none. */
static enum status find_longest(struct call *call, size_t *out_len)
{
    size_t longest = 0;
    for (uint32_t i = BITOP_FIRST_SOURCE; i < call->arg_count; i++) {
        const struct value *value;
        TRY(db_find(call_db(call, i), call_key(call, i), TYPE_STRING, &value));
        if (value && str_len(value) > longest)
            longest = str_len(value);
    }
    *out_len = longest;
    return OK;
}

/* The bytes of all sources, where they lie now. */
static struct bytes *view_sources(struct call *call)
{
    uint32_t count = call->arg_count - BITOP_FIRST_SOURCE;
    struct bytes *sources = arena_alloc(call->arena, count * sizeof *sources);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = BITOP_FIRST_SOURCE + i;
        const struct value *value = db_peek(call_db(call, index), call_key(call, index));
        char *scratch = arena_alloc(call->arena, STR_SCRATCH);
        sources[i] = value ? str_view(value, scratch) : BYTES("");
    }
    return sources;
}

/* The target is made as long as the result before the sources are looked at again, since that moves
 * strings. If it is a source too, it has only got zeros at its end. */
static enum status cmd_bitop(struct call *call)
{
    enum bitmap_op op = BITMAP_NOT;
    (void)parse_op(call, &op);
    size_t len;
    TRY(find_longest(call, &len));

    const struct value *old = db_lookup_to_write(call->db, &call->key);
    if (old && (!len || value_type(old) != TYPE_STRING))
        (void)db_delete(call->db, &call->key);
    if (len) {
        char *target = db_resize_string(call->db, &call->key, len);
        if (!target)
            return ERR_OOM;
        struct bytes *sources = view_sources(call);
        bitmap_combine(op, sources, call->arg_count - BITOP_FIRST_SOURCE, len, target);
        db_set_expire(call->db, &call->key, DB_NO_EXPIRE);
    }
    reply_int(call->reply, (int64_t)len);
    return OK;
}

/* clang-format off */
const struct command bits_commands[] = {
    {.name = "setbit", .arity = 4, .run = cmd_setbit, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_UPDATE),
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_BITMAP,
     .syntax = "key offset value/integer", .since = "2.2.0", .cost = "O(1)",
     .brief = "Sets or clears one bit of the string at a key and gives the old one."},

    {.name = "getbit", .arity = 3, .run = cmd_getbit, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY | CMD_FAST, .acl = ACL_BITMAP,
     .syntax = "key offset", .since = "2.2.0", .cost = "O(1)",
     .brief = "Reads one bit of the string at a key."},

    {.name = "bitcount", .arity = -2, .run = cmd_bitcount, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_BITMAP,
     .syntax = "key range=[start end unit=[BYTE | BIT]@7.0.0]", .since = "2.6.0", .cost = "O(N)",
     .history = "7.0.0 Counts in bits or bytes.",
     .brief = "Counts the set bits in the string at a key, or in a part of it."},

    {.name = "bitpos", .arity = -3, .run = cmd_bitpos, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS),
     .flags = CMD_READONLY, .acl = ACL_BITMAP,
     .syntax = "key bit range=[start end-unit-block=[end unit=[BYTE | BIT]@7.0.0]]", .since = "2.8.7", .cost = "O(N)",
     .history = "7.0.0 Looks between bits or bytes.",
     .brief = "Finds the first bit that is set, or that is clear, in the string at a key."},

    {.name = "bitop", .arity = -4, .run = cmd_bitop, .plan = PLAN_TOGETHER, .check = check_bitop,
     .keys = {{.flags = KEY_OW | KEY_UPDATE, .index = 2, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .index = 3, .last = -1, .step = 1}},
     .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_BITMAP,
     .syntax = "operation=<AND | OR | XOR | NOT> destkey key [key ...]", .since = "2.6.0", .cost = "O(N)",
     .brief = "Combines several strings bit by bit and stores the result."},
    {0},
};
/* clang-format on */
