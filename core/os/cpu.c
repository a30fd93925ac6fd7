/*
 * cpu: intersects what affinity and cpusets allow, cuts to the quota, and deals what remains.
 *
 * Dealing: each core has one first CPU and perhaps siblings (hyper-threads). First CPUs come
 * first, one of each node in turn, then the siblings likewise; so any number of threads taken from
 * the front spreads over nodes and cores before two of them share a core.
 */
#include "core/os/cpu.h"

#include <errno.h>
#include <numaif.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/check.h"
#include "core/os/cgroup.h"

#define NODE_MAX 64         /* NUMA nodes; CPUs of further ones count as node 0's */
#define LIST_TEXT_MAX 16384 /* bytes of a CPU list such as "0-3,8" */
#define AFFINITY_CPUS 8192  /* the kernel's largest set; it refuses smaller ones than its own */

struct cpu_set {
    uint64_t words[CPU_MAX / 64];
};

static bool has(const struct cpu_set *set, uint32_t cpu)
{
    return cpu < CPU_MAX && (set->words[cpu / 64] >> (cpu % 64) & 1);
}

static void add(struct cpu_set *set, uint32_t cpu)
{
    if (cpu < CPU_MAX)
        set->words[cpu / 64] |= (uint64_t)1 << (cpu % 64);
}

static uint32_t count(const struct cpu_set *set)
{
    uint32_t total = 0;
    for (size_t i = 0; i < CPU_MAX / 64; i++)
        total += (uint32_t)__builtin_popcountll(set->words[i]);
    return total;
}

/* "0-3,8,10-11" as a set; false, and nothing stored, for another or an empty text. */
static bool parse_list(const char *text, struct cpu_set *out_set)
{
    struct cpu_set set = {0};
    while (*text && *text != '\n') {
        char *end;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (end == text)
            return false;
        if (*end == '-') {
            text = end + 1;
            last = strtoul(text, &end, 10);
            if (end == text || last < first)
                return false;
        }
        for (unsigned long cpu = first; cpu <= last && cpu < CPU_MAX; cpu++)
            add(&set, (uint32_t)cpu);
        text = *end == ',' ? end + 1 : end;
        if (text == end && *end && *end != '\n')
            return false;
    }
    if (count(&set) == 0)
        return false;
    *out_set = set;
    return true;
}

static bool read_list(const char *folder, const char *name, struct cpu_set *out_set)
{
    char text[LIST_TEXT_MAX];
    return cgroup_read(folder, name, text, sizeof(text)) == 0 && parse_list(text, out_set);
}

/* A fake root has its affinity in its own /proc/self/status. */
static bool read_fake_affinity(const char *root, struct cpu_set *out_set)
{
    static const char key[] = "\nCpus_allowed_list:";
    char text[LIST_TEXT_MAX];
    if (cgroup_read(root, "proc/self/status", text, sizeof(text)) != 0)
        return false;
    const char *line = strstr(text, key);
    if (!line)
        return false;
    line += sizeof(key) - 1;
    return parse_list(line + strspn(line, " \t"), out_set);
}

static bool read_affinity(struct cpu_set *out_set)
{
    struct cpu_set set = {0};
    const size_t size = CPU_ALLOC_SIZE(AFFINITY_CPUS);
    cpu_set_t *kernel_set = CPU_ALLOC(AFFINITY_CPUS);
    bool known = kernel_set && sched_getaffinity(0, size, kernel_set) == 0;
    for (uint32_t cpu = 0; known && cpu < CPU_MAX; cpu++)
        if (CPU_ISSET_S(cpu, size, kernel_set))
            add(&set, cpu);
    CPU_FREE(kernel_set);
    if (!known || count(&set) == 0)
        return false;
    *out_set = set;
    return true;
}

/* Narrows the set to a group's cpuset, unless nothing would remain: then the group's file is stale
 * (a CPU that went offline) and affinity, which the kernel keeps, is right. */
static void apply_cpuset(const char *folder, int version, void *context)
{
    (void)version;
    static const char *const names[] = {"cpuset.cpus.effective", "cpuset.effective_cpus",
                                        "cpuset.cpus"};
    struct cpu_set *allowed = context;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct cpu_set group, both;
        if (!read_list(folder, names[i], &group))
            continue;
        for (size_t word = 0; word < CPU_MAX / 64; word++)
            both.words[word] = allowed->words[word] & group.words[word];
        if (count(&both) > 0)
            *allowed = both;
        return;
    }
}

static void apply_quota(const char *folder, int version, void *context)
{
    double *smallest = context;
    char text[128];
    long long quota_us = 0, period_us = 0;
    if (version == 2) {
        /* "max 100000" or "150000 100000" */
        if (cgroup_read(folder, "cpu.max", text, sizeof(text)) != 0 ||
            sscanf(text, "%lld %lld", &quota_us, &period_us) != 2)
            return;
    } else {
        if (cgroup_read(folder, "cpu.cfs_quota_us", text, sizeof(text)) != 0)
            return;
        quota_us = strtoll(text, NULL, 10); /* -1: none */
        if (cgroup_read(folder, "cpu.cfs_period_us", text, sizeof(text)) != 0)
            return;
        period_us = strtoll(text, NULL, 10);
    }
    if (quota_us <= 0 || period_us <= 0)
        return;
    double cpus = (double)quota_us / (double)period_us;
    if (*smallest == 0 || cpus < *smallest)
        *smallest = cpus;
}

/* Fills `out_nodes` with the node of each CPU; what no node claims stays with node 0. */
static void read_nodes(const char *root, int8_t *out_nodes)
{
    memset(out_nodes, 0, CPU_MAX);
    for (int node = 0; node < NODE_MAX; node++) {
        char name[64];
        struct cpu_set cpus;
        snprintf(name, sizeof(name), "sys/devices/system/node/node%d/cpulist", node);
        if (!read_list(root[0] ? root : "/", name, &cpus))
            continue; /* no such node, or one of memory alone */
        for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
            if (has(&cpus, cpu))
                out_nodes[cpu] = (int8_t)node;
    }
}

/* Is there an allowed CPU with a lower number on the same core? */
static bool is_sibling(const char *root, const struct cpu_set *allowed, uint32_t cpu)
{
    char name[96];
    struct cpu_set core;
    snprintf(name, sizeof(name), "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    if (!read_list(root[0] ? root : "/", name, &core))
        return false;
    for (uint32_t other = 0; other < cpu; other++)
        if (has(&core, other) && has(allowed, other))
            return true;
    return false;
}

/* Takes the first CPU of `node` out of the set; CPU_MAX if there is none. */
static uint32_t take_from_node(struct cpu_set *set, const int8_t *nodes, int node)
{
    for (size_t i = 0; i < CPU_MAX / 64; i++)
        for (uint64_t word = set->words[i]; word; word &= word - 1) {
            uint32_t cpu = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(word);
            if (nodes[cpu] != node)
                continue;
            set->words[i] &= ~((uint64_t)1 << (cpu % 64));
            return cpu;
        }
    return CPU_MAX;
}

/* Appends the CPUs of `set` to the plan, one of each node in turn. */
static void deal(struct cpu_plan *plan, struct cpu_set set, const int8_t *nodes)
{
    uint32_t left = count(&set);
    for (int node = 0; left > 0; node = (node + 1) % NODE_MAX) {
        uint32_t cpu = take_from_node(&set, nodes, node);
        if (cpu == CPU_MAX)
            continue;
        plan->cpus[plan->cpu_count] = (uint16_t)cpu;
        plan->node_of[plan->cpu_count] = (int8_t)node;
        plan->cpu_count++;
        left--;
    }
}

static uint32_t count_nodes(const struct cpu_plan *plan)
{
    uint64_t seen = 0;
    for (uint32_t i = 0; i < plan->cpu_count; i++)
        seen |= (uint64_t)1 << plan->node_of[i];
    return (uint32_t)__builtin_popcountll(seen);
}

void cpu_plan_read(const char *root, struct cpu_plan *out_plan)
{
    struct cpu_set allowed = {0};
    bool known = root[0] ? read_fake_affinity(root, &allowed) : read_affinity(&allowed);
    if (!known && !read_list(root[0] ? root : "/", "sys/devices/system/cpu/online", &allowed))
        add(&allowed, 0);
    cgroup_walk(root, "cpuset", apply_cpuset, &allowed);

    memset(out_plan, 0, sizeof(*out_plan));
    cgroup_walk(root, "cpu", apply_quota, &out_plan->quota);

    int8_t nodes[CPU_MAX];
    read_nodes(root, nodes);
    struct cpu_set firsts = {0}, siblings = {0};
    for (uint32_t cpu = 0; cpu < CPU_MAX; cpu++)
        if (has(&allowed, cpu))
            add(is_sibling(root, &allowed, cpu) ? &siblings : &firsts, cpu);
    deal(out_plan, firsts, nodes);
    deal(out_plan, siblings, nodes);

    /* Rounded up: 1.5 CPUs are used better by two throttled threads than by one. */
    uint32_t quota_cpus = (uint32_t)out_plan->quota;
    if (quota_cpus < out_plan->quota)
        quota_cpus++;
    if (quota_cpus > 0 && quota_cpus < out_plan->cpu_count)
        out_plan->cpu_count = quota_cpus;
    out_plan->node_count = count_nodes(out_plan);
    ASSERT(out_plan->cpu_count >= 1 && out_plan->node_count >= 1);
}

int cpu_pin(uint16_t cpu)
{
    if (cpu >= CPU_SETSIZE)
        return -EINVAL;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}

uint16_t cpu_allowed(uint16_t cpu, uint32_t turn)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_ISSET(cpu, &set))
        return cpu;
    uint32_t left = turn % (uint32_t)CPU_COUNT(&set);
    for (uint16_t allowed = 0; allowed < CPU_SETSIZE; allowed++)
        if (CPU_ISSET(allowed, &set) && left-- == 0)
            return allowed;
    return cpu;
}

void cpu_name_thread(const char *name)
{
    char text[16];
    snprintf(text, sizeof(text), "%s", name);
    pthread_setname_np(pthread_self(), text);
}

static bool has_nodes(void)
{
    return access("/sys/devices/system/node/node1", F_OK) == 0;
}

void cpu_prefer_node(int node)
{
    if (node < 0 || node >= NODE_MAX || !has_nodes())
        return;
    unsigned long mask = 1ul << node;
    /* Preferred and not bound: memory far away is better than none. A refusal (a container without
     * the right) leaves the kernel's own rule, the node of first touch, which is nearly the same.
     */
    set_mempolicy(MPOL_PREFERRED, &mask, NODE_MAX + 1);
}

void *cpu_map_on_node(size_t *size, int node)
{
    if (node < 0 || node >= NODE_MAX || !has_nodes())
        return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t rounded = (*size + page - 1) & ~(page - 1);
    void *memory = mmap(NULL, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    unsigned long mask = 1ul << node;
    mbind(memory, rounded, MPOL_PREFERRED, &mask, NODE_MAX + 1, 0);
    *size = rounded;
    return memory;
}
