/*
 * list_pop: the commands that take elements from the ends of lists: LPOP and RPOP from one list,
 * LMPOP from the first of several that has any, LMOVE and RPOPLPUSH to put them into another.
 *
 * A list whose last element is taken goes as a whole, by deleting its key.
 */
#include "core/type/list.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

static struct list_limits limits_of(const struct call *call)
{
    return list_limits(call->config->list_max_listpack_size);
}

/* LEFT or RIGHT. */
static enum status parse_end(const struct call *call, uint32_t index, enum list_end *out)
{
    if (call_arg_is(call, index, "LEFT"))
        *out = LIST_FIRST;
    else if (call_arg_is(call, index, "RIGHT"))
        *out = LIST_LAST;
    else
        return ERR_SYNTAX;
    return OK;
}

/* The list at the word `index`, about to be changed; NULL when there is none. */
static enum status find_list(struct call *call, uint32_t index, const struct list **out)
{
    const struct value *value;
    TRY(db_find_to_write(call_db(call, index), call_key(call, index), TYPE_LIST, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

static struct list *edit_list(struct call *call, uint32_t index)
{
    return value_edit_root(db_edit(call_db(call, index), call_key(call, index)));
}

static struct list_place end_of(const struct list *list, enum list_end end)
{
    return list_seek(list, end == LIST_FIRST ? 0 : -1);
}

/* Removes `count` elements, of which there are as many, from an end of the list at word `index`. */
static void drop(struct call *call, uint32_t index, const struct list *found, enum list_end end,
                 uint64_t count)
{
    uint64_t len = list_count(found);
    if (count == len) {
        (void)db_delete(call_db(call, index), call_key(call, index));
        return;
    }
    struct list_limits limits = limits_of(call);
    list_delete(edit_list(call, index), db_heap(call_db(call, index)), &limits,
                end == LIST_FIRST ? 0 : len - count, count);
}

/* Replies with an array of up to `max` elements from an end, outermost first, and removes them. */
static void pop_many(struct call *call, uint32_t index, const struct list *found, enum list_end end,
                     uint64_t max)
{
    uint64_t count = max < list_count(found) ? max : list_count(found);
    reply_array(call->reply, count);
    struct list_place place = end_of(found, end);
    for (uint64_t i = 0; i < count; i++) {
        char scratch[PACK_SCRATCH];
        reply_bulk(call->reply, list_view(place, scratch));
        place = end == LIST_FIRST ? list_next(place) : list_prev(place);
    }
    drop(call, index, found, end, count);
}

/* ---- LPOP, RPOP ------------------------------------------------------------------------------ */

static enum status pop(struct call *call, enum list_end end)
{
    if (call->arg_count > 3)
        return ERR_WRONG_ARITY;
    bool has_count = call->arg_count == 3;
    int64_t count = 1;
    if (has_count && (call_arg_int(call, 2, &count) != OK || count < 0))
        return call_fail_text(call, "ERR value is out of range, must be positive");

    const struct list *found;
    TRY(find_list(call, 1, &found));
    if (!found) {
        if (has_count)
            reply_null_array(call->reply);
        else
            reply_null(call->reply);
    } else if (count == 0) {
        reply_array(call->reply, 0);
    } else if (has_count) {
        pop_many(call, 1, found, end, (uint64_t)count);
    } else {
        char scratch[PACK_SCRATCH];
        reply_bulk(call->reply, list_view(end_of(found, end), scratch));
        drop(call, 1, found, end, 1);
    }
    return OK;
}

static enum status cmd_lpop(struct call *call)
{
    return pop(call, LIST_FIRST);
}

static enum status cmd_rpop(struct call *call)
{
    return pop(call, LIST_LAST);
}

/* ---- LMPOP ----------------------------------------------------------------------------------- */

struct many {
    uint32_t first_key, key_count;
    enum list_end end;
    int64_t max;
};

/* A number above zero; `name` is what the error says of all others. */
static enum status parse_positive(struct call *call, uint32_t index, const char *name, int64_t *out)
{
    int64_t number;
    if (call_arg_int(call, index, &number) != OK || number < 1)
        return call_fail_text(call, "ERR %s should be greater than 0", name);
    *out = number;
    return OK;
}

/* The words from the number of keys, at `index`, on. */
static enum status parse_many(struct call *call, uint32_t index, struct many *out)
{
    struct many many = {.first_key = index + 1, .max = 1};
    int64_t key_count;
    TRY(parse_positive(call, index, "numkeys", &key_count));
    if (key_count >= call->arg_count - many.first_key) /* the end must follow */
        return ERR_SYNTAX;
    many.key_count = (uint32_t)key_count;
    uint32_t i = many.first_key + many.key_count;
    TRY(parse_end(call, i++, &many.end));
    if (call_arg_is(call, i, "COUNT") && i + 1 < call->arg_count) {
        TRY(parse_positive(call, i + 1, "count", &many.max));
        i += 2;
    }
    if (i != call->arg_count)
        return ERR_SYNTAX;
    *out = many;
    return OK;
}

/* Pops from the first list that there is; says whether there is one. */
static enum status pop_first(struct call *call, const struct many *many, bool *out_found)
{
    *out_found = false;
    for (uint32_t i = many->first_key; i < many->first_key + many->key_count; i++) {
        const struct list *found = NULL;
        if (call_may_use(call, i))
            TRY(find_list(call, i, &found));
        if (!found)
            continue;
        reply_array(call->reply, 2);
        reply_bulk(call->reply, call_arg(call, i));
        pop_many(call, i, found, many->end, (uint64_t)many->max);
        *out_found = true;
        break;
    }
    return OK;
}

static enum status check_lmpop(struct call *call)
{
    struct many many;
    return parse_many(call, 1, &many);
}

static enum status cmd_lmpop(struct call *call)
{
    struct many many;
    bool found;
    TRY(parse_many(call, 1, &many));
    TRY(pop_first(call, &many, &found));
    if (!found)
        reply_null_array(call->reply);
    return OK;
}

/* ---- LMOVE, RPOPLPUSH ------------------------------------------------------------------------ */

#define FROM 1
#define TO 2

/* From one end of a list to the other, or to the same. */
static void rotate(struct call *call, enum list_end from_end, enum list_end to_end)
{
    struct heap *heap = db_heap(call->db);
    struct list_limits limits = limits_of(call);
    struct list *list = edit_list(call, FROM);
    char scratch[PACK_SCRATCH];
    struct bytes text = arena_copy(call->arena, list_view(end_of(list, from_end), scratch));
    list_delete(list, heap, &limits, from_end == LIST_FIRST ? 0 : list_count(list) - 1, 1);
    list_push(list, heap, &limits, to_end, &text, 1);
    reply_bulk(call->reply, text);
}

static enum status move(struct call *call, enum list_end from_end, enum list_end to_end)
{
    const struct list *from, *to;
    TRY(find_list(call, FROM, &from));
    if (!from) {
        reply_null(call->reply);
        return OK;
    }
    TRY(find_list(call, TO, &to));
    if (from == to) {
        rotate(call, from_end, to_end);
        return OK;
    }
    char scratch[PACK_SCRATCH];
    struct bytes text = list_view(end_of(from, from_end), scratch);
    reply_bulk(call->reply, text);
    struct db *to_db = call_db(call, TO);
    struct list_limits limits = limits_of(call);
    struct list *list = to ? edit_list(call, TO) : list_create(db_heap(to_db));
    list_push(list, db_heap(to_db), &limits, to_end, &text, 1);
    if (!to)
        (void)db_put_root(to_db, call_key(call, TO), TYPE_LIST, list, DB_NO_EXPIRE);
    drop(call, FROM, from, from_end, 1);
    return OK;
}

static enum status cmd_lmove(struct call *call)
{
    enum list_end from_end, to_end;
    TRY(parse_end(call, 3, &from_end));
    TRY(parse_end(call, 4, &to_end));
    return move(call, from_end, to_end);
}

static enum status cmd_rpoplpush(struct call *call)
{
    return move(call, LIST_LAST, LIST_FIRST);
}

/* ---- The same, and wait if there is nothing ----------------------------------------------------
 */

/* A null array when it may not wait. */
static enum status wait_for_lists(struct call *call, uint32_t first_key, uint32_t key_count,
                                  bool takes_one, int64_t timeout_ms)
{
    if (!call_may_wait(call)) {
        reply_null_array(call->reply);
        return OK;
    }
    return call_wait(call, &(struct call_wait){.type = TYPE_LIST,
                                               .takes_one = takes_one,
                                               .first_key = first_key,
                                               .key_count = key_count,
                                               .timeout_ms = timeout_ms});
}

/* Keys, and a timeout at the end. */
static enum status pop_or_wait(struct call *call, enum list_end end)
{
    uint32_t key_count = call->arg_count - 2;
    int64_t timeout_ms;
    TRY(call_arg_timeout(call, call->arg_count - 1, &timeout_ms));
    for (uint32_t i = 1; i <= key_count; i++) {
        const struct list *found = NULL;
        if (call_may_use(call, i))
            TRY(find_list(call, i, &found));
        if (!found)
            continue;
        char scratch[PACK_SCRATCH];
        reply_array(call->reply, 2);
        reply_bulk(call->reply, call_arg(call, i));
        reply_bulk(call->reply, list_view(end_of(found, end), scratch));
        drop(call, i, found, end, 1);
        return OK;
    }
    return wait_for_lists(call, 1, key_count, true, timeout_ms);
}

static enum status check_last_timeout(struct call *call)
{
    int64_t timeout_ms;
    return call_arg_timeout(call, call->arg_count - 1, &timeout_ms);
}

static enum status cmd_blpop(struct call *call)
{
    return pop_or_wait(call, LIST_FIRST);
}

static enum status cmd_brpop(struct call *call)
{
    return pop_or_wait(call, LIST_LAST);
}

static enum status parse_blmpop(struct call *call, struct many *out, int64_t *out_timeout_ms)
{
    TRY(call_arg_timeout(call, 1, out_timeout_ms));
    return parse_many(call, 2, out);
}

static enum status check_blmpop(struct call *call)
{
    struct many many;
    int64_t timeout_ms;
    return parse_blmpop(call, &many, &timeout_ms);
}

static enum status cmd_blmpop(struct call *call)
{
    struct many many = {0};
    int64_t timeout_ms = 0;
    bool found;
    TRY(parse_blmpop(call, &many, &timeout_ms));
    TRY(pop_first(call, &many, &found));
    return found ? OK : wait_for_lists(call, many.first_key, many.key_count, true, timeout_ms);
}

static enum status move_or_wait(struct call *call, enum list_end from_end, enum list_end to_end,
                                uint32_t timeout_index)
{
    int64_t timeout_ms;
    const struct list *from;
    TRY(call_arg_timeout(call, timeout_index, &timeout_ms));
    TRY(find_list(call, FROM, &from));
    if (from || !call_may_wait(call))
        return move(call, from_end, to_end);
    return wait_for_lists(call, FROM, 1, false, timeout_ms);
}

static enum status check_blmove(struct call *call)
{
    enum list_end end;
    TRY(parse_end(call, 3, &end));
    TRY(parse_end(call, 4, &end));
    return check_last_timeout(call);
}

static enum status cmd_blmove(struct call *call)
{
    enum list_end from_end, to_end;
    TRY(parse_end(call, 3, &from_end));
    TRY(parse_end(call, 4, &to_end));
    return move_or_wait(call, from_end, to_end, 5);
}

static enum status cmd_brpoplpush(struct call *call)
{
    return move_or_wait(call, LIST_LAST, LIST_FIRST, 3);
}

/* clang-format off */
#define MOVES_AN_ELEMENT \
     .plan = PLAN_TOGETHER, .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_LIST, .cost = "O(1)", \
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .step = 1}, \
              {.flags = KEY_RW | KEY_INSERT, .index = 2, .step = 1}}

#define MOVES_AND_WAITS \
     .plan = PLAN_TOGETHER, .flags = CMD_WRITE | CMD_GROWS | CMD_NOSCRIPT | CMD_BLOCKING, \
     .acl = ACL_LIST, .cost = "O(1)", \
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .step = 1}, \
              {.flags = KEY_RW | KEY_INSERT, .index = 2, .step = 1}}

#define POPS_AND_WAITS \
     .check = check_last_timeout, .plan = PLAN_TOGETHER, \
     .flags = CMD_WRITE | CMD_NOSCRIPT | CMD_BLOCKING, .acl = ACL_LIST, \
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .last = -2, .step = 1}}, \
     .syntax = "key [key ...] timeout/double", .since = "2.0.0", \
     .cost = "O(N) where N is the number of keys.", \
     .history = "6.0.0 Takes a timeout with a fraction."

const struct command list_pop_commands[] = {
    {.name = "blmove", .arity = 6, .run = cmd_blmove, .check = check_blmove, MOVES_AND_WAITS,
     .syntax = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT> timeout/double",
     .since = "6.2.0",
     .brief = "As LMOVE, and waits for an element if there is none."},

    {.name = "blmpop", .arity = -5, .run = cmd_blmpop, .plan = PLAN_TOGETHER,
     .check = check_blmpop,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 2, .counted = true, .first = 1,
               .step = 1}},
     .flags = CMD_WRITE | CMD_BLOCKING | CMD_MOVABLE_KEYS, .acl = ACL_LIST,
     .syntax = "timeout/double numkeys key [key ...] where=<LEFT | RIGHT> [COUNT count]", .since = "7.0.0",
     .cost = "O(N+M) where N is the number of keys and M the number of elements taken.",
     .brief = "As LMPOP, and waits for an element if there is none."},

    {.name = "blpop", .arity = -3, .run = cmd_blpop, POPS_AND_WAITS,
     .brief = "Takes the first element of the first list that has any, or waits for one."},

    {.name = "brpop", .arity = -3, .run = cmd_brpop, POPS_AND_WAITS,
     .brief = "Takes the last element of the first list that has any, or waits for one."},

    {.name = "brpoplpush", .arity = 4, .run = cmd_brpoplpush, .check = check_last_timeout,
     MOVES_AND_WAITS, .syntax = "source destination timeout/double", .since = "2.2.0",
     .history = "6.0.0 Takes a timeout with a fraction.",
     .replaced_by = "`BLMOVE` with the `RIGHT` and `LEFT` arguments", .deprecated_since = "6.2.0",
     .brief = "As RPOPLPUSH, and waits for an element if there is none."},

    {.name = "lmove", .arity = 5, .run = cmd_lmove, MOVES_AN_ELEMENT,
     .syntax = "source destination wherefrom=<LEFT | RIGHT> whereto=<LEFT | RIGHT>",
     .since = "6.2.0",
     .brief = "Takes an element from an end of a list and puts it at an end of another."},

    {.name = "lmpop", .arity = -4, .run = cmd_lmpop, .plan = PLAN_TOGETHER, .check = check_lmpop,
     .keys = {{.flags = KEY_RW | KEY_ACCESS | KEY_DELETE, .index = 1, .counted = true, .first = 1,
               .step = 1}},
     .flags = CMD_WRITE | CMD_MOVABLE_KEYS, .acl = ACL_LIST,
     .syntax = "numkeys key [key ...] where=<LEFT | RIGHT> [COUNT count]", .since = "7.0.0",
     .cost = "O(N+M) where N is the number of keys and M the number of elements taken.",
     .brief = "Takes elements from an end of the first list that is not empty."},

    {.name = "lpop", .arity = -2, .run = cmd_lpop, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_LIST, .syntax = "key [count@6.2.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of elements taken.",
     .history = "6.2.0 Takes a count.",
     .brief = "Takes elements from the head of a list."},

    {.name = "rpop", .arity = -2, .run = cmd_rpop, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_ACCESS | KEY_DELETE), .flags = CMD_WRITE | CMD_FAST,
     .acl = ACL_LIST, .syntax = "key [count@6.2.0]", .since = "1.0.0",
     .cost = "O(N) where N is the number of elements taken.",
     .history = "6.2.0 Takes a count.",
     .brief = "Takes elements from the tail of a list."},

    {.name = "rpoplpush", .arity = 3, .run = cmd_rpoplpush, MOVES_AN_ELEMENT,
     .syntax = "source destination", .since = "1.2.0",
     .replaced_by = "`LMOVE` with the `RIGHT` and `LEFT` arguments", .deprecated_since = "6.2.0",
     .brief = "Takes the last element of a list and puts it at the head of another."},
    {0},
};
/* clang-format on */
