/*
 * cgroup: the control groups that hold this process, version 1, version 2 or both at once.
 *
 * A limit may be set on the group itself or on any group around it, so whoever looks for one walks
 * from the innermost to the outermost that is visible and takes the smallest. `root` is "" on a
 * real machine; tests give a folder with fake /proc and /sys trees. Thread: any, at start.
 */
#pragma once

#include <stddef.h>

#define CGROUP_PATH_MAX 4096 /* bytes; deeper groups are not looked at */

/* `folder` holds the control files of one group; `version` is 1 or 2. */
typedef void (*cgroup_visit_fn)(const char *folder, int version, void *context);

/* Visits the groups that `controller` ("cpu", "cpuset", "memory") limits this process by. Visits
 * none when there are none or they cannot be seen. */
void cgroup_walk(const char *root, const char *controller, cgroup_visit_fn visit, void *context);

/* Reads the first `cap - 1` bytes of `folder`/`name` as text, without the last line end. 0 or a
 * negative errno. */
int cgroup_read(const char *folder, const char *name, char *out_text, size_t cap);
