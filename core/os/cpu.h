/*
 * cpu: which CPUs and NUMA nodes this process may use, and pinning to them.
 *
 * Usable = affinity set ∩ cgroup cpuset, and no more than the cgroup quota rounded up; cgroup v1
 * and v2, and nested groups. `root` is "" on a real machine; tests give a folder with fake /proc
 * and /sys trees. Thread: any, at start; what acts on a thread acts on the calling one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_MAX 1024 /* CPUs with higher numbers are left to others */

struct cpu_plan {
    uint32_t cpu_count;      /* usable, after quota */
    uint16_t cpus[CPU_MAX];  /* their numbers, dealt round-robin over nodes, siblings last */
    int8_t node_of[CPU_MAX]; /* NUMA node of cpus[i], 0 when unknown */
    uint32_t node_count;     /* nodes that cpus[] lie on, at least 1 */
    double quota; /* CPUs, 0 when unlimited; a fraction means that threads are throttled */
};

/* Reads affinity, cgroup and NUMA topology below `root`. Cannot fail: what is unreadable does not
 * limit. At least one CPU. */
void cpu_plan_read(const char *root, struct cpu_plan *out_plan);

/* Pins the calling thread. 0 or a negative errno. */
int cpu_pin(uint16_t cpu);
/* Where the calling thread, pinned to `cpu`, is to run from now on: `cpu` as long as the kernel
 * lets it; when the cpuset has changed, the `turn`-th (modulo their number) of the CPUs that it is
 * left with. */
uint16_t cpu_allowed(uint16_t cpu, uint32_t turn);
/* Names the calling thread (15 characters). */
void cpu_name_thread(const char *name);
/* Binds memory that the calling thread touches first to `node`; no effect without NUMA. */
void cpu_prefer_node(int node);

/* Pages of cleared memory that will lie on `node`, to be given back by munmap(); `*size` is rounded
 * up to whole pages. NULL when the machine has one node only, `node` is negative, or the kernel
 * refuses: ordinary memory then serves as well. */
void *cpu_map_on_node(size_t *size, int node);
