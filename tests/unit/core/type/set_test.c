#include "core/type/set.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/arena.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/ds/intset.h"

static const struct set_limits limits = {.number_count = 512, .text_count = 128, .text_len = 64};
static struct heap *heap;
static struct set *set;
static struct rng rng;

static void make(void)
{
    fingerprint_seed(1);
    rng_init(&rng, 1);
    heap = heap_create(-1);
    set = set_create(heap);
}

static void drop(void)
{
    cr_assert(set_ops.free_some(set, heap, SIZE_MAX));
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(set, .init = make, .fini = drop);

static bool add(const char *member)
{
    return set_add(set, heap, &limits, bytes_from_text(member));
}

/* The i-th member of a family: "m0", "m1", ... or, without a letter, "0", "1", ... */
static struct bytes nth(char text[32], const char *letter, int i)
{
    return bytes_of(text, (size_t)snprintf(text, 32, "%s%d", letter, i));
}

static void add_many(const char *letter, int count)
{
    char text[32];
    for (int i = 0; i < count; i++)
        cr_assert(set_add(set, heap, &limits, nth(text, letter, i)));
}

static void assert_encoding(const char *word)
{
    cr_assert_str_eq(set_ops.encoding(set), word);
    set_validate(set);
}

/* ---- Encodings ---- */

Test(set, is_an_intset_while_all_are_integers)
{
    cr_assert(add("1"));
    cr_assert(add("-9223372036854775808"));
    cr_assert_not(add("1"));
    assert_encoding("intset");
    cr_assert(add("01"));
    assert_encoding("listpack");
    cr_assert_eq(set_count(set), 3);
    cr_assert(set_has(set, BYTES("1")));
    cr_assert(set_has(set, BYTES("01")));
    cr_assert(set_has(set, BYTES("-9223372036854775808")));
    cr_assert(set_remove(set, heap, BYTES("01")));
    assert_encoding("listpack");
}

Test(set, becomes_a_table_above_the_limit_of_integers)
{
    add_many("", 512);
    assert_encoding("intset");
    cr_assert(add("512"));
    assert_encoding("hashtable");
    cr_assert_eq(set_count(set), 513);
}

Test(set, becomes_a_table_above_the_limit_of_texts)
{
    add_many("m", 128);
    assert_encoding("listpack");
    cr_assert_not(add("m0"));
    assert_encoding("listpack");
    cr_assert(add("m128"));
    assert_encoding("hashtable");
    cr_assert_eq(set_count(set), 129);
}

Test(set, becomes_a_table_for_a_long_text)
{
    char text[65];
    memset(text, 'x', sizeof text);
    cr_assert(set_add(set, heap, &limits, bytes_of(text, 64)));
    assert_encoding("listpack");
    cr_assert(set_add(set, heap, &limits, bytes_of(text, 65)));
    assert_encoding("hashtable");
}

Test(set, becomes_a_table_when_integers_are_too_many_or_too_long_for_a_pack)
{
    add_many("", 128);
    cr_assert(add("m"));
    assert_encoding("hashtable");
    cr_assert_eq(set_count(set), 129);

    static const struct set_limits short_texts = {
        .number_count = 9, .text_count = 9, .text_len = 3};
    struct set *other = set_create(heap);
    cr_assert(set_add(other, heap, &short_texts, BYTES("1000")));
    cr_assert(set_add(other, heap, &short_texts, BYTES("a")));
    cr_assert_str_eq(set_ops.encoding(other), "hashtable");
    cr_assert(set_ops.free_some(other, heap, SIZE_MAX));
}

Test(set, begins_as_what_it_is_made_for)
{
    static const struct {
        const char *first;
        uint64_t count;
        const char *encoding;
    } cases[] = {{"1", 1, "intset"},   {"1", 512, "intset"},   {"1", 513, "hashtable"},
                 {"a", 1, "listpack"}, {"a", 128, "listpack"}, {"a", 129, "hashtable"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct set *made = set_create_for(heap, &limits, bytes_from_text(cases[i].first),
                                          cases[i].count);
        cr_assert_str_eq(set_ops.encoding(made), cases[i].encoding);
        cr_assert_eq(set_count(made), 0);
        cr_assert(set_ops.free_some(made, heap, SIZE_MAX));
    }
}

Test(set, makes_ready_for_many_members)
{
    cr_assert(add("1"));
    set_expect(set, heap, &limits, 512);
    assert_encoding("intset");
    set_expect(set, heap, &limits, 513);
    assert_encoding("hashtable");
    cr_assert(set_has(set, BYTES("1")));
}

/* ---- Members of all lengths ---- */

Test(set, holds_members_of_any_length_and_content)
{
    static char text[70000];
    static const size_t lens[] = {0, 1, 64, 65, 253, 254, 255, 256, 70000};
    memset(text, 0, sizeof text);
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        cr_assert(set_add(set, heap, &limits, bytes_of(text, lens[i])));
        cr_assert_not(set_add(set, heap, &limits, bytes_of(text, lens[i])));
        set_validate(set);
    }
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        cr_assert(set_remove(set, heap, bytes_of(text, lens[i])));
        cr_assert_not(set_has(set, bytes_of(text, lens[i])));
    }
    cr_assert_eq(set_count(set), 0);
    set_validate(set);
}

/* ---- Visits ---- */

/* Counts members "m<i>" and "<i>". */
struct tally {
    uint32_t seen[5000];
    uint64_t total;
};

static void count_member(void *context, struct bytes member)
{
    struct tally *tally = context;
    size_t index = 0;
    for (size_t i = member.ptr[0] == 'm'; i < member.len; i++)
        index = 10 * index + (size_t)(member.ptr[i] - '0');
    cr_assert_lt(index, sizeof tally->seen / sizeof tally->seen[0]);
    tally->seen[index]++;
    tally->total++;
}

static void assert_all_seen_once(const struct tally *tally, int count)
{
    cr_assert_eq(tally->total, count);
    for (int i = 0; i < count; i++)
        cr_assert_eq(tally->seen[i], 1);
}

/* Each encoding once: its members' letter, and how many. */
static const struct {
    const char *letter;
    int count;
    const char *encoding;
} shapes[] = {{"", 300, "intset"}, {"m", 100, "listpack"}, {"m", 4000, "hashtable"}};
#define SHAPE_COUNT (sizeof shapes / sizeof shapes[0])

static void make_shape(size_t shape)
{
    drop();
    make();
    add_many(shapes[shape].letter, shapes[shape].count);
    assert_encoding(shapes[shape].encoding);
}

Test(set, visits_each_member_once)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct tally tally = {0};
        set_each(set, count_member, &tally);
        assert_all_seen_once(&tally, shapes[i].count);
    }
}

Test(set, scans_all_members_in_steps)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct tally tally = {0};
        uint64_t cursor = 0;
        do {
            cursor = set_scan(set, cursor, 10, count_member, &tally);
        } while (cursor != 0);
        assert_all_seen_once(&tally, shapes[i].count);
    }
}

Test(set, scans_what_stays_while_it_grows_and_shrinks)
{
    char text[32];
    add_many("m", 4000);
    struct tally tally = {0};
    uint64_t cursor = 0;
    int step = 0;
    do {
        cursor = set_scan(set, cursor, 10, count_member, &tally);
        for (int i = 0; i < 30; i++, step++) { /* those above 1000 come and go */
            struct bytes member = nth(text, "m", 1000 + step % 3000);
            if (!set_remove(set, heap, member))
                cr_assert(set_add(set, heap, &limits, member));
        }
    } while (cursor != 0);
    for (int i = 0; i < 1000; i++)
        cr_assert_geq(tally.seen[i], 1);
}

Test(set, takes_any_number_as_a_cursor)
{
    add_many("m", 1000);
    struct tally tally = {0};
    cr_assert_leq(set_scan(set, UINT64_MAX, 10, count_member, &tally), UINT32_MAX);
    cr_assert_leq(tally.total, 1000);
}

/* ---- Chance ---- */

/* All of `count` came up about as often in `draws`: within six standard deviations. */
static void assert_even(const struct tally *tally, int count, double draws)
{
    double mean = draws / count, allowed = 6 * __builtin_sqrt(mean);
    for (int i = 0; i < count; i++)
        cr_assert_float_eq(tally->seen[i], mean, allowed, "member %d: %u of %.0f", i,
                           tally->seen[i], mean);
}

Test(set, picks_each_member_with_the_same_chance)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct tally tally = {0};
        char scratch[PACK_SCRATCH];
        int draws = 200 * shapes[i].count;
        for (int k = 0; k < draws; k++)
            count_member(&tally, set_random(set, &rng, scratch));
        assert_even(&tally, shapes[i].count, draws);
    }
}

/* Half of what a table of many leaves has is removed, from some leaves only: leaves then differ in
 * how full they are. */
Test(set, picks_evenly_from_parts_that_are_not_equally_full)
{
    char text[32];
    add_many("m", 4000);
    struct tally tally = {0};
    (void)set_scan(set, 0, 2000, count_member, &tally); /* the first half of the order */
    int kept = 0;
    bool is_kept[4000];
    for (int i = 0; i < 4000; i++) {
        is_kept[i] = !tally.seen[i] || i % 4 == 0;
        kept += is_kept[i];
        if (!is_kept[i])
            cr_assert(set_remove(set, heap, nth(text, "m", i)));
    }
    set_validate(set);
    tally = (struct tally){0};
    char scratch[PACK_SCRATCH];
    for (int k = 0; k < 200 * kept; k++)
        count_member(&tally, set_random(set, &rng, scratch));
    for (int i = 0; i < 4000; i++) {
        double mean = is_kept[i] ? 200 : 0;
        cr_assert_float_eq(tally.seen[i], mean, 6 * __builtin_sqrt(mean) + 0.5);
    }
}

Test(set, samples_different_members)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct arena arena = {0};
        uint64_t total = (uint64_t)shapes[i].count;
        for (uint64_t count = 0; count <= total; count += total / 10) {
            struct tally tally = {0};
            set_sample(set, &rng, count, &arena, count_member, &tally);
            cr_assert_eq(tally.total, count);
            for (uint64_t k = 0; k < total; k++)
                cr_assert_leq(tally.seen[k], 1);
        }
        arena_fini(&arena);
    }
}

Test(set, samples_evenly)
{
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct arena arena = {0};
        struct tally few = {0}, many = {0};
        uint64_t total = (uint64_t)shapes[i].count;
        for (int k = 0; k < 1000; k++)
            set_sample(set, &rng, total / 10, &arena, count_member, &few);
        for (int k = 0; k < 200; k++)
            set_sample(set, &rng, total / 2, &arena, count_member, &many);
        assert_even(&few, shapes[i].count, 1000.0 * (double)(total / 10));
        assert_even(&many, shapes[i].count, 200.0 * (double)(total / 2));
        arena_fini(&arena);
    }
}

Test(set, pops_what_it_then_has_no_more)
{
    char text[32];
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        uint64_t total = (uint64_t)shapes[i].count;
        struct tally tally = {0};
        set_pop(set, heap, &rng, 1, count_member, &tally);
        set_pop(set, heap, &rng, total / 2, count_member, &tally);
        set_pop(set, heap, &rng, total - total / 2 - 2, count_member, &tally);
        cr_assert_eq(set_count(set), 1);
        cr_assert_eq(tally.total, total - 1);
        for (int k = 0; k < shapes[i].count; k++)
            cr_assert_eq(tally.seen[k], !set_has(set, nth(text, shapes[i].letter, k)));
        set_validate(set);
    }
}

/* ---- As a compound value ---- */

Test(set, copies_deeply)
{
    char text[32];
    for (size_t i = 0; i < SHAPE_COUNT; i++) {
        make_shape(i);
        struct heap *other = heap_create(-1);
        struct set *copy = set_ops.copy(set, other);
        set_validate(copy);
        cr_assert_str_eq(set_ops.encoding(copy), shapes[i].encoding);
        cr_assert_eq(set_count(copy), set_count(set));
        cr_assert(set_remove(copy, other, nth(text, shapes[i].letter, 7)));
        cr_assert(set_has(set, nth(text, shapes[i].letter, 7)));
        cr_assert(set_ops.free_some(copy, other, SIZE_MAX));
        heap_destroy(other);
    }
}

Test(set, is_freed_in_steps)
{
    add_many("m", 4000);
    int steps = 1;
    while (!set_ops.free_some(set, heap, 100))
        steps++;
    cr_assert_geq(steps, 20);
    set = set_create(heap);
}

Test(set, takes_at_most_36_bytes_for_a_member_of_16)
{
    char text[32];
    for (int i = 0; i < 200000; i++) {
        (void)snprintf(text, sizeof text, "member:%09d", i);
        cr_assert(set_add(set, heap, &limits, bytes_of(text, 16)));
    }
    size_t bytes = set_ops.bytes(set);
#ifndef __SANITIZE_ADDRESS__
    cr_assert_leq(bytes, 36u * 200000, "%zu bytes a member", bytes / 200000);
#endif
    cr_assert_geq(bytes, 17u * 200000);
}

Test(set, can_be_made_of_an_intset_and_of_a_pack)
{
    struct intset *numbers = intset_create(heap);
    cr_assert(intset_add(&numbers, heap, 5));
    struct set *made = set_of_intset(numbers, heap);
    cr_assert(set_has(made, BYTES("5")));
    cr_assert_eq(set_intset(made), numbers);
    cr_assert_null(set_pack(made));
    cr_assert(set_ops.free_some(made, heap, SIZE_MAX));

    struct pack *pack = pack_create(heap);
    pack_append(&pack, heap, BYTES("a"));
    made = set_of_pack(pack, heap);
    cr_assert(set_has(made, BYTES("a")));
    cr_assert_eq(set_pack(made), pack);
    cr_assert_null(set_intset(made));
    set_validate(made);
    cr_assert(set_ops.free_some(made, heap, SIZE_MAX));
}
