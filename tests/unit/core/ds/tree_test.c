#include "core/ds/tree.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

/* Items are numbers in disguise: the tree must never look at them. */
static void *item_of(uint64_t number)
{
    return (void *)(uintptr_t)(8 * (number + 1)); /* NULL means beyond the ends */
}

static uint64_t number_of(const void *item)
{
    return (uintptr_t)item / 8 - 1;
}

static bool is_less(const void *item, const void *context)
{
    return number_of(item) < *(const uint64_t *)context;
}

static uint64_t rank_of(const struct tree *tree, uint64_t number)
{
    return tree_rank(tree, is_less, &number);
}

static struct heap *heap;
static struct tree tree;

static void set_up(void)
{
    heap = heap_create(-1);
    tree = (struct tree){0};
}

static void tear_down(void)
{
    cr_assert(tree_drain(&tree, heap, UINT64_MAX));
    tree_validate(&tree);
    heap_destroy(heap);
}

TestSuite(tree, .init = set_up, .fini = tear_down);

static void fill(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        tree_insert(&tree, heap, tree.count, item_of(i));
}

Test(tree, is_empty_as_a_zero_value)
{
    uint64_t any = 5;
    cr_assert_eq(tree_rank(&tree, is_less, &any), 0);
    struct tree_cursor cursor = tree_seek(&tree, 0);
    cr_assert_null(tree_item(&cursor));
    tree_next(&cursor);
    tree_prev(&cursor);
    cr_assert_null(tree_item(&cursor));
    tree_validate(&tree);
}

Test(tree, is_small_while_it_holds_few_items)
{
    fill(1);
    cr_assert_eq(tree.node_bytes, 64);
    for (uint64_t i = 1; i < 200; i++) {
        tree_insert(&tree, heap, rank_of(&tree, i), item_of(i));
        tree_validate(&tree);
    }
    for (uint64_t i = 0; i < 200; i++) {
        cr_assert_eq(number_of(tree_take(&tree, heap, 0)), i);
        tree_validate(&tree);
    }
    cr_assert_eq(tree.node_bytes, 0);
}

Test(tree, keeps_items_at_their_ranks)
{
    fill(10000);
    tree_validate(&tree);
    for (uint64_t i = 0; i < 10000; i++) {
        cr_assert_eq(number_of(tree_get(&tree, i)), i);
        cr_assert_eq(rank_of(&tree, i), i);
    }
    cr_assert_eq(rank_of(&tree, 10001), 10000);
}

Test(tree, fills_its_leaves_when_items_come_in_order)
{
    fill(100000);
    cr_assert_leq((double)tree.node_bytes, 100000 * 9.5, "%.2f bytes an item",
                  (double)tree.node_bytes / 100000);
}

Test(tree, walks_both_ways)
{
    fill(1000);
    uint64_t expected = 300;
    struct tree_cursor cursor = tree_seek(&tree, expected);
    for (; tree_item(&cursor); tree_next(&cursor))
        cr_assert_eq(number_of(tree_item(&cursor)), expected++);
    cr_assert_eq(expected, 1000);
    expected = 301;
    for (cursor = tree_seek(&tree, 300); tree_item(&cursor); tree_prev(&cursor))
        cr_assert_eq(number_of(tree_item(&cursor)), --expected);
    cr_assert_eq(expected, 0);
}

Test(tree, takes_from_either_end_down_to_nothing)
{
    fill(5000);
    for (uint64_t i = 0; i < 2500; i++) {
        cr_assert_eq(number_of(tree_take(&tree, heap, 0)), i);
        cr_assert_eq(number_of(tree_take(&tree, heap, tree.count - 1)), 4999 - i);
    }
    cr_assert_eq(tree.count, 0);
    cr_assert_eq(tree.node_bytes, 0, "an empty tree keeps memory");
}

Test(tree, gives_memory_back_when_items_go_here_and_there)
{
    fill(60000);
    struct rng rng;
    rng_init(&rng, 7);
    while (tree.count > 6000)
        (void)tree_take(&tree, heap, rng_below(&rng, tree.count));
    tree_validate(&tree);
    cr_assert_leq((double)tree.node_bytes, 6000 * 25.0, "%.2f bytes an item",
                  (double)tree.node_bytes / 6000);
}

Test(tree, agrees_with_an_array_at_every_step)
{
    enum { CAP = 3000, STEPS = 40000 };
    static uint64_t model[CAP];
    uint64_t count = 0;
    struct rng rng;
    rng_init(&rng, 42);
    for (int step = 0; step < STEPS; step++) {
        bool grows = rng_below(&rng, 10) < (step / 10000 % 2 ? 3u : 7u);
        if (grows && count < CAP) {
            uint64_t rank = rng_below(&rng, count + 1), number = 1 + rng_below(&rng, 1000);
            memmove(model + rank + 1, model + rank, (count - rank) * sizeof *model);
            model[rank] = number;
            count++;
            tree_insert(&tree, heap, rank, item_of(number));
        } else if (count > 0) {
            uint64_t rank = rng_below(&rng, count);
            cr_assert_eq(number_of(tree_take(&tree, heap, rank)), model[rank]);
            count--;
            memmove(model + rank, model + rank + 1, (count - rank) * sizeof *model);
        }
        cr_assert_eq(tree.count, count);
        if (count > 0) {
            uint64_t rank = rng_below(&rng, count);
            cr_assert_eq(number_of(tree_get(&tree, rank)), model[rank]);
        }
        if (step % 100 == 0)
            tree_validate(&tree);
    }
}

Test(tree, drains_in_slices)
{
    fill(10000);
    uint64_t slices = 1;
    while (!tree_drain(&tree, heap, 100)) {
        slices++;
        tree_validate(&tree);
    }
    cr_assert_geq(slices, 10000 / (100 + TREE_LEAF_ITEMS));
    cr_assert_eq(tree.node_bytes, 0);
}
