/*
 * limits: what the kernel grants, raised where it may be.
 *
 * Thread: any, at start. Each function logs one warning with the remedy when the grant stays below
 * what is wanted.
 */
#pragma once

#include <stdint.h>

/* Raises RLIMIT_NOFILE towards `wanted`; returns what is granted. */
uint64_t limits_raise_files(uint64_t wanted);
/* Raises RLIMIT_MEMLOCK towards `wanted_bytes`; returns what is granted, bytes. */
uint64_t limits_raise_memlock(uint64_t wanted_bytes);
/* net.core.somaxconn, or 0 when unreadable. */
uint32_t limits_somaxconn(void);
/* Physical memory or the smallest limit of the cgroups around us (v1, v2), whichever is less,
 * bytes; 0 when neither can be read. `root` as in cpu.h. */
uint64_t limits_memory_bytes(const char *root);
