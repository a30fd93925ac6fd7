#include "core/type/compound.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/heap.h"
#include "core/ds/table.h"
#include "core/type/hash.h"
#include "core/type/list.h"
#include "core/type/set.h"
#include "core/type/stream.h"
#include "core/type/zset.h"

#define ELEMENTS 1000u
#define STEP 64u

static const enum type types[] = {TYPE_LIST, TYPE_SET, TYPE_ZSET, TYPE_HASH, TYPE_STREAM};
#define TYPES (sizeof(types) / sizeof(types[0]))

static struct bytes element(char text[16], uint32_t number)
{
    return bytes_of(text, (size_t)snprintf(text, 16, "element-%u", number));
}

static void *make_list(struct heap *heap)
{
    struct list_limits limits = list_limits(-2);
    struct list *list = list_create(heap);
    char text[16];
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        struct bytes one = element(text, i);
        list_push(list, heap, &limits, LIST_LAST, &one, 1);
    }
    return list;
}

static void *make_set(struct heap *heap)
{
    const struct set_limits limits = {.number_count = 512, .text_count = 128, .text_len = 64};
    struct set *set = set_create(heap);
    char text[16];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        set_add(set, heap, &limits, element(text, i));
    return set;
}

static void *make_zset(struct heap *heap)
{
    const struct zset_limits limits = {.member_count = 128, .text_len = 64};
    struct zset *zset = zset_create(heap);
    char text[16];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        zset_put(zset, heap, &limits, element(text, i), i);
    return zset;
}

static void *make_hash(struct heap *heap)
{
    const struct hash_limits limits = {.field_count = 128, .text_len = 64};
    struct hash *hash = hash_create(heap);
    char text[16];
    for (uint32_t i = 0; i < ELEMENTS; i++)
        hash_put(&hash, heap, &limits, element(text, i), BYTES("value"));
    return hash;
}

static void *make_stream(struct heap *heap)
{
    const struct stream_limits limits = {.node_bytes = 4096, .node_entries = 100};
    struct stream *stream = stream_create(heap);
    char text[16];
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        struct bytes words[2] = {BYTES("field"), element(text, i)};
        stream_append(stream, heap, &limits, (struct stream_id){i, 1}, words, 1);
    }
    return stream;
}

static void *make(enum type type, struct heap *heap)
{
    switch (type) {
    case TYPE_LIST:
        return make_list(heap);
    case TYPE_SET:
        return make_set(heap);
    case TYPE_ZSET:
        return make_zset(heap);
    case TYPE_STREAM:
        return make_stream(heap);
    default:
        return make_hash(heap);
    }
}

Test(compound, strings_are_none)
{
    cr_assert_null(compound_ops(TYPE_STRING));
}

Test(compound, every_type_counts_and_measures_itself)
{
    struct heap *heap = heap_create(-1);
    for (size_t i = 0; i < TYPES; i++) {
        const struct compound_ops *ops = compound_ops(types[i]);
        void *root = make(types[i], heap);
        cr_assert_eq(ops->count(root), ELEMENTS, "%s", type_name(types[i]));
        cr_assert_geq(ops->bytes(root), ELEMENTS * 8, "%s", type_name(types[i]));
        cr_assert_leq(ops->bytes(root), heap_used(heap), "%s", type_name(types[i]));
        cr_assert(ops->free_some(root, heap, SIZE_MAX));
    }
    heap_destroy(heap);
}

Test(compound, a_copy_lives_on_in_its_own_heap)
{
    for (size_t i = 0; i < TYPES; i++) {
        const struct compound_ops *ops = compound_ops(types[i]);
        struct heap *from = heap_create(-1), *to = heap_create(-1);
        void *root = make(types[i], from);
        void *copy = ops->copy(root, to);
        const char *encoding = ops->encoding(root);
        cr_assert(ops->free_some(root, from, SIZE_MAX));
        heap_destroy(from);
        cr_assert_eq(ops->count(copy), ELEMENTS, "%s", type_name(types[i]));
        cr_assert_str_eq(ops->encoding(copy), encoding);
        cr_assert(ops->free_some(copy, to, SIZE_MAX));
        heap_destroy(to);
    }
}

Test(compound, is_freed_in_steps)
{
    struct heap *heap = heap_create(-1);
    for (size_t i = 0; i < TYPES; i++) {
        void *root = make(types[i], heap);
        uint32_t steps = 1;
        while (!compound_ops(types[i])->free_some(root, heap, STEP))
            steps++;
        cr_assert_geq(steps, 2, "%s of %u elements went at once", type_name(types[i]), ELEMENTS);
        cr_assert_leq(steps, ELEMENTS, "%s", type_name(types[i]));
    }
    heap_destroy(heap);
}

Test(compound, a_table_has_all_elements)
{
    struct heap *heap = heap_create(-1);
    uint32_t tables = 0;
    for (size_t i = 0; i < TYPES; i++) {
        const struct compound_ops *ops = compound_ops(types[i]);
        void *root = make(types[i], heap);
        const struct table *table = ops->table ? ops->table(root) : NULL;
        cr_expect(!table || table->count == ELEMENTS, "%s", type_name(types[i]));
        tables += table != NULL;
        cr_assert(ops->free_some(root, heap, SIZE_MAX));
    }
    cr_expect_geq(tables, 3); /* hash, set, sorted set */
    heap_destroy(heap);
}
