#include "core/os/cgroup.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "tests/support/fake_root.h"

/* The folders that were visited, without the fake root, each followed by its version. */
struct visits {
    const struct fake_root *root;
    char text[1024];
};

static void note(const char *folder, int version, void *context)
{
    struct visits *visits = context;
    size_t len = strlen(visits->text);
    cr_assert_eq(strncmp(folder, visits->root->path, strlen(visits->root->path)), 0);
    snprintf(visits->text + len, sizeof(visits->text) - len, "%s:%d ",
             folder + strlen(visits->root->path), version);
}

static const char *walk(const struct fake_root *root, const char *controller)
{
    static struct visits visits;
    visits = (struct visits){.root = root};
    cgroup_walk(root->path, controller, note, &visits);
    return visits.text;
}

Test(cgroup, visits_nothing_where_there_are_no_groups)
{
    struct fake_root root = fake_root_make();
    cr_assert_str_eq(walk(&root, "cpu"), "");
    fake_root_remove(&root);
}

Test(cgroup, walks_version_2_from_the_inside_out)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/proc/self/cgroup", "0::/a/b");
    fake_root_write(&root, "/sys/fs/cgroup/a/b/cpu.max", "max 100000");
    cr_assert_str_eq(walk(&root, "cpu"),
                     "/sys/fs/cgroup/a/b:2 /sys/fs/cgroup/a:2 /sys/fs/cgroup:2 ");
    fake_root_remove(&root);
}

Test(cgroup, finds_the_hierarchy_of_a_version_1_controller)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/proc/self/cgroup",
                    "9:cpuset:/sets\n4:cpu,cpuacct:/shares/x\n1:name=systemd:/");
    fake_root_write(&root, "/proc/self/mountinfo",
                    "30 24 0:26 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
                    "31 24 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct");
    fake_root_write(&root, "/sys/fs/cgroup/cpu,cpuacct/shares/x/tasks", "");
    fake_root_write(&root, "/sys/fs/cgroup/cpuset/sets/tasks", "");
    cr_assert_str_eq(walk(&root, "cpu"), "/sys/fs/cgroup/cpu,cpuacct/shares/x:1 "
                                         "/sys/fs/cgroup/cpu,cpuacct/shares:1 "
                                         "/sys/fs/cgroup/cpu,cpuacct:1 ");
    cr_assert_str_eq(walk(&root, "cpuset"),
                     "/sys/fs/cgroup/cpuset/sets:1 /sys/fs/cgroup/cpuset:1 ");
    cr_assert_str_eq(walk(&root, "memory"), "");
    fake_root_remove(&root);
}

Test(cgroup, takes_the_root_of_the_mount_off_the_path)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/proc/self/cgroup", "4:memory:/docker/x/inner");
    fake_root_write(&root, "/proc/self/mountinfo",
                    "31 24 0:27 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory");
    fake_root_write(&root, "/sys/fs/cgroup/memory/inner/tasks", "");
    cr_assert_str_eq(walk(&root, "memory"),
                     "/sys/fs/cgroup/memory/inner:1 /sys/fs/cgroup/memory:1 ");
    fake_root_remove(&root);
}

Test(cgroup, a_group_out_of_sight_limits_through_those_above_it)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/proc/self/cgroup", "4:memory:/docker/x");
    fake_root_write(&root, "/sys/fs/cgroup/memory/tasks", "");
    cr_assert_str_eq(walk(&root, "memory"), "/sys/fs/cgroup/memory:1 ");
    fake_root_remove(&root);
}

Test(cgroup, walks_both_versions_where_both_are_mounted)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/proc/self/cgroup", "4:memory:/m\n0::/u");
    fake_root_write(&root, "/proc/self/mountinfo",
                    "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                    "32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw");
    fake_root_write(&root, "/sys/fs/cgroup/memory/m/tasks", "");
    fake_root_write(&root, "/sys/fs/cgroup/unified/u/tasks", "");
    cr_assert_str_eq(walk(&root, "memory"), "/sys/fs/cgroup/memory/m:1 /sys/fs/cgroup/memory:1 "
                                            "/sys/fs/cgroup/unified/u:2 /sys/fs/cgroup/unified:2 ");
    fake_root_remove(&root);
}

Test(cgroup, reads_a_file_without_its_line_end_and_cuts_what_does_not_fit)
{
    struct fake_root root = fake_root_make();
    fake_root_write(&root, "/number", "123456");
    char text[16], small[4];
    cr_assert_eq(cgroup_read(root.path, "number", text, sizeof(text)), 0);
    cr_assert_str_eq(text, "123456");
    cr_assert_eq(cgroup_read(root.path, "number", small, sizeof(small)), 0);
    cr_assert_str_eq(small, "123");
    cr_assert_eq(cgroup_read(root.path, "absent", text, sizeof(text)), -ENOENT);
    fake_root_remove(&root);
}

Test(cgroup, a_path_beyond_the_limit_is_not_walked)
{
    static char line[CGROUP_PATH_MAX + 64];
    struct fake_root root = fake_root_make();
    memset(line, 'x', sizeof(line) - 1);
    memcpy(line, "0::/", 4);
    fake_root_write(&root, "/proc/self/cgroup", line);
    fake_root_write(&root, "/sys/fs/cgroup/cpu.max", "max 100000");
    cr_assert_str_eq(walk(&root, "cpu"), "");
    fake_root_remove(&root);
}
