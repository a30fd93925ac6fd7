#include "core/base/mem.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

Test(mem, counts_what_is_taken_and_forgets_what_is_freed)
{
    size_t before = mem_used();
    char *ptr = mem_alloc(100000);
    cr_assert_geq(mem_used(), before + 100000);
    ptr = mem_realloc(ptr, 300000);
    cr_assert_geq(mem_used(), before + 300000);
    mem_free(ptr);
    cr_assert_eq(mem_used(), before);
}

Test(mem, takes_null_where_nothing_was_allocated)
{
    size_t before = mem_used();
    mem_free(NULL);
    mem_free(mem_realloc(NULL, 10));
    mem_free(mem_alloc(0));
    cr_assert_eq(mem_used(), before);
}

Test(mem, clears_when_asked_and_copies_texts)
{
    char *zeros = mem_zalloc(64);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(zeros[i], 0);
    mem_free(zeros);
    char *text = mem_copy_text("sherd");
    cr_assert_str_eq(text, "sherd");
    mem_free(text);
}

Test(mem, aligns_as_asked)
{
    void *line = mem_alloc_aligned(200, 64), *page = mem_alloc_aligned(10, 4096);
    cr_assert_eq((uintptr_t)line % 64, 0);
    cr_assert_eq((uintptr_t)page % 4096, 0);
    mem_free(line);
    mem_free(page);
}

Test(mem, refuses_what_no_machine_has_and_counts_nothing)
{
    size_t before = mem_used();
    cr_assert_null(mem_try_alloc((size_t)1 << 62));
    char *ptr = mem_alloc(10);
    cr_assert_null(mem_try_realloc(ptr, (size_t)1 << 62));
    mem_free(ptr);
    cr_assert_eq(mem_used(), before);
}

Test(mem, remembers_its_peak)
{
    char *ptr = mem_alloc(5000000);
    size_t high = mem_used();
    mem_free(ptr);
    cr_assert_geq(mem_used_peak(), high);
    cr_assert_lt(mem_used(), high);
}

static void *allocate_and_end(void *out)
{
    *(char **)out = mem_alloc(1000000);
    return NULL;
}

Test(mem, counts_over_all_threads_also_those_that_have_ended)
{
    /* Criterion and the C library allocate for a thread too; that is not ours to count. */
    char *ptr;
    pthread_t thread;
    size_t before = mem_used();
    cr_assert_eq(pthread_create(&thread, NULL, allocate_and_end, &ptr), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);
    cr_assert_geq(mem_used(), before + 1000000);
    mem_free(ptr); /* by another thread than the one that took it */
    cr_assert_eq(mem_used(), before);
}

Test(mem, sums_accounts_and_forgets_closed_ones)
{
    size_t before = mem_used();
    struct mem_account *account = mem_account_open();
    mem_account_add(account, 1234);
    mem_account_add(account, -234);
    cr_assert_eq(mem_account_bytes(account), 1000);
    cr_assert_eq(mem_used(), before + 1000);
    mem_account_close(account);
    cr_assert_eq(mem_used(), before);
    struct mem_account *again = mem_account_open();
    cr_assert_eq(mem_account_bytes(again), 0, "a new account begins at zero");
    mem_account_close(again);
}

Test(mem, maps_aligned_zeroed_pages_that_can_be_forgotten)
{
    size_t size = (size_t)2 << 20;
    char *ptr = mem_map(size, size, -1);
    cr_assert_not_null(ptr);
    cr_assert_eq((uintptr_t)ptr % size, 0);
    cr_assert_eq(ptr[size - 1], 0);
    memset(ptr, 7, size);
    mem_forget(ptr + 65536, 65536);
    cr_assert_eq(ptr[65535], 7);
    cr_assert_eq(ptr[65536], 0);
    cr_assert_eq(ptr[2 * 65536], 7);
    mem_unmap(ptr, size);
}

Test(mem, gives_pool_blocks_that_start_a_cache_line)
{
    struct mem_pool pool;
    mem_pool_init(&pool);
    size_t before = mem_used();
    void *blocks[24];
    for (size_t i = 0; i < 24; i++) {
        blocks[i] = mem_pool_alloc(&pool, 1280 + i * 448);
        cr_assert_eq((uintptr_t)blocks[i] % 64, 0, "%zu bytes", 1280 + i * 448);
        cr_assert_geq(mem_pool_usable(1280 + i * 448), 1280 + i * 448);
    }
    cr_assert_eq(mem_used(), before, "pools are counted by their users");
    for (size_t i = 0; i < 24; i++)
        mem_pool_free(&pool, blocks[i], 1280 + i * 448);
    mem_pool_fini(&pool);
}

Test(mem, lets_a_pool_end_before_another_that_has_freed_its_blocks)
{
    struct mem_pool first, second;
    mem_pool_init(&first);
    mem_pool_init(&second);
    for (int i = 0; i < 100; i++)
        mem_pool_free(&second, mem_pool_alloc(&first, 2048), 2048);
    mem_pool_fini(&first);
    mem_pool_free(&second, mem_pool_alloc(&second, 2048), 2048);
    mem_pool_fini(&second);
}
