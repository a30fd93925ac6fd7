#include "core/os/usage.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/base/mem.h"

Test(usage, resident_memory_grows_by_what_is_touched)
{
    enum { BYTES_TOUCHED = 32 << 20 };
    size_t before = usage_resident_bytes();
    cr_assert_gt(before, 0);
    char *block = mem_alloc(BYTES_TOUCHED);
    memset(block, 1, BYTES_TOUCHED);
    cr_assert_geq(usage_resident_bytes(), before + BYTES_TOUCHED / 2);
    mem_free(block);
}

Test(usage, cpu_time_of_a_thread_is_part_of_that_of_the_process)
{
    volatile unsigned sum = 0; /* work that the compiler must keep */
    for (unsigned i = 0; i < 20000000; i++)
        sum += i;
    cr_assert_neq(sum, 0);
    struct usage_cpu thread = usage_thread_cpu(), process = usage_process_cpu();
    cr_assert_gt(thread.user_us + thread.system_us, 0);
    cr_assert_geq(process.user_us + process.system_us, thread.user_us + thread.system_us);
}

Test(usage, children_that_never_were_have_used_nothing)
{
    struct usage_cpu children = usage_children_cpu();
    cr_assert_eq(children.user_us, 0);
    cr_assert_eq(children.system_us, 0);
}

Test(usage, the_system_has_a_name_of_three_words)
{
    char name[USAGE_SYSTEM_CAP];
    usage_system_name(name);
    char *first = strchr(name, ' ');
    cr_assert_not_null(first);
    cr_assert_not_null(strchr(first + 1, ' '));
}
