/* How: getrusage(), uname(), and the second number of /proc/self/statm, which counts pages. */
#include "core/os/usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

static struct usage_cpu cpu_of(int who)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return (struct usage_cpu){0};
    return (struct usage_cpu){
        .system_us = (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec,
        .user_us = (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec,
    };
}

struct usage_cpu usage_process_cpu(void)
{
    return cpu_of(RUSAGE_SELF);
}

struct usage_cpu usage_children_cpu(void)
{
    return cpu_of(RUSAGE_CHILDREN);
}

struct usage_cpu usage_thread_cpu(void)
{
    return cpu_of(RUSAGE_THREAD);
}

size_t usage_resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return 0;
    size_t total, resident;
    int found = fscanf(file, "%zu %zu", &total, &resident);
    fclose(file);
    return found == 2 ? resident * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

void usage_system_name(char out[USAGE_SYSTEM_CAP])
{
    struct utsname name;
    out[0] = '\0';
    if (uname(&name) == 0)
        snprintf(out, USAGE_SYSTEM_CAP, "%s %s %s", name.sysname, name.release, name.machine);
}
