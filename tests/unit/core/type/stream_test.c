#include "core/type/stream.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/type/stream_group.h"

static struct heap *heap;
static struct stream *stream;
static struct stream_limits limits;

static void open_stream(void)
{
    heap = heap_create(-1);
    stream = stream_create(heap);
    limits = (struct stream_limits){.node_bytes = STREAM_NODE_BYTES_DEFAULT, .node_entries = 3};
}

static void close_stream(void)
{
    stream_validate(stream);
    cr_assert(stream_ops.free_some(stream, heap, SIZE_MAX));
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(stream, .init = open_stream, .fini = close_stream);

static struct stream_id id(uint64_t ms)
{
    return (struct stream_id){ms, 0};
}

static void add(uint64_t ms)
{
    char text[24];
    struct bytes words[2] = {BYTES("ms")};
    words[1] = bytes_of(text, (size_t)snprintf(text, sizeof text, "%u", (unsigned)ms));
    stream_append(stream, heap, &limits, id(ms), words, 1);
}

/* 1, 2, ... in nodes of three entries. */
static void add_up_to(uint64_t last)
{
    for (uint64_t ms = 1; ms <= last; ms++)
        add(ms);
}

/* The milliseconds of the entries in a range, each followed by a space. */
static const char *range(struct stream_id low, struct stream_id high, bool is_reverse)
{
    static char text[4096];
    size_t len = 0;
    struct stream_cursor cursor;
    struct stream_entry entry;
    struct stream_pair pair;
    text[0] = '\0';
    stream_seek(stream, low, high, is_reverse, &cursor);
    while (stream_step(&cursor, &entry)) {
        stream_entry_step(&entry, &pair);
        len += (size_t)snprintf(text + len, sizeof text - len, "%.*s ", (int)pair.value.len,
                                pair.value.ptr);
    }
    cr_assert_not(stream_step(&cursor, &entry), "the end stays the end");
    return text;
}

static const char *all(void)
{
    stream_validate(stream);
    return range(STREAM_ID_MIN, STREAM_ID_MAX, false);
}

static uint64_t trim_length(uint64_t max_len, bool is_approximate, uint64_t limit)
{
    struct stream_trim trim = {.by = STREAM_TRIM_LENGTH,
                               .max_len = max_len,
                               .is_approximate = is_approximate,
                               .limit = limit};
    return stream_trim(stream, heap, &trim);
}

static uint64_t trim_id(uint64_t min_ms, bool is_approximate)
{
    struct stream_trim trim = {
        .by = STREAM_TRIM_ID, .min_id = id(min_ms), .is_approximate = is_approximate};
    return stream_trim(stream, heap, &trim);
}

/* ---- Reading ---- */

Test(stream, is_empty_at_first)
{
    struct stream_entry entry;
    cr_assert_str_eq(all(), "");
    cr_assert_str_eq(range(STREAM_ID_MIN, STREAM_ID_MAX, true), "");
    cr_assert_not(stream_find(stream, id(1), &entry));
    cr_assert(stream_id_is_zero(stream_last_entry_id(stream)));
    cr_assert_eq(stream_index_count(&stream->nodes), 0);
    cr_assert_eq(trim_length(0, false, 0), 0);
}

Test(stream, gives_ranges_upwards_and_downwards)
{
    add_up_to(10);
    cr_assert_eq(stream_index_count(&stream->nodes), 4);
    cr_assert_str_eq(all(), "1 2 3 4 5 6 7 8 9 10 ");
    cr_assert_str_eq(range(STREAM_ID_MIN, STREAM_ID_MAX, true), "10 9 8 7 6 5 4 3 2 1 ");
    cr_assert_str_eq(range(id(3), id(8), false), "3 4 5 6 7 8 ");
    cr_assert_str_eq(range(id(3), id(8), true), "8 7 6 5 4 3 ");
    cr_assert_str_eq(range(id(4), id(4), false), "4 ");
    cr_assert_str_eq(range(id(4), id(4), true), "4 ");
    struct stream_id behind_four = {4, 1};
    cr_assert_str_eq(range(behind_four, id(6), false), "5 6 ");
    cr_assert_str_eq(range(id(3), behind_four, true), "4 3 ");
    cr_assert_str_eq(range(id(11), STREAM_ID_MAX, false), "");
    cr_assert_str_eq(range(id(11), STREAM_ID_MAX, true), "");
    cr_assert_str_eq(range(STREAM_ID_MIN, id(0), false), "");
    cr_assert_str_eq(range(STREAM_ID_MIN, id(0), true), "");
    cr_assert_str_eq(range(id(8), id(3), false), "");
    cr_assert_str_eq(range(id(8), id(3), true), "");
}

Test(stream, finds_an_entry_by_its_id)
{
    add_up_to(10);
    struct stream_entry entry;
    for (uint64_t ms = 1; ms <= 10; ms++) {
        cr_assert(stream_find(stream, id(ms), &entry));
        cr_assert_eq(entry.id.ms, ms);
    }
    cr_assert_not(stream_find(stream, (struct stream_id){3, 1}, &entry));
    cr_assert_not(stream_find(stream, id(0), &entry));
    cr_assert_not(stream_find(stream, id(11), &entry));
}

/* ---- Adding ---- */

Test(stream, counts_what_was_added_and_what_is_there)
{
    add_up_to(7);
    cr_assert_eq(stream->length, 7);
    cr_assert_eq(stream->entries_added, 7);
    cr_assert_eq(stream_id_compare(stream->first_id, id(1)), 0);
    cr_assert_eq(stream_id_compare(stream->last_id, id(7)), 0);
    cr_assert_eq(stream_ops.count(stream), 7);
    cr_assert_str_eq(stream_ops.encoding(stream), "stream");
}

Test(stream, begins_a_new_node_when_the_last_one_is_full)
{
    limits = (struct stream_limits){.node_bytes = 60};
    add_up_to(10);
    cr_assert_gt(stream_index_count(&stream->nodes), 2);
    limits.node_bytes = 1; /* less than an entry */
    add(11);
    add(12);
    cr_assert_eq(stream->nodes.last.master.ms, 12);
    cr_assert_str_eq(all(), "1 2 3 4 5 6 7 8 9 10 11 12 ");
}

Test(stream, cannot_hold_an_entry_larger_than_any_node)
{
    struct bytes words[2] = {BYTES("field"), {(const char *)words, PACK_BYTES_MAX}};
    cr_assert_not(stream_can_hold(words, 1));
    words[1].len = PACK_BYTES_MAX / 2;
    cr_assert(stream_can_hold(words, 1));
}

/* ---- Deleting ---- */

Test(stream, deletes_entries_and_whole_nodes)
{
    add_up_to(10);
    cr_assert(stream_delete(stream, heap, id(5)));
    cr_assert_not(stream_delete(stream, heap, id(5)), "twice");
    cr_assert_not(stream_delete(stream, heap, id(77)));
    cr_assert_str_eq(all(), "1 2 3 4 6 7 8 9 10 ");
    cr_assert_eq(stream_index_count(&stream->nodes), 4);
    cr_assert(stream_delete(stream, heap, id(6)));
    cr_assert(stream_delete(stream, heap, id(4)));
    cr_assert_eq(stream_index_count(&stream->nodes), 3, "a node in the middle goes");
    cr_assert(stream_delete(stream, heap, id(10)));
    cr_assert_eq(stream_index_count(&stream->nodes), 2, "the last node goes");
    cr_assert_str_eq(all(), "1 2 3 7 8 9 ");
    add(11);
    cr_assert_eq(stream_index_count(&stream->nodes), 3, "the last one of the others was full");
    cr_assert_eq(stream_id_compare(stream->max_deleted_id, id(10)), 0);
    cr_assert_eq(stream->entries_added, 11);
}

Test(stream, knows_its_first_entry)
{
    add_up_to(5);
    for (uint64_t ms = 1; ms < 5; ms++) {
        cr_assert(stream_delete(stream, heap, id(ms)));
        cr_assert_eq(stream_id_compare(stream->first_id, id(ms + 1)), 0);
        stream_validate(stream);
    }
    cr_assert(stream_delete(stream, heap, id(5)));
    cr_assert(stream_id_is_zero(stream->first_id));
    cr_assert_eq(stream_index_count(&stream->nodes), 0);
    add(9);
    cr_assert_eq(stream_id_compare(stream->first_id, id(9)), 0);
}

Test(stream, gives_lower_ids_again_only_behind_what_is_left)
{
    add_up_to(5);
    cr_assert(stream_delete(stream, heap, id(5)));
    stream->max_deleted_id = STREAM_ID_MIN;
    stream_set_last_id(stream, heap, id(4));
    stream_append(stream, heap, &limits, (struct stream_id){4, 1},
                  (struct bytes[]){BYTES("ms"), BYTES("new")}, 1);
    cr_assert_str_eq(all(), "1 2 3 4 new ");

    /* A node of tombstones alone. */
    add(10), add(11), add(12);
    cr_assert(stream_delete(stream, heap, id(12)));
    cr_assert_eq(trim_id(12, false), 7);
    cr_assert_eq(stream_index_count(&stream->nodes), 1);
    stream_set_last_id(stream, heap, id(2));
    cr_assert_eq(stream_index_count(&stream->nodes), 0);
    add(3);
    cr_assert_str_eq(all(), "3 ");
}

/* ---- Trimming ---- */

Test(stream, is_trimmed_to_a_length)
{
    add_up_to(10);
    cr_assert_eq(trim_length(10, false, 0), 0);
    cr_assert_eq(trim_length(8, false, 0), 2);
    cr_assert_str_eq(all(), "3 4 5 6 7 8 9 10 ");
    cr_assert_eq(stream_index_count(&stream->nodes), 4);
    cr_assert_eq(trim_length(2, false, 0), 6);
    cr_assert_str_eq(all(), "9 10 ");
    cr_assert_eq(stream_index_count(&stream->nodes), 2);
    cr_assert(stream_id_is_zero(stream->max_deleted_id), "trimming is not deleting");
    cr_assert_eq(trim_length(0, false, 0), 2);
    cr_assert_eq(stream_index_count(&stream->nodes), 0);
    cr_assert_eq(stream_id_compare(stream->last_id, id(10)), 0);
}

Test(stream, is_trimmed_by_whole_nodes_when_roughly_is_enough)
{
    add_up_to(10);
    cr_assert_eq(trim_length(8, true, 0), 0);
    cr_assert_eq(trim_length(7, true, 0), 3);
    cr_assert_eq(trim_length(0, true, 5), 3, "two nodes would be more than the limit");
    cr_assert_str_eq(all(), "7 8 9 10 ");
    cr_assert_eq(trim_id(9, true), 0);
    cr_assert_eq(trim_id(10, true), 3);
    cr_assert_str_eq(all(), "10 ");
}

Test(stream, is_trimmed_to_an_id)
{
    add_up_to(10);
    cr_assert_eq(trim_id(1, false), 0);
    cr_assert_eq(trim_id(6, false), 5);
    cr_assert_str_eq(all(), "6 7 8 9 10 ");
    cr_assert_eq(trim_id(11, false), 5);
    cr_assert_str_eq(all(), "");
}

Test(stream, may_keep_a_node_of_tombstones)
{
    add_up_to(3);
    cr_assert(stream_delete(stream, heap, id(3)));
    cr_assert_eq(trim_id(3, false), 2);
    cr_assert_eq(stream->length, 0);
    cr_assert_eq(stream_index_count(&stream->nodes), 1);
    cr_assert_str_eq(all(), "");
    add(4);
    add(5);
    cr_assert_str_eq(all(), "4 5 ");
    cr_assert_eq(trim_length(1, false, 0), 1);
    cr_assert_str_eq(all(), "5 ");
}

static bool release_odd(void *context, struct stream *of, struct stream_id which)
{
    (void)of;
    (*(uint32_t *)context)++;
    return which.ms % 2;
}

Test(stream, asks_before_it_trims_an_entry)
{
    add_up_to(10);
    uint32_t asked = 0;
    struct stream_trim trim = {
        .by = STREAM_TRIM_LENGTH, .max_len = 6, .release = release_odd, .release_context = &asked};
    cr_assert_eq(stream_trim(stream, heap, &trim), 4);
    cr_assert_eq(asked, 7);
    cr_assert_str_eq(all(), "2 4 6 8 9 10 ");
    trim.by = STREAM_TRIM_ID;
    trim.min_id = id(100);
    cr_assert_eq(stream_trim(stream, heap, &trim), 1);
    cr_assert_str_eq(all(), "2 4 6 8 10 ");
    trim.is_approximate = true;
    trim.min_id = id(9);
    asked = 0;
    cr_assert_eq(stream_trim(stream, heap, &trim), 0);
    cr_assert_eq(asked, 3, "whole nodes only: not the one with 8 and 9");
}

Test(stream, drops_a_node_whose_every_entry_was_released)
{
    uint32_t asked = 0;
    struct stream_trim trim = {
        .by = STREAM_TRIM_LENGTH, .release = release_odd, .release_context = &asked};
    add(1), add(3), add(5), add(6), add(7);
    cr_assert_eq(stream_trim(stream, heap, &trim), 4);
    cr_assert_eq(stream_index_count(&stream->nodes), 1);
    cr_assert_str_eq(all(), "6 ");
}

/* ---- As a value ---- */

Test(stream, is_copied_with_its_nodes_and_groups)
{
    add_up_to(10);
    cr_assert(stream_delete(stream, heap, id(4)));
    struct stream_group *group = stream_group_create(stream, heap, BYTES("g"), id(2), 2);
    stream_group_deliver(group, heap, stream_group_create_consumer(group, heap, BYTES("c"), 1),
                         id(1), 1);

    struct heap *far = heap_create(-1);
    struct stream *copy = stream_ops.copy(stream, far);
    stream_validate(copy);
    stream_group_validate(copy);
    cr_assert_eq(copy->length, 9);
    cr_assert_eq(copy->entries_added, 10);
    cr_assert_eq(stream_id_compare(copy->max_deleted_id, id(4)), 0);
    cr_assert_eq(stream_ops.bytes(copy), stream_ops.bytes(stream));
    cr_assert_eq(stream_group_count(copy), 1);
    cr_assert(stream_ops.free_some(copy, far, SIZE_MAX));
    heap_validate(far);
    heap_destroy(far);
}

Test(stream, is_freed_a_few_entries_at_a_time)
{
    struct stream *doomed = stream_create(heap);
    struct stream *kept = stream;
    stream = doomed;
    add_up_to(1000);
    stream = kept;
    struct stream_group *group = stream_group_create(doomed, heap, BYTES("g"), id(2), 2);
    struct stream_group_consumer *consumer = stream_group_create_consumer(group, heap, BYTES("c"),
                                                                          1);
    for (uint64_t ms = 1; ms <= 500; ms++)
        stream_group_deliver(group, heap, consumer, id(ms), 1);
    uint32_t steps = 1;
    while (!stream_ops.free_some(doomed, heap, 64))
        steps++;
    cr_assert(steps > 20 && steps < 40, "%u steps", steps);
}

/* ---- Nodes for dumps ---- */

Test(stream, is_built_of_anothers_nodes)
{
    add_up_to(10);
    cr_assert(stream_delete(stream, heap, id(1)));
    struct stream *loaded = stream_create(heap);
    for (uint64_t i = 0; i < stream_index_count(&stream->nodes); i++) {
        struct stream_node node = *stream_index_get(&stream->nodes, i);
        struct bytes bytes = bytes_of(node.pack, pack_bytes(node.pack));
        struct stream_node_facts facts;
        cr_assert(stream_node_is_valid(node.master, bytes, &facts));
        cr_assert(stream_put_node(loaded, heap, node.master, bytes, &facts));
        cr_assert_not(stream_put_node(loaded, heap, node.master, bytes, &facts), "once more");
        stream_validate(loaded);
    }
    cr_assert_eq(loaded->length, 9);
    cr_assert_eq(stream_id_compare(loaded->first_id, id(2)), 0);
    cr_assert_eq(stream_id_compare(loaded->last_id, id(10)), 0);
    cr_assert(stream_ops.free_some(loaded, heap, SIZE_MAX));
}

/* ---- Anything ---- */

#define MODEL_MAX 2000u

/* Entries that should be there, by milliseconds. */
static bool is_there[MODEL_MAX];

static uint64_t model_trim(uint64_t max_len, uint64_t min_ms)
{
    uint64_t length = 0, trimmed = 0;
    for (uint32_t ms = 0; ms < MODEL_MAX; ms++)
        length += is_there[ms];
    for (uint32_t ms = 0; ms < MODEL_MAX && ms < min_ms && length - trimmed > max_len; ms++) {
        trimmed += is_there[ms];
        is_there[ms] = false;
    }
    return trimmed;
}

static void expect_model(uint64_t low, uint64_t high, bool is_reverse)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_seek(stream, id(low), id(high), is_reverse, &cursor);
    for (uint64_t i = 0; i <= high - low; i++) {
        uint64_t ms = is_reverse ? high - i : low + i;
        if (!is_there[ms])
            continue;
        cr_assert(stream_step(&cursor, &entry));
        cr_assert_eq(entry.id.ms, ms);
    }
    cr_assert_not(stream_step(&cursor, &entry));
}

Test(stream, stays_like_a_plain_list_through_any_changes)
{
    struct rng rng;
    rng_init(&rng, 3);
    uint64_t next = 1;
    for (uint32_t round = 0; round < 3000; round++) {
        uint64_t what = rng_below(&rng, 100);
        limits.node_entries = 1 + rng_below(&rng, 8);
        if (what < 50 && next < MODEL_MAX) {
            is_there[next] = true;
            add(next++);
        } else if (what < 90) {
            uint64_t ms = rng_below(&rng, next);
            cr_assert_eq(stream_delete(stream, heap, id(ms)), is_there[ms]);
            is_there[ms] = false;
        } else if (what < 95) {
            uint64_t max_len = rng_below(&rng, 300);
            cr_assert_eq(trim_length(max_len, false, 0), model_trim(max_len, UINT64_MAX));
        } else {
            uint64_t min_ms = next - rng_below(&rng, next < 200 ? next : 200);
            cr_assert_eq(trim_id(min_ms, false), model_trim(0, min_ms));
        }
        stream_validate(stream);
        uint64_t low = rng_below(&rng, next);
        uint64_t high = low + rng_below(&rng, next - low);
        expect_model(low, high, round % 2);
    }
}
