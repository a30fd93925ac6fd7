/*
 * sort_order: in which order SORT puts elements, and what BY and GET look up.
 *
 * Numbers are compared as doubles; equal ones by the bytes of the elements. Texts are compared by
 * the collation that `locale-collate` names (the environment's, if it names none), but by their
 * bytes if the result is stored, which must not depend on the machine. Elements that are equal keep
 * the order in which they were, as far as qsort() keeps it.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/type/hash.h"
#include "core/type/str.h"
#include "shards/cmd/sort.h"

/* ---- Looking up
 * ------------------------------------------------------------------------------------ */

static struct bytes find_field(struct call *call, const struct value *value, struct bytes field)
{
    char scratch[PACK_SCRATCH];
    struct bytes found;
    if (value_type(value) != TYPE_HASH ||
        !hash_find(value_root(value), call_now_ms(call), field, scratch, &found))
        return bytes_of(NULL, 0);
    return arena_copy(call->arena, found);
}

static struct bytes find_string(struct call *call, const struct value *value)
{
    char scratch[STR_SCRATCH];
    if (value_type(value) != TYPE_STRING)
        return bytes_of(NULL, 0);
    return arena_copy(call->arena, str_view(value, scratch));
}

/* Where the field's name begins behind "->", or 0. */
static size_t field_start(struct bytes pattern, size_t star)
{
    for (size_t i = star + 1; i + 2 < pattern.len; i++)
        if (pattern.ptr[i] == '-' && pattern.ptr[i + 1] == '>')
            return i + 2;
    return 0;
}

struct bytes sort_look_up(struct call *call, struct bytes pattern, struct bytes element)
{
    if (bytes_equal(pattern, BYTES("#")))
        return element;
    const char *star = memchr(pattern.ptr, '*', pattern.len);
    if (!star)
        return bytes_of(NULL, 0);
    size_t before = (size_t)(star - pattern.ptr);
    size_t field_at = field_start(pattern, before);
    size_t after = (field_at ? field_at - 2 : pattern.len) - before - 1;
    char *name = arena_alloc(call->arena, before + element.len + after);
    memcpy(name, pattern.ptr, before);
    memcpy(name + before, element.ptr, element.len);
    memcpy(name + before + element.len, star + 1, after);

    struct key key = key_make(bytes_of(name, before + element.len + after));
    struct db *db = call->shards[call->slot_map[key.slot]]->dbs[call->db_index];
    const struct value *value = db_lookup(db, &key);
    if (!value)
        return bytes_of(NULL, 0);
    if (field_at)
        return find_field(call, value, bytes_of(pattern.ptr + field_at, pattern.len - field_at));
    return find_string(call, value);
}

/* ---- Weights
 * ---------------------------------------------------------------------------------------- */

/* A copy that ends with a zero byte, for functions of the C library. */
static char *terminated(struct arena *arena, struct bytes text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = 0;
    return copy;
}

/* Redis's reading of a weight: strtod's, of all of the text up to a zero byte. */
static bool to_score(struct call *call, struct bytes text, double *out)
{
    char *end;
    errno = 0;
    *out = strtod(terminated(call->arena, text), &end);
    return *end == 0 && errno != ERANGE && !isnan(*out);
}

static bool weigh(struct call *call, const struct sort *sort, struct sort_item *item)
{
    struct bytes weight = sort->by.ptr ? sort_look_up(call, sort->by, item->text) : item->text;
    if (!weight.ptr) /* nothing weighs nothing */
        return true;
    if (sort->is_alpha) {
        item->weight = weight;
        return true;
    }
    return to_score(call, weight, &item->score);
}

/* ---- Comparing
 * -------------------------------------------------------------------------------------- */

struct order {
    const struct sort *sort;
    locale_t locale; /* 0: by bytes */
    struct arena *arena;
};

static int compare_texts(const struct order *order, struct bytes a, struct bytes b)
{
    if (!order->locale)
        return bytes_compare(a, b);
    return strcoll_l(a.ptr, b.ptr, order->locale); /* both are terminated */
}

static int compare(const void *a_at, const void *b_at, void *context)
{
    const struct order *order = context;
    const struct sort_item *a = a_at, *b = b_at;
    int result;
    if (!order->sort->is_alpha)
        result = a->score < b->score   ? -1
                 : a->score > b->score ? 1
                                       : bytes_compare(a->text, b->text);
    else if (a->weight.ptr && b->weight.ptr)
        result = compare_texts(order, a->weight, b->weight);
    else
        result = (a->weight.ptr != NULL) - (b->weight.ptr != NULL);
    return order->sort->is_descending ? -result : result;
}

void sort_items(struct call *call, const struct sort *sort, struct sort_item *items, size_t count,
                bool *out_are_numbers)
{
    struct order order = {.sort = sort, .arena = call->arena};
    *out_are_numbers = true;
    if (sort->keeps_order)
        return;
    for (size_t i = 0; i < count; i++)
        *out_are_numbers &= weigh(call, sort, &items[i]);
    if (sort->is_alpha && !sort->store_index) {
        order.locale = newlocale(LC_COLLATE_MASK, call->config->locale_collate, (locale_t)0);
        for (size_t i = 0; order.locale && i < count; i++)
            if (items[i].weight.ptr)
                items[i].weight.ptr = terminated(call->arena, items[i].weight);
    }
    qsort_r(items, count, sizeof(*items), compare, &order);
    if (order.locale)
        freelocale(order.locale);
}
