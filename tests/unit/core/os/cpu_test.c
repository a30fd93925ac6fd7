#include "core/os/cpu.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/fake_root.h"

static void set_affinity(const struct fake_root *root, const char *list)
{
    char text[256];
    snprintf(text, sizeof(text), "Name:\tsherd\nCpus_allowed:\tff\nCpus_allowed_list:\t%s", list);
    fake_root_write(root, "/proc/self/status", text);
}

static const struct cpu_plan *plan_of(const struct fake_root *root)
{
    static struct cpu_plan plan;
    memset(&plan, 0xff, sizeof(plan));
    cpu_plan_read(root->path, &plan);
    return &plan;
}

/* The CPUs of the plan in their order, as "0 2 1 3 ". */
static const char *cpus_of(const struct cpu_plan *plan)
{
    static char text[8192];
    size_t len = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < plan->cpu_count; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%d ", plan->cpus[i]);
    return text;
}

Test(cpu, takes_the_affinity_set_where_nothing_else_limits)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "1,3-5");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_str_eq(cpus_of(plan), "1 3 4 5 ");
    cr_assert_eq(plan->node_count, 1);
    cr_assert_eq(plan->node_of[0], 0);
    cr_assert_eq(plan->quota, 0);
    fake_root_remove(&root);
}

Test(cpu, takes_the_cpus_that_are_online_where_affinity_is_unreadable)
{
    struct fake_root root = fake_root_make();
    cr_assert_str_eq(cpus_of(plan_of(&root)), "0 ", "nothing is readable: one CPU");
    fake_root_write(&root, "/sys/devices/system/cpu/online", "0-2");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "0 1 2 ");
    fake_root_remove(&root);
}

Test(cpu, intersects_with_a_cpuset_of_version_2)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-4");
    fake_root_write(&root, "/proc/self/cgroup", "0::/a");
    fake_root_write(&root, "/sys/fs/cgroup/a/cpuset.cpus.effective", "1,3-5");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "1 3 4 ");
    fake_root_remove(&root);
}

Test(cpu, intersects_with_a_cpuset_of_version_1)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-7");
    fake_root_write(&root, "/proc/self/cgroup", "3:cpuset:/a");
    fake_root_write(&root, "/sys/fs/cgroup/cpuset/a/cpuset.cpus", "1,3-5");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "1 3 4 5 ");
    fake_root_remove(&root);
}

Test(cpu, an_empty_or_foreign_or_broken_cpuset_does_not_limit)
{
    static const char *const lists[] = {"", "8-9", "1-", "x", "3-1", "1,,2", "1;2"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct fake_root root = fake_root_make();
        set_affinity(&root, "0-1");
        fake_root_write(&root, "/proc/self/cgroup", "0::/");
        fake_root_write(&root, "/sys/fs/cgroup/cpuset.cpus.effective", lists[i]);
        cr_assert_str_eq(cpus_of(plan_of(&root)), "0 1 ", "\"%s\"", lists[i]);
        fake_root_remove(&root);
    }
}

Test(cpu, rounds_a_quota_of_version_2_up)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-7");
    fake_root_write(&root, "/proc/self/cgroup", "0::/a");
    fake_root_write(&root, "/sys/fs/cgroup/a/cpu.max", "150000 100000");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_eq(plan->quota, 1.5);
    cr_assert_eq(plan->cpu_count, 2);
    fake_root_remove(&root);
}

Test(cpu, rounds_a_quota_of_version_1_up)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-7");
    fake_root_write(&root, "/proc/self/cgroup", "3:cpu,cpuacct:/a");
    fake_root_write(&root, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "250000");
    fake_root_write(&root, "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_eq(plan->quota, 2.5);
    cr_assert_eq(plan->cpu_count, 3);
    fake_root_remove(&root);
}

Test(cpu, no_quota_does_not_limit)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-3");
    fake_root_write(&root, "/proc/self/cgroup", "3:cpu:/a\n0::/a");
    fake_root_write(&root, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1");
    fake_root_write(&root, "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000");
    fake_root_write(&root, "/sys/fs/cgroup/a/cpu.max", "max 100000");
    cr_assert_eq(plan_of(&root)->cpu_count, 4);
    cr_assert_eq(plan_of(&root)->quota, 0);
    fake_root_remove(&root);
}

Test(cpu, the_smallest_quota_along_the_path_counts)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-7");
    fake_root_write(&root, "/proc/self/cgroup", "0::/a/b/c");
    fake_root_write(&root, "/sys/fs/cgroup/a/cpu.max", "300000 100000");
    fake_root_write(&root, "/sys/fs/cgroup/a/b/cpu.max", "max 100000");
    fake_root_write(&root, "/sys/fs/cgroup/a/b/c/cpu.max", "600000 100000");
    cr_assert_eq(plan_of(&root)->cpu_count, 3);
    fake_root_remove(&root);
}

Test(cpu, a_quota_of_less_than_one_cpu_is_one_cpu)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "2-3");
    fake_root_write(&root, "/proc/self/cgroup", "0::/");
    fake_root_write(&root, "/sys/fs/cgroup/cpu.max", "10000 100000");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "2 ");
    fake_root_remove(&root);
}

Test(cpu, a_quota_beyond_the_cpus_adds_none)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-1");
    fake_root_write(&root, "/proc/self/cgroup", "0::/");
    fake_root_write(&root, "/sys/fs/cgroup/cpu.max", "800000 100000");
    cr_assert_eq(plan_of(&root)->cpu_count, 2);
    fake_root_remove(&root);
}

Test(cpu, groups_that_cannot_be_seen_do_not_limit)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-1");
    fake_root_write(&root, "/proc/self/cgroup", "3:cpu:/docker/x\n2:cpuset:/docker/x");
    cr_assert_eq(plan_of(&root)->cpu_count, 2);
    fake_root_remove(&root);
}

Test(cpu, deals_cpus_round_robin_over_nodes)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-6");
    fake_root_write(&root, "/sys/devices/system/node/node0/cpulist", "0-3");
    fake_root_write(&root, "/sys/devices/system/node/node1/cpulist", "4-7");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_str_eq(cpus_of(plan), "0 4 1 5 2 6 3 ");
    cr_assert_eq(plan->node_count, 2);
    for (uint32_t i = 0; i < plan->cpu_count; i++)
        cr_assert_eq(plan->node_of[i], plan->cpus[i] >= 4);
    fake_root_remove(&root);
}

Test(cpu, takes_a_core_of_its_own_for_each_thread_before_siblings)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-7");
    for (int cpu = 0; cpu < 8; cpu++) {
        char path[96], list[16];
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        snprintf(list, sizeof(list), "%d,%d", cpu % 4, cpu % 4 + 4);
        fake_root_write(&root, path, list);
    }
    fake_root_write(&root, "/sys/devices/system/node/node0/cpulist", "0-1,4-5");
    fake_root_write(&root, "/sys/devices/system/node/node1/cpulist", "2-3,6-7");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "0 2 1 3 4 6 5 7 ");
    /* A sibling whose first is not ours is a core of its own to us. */
    set_affinity(&root, "4-7");
    cr_assert_str_eq(cpus_of(plan_of(&root)), "4 6 5 7 ");
    fake_root_remove(&root);
}

Test(cpu, counts_only_nodes_that_are_used)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "4-5");
    fake_root_write(&root, "/sys/devices/system/node/node0/cpulist", "0-3");
    fake_root_write(&root, "/sys/devices/system/node/node1/cpulist", "4-7");
    fake_root_write(&root, "/sys/devices/system/node/node2/cpulist", "");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_eq(plan->node_count, 1);
    cr_assert_eq(plan->node_of[0], 1);
    fake_root_remove(&root);
}

Test(cpu, nodes_beyond_the_limit_count_as_the_first)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-2");
    fake_root_write(&root, "/sys/devices/system/node/node63/cpulist", "1");
    fake_root_write(&root, "/sys/devices/system/node/node64/cpulist", "2");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_str_eq(cpus_of(plan), "0 1 2 ");
    cr_assert_eq(plan->node_of[1], 63);
    cr_assert_eq(plan->node_of[2], 0);
    cr_assert_eq(plan->node_count, 2);
    fake_root_remove(&root);
}

Test(cpu, handles_as_many_cpus_as_it_has_room_for)
{
    struct fake_root root = fake_root_make();
    set_affinity(&root, "0-5000");
    const struct cpu_plan *plan = plan_of(&root);
    cr_assert_eq(plan->cpu_count, CPU_MAX);
    cr_assert_eq(plan->cpus[CPU_MAX - 1], CPU_MAX - 1);
    fake_root_remove(&root);
}

Test(cpu, a_thread_can_be_pinned_to_any_usable_cpu_and_named)
{
    struct cpu_plan plan;
    cpu_plan_read("", &plan);
    cr_assert_geq(plan.cpu_count, 1);
    cr_assert_eq(cpu_pin(plan.cpus[plan.cpu_count - 1]), 0);
    cr_assert_eq(sched_getcpu(), plan.cpus[plan.cpu_count - 1]);
    cr_assert_lt(cpu_pin(UINT16_MAX), 0);

    cpu_name_thread("a-name-longer-than-fits");
    char name[16];
    cr_assert_eq(pthread_getname_np(pthread_self(), name, sizeof(name)), 0);
    cr_assert_str_eq(name, "a-name-longer-t");
}

Test(cpu, a_pinned_thread_stays_where_it_is_allowed_and_is_told_where_else)
{
    struct cpu_plan plan;
    cpu_plan_read("", &plan);
    uint16_t cpu = plan.cpus[0],
             other = (uint16_t)(cpu + 1); /* not in the set of a pinned thread */
    cr_assert_eq(cpu_pin(cpu), 0);
    cr_assert_eq(cpu_allowed(cpu, 0), cpu);
    cr_assert_eq(cpu_allowed(cpu, 7), cpu);
    cr_assert_eq(cpu_allowed(other, 0), cpu, "the only CPU that is left");
    cr_assert_eq(cpu_allowed(other, 5), cpu);
}

Test(cpu, memory_of_no_node_is_not_mapped)
{
    size_t size = 100;
    cr_assert_null(cpu_map_on_node(&size, -1));
    cr_assert_eq(size, 100);
    cpu_prefer_node(-1);
    cpu_prefer_node(0);
    char *memory = cpu_map_on_node(&size, 0); /* NULL on a machine with one node */
    if (memory) {
        cr_assert_geq(size, 100);
        cr_assert_eq(memory[99], 0);
        munmap(memory, size);
    }
}
