#include "core/type/stream_group.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

static struct heap *heap;
static struct stream stream; /* what groups need to know of one */

static void set_up(void)
{
    heap = heap_create(-1);
    stream = (struct stream){0};
}

static void free_groups(struct stream *from, struct heap *its_heap)
{
    uint64_t budget = UINT64_MAX;
    cr_assert(stream_group_list_free_some(from->groups, its_heap, &budget));
    from->groups = NULL;
}

static void tear_down(void)
{
    free_groups(&stream, heap);
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(stream_group, .init = set_up, .fini = tear_down);

static struct stream_id id_of(uint64_t ms)
{
    return (struct stream_id){ms, 0};
}

static struct stream_group *create(const char *name)
{
    return stream_group_create(&stream, heap, bytes_from_text(name), STREAM_ID_MIN, 0);
}

static struct stream_group_consumer *join(struct stream_group *group, const char *name)
{
    return stream_group_create_consumer(group, heap, bytes_from_text(name), 1000);
}

static void expect_ids(const struct tree *list, const char *expected)
{
    char text[256] = "";
    size_t len = 0;
    struct tree_cursor place = tree_seek(list, 0);
    for (const struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place))
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%u", len ? " " : "",
                                (unsigned)each->id.ms);
    cr_assert_str_eq(text, expected);
    stream_group_validate(&stream);
}

/* ---- Groups and consumers ---- */

Test(stream_group, has_none_at_first)
{
    cr_assert_eq(stream_group_count(&stream), 0);
    cr_assert_null(stream_group_find(&stream, BYTES("g")));
    cr_assert_null(stream_group_edit(&stream, BYTES("g")));
    cr_assert_not(stream_group_needs(&stream, id_of(1)));
    stream_group_forget(&stream, heap, id_of(1));
    cr_assert_eq(stream_group_list_bytes(NULL), 0);
    cr_assert_null(stream_group_list_copy(NULL, heap));
}

Test(stream_group, stands_in_the_order_of_names_bytes)
{
    static const char *const names[] = {"b", "a", "ab", "B", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_assert(create(names[i]));
    struct bytes binary = bytes_of("a\0\xff", 3);
    cr_assert(stream_group_create(&stream, heap, binary, STREAM_ID_MAX, STREAM_GROUP_READ_UNKNOWN));
    static const char *const order[] = {"", "B", "a", NULL, "ab", "b"};
    cr_assert_eq(stream_group_count(&stream), 6);
    for (uint64_t i = 0; i < 6; i++) {
        struct bytes name = order[i] ? bytes_from_text(order[i]) : binary;
        cr_assert(bytes_equal(stream_group_name(stream_group_at(&stream, i)), name));
        cr_assert_eq(stream_group_find(&stream, name), stream_group_at(&stream, i));
    }
}

Test(stream_group, refuses_a_name_that_is_taken)
{
    cr_assert(create("g"));
    cr_assert_null(create("g"));
    struct stream_group *group = stream_group_edit(&stream, BYTES("g"));
    cr_assert(join(group, "c"));
    cr_assert_null(join(group, "c"));
    cr_assert_eq(group->consumers.count, 1);
}

Test(stream_group, is_taken_out_whole)
{
    struct stream_group *group = create("g");
    cr_assert(create("other"));
    stream_group_deliver(group, heap, join(group, "c"), id_of(1), 5);
    struct stream grave = {.groups = stream_group_detach(&stream, heap, group)};
    cr_assert_null(stream_group_find(&stream, BYTES("g")));
    cr_assert_eq(stream_group_count(&stream), 1);
    cr_assert_eq(stream_group_find(&grave, BYTES("g")), group);
    stream_group_validate(&grave);
    free_groups(&grave, heap);
}

Test(stream_group, sees_a_consumer_before_it_is_active)
{
    const struct stream_group_consumer *consumer = join(create("g"), "c");
    cr_assert_eq(consumer->seen_at_ms, 1000);
    cr_assert_eq(consumer->active_at_ms, STREAM_GROUP_NEVER_MS);
}

/* ---- Pending entries ---- */

Test(stream_group, delivers_an_entry_to_one_consumer)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a"), *b = join(group, "b");
    for (uint64_t ms = 1; ms <= 4; ms++)
        stream_group_deliver(group, heap, ms % 2 ? a : b, id_of(ms), (int64_t)(100 + ms));
    expect_ids(&group->pending, "1 2 3 4");
    expect_ids(&a->pending, "1 3");
    expect_ids(&b->pending, "2 4");
    const struct stream_group_pending *pending = stream_group_find_pending(group, id_of(3));
    cr_assert_eq(pending->consumer, a);
    cr_assert_eq(pending->delivered_at_ms, 103);
    cr_assert_eq(pending->delivery_count, 1);
    cr_assert_null(stream_group_find_pending(group, id_of(5)));
}

Test(stream_group, delivers_again_as_if_for_the_first_time)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a"), *b = join(group, "b");
    stream_group_deliver(group, heap, a, id_of(2), 100);
    stream_group_edit_pending(group, id_of(2))->delivery_count = 7;
    stream_group_deliver(group, heap, b, id_of(2), 200);
    expect_ids(&a->pending, "");
    expect_ids(&b->pending, "2");
    cr_assert_eq(stream_group_find_pending(group, id_of(2))->delivery_count, 1);
    cr_assert_eq(stream_group_find_pending(group, id_of(2))->delivered_at_ms, 200);
}

Test(stream_group, acknowledges_once)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a");
    for (uint64_t ms = 1; ms <= 3; ms++)
        stream_group_deliver(group, heap, a, id_of(ms), 0);
    cr_assert(stream_group_acknowledge(group, heap, id_of(2)));
    cr_assert_not(stream_group_acknowledge(group, heap, id_of(2)));
    expect_ids(&group->pending, "1 3");
    expect_ids(&a->pending, "1 3");
}

Test(stream_group, reassigns_and_adds_in_any_order)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a"), *b = join(group, "b");
    stream_group_deliver(group, heap, a, id_of(5), 0);
    (void)stream_group_add_pending(group, heap, b, id_of(3));
    (void)stream_group_add_pending(group, heap, a, id_of(9));
    stream_group_reassign(heap, stream_group_edit_pending(group, id_of(5)), b);
    stream_group_reassign(heap, stream_group_edit_pending(group, id_of(5)), b);
    expect_ids(&group->pending, "3 5 9");
    expect_ids(&a->pending, "9");
    expect_ids(&b->pending, "3 5");
}

Test(stream_group, finds_the_first_pending_entry_of_a_range)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a");
    for (uint64_t ms = 10; ms <= 30; ms += 10)
        stream_group_deliver(group, heap, a, id_of(ms), 0);
    static const struct {
        uint64_t from, expected;
    } cases[] = {{0, 10}, {10, 10}, {11, 20}, {30, 30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tree_cursor place = stream_group_seek_pending(&a->pending, id_of(cases[i].from));
        cr_assert_eq(((struct stream_group_pending *)tree_item(&place))->id.ms, cases[i].expected);
    }
    struct tree_cursor place = stream_group_seek_pending(&group->pending, id_of(31));
    cr_assert_null(tree_item(&place));
}

/* A consumer with few of its group's entries, with many, and with all of them. */
Test(stream_group, forgets_a_consumer_with_all_that_is_pending_for_it)
{
    for (uint64_t step = 1; step <= 100; step += 33) {
        struct stream_group *group = create("g");
        struct stream_group_consumer *gone = join(group, "gone"), *stays = join(group, "stays");
        uint64_t left = 0;
        for (uint64_t ms = 0; ms < 500; ms++) {
            bool goes = ms % step == 0;
            stream_group_deliver(group, heap, goes ? gone : stays, id_of(ms), 0);
            left += !goes;
        }
        stream_group_destroy_consumer(group, heap, gone);
        cr_assert_eq(group->pending.count, left);
        cr_assert_eq(stays->pending.count, left);
        cr_assert_null(stream_group_find_consumer(group, BYTES("gone")));
        stream_group_validate(&stream);
        free_groups(&stream, heap);
    }
}

/* ---- What a group has read ---- */

/* A stream of ids 1 to 5, none of them deleted, read up to `last`. */
static struct stream_group *group_of_five(uint64_t last, int64_t entries_read)
{
    stream.length = stream.entries_added = 5;
    stream.first_id = id_of(1);
    stream.last_id = id_of(5);
    struct stream_group *group = create("g");
    group->last_id = id_of(last);
    group->entries_read = entries_read;
    return group;
}

static int64_t lag_of(const struct stream_group *group)
{
    int64_t lag = -2;
    return stream_group_lag(group, &stream, &lag) ? lag : -1;
}

Test(stream_group, lags_by_what_it_has_not_read)
{
    struct stream_group *group = create("g");
    cr_assert_eq(lag_of(group), 0, "a stream that never had an entry");
    free_groups(&stream, heap);

    group = group_of_five(0, 0);
    cr_assert_eq(lag_of(group), 5);
    stream_group_advance(group, &stream, id_of(1));
    stream_group_advance(group, &stream, id_of(2));
    cr_assert_eq(lag_of(group), 3);
    cr_assert_eq(group->entries_read, 2);
    cr_assert_eq(stream_id_compare(group->last_id, id_of(2)), 0);
    stream_group_advance(group, &stream, id_of(1));
    cr_assert_eq(group->entries_read, 2, "an entry given again counts once");
    cr_assert_eq(stream_id_compare(group->last_id, id_of(2)), 0);
}

Test(stream_group, knows_its_lag_at_the_ends_of_a_stream_only_when_it_did_not_count)
{
    static const int64_t lags[] = {5, 4, -1, -1, -1, 0, -1};
    for (uint64_t last = 0; last < sizeof lags / sizeof *lags; last++) {
        struct stream_group *group = group_of_five(last, STREAM_GROUP_READ_UNKNOWN);
        cr_assert_eq(lag_of(group), lags[last], "after %u", (unsigned)last);
        free_groups(&stream, heap);
    }
}

Test(stream_group, does_not_know_its_lag_behind_a_deleted_entry)
{
    struct stream_group *group = group_of_five(2, 2);
    stream.length = 4;
    stream.max_deleted_id = id_of(4);
    cr_assert_eq(lag_of(group), -1);
    stream_group_advance(group, &stream, id_of(3));
    cr_assert_eq(group->entries_read, STREAM_GROUP_READ_UNKNOWN);
    stream_group_advance(group, &stream, id_of(5));
    cr_assert_eq(group->entries_read, 5, "at the end it is known again");
    cr_assert_eq(lag_of(group), 0);
}

Test(stream_group, counts_around_when_clients_say_what_cannot_be)
{
    struct stream_group *group = group_of_five(0, INT64_MAX);
    stream_group_advance(group, &stream, id_of(1));
    cr_assert_eq(group->entries_read, INT64_MIN);
    stream.entries_added = UINT64_C(1) << 63;
    group->entries_read = STREAM_GROUP_READ_UNKNOWN;
    group->last_id = STREAM_ID_MIN;
    cr_assert_eq(lag_of(group), 5);
}

Test(stream_group, has_read_all_of_an_empty_stream)
{
    struct stream_group *group = group_of_five(2, STREAM_GROUP_READ_UNKNOWN);
    stream.length = 0;
    stream.first_id = STREAM_ID_MIN;
    stream.max_deleted_id = id_of(5);
    cr_assert_eq(lag_of(group), 0);
}

/* ---- What groups hold of an entry ---- */

Test(stream_group, needs_an_entry_until_every_group_has_acknowledged_it)
{
    struct stream_group *first = create("first"), *second = create("second");
    struct stream_group_consumer *a = join(first, "a"), *b = join(second, "b");
    cr_assert(stream_group_needs(&stream, id_of(1)), "nobody has read it");
    first->last_id = second->last_id = id_of(1);
    stream_group_deliver(first, heap, a, id_of(1), 0);
    stream_group_deliver(second, heap, b, id_of(1), 0);
    cr_assert(stream_group_acknowledge(first, heap, id_of(1)));
    cr_assert(stream_group_needs(&stream, id_of(1)));
    cr_assert(stream_group_acknowledge(second, heap, id_of(1)));
    cr_assert_not(stream_group_needs(&stream, id_of(1)));
    cr_assert(stream_group_needs(&stream, id_of(2)));
}

Test(stream_group, forgets_an_entry_in_all_groups)
{
    struct stream_group *first = create("first"), *second = create("second");
    stream_group_deliver(first, heap, join(first, "a"), id_of(1), 0);
    stream_group_deliver(second, heap, join(second, "b"), id_of(1), 0);
    stream_group_deliver(second, heap, stream_group_edit_consumer(second, BYTES("b")), id_of(2), 0);
    stream_group_forget(&stream, heap, id_of(1));
    expect_ids(&first->pending, "");
    expect_ids(&second->pending, "2");
}

static bool releases(enum stream_refs refs, struct stream_id id)
{
    struct stream_trim trim = {0};
    stream_group_guard_trim(&trim, refs, heap);
    return !trim.release || trim.release(trim.release_context, &stream, id);
}

Test(stream_group, guards_a_trim)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a");
    group->last_id = id_of(3);
    for (uint64_t ms = 1; ms <= 2; ms++)
        stream_group_deliver(group, heap, a, id_of(ms), 0);
    cr_assert_not(releases(STREAM_REFS_ACKED, id_of(1)));
    cr_assert(releases(STREAM_REFS_ACKED, id_of(3)));
    cr_assert_not(releases(STREAM_REFS_ACKED, id_of(4)), "not read yet");
    cr_assert(releases(STREAM_REFS_KEEP, id_of(1)));
    expect_ids(&group->pending, "1 2");
    cr_assert(releases(STREAM_REFS_DELETE, id_of(1)));
    expect_ids(&group->pending, "2");
}

/* ---- Dumps ---- */

Test(stream_group, is_built_from_a_dump)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a"), *b = join(group, "b");
    cr_assert(stream_group_load_pending(group, heap, id_of(1), 100, 3));
    cr_assert(stream_group_load_pending(group, heap, id_of(3), 300, 1));
    cr_assert(stream_group_load_pending(group, heap, id_of(2), 200, 2));
    cr_assert_not(stream_group_load_pending(group, heap, id_of(3), 0, 0), "an id twice");
    cr_assert_not(stream_group_is_whole(group));
    cr_assert(stream_group_load_owner(group, heap, a, id_of(1)));
    cr_assert(stream_group_load_owner(group, heap, b, id_of(2)));
    cr_assert_not(stream_group_load_owner(group, heap, b, id_of(1)), "two owners");
    cr_assert_not(stream_group_load_owner(group, heap, a, id_of(1)), "the same owner twice");
    cr_assert_not(stream_group_load_owner(group, heap, b, id_of(4)), "an id that is not pending");
    cr_assert_not(stream_group_is_whole(group));
    cr_assert(stream_group_load_owner(group, heap, a, id_of(3)));
    cr_assert(stream_group_is_whole(group));
    expect_ids(&group->pending, "1 2 3");
    expect_ids(&a->pending, "1 3");
    cr_assert_eq(stream_group_find_pending(group, id_of(1))->delivery_count, 3);
    cr_assert_eq(stream_group_find_pending(group, id_of(1))->delivered_at_ms, 100);
}

Test(stream_group, is_freed_half_built)
{
    struct stream_group *group = create("g");
    struct stream_group_consumer *a = join(group, "a");
    cr_assert(stream_group_load_pending(group, heap, id_of(1), 0, 1));
    cr_assert(stream_group_load_pending(group, heap, id_of(2), 0, 1));
    cr_assert(stream_group_load_owner(group, heap, a, id_of(2)));
}

/* ---- As a part of a stream ---- */

static void fill(uint64_t group_total, uint64_t consumer_total, uint64_t pending_total)
{
    char name[24];
    for (uint64_t g = 0; g < group_total; g++) {
        (void)snprintf(name, sizeof name, "group %u", (unsigned)g);
        struct stream_group *group = create(name);
        for (uint64_t c = 0; c < consumer_total; c++) {
            (void)snprintf(name, sizeof name, "consumer %u", (unsigned)c);
            struct stream_group_consumer *consumer = join(group, name);
            for (uint64_t p = 0; p < pending_total; p++)
                stream_group_deliver(group, heap, consumer, id_of(p * consumer_total + c),
                                     (int64_t)p);
        }
    }
}

Test(stream_group, copies_into_another_heap)
{
    fill(3, 4, 100);
    struct heap *other = heap_create(-1);
    struct stream copy = {.groups = stream_group_list_copy(stream.groups, other)};
    stream_group_validate(&copy);
    cr_assert_eq(stream_group_count(&copy), 3);
    cr_assert_leq(stream_group_list_bytes(copy.groups), stream_group_list_bytes(stream.groups));
    const struct stream_group *from = stream_group_at(&stream, 1), *to = stream_group_at(&copy, 1);
    cr_assert(bytes_equal(stream_group_name(from), stream_group_name(to)));
    cr_assert_eq(to->pending.count, from->pending.count);
    const struct stream_group_pending *pending = stream_group_find_pending(to, id_of(42));
    cr_assert_eq(pending->delivered_at_ms,
                 stream_group_find_pending(from, id_of(42))->delivered_at_ms);
    cr_assert_eq(pending->consumer, stream_group_find_consumer(to, BYTES("consumer 2")));
    cr_assert_eq(pending->consumer->seen_at_ms, 1000);
    free_groups(&stream, heap);
    stream_group_validate(&copy);
    free_groups(&copy, other);
    heap_destroy(other);
}

Test(stream_group, is_freed_in_slices)
{
    fill(3, 4, 100);
    uint64_t slices = 0, budget;
    do {
        budget = 50;
        slices++;
    } while (!stream_group_list_free_some(stream.groups, heap, &budget));
    stream.groups = NULL;
    cr_assert_gt(slices, 2 * 3 * 4 * 100 / 2 / 100, "%u slices", (unsigned)slices);
    cr_assert_gt(budget, 0);
}

Test(stream_group, takes_some_60_bytes_for_a_pending_entry)
{
    fill(1, 1, 100000);
    double each = (double)stream_group_list_bytes(stream.groups) / 100000;
    cr_assert_lt(each, 60, "%.1f bytes a pending entry", each);
}

Test(stream_group, is_small_with_little_in_it)
{
    fill(1, 1, 1);
    cr_assert_lt(stream_group_list_bytes(stream.groups), 600);
}

/* Against an array that says who owns which id. */
Test(stream_group, keeps_its_lists_through_any_changes)
{
    enum { IDS = 200, CONSUMERS = 3 };
    struct rng rng;
    rng_init(&rng, 7);
    struct stream_group *group = create("g");
    static const char *const names[CONSUMERS] = {"a", "b", "c"};
    int owner[IDS];
    for (int i = 0; i < IDS; i++)
        owner[i] = -1;
    for (int step = 0; step < 20000; step++) {
        int number = (int)rng_below(&rng, IDS), who = (int)rng_below(&rng, CONSUMERS);
        struct stream_id id = id_of((uint64_t)number);
        struct stream_group_consumer *consumer = stream_group_edit_consumer(
            group, bytes_from_text(names[who]));
        if (!consumer)
            consumer = join(group, names[who]);
        switch (rng_below(&rng, 200) ? rng_below(&rng, 3) : 3) {
        case 0:
            stream_group_deliver(group, heap, consumer, id, step);
            owner[number] = who;
            break;
        case 1:
            cr_assert_eq(stream_group_acknowledge(group, heap, id), owner[number] >= 0);
            owner[number] = -1;
            break;
        case 2:
            if (owner[number] >= 0) {
                stream_group_reassign(heap, stream_group_edit_pending(group, id), consumer);
                owner[number] = who;
            }
            break;
        default:
            stream_group_destroy_consumer(group, heap, consumer);
            for (int i = 0; i < IDS; i++)
                owner[i] = owner[i] == who ? -1 : owner[i];
        }
        if (step % 100)
            continue;
        stream_group_validate(&stream);
        for (int i = 0; i < IDS; i++) {
            const struct stream_group_pending *pending = stream_group_find_pending(
                group, id_of((uint64_t)i));
            cr_assert_eq(pending != NULL, owner[i] >= 0);
            if (pending)
                cr_assert(bytes_equal(stream_group_consumer_name(pending->consumer),
                                      bytes_from_text(names[owner[i]])));
        }
    }
}
