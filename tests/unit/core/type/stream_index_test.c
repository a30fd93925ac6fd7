#include "core/type/stream_index.h"

#include <criterion/criterion.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static struct heap *heap;
static struct stream_index nodes;

static void open_index(void)
{
    heap = heap_create(-1);
}

static void close_index(void)
{
    uint64_t budget = UINT64_MAX;
    cr_assert(stream_index_drain(&nodes, heap, &budget));
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(stream_index, .init = open_index, .fini = close_index);

static struct stream_id id(uint64_t ms, uint64_t seq)
{
    return (struct stream_id){ms, seq};
}

static void append(struct stream_id master)
{
    struct stream_node node;
    struct bytes words[] = {BYTES("field"), BYTES("value")};
    stream_node_create(&node, heap, master, words, 1);
    cr_assert_eq(stream_index_append(&nodes, heap, node), &nodes.last);
    stream_index_validate(&nodes);
}

static void drop(uint64_t at)
{
    stream_index_drop(&nodes, heap, at);
    stream_index_validate(&nodes);
}

/* Where the last node is that begins at `ms` or before; -1: nowhere. */
static int64_t find(uint64_t ms)
{
    uint64_t at;
    return stream_index_find(&nodes, id(ms, 0), &at) ? (int64_t)at : -1;
}

Test(stream_index, is_empty_at_first)
{
    struct tree_cursor cursor;
    cr_assert_eq(stream_index_count(&nodes), 0);
    cr_assert_eq(find(5), -1);
    cr_assert_null(stream_index_seek(&nodes, 0, &cursor));
    cr_assert_eq(stream_index_bytes(&nodes), 0);
    stream_index_validate(&nodes);
}

Test(stream_index, finds_the_node_that_an_id_would_be_in)
{
    for (uint64_t ms = 10; ms <= 1000; ms += 10)
        append(id(ms, 0));
    cr_assert_eq(stream_index_count(&nodes), 100);
    cr_assert_eq(find(9), -1);
    cr_assert_eq(find(10), 0);
    cr_assert_eq(find(19), 0);
    cr_assert_eq(find(985), 97);
    cr_assert_eq(find(999), 98);
    cr_assert_eq(find(1000), 99);
    cr_assert_eq(find(UINT64_MAX), 99);
    drop(99);
    cr_assert_eq(find(1000), 98);
    drop(0);
    cr_assert_eq(find(19), -1);
    drop(50);
    cr_assert_eq(find(529), 49);
    cr_assert_eq(find(530), 50);
    cr_assert_eq(stream_index_count(&nodes), 97);
}

Test(stream_index, is_walked_both_ways)
{
    for (uint64_t ms = 0; ms < 3; ms++)
        append(id(ms, 7));
    for (int is_reverse = 0; is_reverse < 2; is_reverse++) {
        struct tree_cursor cursor;
        const struct stream_node *node = stream_index_seek(&nodes, is_reverse ? 2 : 0, &cursor);
        for (uint64_t i = 0; i < 3; i++) {
            cr_assert_eq(node->master.ms, is_reverse ? 2 - i : i);
            node = stream_index_step(&nodes, is_reverse, &cursor);
        }
        cr_assert_null(node);
    }
}

Test(stream_index, is_copied_and_freed_a_few_entries_at_a_time)
{
    for (uint64_t ms = 0; ms < 500; ms++)
        append(id(ms, 7));
    struct stream_index copy = {0};
    stream_index_copy(&copy, heap, &nodes);
    stream_index_validate(&copy);
    cr_assert_eq(stream_index_bytes(&copy), stream_index_bytes(&nodes));
    cr_assert_eq(stream_index_radix_nodes(&copy), stream_index_radix_nodes(&nodes));
    uint64_t budget = 100, steps = 1;
    while (!stream_index_drain(&copy, heap, &budget)) {
        budget = 100;
        steps++;
    }
    cr_assert_eq(steps, 10, "500 entries and as many nodes");
}

/* ---- The radix tree that Redis has ---- */

static uint8_t key_byte(struct stream_id key, uint32_t at)
{
    return (uint8_t)((at < 8 ? key.ms : key.seq) >> (56 - 8 * (at % 8)));
}

/* Nodes of the tree below a place that `depth` bytes lead to, for the keys from `first` to `last`.
 */
static uint64_t count_below(uint64_t first, uint64_t last, uint32_t depth)
{
    uint32_t common = depth;
    while (common < 16 && key_byte(stream_index_get(&nodes, first)->master, common) ==
                              key_byte(stream_index_get(&nodes, last)->master, common))
        common++;
    uint64_t sum = (common > depth) + 1;
    for (uint64_t from = first, to; common < 16 && from <= last; from = to) {
        uint8_t byte = key_byte(stream_index_get(&nodes, from)->master, common);
        for (to = from; to <= last; to++) {
            if (key_byte(stream_index_get(&nodes, to)->master, common) != byte)
                break;
        }
        sum += count_below(from, to - 1, common + 1);
    }
    return sum;
}

static void expect_radix_nodes(void)
{
    uint64_t count = stream_index_count(&nodes);
    cr_assert_eq(stream_index_radix_nodes(&nodes), count ? count_below(0, count - 1, 0) : 1);
}

Test(stream_index, knows_how_many_nodes_a_radix_tree_would_have)
{
    expect_radix_nodes();
    append(id(2, 0));
    cr_assert_eq(stream_index_radix_nodes(&nodes), 2);
    append(id(2, 1));
    cr_assert_eq(stream_index_radix_nodes(&nodes), 4);
    append(id(3, 0));
    cr_assert_eq(stream_index_radix_nodes(&nodes), 8);
    append(STREAM_ID_MAX);
    expect_radix_nodes();
    while (stream_index_count(&nodes) > 0) {
        drop(stream_index_count(&nodes) / 2);
        expect_radix_nodes();
    }
    append(STREAM_ID_MIN);
    cr_assert_eq(stream_index_radix_nodes(&nodes), 2);
}

Test(stream_index, knows_it_through_any_changes)
{
    struct rng rng;
    rng_init(&rng, 9);
    for (uint32_t round = 0; round < 40; round++) {
        struct stream_id next = id(0, rng_below(&rng, 3));
        uint64_t shift = rng_below(&rng, 60);
        for (uint32_t i = 0; i < 60; i++) {
            if (rng_below(&rng, 2))
                next = id(next.ms + ((rng_below(&rng, 4) + 1) << rng_below(&rng, shift + 1)), 0);
            else
                next.seq += 1 + (rng_below(&rng, 300) << rng_below(&rng, shift + 1));
            uint64_t count = stream_index_count(&nodes);
            if (count == 0 || stream_id_compare(next, nodes.last.master) > 0)
                append(next);
            if (rng_below(&rng, 3) == 0)
                drop(rng_below(&rng, stream_index_count(&nodes)));
            expect_radix_nodes();
        }
        while (stream_index_count(&nodes) > 0) {
            drop(rng_below(&rng, stream_index_count(&nodes)));
            expect_radix_nodes();
        }
    }
}
