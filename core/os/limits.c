/*
 * limits: getrlimit and setrlimit, and three numbers from /proc and /sys.
 */
#include "core/os/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/os/cgroup.h"
#include "core/os/log.h"

/* Raises the soft limit to `wanted`, the hard limit too where we may; returns what is granted. */
static uint64_t raise_limit(__rlimit_resource_t resource, uint64_t wanted)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return 0;
    if (now.rlim_cur >= wanted)
        return now.rlim_cur;
    struct rlimit next = {wanted, now.rlim_max > wanted ? now.rlim_max : wanted};
    if (setrlimit(resource, &next) == 0)
        return next.rlim_cur;
    next = (struct rlimit){now.rlim_max < wanted ? now.rlim_max : wanted, now.rlim_max};
    if (setrlimit(resource, &next) == 0)
        return next.rlim_cur;
    return now.rlim_cur;
}

uint64_t limits_raise_files(uint64_t wanted)
{
    uint64_t granted = raise_limit(RLIMIT_NOFILE, wanted);
    if (granted < wanted)
        log_warn("limits.files",
                 "wanted=%" PRIu64 " granted=%" PRIu64
                 " remedy=\"ulimit -n, or LimitNOFILE= in the service file\"",
                 wanted, granted);
    return granted;
}

uint64_t limits_raise_memlock(uint64_t wanted_bytes)
{
    uint64_t granted = raise_limit(RLIMIT_MEMLOCK, wanted_bytes);
    if (granted < wanted_bytes)
        log_warn("limits.memlock",
                 "wanted_bytes=%" PRIu64 " granted_bytes=%" PRIu64
                 " remedy=\"ulimit -l, or LimitMEMLOCK= in the service file\"",
                 wanted_bytes, granted);
    return granted;
}

uint32_t limits_somaxconn(void)
{
    char text[32];
    if (cgroup_read("/proc/sys/net/core", "somaxconn", text, sizeof(text)) != 0)
        return 0;
    return (uint32_t)strtoul(text, NULL, 10);
}

static void apply_memory(const char *folder, int version, void *context)
{
    uint64_t *smallest = context;
    char text[64], *end;
    const char *name = version == 2 ? "memory.max" : "memory.limit_in_bytes";
    if (cgroup_read(folder, name, text, sizeof(text)) != 0)
        return;
    /* "max" is no number, and version 1 writes a number beyond any memory for "none". */
    uint64_t bytes = strtoull(text, &end, 10);
    if (end != text && bytes > 0 && bytes < *smallest)
        *smallest = bytes;
}

uint64_t limits_memory_bytes(const char *root)
{
    uint64_t bytes = UINT64_MAX;
    char text[4096];
    if (cgroup_read(root[0] ? root : "/", "proc/meminfo", text, sizeof(text)) == 0) {
        const char *line = strstr(text, "MemTotal:");
        if (line)
            bytes = strtoull(line + strlen("MemTotal:"), NULL, 10) * 1024;
    }
    cgroup_walk(root, "memory", apply_memory, &bytes);
    return bytes == UINT64_MAX ? 0 : bytes;
}
