#include "core/type/list.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/heap.h"

static struct heap *heap;
static struct list *list;
static struct list_limits limits;

static void open_list(void)
{
    heap = heap_create(-1);
    list = list_create(heap);
    limits = list_limits(-2);
}

static void close_list(void)
{
    list_validate(list);
    cr_assert(list_ops.free_some(list, heap, SIZE_MAX));
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(list, .init = open_list, .fini = close_list);

static void push(struct bytes text)
{
    list_push(list, heap, &limits, LIST_LAST, &text, 1);
}

/* "0", "1", ... */
static void push_numbers(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char text[16];
        push(bytes_of(text, (size_t)snprintf(text, sizeof text, "%u", i)));
    }
}

static void push_long(size_t len)
{
    char *text = malloc(len);
    memset(text, 'x', len);
    push(bytes_of(text, len));
    free(text);
}

static const char *encoding(void)
{
    return list_ops.encoding(list);
}

/* All elements, each followed by a space. */
static const char *content(void)
{
    static char text[4096];
    size_t len = 0;
    for (struct list_place at = list_seek(list, 0); list_is_at(at); at = list_next(at)) {
        char scratch[PACK_SCRATCH];
        struct bytes element = list_view(at, scratch);
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s ", (int)element.len,
                                element.ptr);
    }
    text[len] = '\0';
    list_validate(list);
    return text;
}

Test(list, reads_the_option_as_redis_does)
{
    cr_assert_eq(list_limits(-1).node.node_bytes, 4096);
    cr_assert_eq(list_limits(-2).node.node_bytes, LIST_NODE_BYTES_DEFAULT);
    cr_assert_eq(list_limits(-5).node.node_bytes, 65536);
    cr_assert_eq(list_limits(INT32_MIN).node.node_bytes, 65536);
    cr_assert_eq(list_limits(-2).small.node_bytes, LIST_NODE_BYTES_DEFAULT / 2);
    cr_assert_eq(list_limits(128).node.node_count, 128);
    cr_assert_eq(list_limits(128).node.node_bytes, LIST_NODE_BYTES_DEFAULT);
    cr_assert_eq(list_limits(128).small.node_count, 64);
    cr_assert_eq(list_limits(0).node.node_count, 1, "a node has at least one element");
    cr_assert_eq(list_limits(INT32_MAX).node.node_count, INT32_MAX);
}

Test(list, pushes_one_element_after_another)
{
    struct bytes texts[] = {BYTES("a"), BYTES("b"), BYTES("12")};
    list_push(list, heap, &limits, LIST_FIRST, texts, 3);
    list_push(list, heap, &limits, LIST_LAST, texts, 2);
    cr_assert_str_eq(content(), "12 b a a b ");
    cr_assert_eq(list_count(list), 5);
}

Test(list, becomes_a_chain_before_it_grows_over_the_limit)
{
    limits = list_limits(4);
    push_numbers(4);
    cr_assert_str_eq(encoding(), "listpack");
    cr_assert_null(list_chain(list));
    push(BYTES("4"));
    cr_assert_str_eq(encoding(), "quicklist");
    cr_assert_eq(list_chain(list)->count, 5);
    cr_assert_str_eq(content(), "0 1 2 3 4 ");
}

Test(list, counts_all_that_one_command_pushes)
{
    limits = list_limits(4);
    struct bytes texts[] = {BYTES("a"), BYTES("b"), BYTES("c"), BYTES("d"), BYTES("e")};
    list_push(list, heap, &limits, LIST_LAST, texts, 5);
    cr_assert_str_eq(encoding(), "quicklist");
    cr_assert_str_eq(content(), "a b c d e ");
}

Test(list, becomes_a_chain_when_its_bytes_reach_the_limit)
{
    push_long(8000);
    cr_assert_str_eq(encoding(), "listpack");
    push_long(200);
    cr_assert_str_eq(encoding(), "quicklist");
}

Test(list, of_many_empty_elements_is_no_endless_pack)
{
    enum { COUNT = 100000 };
    static struct bytes empty[COUNT];
    list_push(list, heap, &limits, LIST_FIRST, empty, 5000);
    cr_assert_str_eq(encoding(), "listpack", "Redis does not count what an empty text takes");
    list_push(list, heap, &limits, LIST_FIRST, empty, COUNT);
    cr_assert_str_eq(encoding(), "quicklist");
    cr_assert_eq(list_count(list), 5000 + COUNT);
}

Test(list, is_a_pack_again_at_half_the_limit)
{
    limits = list_limits(4);
    push_numbers(5);
    list_delete(list, heap, &limits, 0, 2);
    cr_assert_str_eq(encoding(), "quicklist", "three are more than half of four");
    list_delete(list, heap, &limits, 0, 1);
    cr_assert_str_eq(encoding(), "quicklist", "the two are in two nodes");
    list_delete(list, heap, &limits, 1, 1);
    cr_assert_str_eq(encoding(), "listpack");
    cr_assert_str_eq(content(), "3 ");
}

Test(list, that_counts_elements_takes_a_long_one_back_into_a_pack)
{
    limits = list_limits(4);
    push_long(20000);
    cr_assert_str_eq(encoding(), "quicklist");
    push(BYTES("short"));
    list_delete(list, heap, &limits, 1, 1);
    cr_assert_str_eq(encoding(), "listpack");
    cr_assert_eq(list_count(list), 1);
}

Test(list, finds_elements_by_index_in_both_encodings)
{
    for (int round = 0; round < 2; round++) {
        char scratch[PACK_SCRATCH];
        cr_assert_not(list_is_at(list_seek(list, (int64_t)list_count(list))));
        cr_assert_not(list_is_at(list_seek(list, -(int64_t)list_count(list) - 1)));
        push_numbers(3000);
        int64_t first = (int64_t)list_count(list) - 3000;
        for (int64_t i = 0; i < 3000; i++) {
            int64_t number = -1;
            cr_assert(num_to_int(list_view(list_seek(list, first + i), scratch), &number));
            cr_assert_eq(number, i);
            cr_assert(num_to_int(list_view(list_seek(list, i - 3000), scratch), &number));
            cr_assert_eq(number, i);
        }
        cr_assert_str_eq(encoding(), "quicklist");
    }
}

Test(list, inserts_at_a_place_found_before_it_became_a_chain)
{
    limits = list_limits(4);
    push_numbers(4);
    struct list_place place = list_find(list, BYTES("2"), LIST_FIRST);
    list_insert(list, heap, &limits, place, BYTES("x"));
    cr_assert_str_eq(encoding(), "quicklist");
    cr_assert_str_eq(content(), "0 1 x 2 3 ");
}

Test(list, inserts_at_the_end_when_there_is_no_place)
{
    push_numbers(2);
    list_insert(list, heap, &limits, list_next(list_seek(list, 1)), BYTES("x"));
    cr_assert_str_eq(content(), "0 1 x ");
}

Test(list, replaces_at_a_place_found_before_it_became_a_chain)
{
    limits = list_limits(4);
    push_numbers(4);
    list_replace(list, heap, &limits, list_seek(list, 1), BYTES("x"));
    cr_assert_str_eq(encoding(), "quicklist", "the one that goes is not counted");
    cr_assert_str_eq(content(), "0 x 2 3 ");
    list_replace(list, heap, &limits, list_seek(list, -1), BYTES("y"));
    cr_assert_str_eq(content(), "0 x 2 y ");
}

Test(list, removes_equal_elements_from_either_end)
{
    static const int64_t sizes[] = {-2, 2}; /* a pack, and a chain */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        limits = list_limits(sizes[i]);
        struct bytes texts[] = {BYTES("a"), BYTES("b"), BYTES("a"), BYTES("1"),
                                BYTES("a"), BYTES("1"), BYTES("a")};
        list_push(list, heap, &limits, LIST_LAST, texts, 7);
        struct list_place place = list_find(list, BYTES("a"), LIST_LAST);
        cr_assert_eq(list_remove(list, heap, &limits, place, BYTES("a"), LIST_LAST, 2), 2);
        cr_assert_str_eq(content(), "a b a 1 1 ");
        place = list_find(list, BYTES("a"), LIST_FIRST);
        cr_assert_eq(list_remove(list, heap, &limits, place, BYTES("a"), LIST_FIRST, 1), 1);
        cr_assert_str_eq(content(), "b a 1 1 ");
        place = list_find(list, BYTES("1"), LIST_LAST);
        cr_assert_eq(list_remove(list, heap, &limits, place, BYTES("1"), LIST_LAST, UINT64_MAX), 2);
        cr_assert_str_eq(content(), "b a ");
        cr_assert_not(list_is_at(list_find(list, BYTES("1"), LIST_FIRST)));
        cr_assert_not(list_is_at(list_find(list, BYTES("1"), LIST_LAST)));
        list_delete(list, heap, &limits, 0, 2);
    }
}

Test(list, is_measured_copied_and_freed)
{
    static const uint32_t counts[] = {5, 5000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        push_numbers(counts[i]);
        struct heap *other_heap = heap_create(-1);
        struct list *copy = list_ops.copy(list, other_heap);
        list_validate(copy);
        cr_assert_eq(list_ops.count(copy), list_count(list));
        cr_assert_str_eq(list_ops.encoding(copy), encoding());
        cr_assert_eq(list_ops.bytes(copy), list_ops.bytes(list));
        cr_assert_geq(list_ops.bytes(list), 2 * list_count(list));
        size_t slices = 1;
        while (!list_ops.free_some(copy, other_heap, 64))
            slices++;
        cr_assert(counts[i] == 5 ? slices == 1 : slices > 1);
        heap_validate(other_heap);
        heap_destroy(other_heap);
    }
}
