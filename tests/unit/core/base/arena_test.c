#include "core/base/arena.h"

#include <criterion/criterion.h>

Test(arena, gives_aligned_memory_that_does_not_overlap)
{
    struct arena arena = {0};
    char *places[500];
    for (int i = 0; i < 500; i++) {
        places[i] = arena_alloc(&arena, (size_t)i);
        cr_assert_eq((uintptr_t)places[i] % 8, 0);
        memset(places[i], i % 256, (size_t)i);
    }
    for (int i = 0; i < 500; i++) {
        for (int at = 0; at < i; at++)
            cr_assert_eq((unsigned char)places[i][at], i % 256);
    }
    arena_fini(&arena);
}

Test(arena, gives_a_place_even_to_nothing)
{
    struct arena arena = {0};
    char *first = arena_alloc(&arena, 0);
    cr_assert_not_null(first);
    cr_expect_neq(first, (char *)arena_alloc(&arena, 0));
    arena_fini(&arena);
}

Test(arena, gives_more_than_a_block_at_once)
{
    struct arena arena = {0};
    arena_alloc(&arena, 10);
    char *large = arena_alloc(&arena, 5 << 20);
    memset(large, 1, 5 << 20);
    char *after = arena_alloc(&arena, 10);
    memset(after, 2, 10);
    cr_expect_eq(large[(5 << 20) - 1], 1);
    cr_expect_geq(arena.taken_bytes, 5u << 20);
    arena_fini(&arena);
    cr_expect_eq(arena.taken_bytes, 0);
}

Test(arena, clears_on_demand)
{
    struct arena arena = {0};
    memset(arena_alloc(&arena, 100), 0xff, 100);
    arena_reset(&arena, 1 << 20);
    const char *zeros = arena_zalloc(&arena, 100);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(zeros[i], 0);
    arena_fini(&arena);
}

Test(arena, copies_and_prints)
{
    struct arena arena = {0};
    char source[] = "a\0b";
    struct bytes copy = arena_copy(&arena, bytes_of(source, 3));
    source[0] = 'x';
    cr_expect(bytes_equal(copy, BYTES("a\0b")));
    cr_expect_eq(arena_copy(&arena, (struct bytes){NULL, 0}).len, 0);
    cr_expect_str_eq(arena_format(&arena, "%s %d", "number", 7), "number 7");
    arena_fini(&arena);
}

Test(arena, allocates_nothing_in_a_steady_state)
{
    struct arena arena = {0};
    for (int i = 0; i < 100; i++)
        arena_alloc(&arena, 1000);
    arena_reset(&arena, 1 << 20);
    size_t kept = arena.taken_bytes;
    const struct arena_block *block = arena.first;
    cr_expect_gt(kept, 0);
    for (int turn = 0; turn < 10; turn++) {
        for (int i = 0; i < 30; i++)
            arena_alloc(&arena, 1000);
        cr_expect_eq(arena.taken_bytes, kept);
        arena_reset(&arena, 1 << 20);
        cr_expect_eq(arena.first, block);
    }
    arena_fini(&arena);
}

Test(arena, keeps_no_more_than_it_may)
{
    struct arena arena = {0};
    for (int i = 0; i < 100; i++)
        arena_alloc(&arena, 1000);
    arena_reset(&arena, 2048);
    cr_expect_leq(arena.taken_bytes, 2048);
    cr_expect_gt(arena.taken_bytes, 0);
    arena_reset(&arena, 0);
    cr_expect_eq(arena.taken_bytes, 0);
    cr_expect_null(arena.first);
    memset(arena_alloc(&arena, 8), 1, 8); /* and can be used again */
    arena_fini(&arena);
}
