#include "core/type/zset.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/arena.h"
#include "core/base/heap.h"
#include "core/base/rng.h"

static const struct zset_limits usual = {.member_count = 128, .text_len = 64};
static const struct zset_limits no_pack = {0};

static struct heap *heap;
static struct zset *zset;

static void set_up(void)
{
    heap = heap_create(-1);
    zset = zset_create(heap);
}

static void tear_down(void)
{
    cr_assert(zset_ops.free_some(zset, heap, SIZE_MAX));
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(zset, .init = set_up, .fini = tear_down);

static struct bytes member_of(uint64_t number, char text[24])
{
    return bytes_of(text, (size_t)snprintf(text, 24, "m%04u", (unsigned)number));
}

static void put(const struct zset_limits *limits, const char *member, double score)
{
    (void)zset_put(zset, heap, limits, bytes_from_text(member), score);
}

static void expect_members(const struct zset *found, const char *expected)
{
    char text[512] = "";
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(found, 0, false, &cursor);
    for (size_t len = 0; zset_step(&cursor, &entry);)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", len ? " " : "",
                                (int)entry.member.len, entry.member.ptr);
    cr_assert_str_eq(text, expected);
    zset_validate(found);
}

static const char *encoding(void)
{
    return zset_ops.encoding(zset);
}

/* ---- The same of packs and trees ---- */

static void keeps_order(const struct zset_limits *limits)
{
    put(limits, "b", 2);
    put(limits, "a", 2);
    put(limits, "last", INFINITY);
    put(limits, "first", -INFINITY);
    put(limits, "17", 2);
    put(limits, "half", 0.5);
    expect_members(zset, "first half 17 a b last");
    put(limits, "b", -1);
    expect_members(zset, "first b half 17 a last");
    cr_assert(zset_delete(zset, heap, BYTES("half")));
    cr_assert_not(zset_delete(zset, heap, BYTES("half")), "deleted twice");
    expect_members(zset, "first b 17 a last");
}

Test(zset, keeps_a_pack_in_order)
{
    keeps_order(&usual);
    cr_assert_str_eq(encoding(), "listpack");
}

Test(zset, keeps_a_tree_in_order)
{
    keeps_order(&no_pack);
    cr_assert_str_eq(encoding(), "skiplist");
}

static void finds_borders(const struct zset_limits *limits)
{
    put(limits, "a", 1);
    put(limits, "b", 2);
    put(limits, "c", 2);
    put(limits, "d", 3);
    cr_assert_eq(zset_rank_of_score(zset, 2, false), 1);
    cr_assert_eq(zset_rank_of_score(zset, 2, true), 3);
    cr_assert_eq(zset_rank_of_score(zset, 2.5, false), 3);
    cr_assert_eq(zset_rank_of_score(zset, -INFINITY, true), 0);
    cr_assert_eq(zset_rank_of_score(zset, INFINITY, false), 4);
    cr_assert_eq(zset_rank_of_member(zset, BYTES("b"), false), 1);
    cr_assert_eq(zset_rank_of_member(zset, BYTES("b"), true), 2);
    cr_assert_eq(zset_rank_of_member(zset, BYTES("bb"), false), 2);
    cr_assert_eq(zset_rank_of_member(zset, BYTES(""), true), 0);
}

Test(zset, finds_borders_in_a_pack)
{
    finds_borders(&usual);
}

Test(zset, finds_borders_in_a_tree)
{
    finds_borders(&no_pack);
}

static void deletes_runs(const struct zset_limits *limits)
{
    const char *names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++)
        put(limits, names[i], i);
    zset_delete_range(zset, heap, 1, 0);
    expect_members(zset, "a b c d e");
    zset_delete_range(zset, heap, 1, 3);
    expect_members(zset, "a e");
    zset_delete_range(zset, heap, 0, 2);
    cr_assert_eq(zset_count(zset), 0);
}

Test(zset, deletes_runs_of_a_pack)
{
    deletes_runs(&usual);
}

Test(zset, deletes_runs_of_a_tree)
{
    deletes_runs(&no_pack);
}

Test(zset, walks_back_from_any_rank)
{
    const struct zset_limits *limits[] = {&usual, &no_pack};
    for (int i = 0; i < 2; i++) {
        put(limits[i], "a", 1);
        put(limits[i], "b", 2);
        put(limits[i], "c", 3);
        struct zset_cursor cursor;
        struct zset_entry entry;
        zset_seek(zset, 1, true, &cursor);
        cr_assert(zset_step(&cursor, &entry) && entry.score == 2);
        cr_assert(zset_step(&cursor, &entry) && entry.score == 1);
        cr_assert_not(zset_step(&cursor, &entry));
        zset_expect(zset, heap, &no_pack, 1);
    }
}

/* ---- From the one to the other ---- */

Test(zset, becomes_a_tree_by_count)
{
    char text[24];
    for (uint64_t i = 0; i < 128; i++)
        (void)zset_put(zset, heap, &usual, member_of(i, text), (double)i);
    cr_assert_str_eq(encoding(), "listpack");
    put(&usual, "m0001", 500);
    cr_assert_str_eq(encoding(), "listpack", "a member that is there made it a tree");
    put(&usual, "one more", 128);
    cr_assert_str_eq(encoding(), "skiplist");
    cr_assert_eq(zset_count(zset), 129);
    zset_validate(zset);
}

Test(zset, becomes_a_tree_by_length)
{
    char text[65];
    memset(text, 'x', sizeof text);
    cr_assert(zset_put(zset, heap, &usual, bytes_of(text, 64), 1));
    cr_assert_str_eq(encoding(), "listpack");
    cr_assert(zset_put(zset, heap, &usual, bytes_of(text, 65), 1));
    cr_assert_str_eq(encoding(), "skiplist");
    zset_validate(zset);
}

Test(zset, keeps_members_of_any_length)
{
    char text[1000];
    memset(text, 'y', sizeof text);
    for (size_t len = 250; len <= 260; len++)
        cr_assert(zset_put(zset, heap, &usual, bytes_of(text, len), (double)len));
    cr_assert(zset_put(zset, heap, &usual, bytes_of(text, sizeof text), 0));
    cr_assert(zset_put(zset, heap, &usual, bytes_of(NULL, 0), 0));
    zset_validate(zset);
    double score;
    cr_assert(zset_find(zset, bytes_of(text, 255), &score) && score == 255);
    for (size_t len = 250; len <= 260; len++)
        cr_assert(zset_delete(zset, heap, bytes_of(text, len)));
    zset_validate(zset);
}

Test(zset, forgets_the_sign_of_zero_in_a_pack_only)
{
    double score = 1;
    put(&usual, "zero", -0.0);
    cr_assert(zset_find(zset, BYTES("zero"), &score) && !signbit(score));
    put(&no_pack, "other", -0.0);
    cr_assert(zset_find(zset, BYTES("other"), &score) && signbit(score));
    put(&no_pack, "other", 0);
    cr_assert(zset_find(zset, BYTES("other"), &score) && !signbit(score));
}

/* ---- Many changes ---- */

Test(zset, agrees_with_a_table_of_scores)
{
    enum { MEMBERS = 700, STEPS = 20000 };
    static double model[MEMBERS]; /* NaN: not there */
    for (int i = 0; i < MEMBERS; i++)
        model[i] = NAN;
    struct rng rng;
    rng_init(&rng, 3);
    uint64_t count = 0;
    char text[24];
    for (int step = 0; step < STEPS; step++) {
        uint64_t number = rng_below(&rng, MEMBERS);
        struct bytes member = member_of(number, text);
        bool is_there = !isnan(model[number]);
        if (rng_below(&rng, 3) > 0) {
            double score = (double)rng_below(&rng, 50) / 4;
            cr_assert_eq(zset_put(zset, heap, &usual, member, score), !is_there);
            model[number] = score;
            count += !is_there;
        } else {
            cr_assert_eq(zset_delete(zset, heap, member), is_there);
            model[number] = NAN;
            count -= is_there;
        }
        cr_assert_eq(zset_count(zset), count);
        if (step % 500 == 0)
            zset_validate(zset);
    }
    for (uint64_t i = 0; i < MEMBERS; i++) {
        double score;
        bool found = zset_find(zset, member_of(i, text), &score);
        cr_assert_eq(found, !isnan(model[i]));
        cr_assert(!found || score == model[i]);
    }
}

/* ---- Walks and chance ---- */

static void count_visit(void *context, struct zset_entry entry)
{
    uint8_t *seen = context;
    char text[8] = "";
    memcpy(text, entry.member.ptr + 1, entry.member.len - 1);
    seen[strtoul(text, NULL, 10)]++;
}

Test(zset, scans_every_member_once)
{
    enum { MEMBERS = 3000 };
    static uint8_t seen[MEMBERS];
    char text[24];
    for (uint64_t i = 0; i < MEMBERS; i++)
        (void)zset_put(zset, heap, &usual, member_of(i, text), 0);
    uint64_t cursor = 0, calls = 0;
    do {
        cursor = zset_scan(zset, cursor, 10, count_visit, seen);
        calls++;
    } while (cursor != 0);
    for (int i = 0; i < MEMBERS; i++)
        cr_assert_eq(seen[i], 1);
    cr_assert_gt(calls, 100);
}

Test(zset, samples_different_members)
{
    enum { MEMBERS = 400 };
    static const uint64_t wanted[] = {1, 20, 99, 100, 399, 400};
    struct arena arena = {0};
    struct rng rng;
    rng_init(&rng, 11);
    char text[24];
    for (uint64_t i = 0; i < MEMBERS; i++)
        (void)zset_put(zset, heap, &usual, member_of(i, text), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        uint8_t seen[MEMBERS] = {0};
        zset_sample(zset, &rng, wanted[i], &arena, count_visit, seen);
        uint64_t total = 0;
        for (int j = 0; j < MEMBERS; j++) {
            cr_assert_leq(seen[j], 1);
            total += seen[j];
        }
        cr_assert_eq(total, wanted[i]);
    }
    arena_fini(&arena);
}

/* ---- As a compound value ---- */

Test(zset, copies_into_another_heap)
{
    struct heap *other = heap_create(-1);
    char text[24];
    for (uint64_t i = 0; i < 300; i++)
        (void)zset_put(zset, heap, &usual, member_of(i, text), (double)(i % 7));
    struct zset *copy = zset_ops.copy(zset, other);
    zset_validate(copy);
    cr_assert_eq(zset_count(copy), 300);
    put(&usual, "m0000", 99);
    double score;
    cr_assert(zset_find(copy, BYTES("m0000"), &score) && score == 0, "the copy is not its own");
    cr_assert(zset_ops.free_some(copy, other, SIZE_MAX));
    heap_destroy(other);
}

Test(zset, is_freed_in_slices)
{
    struct zset *large = zset_create(heap);
    char text[24];
    for (uint64_t i = 0; i < 5000; i++)
        (void)zset_put(large, heap, &usual, member_of(i, text), 0);
    int slices = 1;
    while (!zset_ops.free_some(large, heap, 100))
        slices++;
    cr_assert_geq(slices, 50);
}

Test(zset, takes_few_bytes_an_element)
{
    enum { MEMBERS = 100000 };
    struct rng rng;
    rng_init(&rng, 5);
    char text[24];
    for (int i = 0; i < MEMBERS; i++) {
        int len = snprintf(text, sizeof text, "member:%010d", i);
        (void)zset_put(zset, heap, &usual, bytes_of(text, (size_t)len), rng_double(&rng));
    }
    double bytes = (double)zset_ops.bytes(zset) / MEMBERS;
    cr_assert_leq(bytes, 59, "%.1f bytes for a member of 17", bytes);
}

/* member, score, member, score, ... */
static struct pack *pack_of_words(const char *const *words, size_t count)
{
    struct pack *pack = pack_create(heap);
    for (size_t i = 0; i < count; i++)
        pack_append(&pack, heap, bytes_from_text(words[i]));
    return pack;
}

static bool are_valid(const char *const *words, size_t count)
{
    struct pack *pack = pack_of_words(words, count);
    bool are = zset_pairs_are_valid(pack);
    pack_destroy(pack, heap);
    return are;
}

Test(zset, can_be_made_of_a_pack_of_pairs_in_order)
{
    const char *const words[] = {"b", "-inf", "5", "1", "a", "1.5", "b2", "1.5"};
    cr_assert(are_valid(words, 8));
    cr_assert(are_valid(words, 0));
    struct zset *made = zset_of_pack(pack_of_words(words, 8), heap);
    zset_validate(made);
    cr_assert_eq(zset_count(made), 4);
    cr_assert(zset_ops.free_some(made, heap, SIZE_MAX));
}

Test(zset, knows_pairs_that_are_none)
{
    cr_assert_not(are_valid((const char *const[]){"a", "1", "b"}, 3), "half a pair");
    cr_assert_not(are_valid((const char *const[]){"a", "x"}, 2), "no score");
    cr_assert_not(are_valid((const char *const[]){"a", "nan"}, 2), "not a number");
    cr_assert_not(are_valid((const char *const[]){"a", "2", "b", "1"}, 4), "scores fall");
    cr_assert_not(are_valid((const char *const[]){"b", "1", "a", "1"}, 4), "members fall");
    cr_assert_not(are_valid((const char *const[]){"a", "1", "a", "1"}, 4), "twice the same");
}
