/*
 * list: the commands that put elements into the list at one key, read them and change them where
 * they are. What takes elements from the ends is in list_pop.c.
 *
 * A change that changes nothing (LSET of an index outside, LREM of what is not there) is not
 * announced: a key that is watched stays as it was.
 */
#include "core/type/list.h"

#include "core/base/num.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/local/db.h"

/* ---- The list at the key; NULL when there is none -------------------------------------------- */

static enum status find_to_read(struct call *call, const struct list **out)
{
    const struct value *value;
    TRY(db_find(call->db, &call->key, TYPE_LIST, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

static enum status find_to_write(struct call *call, const struct list **out)
{
    const struct value *value;
    TRY(db_find_to_write(call->db, &call->key, TYPE_LIST, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

/* The list that was found, to write to. Places in it stay valid. */
static struct list *edit(struct call *call)
{
    return value_edit_root(db_edit(call->db, &call->key));
}

static struct list_limits limits_of(const struct call *call)
{
    return list_limits(call->config->list_max_listpack_size);
}

/* ---- Pushing --------------------------------------------------------------------------------- */

static enum status push(struct call *call, enum list_end end, bool must_exist)
{
    const struct list *found;
    TRY(find_to_write(call, &found));
    if (!found && must_exist) {
        reply_int(call->reply, 0);
        return OK;
    }
    struct heap *heap = db_heap(call->db);
    struct list_limits limits = limits_of(call);
    struct list *list = found ? edit(call) : list_create(heap);
    list_push(list, heap, &limits, end, &call->args[2], call->arg_count - 2);
    if (!found)
        (void)db_put_root(call->db, &call->key, TYPE_LIST, list, DB_NO_EXPIRE);
    reply_int(call->reply, (int64_t)list_count(list));
    return OK;
}

static enum status cmd_lpush(struct call *call)
{
    return push(call, LIST_FIRST, false);
}

static enum status cmd_lpushx(struct call *call)
{
    return push(call, LIST_FIRST, true);
}

static enum status cmd_rpush(struct call *call)
{
    return push(call, LIST_LAST, false);
}

static enum status cmd_rpushx(struct call *call)
{
    return push(call, LIST_LAST, true);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static enum status cmd_llen(struct call *call)
{
    const struct list *list;
    TRY(find_to_read(call, &list));
    reply_int(call->reply, list ? (int64_t)list_count(list) : 0);
    return OK;
}

static enum status cmd_lindex(struct call *call)
{
    const struct list *list;
    TRY(find_to_read(call, &list));
    if (!list) {
        reply_null(call->reply); /* whatever the index looks like */
        return OK;
    }
    int64_t index;
    TRY(call_arg_int(call, 2, &index));
    struct list_place place = list_seek(list, index);
    char scratch[PACK_SCRATCH];
    if (list_is_at(place))
        reply_bulk(call->reply, list_view(place, scratch));
    else
        reply_null(call->reply);
    return OK;
}

struct span {
    uint64_t first, count;
};

/* The elements from `start` to `stop`, both included, negative counting from the end; what lies
 * outside is cut off. */
static struct span clip(uint64_t count, int64_t start, int64_t stop)
{
    int64_t len = (int64_t)count;
    if (start < 0 && (start += len) < 0)
        start = 0;
    if (stop < 0)
        stop += len;
    if (stop >= len)
        stop = len - 1;
    if (start > stop)
        return (struct span){0};
    return (struct span){(uint64_t)start, (uint64_t)(stop - start) + 1};
}

static enum status cmd_lrange(struct call *call)
{
    int64_t start, stop;
    TRY(call_arg_int(call, 2, &start));
    TRY(call_arg_int(call, 3, &stop));
    const struct list *list;
    TRY(find_to_read(call, &list));
    struct span span = clip(list ? list_count(list) : 0, start, stop);
    reply_array(call->reply, span.count);
    if (span.count == 0)
        return OK;
    struct list_place place = list_seek(list, (int64_t)span.first);
    for (;;) {
        char scratch[PACK_SCRATCH];
        reply_bulk(call->reply, list_view(place, scratch));
        if (--span.count == 0)
            return OK;
        place = list_next(place);
    }
}

/* ---- LPOS ------------------------------------------------------------------------------------ */

struct search {
    int64_t rank; /* which match is the first that counts; negative: from the end */
    int64_t count;
    int64_t max_len; /* elements to look at; 0: all */
    bool gives_array;
};

/* A number of LPOS that may not be negative; `failure` is said of words that are no number, too. */
static enum status parse_not_negative(struct call *call, uint32_t index, const char *failure,
                                      int64_t *out)
{
    int64_t number;
    if (call_arg_int(call, index, &number) != OK || number < 0)
        return call_fail_text(call, "%s", failure);
    *out = number;
    return OK;
}

static enum status parse_search(struct call *call, struct search *out)
{
    struct search search = {.rank = 1, .count = 1};
    for (uint32_t i = 3; i < call->arg_count; i += 2) {
        if (i + 1 == call->arg_count)
            return ERR_SYNTAX;
        if (call_arg_is(call, i, "RANK")) {
            TRY(call_arg_range(call, i + 1, -INT64_MAX, INT64_MAX, &search.rank));
            if (search.rank == 0)
                return call_fail_text(call, "ERR RANK can't be zero: use 1 to start from the first "
                                            "match, 2 from the second ... or use negative to start "
                                            "from the end of the list");
        } else if (call_arg_is(call, i, "COUNT")) {
            TRY(parse_not_negative(call, i + 1, "ERR COUNT can't be negative", &search.count));
            search.gives_array = true;
        } else if (call_arg_is(call, i, "MAXLEN")) {
            TRY(parse_not_negative(call, i + 1, "ERR MAXLEN can't be negative", &search.max_len));
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = search;
    return OK;
}

/* Replies with the index of each match that counts; returns how many there are. */
static uint64_t reply_matches(struct call *call, const struct list *list,
                              const struct search *search)
{
    bool backwards = search->rank < 0;
    uint64_t to_skip = (uint64_t)(backwards ? -search->rank : search->rank) - 1;
    uint64_t wanted = search->count ? (uint64_t)search->count : UINT64_MAX;
    uint64_t len = list_count(list), replied = 0;
    uint64_t looks = search->max_len ? (uint64_t)search->max_len : len;
    struct list_place place = list_seek(list, backwards ? -1 : 0);
    for (uint64_t i = 0; list_is_at(place) && i < looks && replied < wanted; i++) {
        if (list_equals(place, call_arg(call, 2))) {
            if (to_skip > 0) {
                to_skip--;
            } else {
                reply_int(call->reply, (int64_t)(backwards ? len - 1 - i : i));
                replied++;
            }
        }
        place = backwards ? list_prev(place) : list_next(place);
    }
    return replied;
}

static enum status cmd_lpos(struct call *call)
{
    struct search search;
    TRY(parse_search(call, &search));
    const struct list *list;
    TRY(find_to_read(call, &list));
    size_t mark = reply_mark(call->reply);
    uint64_t matches = list ? reply_matches(call, list, &search) : 0;
    if (search.gives_array)
        reply_array_at(call->reply, mark, matches);
    else if (matches == 0)
        reply_null(call->reply);
    return OK;
}

/* ---- Changing elements where they are -------------------------------------------------------- */

static enum status cmd_lset(struct call *call)
{
    const struct list *found;
    TRY(find_to_write(call, &found));
    if (!found)
        return ERR_NO_SUCH_KEY;
    int64_t index;
    TRY(call_arg_int(call, 2, &index));
    struct list_place place = list_seek(found, index);
    if (!list_is_at(place))
        return call_fail_text(call, "ERR index out of range");
    struct list_limits limits = limits_of(call);
    list_replace(edit(call), db_heap(call->db), &limits, place, call_arg(call, 3));
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_linsert(struct call *call)
{
    bool after = call_arg_is(call, 2, "AFTER");
    if (!after && !call_arg_is(call, 2, "BEFORE"))
        return ERR_SYNTAX;
    const struct list *found;
    TRY(find_to_write(call, &found));
    if (!found) {
        reply_int(call->reply, 0);
        return OK;
    }
    struct list_place place = list_find(found, call_arg(call, 3), LIST_FIRST);
    if (!list_is_at(place)) {
        reply_int(call->reply, -1);
        return OK;
    }
    if (after)
        place = list_next(place);
    struct list_limits limits = limits_of(call);
    list_insert(edit(call), db_heap(call->db), &limits, place, call_arg(call, 4));
    reply_int(call->reply, (int64_t)list_count(found));
    return OK;
}

static enum status cmd_lrem(struct call *call)
{
    int64_t count;
    TRY(call_arg_int(call, 2, &count));
    const struct list *found;
    TRY(find_to_write(call, &found));
    enum list_end from = count < 0 ? LIST_LAST : LIST_FIRST;
    struct bytes text = call_arg(call, 3);
    struct list_place place = {0};
    if (found)
        place = list_find(found, text, from);
    if (!list_is_at(place)) {
        reply_int(call->reply, 0);
        return OK;
    }
    uint64_t max = count == 0 ? UINT64_MAX : count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    struct list_limits limits = limits_of(call);
    struct list *list = edit(call);
    uint64_t removed = list_remove(list, db_heap(call->db), &limits, place, text, from, max);
    if (list_count(list) == 0)
        (void)db_delete(call->db, &call->key);
    reply_int(call->reply, (int64_t)removed);
    return OK;
}

static enum status cmd_ltrim(struct call *call)
{
    int64_t start, stop;
    TRY(call_arg_int(call, 2, &start));
    TRY(call_arg_int(call, 3, &stop));
    const struct list *found;
    TRY(find_to_write(call, &found));
    reply_ok(call->reply);
    if (!found)
        return OK;
    uint64_t count = list_count(found);
    struct span kept = clip(count, start, stop);
    if (kept.count == 0) {
        (void)db_delete(call->db, &call->key);
        return OK;
    }
    struct list_limits limits = limits_of(call);
    struct list *list = edit(call);
    uint64_t behind = kept.first + kept.count;
    list_delete(list, db_heap(call->db), &limits, behind, count - behind);
    list_delete(list, db_heap(call->db), &limits, 0, kept.first);
    return OK;
}

/* clang-format off */
const struct command list_commands[] = {
    {.name = "lindex", .arity = 3, .run = cmd_lindex, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_LIST,
     .syntax = "key index", .since = "1.0.0",
     .cost = "O(N) where N is the number of elements up to the index, from the nearer end; a long "
             "list is walked in steps of some hundred elements. The first and the last are O(1).",
     .brief = "Reads an element of a list by its index."},

    {.name = "linsert", .arity = 5, .run = cmd_linsert, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT), .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_LIST,
     .syntax = "key where=<BEFORE | AFTER> pivot element", .since = "2.2.0",
     .cost = "O(N) where N is the number of elements before the pivot.",
     .brief = "Puts an element next to the first one that equals the pivot."},

    {.name = "llen", .arity = 2, .run = cmd_llen, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO), .flags = CMD_READONLY | CMD_FAST, .acl = ACL_LIST,
     .syntax = "key", .since = "1.0.0", .cost = "O(1)",
     .brief = "Counts the elements of a list."},

    {.name = "lpos", .arity = -3, .run = cmd_lpos, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_LIST,
     .syntax = "key element [RANK rank] [COUNT num-matches] [MAXLEN len]", .since = "6.0.6",
     .cost = "O(N) where N is the number of elements that are looked at, at most MAXLEN.",
     .brief = "Finds the indexes of the elements that equal a value."},

    {.name = "lpush", .arity = -3, .run = cmd_lpush, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_LIST,
     .syntax = "key element [element ...]", .since = "1.0.0",
     .cost = "O(1) for each element.",
     .history = "2.4.0 Takes several elements.",
     .brief = "Puts elements at the head of a list, one before the other."},

    {.name = "lpushx", .arity = -3, .run = cmd_lpushx, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_LIST,
     .syntax = "key element [element ...]", .since = "2.2.0",
     .cost = "O(1) for each element.",
     .history = "4.0.0 Takes several elements.",
     .brief = "Puts elements at the head of a list that exists."},

    {.name = "lrange", .arity = 4, .run = cmd_lrange, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS), .flags = CMD_READONLY, .acl = ACL_LIST,
     .syntax = "key start stop", .since = "1.0.0",
     .cost = "O(S+N) where S is the distance of the first element from the nearer end, walked in "
             "steps of some hundred, and N the number of elements in the range.",
     .brief = "Reads the elements between two indexes, both included."},

    {.name = "lrem", .arity = 4, .run = cmd_lrem, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE, .acl = ACL_LIST,
     .syntax = "key count element", .since = "1.0.0",
     .cost = "O(N) where N is the number of elements of the list.",
     .brief = "Removes elements that equal a value: the first ones, the last ones, or all."},

    {.name = "lset", .arity = 4, .run = cmd_lset, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_UPDATE), .flags = CMD_WRITE | CMD_GROWS, .acl = ACL_LIST,
     .syntax = "key index element", .since = "1.0.0",
     .cost = "As LINDEX of the same index.",
     .brief = "Puts an element in the place of another one."},

    {.name = "ltrim", .arity = 4, .run = cmd_ltrim, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_DELETE), .flags = CMD_WRITE, .acl = ACL_LIST,
     .syntax = "key start stop", .since = "1.0.0",
     .cost = "O(N) where N is the number of elements that are removed.",
     .brief = "Removes all elements but those between two indexes."},

    {.name = "rpush", .arity = -3, .run = cmd_rpush, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_LIST,
     .syntax = "key element [element ...]", .since = "1.0.0",
     .cost = "O(1) for each element.",
     .history = "2.4.0 Takes several elements.",
     .brief = "Puts elements at the tail of a list, one behind the other."},

    {.name = "rpushx", .arity = -3, .run = cmd_rpushx, .plan = PLAN_ONE,
     .keys = KEYS_FIRST(KEY_RW | KEY_INSERT),
     .flags = CMD_WRITE | CMD_GROWS | CMD_FAST, .acl = ACL_LIST,
     .syntax = "key element [element ...]", .since = "2.2.0",
     .cost = "O(1) for each element.",
     .history = "4.0.0 Takes several elements.",
     .brief = "Puts elements at the tail of a list that exists."},
    {0},
};
/* clang-format on */
