/*
 * usage: what this process has used of the machine, and what machine that is. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define USAGE_SYSTEM_CAP 256u

struct usage_cpu {
    int64_t system_us, user_us;
};

/* CPU time of the process, of its children that have ended, of the calling thread. */
struct usage_cpu usage_process_cpu(void);
struct usage_cpu usage_children_cpu(void);
struct usage_cpu usage_thread_cpu(void);

/* Memory that is resident, bytes; 0 when the system does not tell. */
size_t usage_resident_bytes(void);

/* "Linux 6.1.0-13-amd64 x86_64". */
void usage_system_name(char out[USAGE_SYSTEM_CAP]);
