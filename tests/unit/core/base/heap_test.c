#include "core/base/heap.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"

static struct heap *heap;

static void open_heap(void)
{
    heap = heap_create(-1);
}

static void close_heap(void)
{
    heap_validate(heap);
    heap_destroy(heap);
}

TestSuite(heap, .init = open_heap, .fini = close_heap);

Test(heap, gives_blocks_that_do_not_overlap_and_are_aligned)
{
    enum { COUNT = 3000 };
    static char *blocks[COUNT];
    static size_t sizes[COUNT];
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = 1 + rng_below(&rng, i % 10 ? 300 : 5000);
        blocks[i] = heap_alloc(heap, sizes[i]);
        cr_assert_eq((uintptr_t)blocks[i] % 8, 0);
        memset(blocks[i], i & 0xff, heap_usable(sizes[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < heap_usable(sizes[i]); k++)
            cr_assert_eq((unsigned char)blocks[i][k], i & 0xff);
        heap_free(heap, blocks[i], sizes[i]);
    }
}

Test(heap, starts_a_cache_line_for_multiples_of_64)
{
    for (size_t size = 64; size <= 8192; size += 64) {
        void *a = heap_alloc(heap, size), *b = heap_alloc(heap, size);
        cr_assert_eq((uintptr_t)a % 64, 0, "%zu bytes", size);
        cr_assert_eq((uintptr_t)b % 64, 0, "%zu bytes", size);
        heap_free(heap, a, size);
        heap_free(heap, b, size);
    }
}

Test(heap, stays_consistent_through_random_use)
{
    enum { COUNT = 4000, STEPS = 100000 };
    static uint32_t *blocks[COUNT];
    static size_t sizes[COUNT];
    struct rng rng;
    rng_init(&rng, 6);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t at = (uint32_t)rng_below(&rng, COUNT);
        if (blocks[at]) {
            cr_assert_eq(*blocks[at], at);
            heap_free(heap, blocks[at], sizes[at]);
            blocks[at] = NULL;
        } else if (i / 20000 % 2 == 0 || rng_below(&rng, 4) == 0) {
            /* Sizes drift, so that slabs of one size must become those of another. */
            sizes[at] = 4 + i / 1000 + rng_below(&rng, rng_below(&rng, 20) ? 200 : 3000);
            blocks[at] = heap_alloc(heap, sizes[at]);
            *blocks[at] = at;
        }
        if (i % 500 == 0)
            heap_validate(heap);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        if (blocks[i])
            heap_free(heap, blocks[i], sizes[i]);
    }
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0);
}

#ifdef SHERD_JEMALLOC

Test(heap, has_classes_of_8_to_256_and_of_an_eighth_above)
{
    cr_assert_eq(heap_usable(1), 8);
    cr_assert_eq(heap_usable(30), 32);
    cr_assert_eq(heap_usable(33), 40);
    cr_assert_eq(heap_usable(256), 256);
    cr_assert_eq(heap_usable(257), 288);
    cr_assert_eq(heap_usable(512), 512);
    cr_assert_eq(heap_usable(513), 576);
    cr_assert_eq(heap_usable(HEAP_SMALL_MAX), HEAP_SMALL_MAX);
    for (size_t size = 1; size < 5000; size++) {
        size_t usable = heap_usable(size);
        cr_assert_geq(usable, size);
        cr_assert_eq(heap_usable(usable), usable);
        cr_assert(size > HEAP_SMALL_MAX || usable <= size + 7 || usable <= size + size / 8);
    }
}

Test(heap, counts_blocks_by_what_they_take_and_freed_ones_as_spare)
{
    size_t before = heap_used(heap);
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = heap_alloc(heap, 30);
    size_t head = heap_used(heap) - before - 100 * 32;
    cr_assert_leq(head, 4096, "beyond the blocks there is one page of descriptors");
    for (int i = 0; i < 50; i++)
        heap_free(heap, blocks[i], 30);
    cr_assert_eq(heap_used(heap), before + head + 100 * 32);
    cr_assert_eq(heap_spare(heap), 50 * 32);
    for (int i = 0; i < 50; i++)
        blocks[i] = heap_alloc(heap, 30);
    cr_assert_eq(heap_used(heap), before + head + 100 * 32, "freed blocks are handed out again");
    cr_assert_eq(heap_spare(heap), 0);
}

Test(heap, gives_empty_slabs_back)
{
    enum { COUNT = 200000 };
    void **blocks = malloc(COUNT * sizeof *blocks);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = heap_alloc(heap, 100);
    cr_assert_geq(heap_used(heap), COUNT * 104);
    for (int i = 0; i < COUNT; i++)
        heap_free(heap, blocks[i], 100);
    heap_validate(heap);
    cr_assert_eq(heap_spare(heap), 0, "empty slabs are not counted");
    int steps = 1;
    for (; heap_give_back(heap); steps++)
        heap_validate(heap);
    cr_assert(steps > 300 && steps < 400, "one slab a step, %d steps", steps);
    cr_assert_leq(heap_used(heap), 4096);
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "the last segment goes with its last slab");
    free(blocks);
}

Test(heap, serves_other_sizes_from_slabs_that_became_empty)
{
    enum { COUNT = 20000 };
    static void *blocks[COUNT];
    for (int i = 0; i < COUNT; i++)
        blocks[i] = heap_alloc(heap, 64);
    size_t high = heap_used(heap);
    for (int i = 0; i < COUNT; i++)
        heap_free(heap, blocks[i], 64);
    for (int i = 0; i < COUNT / 2; i++)
        blocks[i] = heap_alloc(heap, 128);
    cr_assert_leq(heap_used(heap), high + 65536);
    for (int i = 0; i < COUNT / 2; i++)
        heap_free(heap, blocks[i], 128);
}

#endif

Test(heap, is_part_of_mem_used)
{
    size_t before = mem_used();
    void *small = heap_alloc(heap, 500), *large = heap_alloc(heap, 100000);
    cr_assert_geq(mem_used(), before + 100500);
    heap_free(heap, small, 500);
    heap_free(heap, large, 100000);
    heap_release_unused(heap);
    cr_assert_eq(mem_used(), before);
}

Test(heap, takes_home_what_other_heaps_freed)
{
    struct heap *other = heap_create(-1);
    void *blocks[10];
    for (int i = 0; i < 10; i++)
        blocks[i] = heap_alloc(heap, 48);
    cr_assert_eq(heap_of_small(blocks[0]), heap);
    size_t used = heap_used(heap);
    for (int i = 0; i < 10; i++)
        heap_free(other, blocks[i], 48);
    cr_assert_eq(heap_used(other), 0);
    cr_assert_eq(heap_used(heap), used, "they count at home until they are taken back");
    heap_tend(heap);
    cr_assert_lt(heap_used(heap) - heap_spare(heap), used);
    heap_validate(heap);
    heap_validate(other);
    heap_destroy(other);
}

Test(heap, adopts_large_blocks_of_another)
{
    struct heap *other = heap_create(-1);
    void *block = heap_alloc(other, 50000);
    size_t bytes = heap_used(other), before = heap_used(heap);
    heap_adopt(heap, other, block, 50000);
    cr_assert_eq(heap_used(other), 0);
    cr_assert_eq(heap_used(heap), before + bytes);
    heap_free(heap, block, 50000);
    cr_assert_eq(heap_used(heap), before);
    heap_destroy(other);
}

Test(heap, answers_null_where_a_client_asks_for_too_much)
{
    size_t before = heap_used(heap);
    cr_assert_null(heap_try_alloc(heap, (size_t)1 << 62));
    cr_assert_eq(heap_used(heap), before);
}

Test(heap, frees_all_that_it_holds_when_it_goes)
{
    size_t before = mem_used();
    struct heap *other = heap_create(-1);
    for (size_t size = 1; size < 100000; size += size / 3 + 1)
        cr_assert_not_null(heap_alloc(other, size));
    heap_destroy(other);
    cr_assert_leq(mem_used(), before + 64, "a note that its arena may go with the last one");
}
