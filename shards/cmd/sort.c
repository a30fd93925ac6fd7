/*
 * sort: SORT and SORT_RO: the elements of a list, set or sorted set in an order that other keys may
 * give (BY), or what other keys hold for them (GET), answered or stored.
 *
 * The keys that patterns name are known only when the elements are: such a SORT runs over all
 * shards together.
 */
#include "shards/cmd/sort.h"

#include <string.h>

#include "core/type/list.h"
#include "core/type/set.h"
#include "core/type/zset.h"
#include "net/reply.h"
#include "shards/call/command.h"

static bool word_is(const struct bytes *args, uint32_t arg_count, uint32_t index, const char *word)
{
    return index < arg_count && bytes_is(args[index], word);
}

/* ---- Words
 * ---------------------------------------------------------------------------------------- */

static enum status parse(struct call *call, bool may_store, struct sort *out)
{
    struct sort sort = {.limit_count = -1};
    sort.gets = arena_alloc(call->arena, call->arg_count * sizeof(*sort.gets));
    for (uint32_t i = 2; i < call->arg_count; i++) {
        uint32_t left = call->arg_count - i - 1;
        if (call_arg_is(call, i, "ASC")) {
            sort.is_descending = false;
        } else if (call_arg_is(call, i, "DESC")) {
            sort.is_descending = true;
        } else if (call_arg_is(call, i, "ALPHA")) {
            sort.is_alpha = true;
        } else if (call_arg_is(call, i, "LIMIT") && left >= 2) {
            TRY(call_arg_int(call, i + 1, &sort.limit_start));
            TRY(call_arg_int(call, i + 2, &sort.limit_count));
            i += 2;
        } else if (call_arg_is(call, i, "STORE") && left >= 1 && may_store) {
            sort.store_index = ++i;
        } else if (call_arg_is(call, i, "BY") && left >= 1) {
            sort.by = call_arg(call, ++i);
            sort.keeps_order = !memchr(sort.by.ptr, '*', sort.by.len);
        } else if (call_arg_is(call, i, "GET") && left >= 1) {
            sort.gets[sort.get_count++] = ++i;
        } else {
            return ERR_SYNTAX;
        }
    }
    *out = sort;
    return OK;
}

/* Do patterns name keys that nobody knows yet? */
static bool reads_other_keys(const struct bytes *args, uint32_t arg_count)
{
    for (uint32_t i = 2; i + 1 < arg_count; i++) {
        bool is_get = word_is(args, arg_count, i, "GET");
        if (is_get || word_is(args, arg_count, i, "BY")) {
            struct bytes pattern = args[++i];
            if (memchr(pattern.ptr, '*', pattern.len))
                return true;
        } else if (word_is(args, arg_count, i, "LIMIT")) {
            i += 2;
        } else if (word_is(args, arg_count, i, "STORE")) {
            i++;
        }
    }
    return false;
}

/* The key, and STORE's target: the last one counts. */
static int find_keys(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                     uint16_t *out_flags)
{
    int count = 1;
    out_index[0] = 1;
    out_flags[0] = KEY_RO | KEY_ACCESS;
    for (uint32_t i = 2; i < arg_count; i++) {
        if (word_is(args, arg_count, i, "LIMIT")) {
            i += 2;
        } else if (word_is(args, arg_count, i, "GET") || word_is(args, arg_count, i, "BY")) {
            i++;
        } else if (word_is(args, arg_count, i, "STORE") && i + 1 < arg_count) {
            out_index[1] = ++i;
            out_flags[1] = KEY_OW | KEY_UPDATE;
            count = 2;
        }
    }
    return count;
}

static int find_first_key(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                          uint16_t *out_flags)
{
    (void)args;
    (void)arg_count;
    out_index[0] = 1;
    out_flags[0] = KEY_RO | KEY_ACCESS;
    return 1;
}

/* ---- Elements
 * ---------------------------------------------------------------------------------------- */

/* Which of the elements are wanted, once they are in order: those at [start, end). */
struct range {
    size_t start, end;
};

static struct range range_of(const struct sort *sort, size_t count)
{
    int64_t total = (int64_t)count;
    int64_t start = sort->limit_start < 0       ? 0
                    : sort->limit_start > total ? total
                                                : sort->limit_start;
    int64_t wanted = sort->limit_count < 0 || sort->limit_count > total ? total : sort->limit_count;
    int64_t end = start + wanted > total ? total : start + wanted;
    return (struct range){(size_t)start, (size_t)end};
}

struct elements {
    struct arena *arena;
    struct sort_item *items;
    size_t count;
};

static void add_element(void *context, struct bytes text)
{
    struct elements *elements = context;
    elements->items[elements->count++] = (struct sort_item){
        .text = arena_copy(elements->arena, text)};
}

static void take_list(struct elements *elements, const struct list *list, bool is_reverse)
{
    char scratch[PACK_SCRATCH];
    struct list_place place = list_seek(list, is_reverse ? -1 : 0);
    for (; list_is_at(place); place = is_reverse ? list_prev(place) : list_next(place))
        add_element(elements, list_view(place, scratch));
}

static void take_zset(struct elements *elements, const struct zset *zset, bool is_reverse)
{
    struct zset_cursor cursor;
    struct zset_entry entry;
    uint64_t count = zset_count(zset);
    zset_seek(zset, is_reverse ? count - 1 : 0, is_reverse, &cursor);
    while (zset_step(&cursor, &entry))
        add_element(elements, entry.member);
}

static size_t count_of(const struct value *value)
{
    return value ? compound_ops(value_type(value))->count(value_root(value)) : 0;
}

/* All elements, in the order in which the value has them. */
static void take_elements(struct call *call, const struct sort *sort, const struct value *value,
                          struct elements *out)
{
    size_t count = count_of(value);
    *out = (struct elements){.arena = call->arena,
                             .items = arena_alloc(call->arena, count * sizeof(*out->items))};
    bool is_reverse = sort->keeps_order && sort->is_descending;
    if (!value)
        return;
    if (value_type(value) == TYPE_LIST)
        take_list(out, value_root(value), is_reverse);
    else if (value_type(value) == TYPE_SET)
        set_each(value_root(value), add_element, out);
    else
        take_zset(out, value_root(value), is_reverse);
}

static enum status find_source(struct call *call, const struct value **out)
{
    *out = db_lookup(call_db(call, 1), call_key(call, 1));
    if (*out && value_type(*out) != TYPE_LIST && value_type(*out) != TYPE_SET &&
        value_type(*out) != TYPE_ZSET)
        return ERR_WRONG_TYPE;
    return OK;
}

/* ---- Results
 * ------------------------------------------------------------------------------------------ */

/* Calls `put` with each string of the result; ptr NULL is a GET that found nothing. */
static void each_result(struct call *call, const struct sort *sort, const struct elements *elements,
                        struct range range, void (*put)(void *context, struct bytes text),
                        void *context)
{
    for (size_t i = range.start; i < range.end; i++) {
        if (!sort->get_count)
            put(context, elements->items[i].text);
        for (uint32_t get = 0; get < sort->get_count; get++)
            put(context,
                sort_look_up(call, call_arg(call, sort->gets[get]), elements->items[i].text));
    }
}

static void put_reply(void *context, struct bytes text)
{
    if (text.ptr)
        reply_bulk(context, text);
    else
        reply_null(context);
}

struct target {
    struct list *list;
    struct heap *heap;
    struct list_limits limits;
};

static void put_list(void *context, struct bytes text)
{
    struct target *target = context;
    if (!text.ptr)
        text = bytes_of("", 0);
    list_push(target->list, target->heap, &target->limits, LIST_LAST, &text, 1);
}

static void store(struct call *call, const struct sort *sort, const struct elements *elements,
                  struct range range)
{
    struct db *db = call_db(call, sort->store_index);
    const struct key *key = call_key(call, sort->store_index);
    struct target target = {.heap = db_heap(db),
                            .limits = list_limits(call->config->list_max_listpack_size)};
    if (range.start == range.end) {
        (void)db_delete(db, key);
        reply_int(call->reply, 0);
        return;
    }
    target.list = list_create(target.heap);
    each_result(call, sort, elements, range, put_list, &target);
    reply_int(call->reply, (int64_t)list_count(target.list));
    (void)db_put_root(db, key, TYPE_LIST, target.list, DB_NO_EXPIRE);
}

static enum status run(struct call *call, bool may_store)
{
    struct sort sort;
    struct elements elements;
    const struct value *source;
    bool are_numbers;
    TRY(parse(call, may_store, &sort));
    TRY(find_source(call, &source));
    /* What is stored must not depend on how a set happens to lie in memory. */
    if (sort.keeps_order && sort.store_index && source && value_type(source) == TYPE_SET) {
        sort.keeps_order = false;
        sort.is_alpha = true;
        sort.by = bytes_of(NULL, 0);
    }
    take_elements(call, &sort, source, &elements);
    sort_items(call, &sort, elements.items, elements.count, &are_numbers);
    if (!are_numbers)
        return call_fail_text(call, "ERR One or more scores can't be converted into double");
    struct range range = range_of(&sort, elements.count);
    if (sort.store_index) {
        store(call, &sort, &elements, range);
        return OK;
    }
    size_t per_element = sort.get_count ? sort.get_count : 1;
    reply_array(call->reply, (range.end - range.start) * per_element);
    each_result(call, &sort, &elements, range, put_reply, call->reply);
    return OK;
}

static enum status cmd_sort(struct call *call)
{
    return run(call, true);
}

static enum status cmd_sort_ro(struct call *call)
{
    return run(call, false);
}

/* clang-format off */
#define SORTS \
     .arity = -2, .plan = PLAN_TOGETHER, .needs_all = reads_other_keys, \
     .acl = ACL_SET | ACL_SORTEDSET | ACL_LIST | ACL_DANGEROUS, \
     .cost = "O(N+M*log(M)) where N is the number of elements and M that of those answered with; " \
             "O(N) if nothing is sorted."
#define WHAT_IS_SORTED \
     "key [BY by-pattern=pattern] [LIMIT offset count] [GET get-pattern=pattern [GET get-pattern=pattern ...]] " \
     "[ASC | DESC] [sorting=ALPHA]"

const struct command sort_commands[] = {
    {.name = "sort", .run = cmd_sort, SORTS,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .is_unknown = true},
              {.flags = KEY_OW | KEY_UPDATE, .is_unknown = true}},
     .find_keys = find_keys, .flags = CMD_WRITE | CMD_GROWS | CMD_MOVABLE_KEYS,
     .syntax = WHAT_IS_SORTED " [STORE destination]", .since = "1.0.0",
     .brief = "Puts the elements of a list, set or sorted set in order."},

    {.name = "sort_ro", .run = cmd_sort_ro, SORTS,
     .keys = {{.flags = KEY_RO | KEY_ACCESS, .index = 1, .step = 1},
              {.flags = KEY_RO | KEY_ACCESS, .is_unknown = true}},
     .find_keys = find_first_key, .flags = CMD_READONLY | CMD_MOVABLE_KEYS,
     .syntax = WHAT_IS_SORTED, .since = "7.0.0",
     .brief = "As SORT, and only answers."},
    {0},
};
/* clang-format on */
