#include "core/os/limits.h"

#include <criterion/criterion.h>
#include <sys/resource.h>

#include "tests/support/fake_root.h"

static void set_total(const struct fake_root *root, const char *kib)
{
    char text[128];
    snprintf(text, sizeof(text), "MemTotal:       %s kB\nMemFree:        1 kB", kib);
    fake_root_write(root, "/proc/meminfo", text);
}

Test(limits, memory_is_all_there_is_where_nothing_limits)
{
    struct fake_root root = fake_root_make();
    cr_assert_eq(limits_memory_bytes(root.path), 0, "unreadable");
    set_total(&root, "1000");
    cr_assert_eq(limits_memory_bytes(root.path), 1024000);
    fake_root_remove(&root);
}

Test(limits, memory_is_bounded_by_a_group_of_version_2)
{
    struct fake_root root = fake_root_make();
    set_total(&root, "1000");
    fake_root_write(&root, "/proc/self/cgroup", "0::/a/b");
    fake_root_write(&root, "/sys/fs/cgroup/a/b/memory.max", "max");
    cr_assert_eq(limits_memory_bytes(root.path), 1024000);
    fake_root_write(&root, "/sys/fs/cgroup/a/memory.max", "500000");
    cr_assert_eq(limits_memory_bytes(root.path), 500000, "the group around ours limits too");
    fake_root_remove(&root);
}

Test(limits, memory_is_bounded_by_a_group_of_version_1)
{
    struct fake_root root = fake_root_make();
    set_total(&root, "1000");
    fake_root_write(&root, "/proc/self/cgroup", "7:memory:/a");
    fake_root_write(&root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
    cr_assert_eq(limits_memory_bytes(root.path), 1024000, "version 1's word for none");
    fake_root_write(&root, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "400000");
    cr_assert_eq(limits_memory_bytes(root.path), 400000);
    fake_root_remove(&root);
}

Test(limits, this_machine_has_memory_and_a_backlog)
{
    cr_assert_gt(limits_memory_bytes(""), 1 << 20);
    cr_assert_gt(limits_somaxconn(), 0);
}

static void bound(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};
    cr_assert_eq(setrlimit((__rlimit_resource_t)resource, &limit), 0);
}

static rlim_t soft_limit(int resource)
{
    struct rlimit limit;
    getrlimit((__rlimit_resource_t)resource, &limit);
    return limit.rlim_cur;
}

Test(limits, files_are_raised_to_what_is_wanted_and_no_further)
{
    bound(RLIMIT_NOFILE, 100, 400);
    cr_assert_eq(limits_raise_files(200), 200);
    cr_assert_eq(soft_limit(RLIMIT_NOFILE), 200);
    cr_assert_eq(limits_raise_files(150), 200, "never lowered");
}

Test(limits, files_stop_at_the_hard_limit_without_the_right_to_raise_it)
{
    bound(RLIMIT_NOFILE, 100, 400);
    if (setuid(65534) != 0 && geteuid() == 0)
        cr_skip_test("cannot give up the right");
    cr_assert_eq(limits_raise_files(500), 400);
    cr_assert_eq(soft_limit(RLIMIT_NOFILE), 400);
}

Test(limits, locked_memory_is_raised_likewise)
{
    bound(RLIMIT_MEMLOCK, 4096, 65536);
    cr_assert_eq(limits_raise_memlock(32768), 32768);
    cr_assert_eq(soft_limit(RLIMIT_MEMLOCK), 32768);
}
