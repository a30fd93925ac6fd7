/*
 * cgroup: /proc/self/cgroup says which group, /proc/self/mountinfo where groups are to be seen.
 *
 * A line of the former is "4:cpu,cpuacct:/a/b" (version 1) or "0::/a/b" (version 2). A line of the
 * latter ends in "- cgroup <source> <options with controllers>" or "- cgroup2 ...", and names the
 * part of the hierarchy that is mounted ("root") and where. In a container with version 1 the
 * group is often "/docker/x" while "/docker/x" is itself the root of the mount: the root is then
 * taken off the path. A group whose folder is out of sight limits through those above it.
 */
#include "core/os/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_CAP (2 * CGROUP_PATH_MAX)

int cgroup_read(const char *folder, const char *name, char *out_text, size_t cap)
{
    char path[CGROUP_PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t got = 0;
    ssize_t n = 0;
    while (got + 1 < cap && (n = read(fd, out_text + got, cap - 1 - got)) > 0)
        got += (size_t)n;
    int error = n < 0 ? -errno : 0;
    close(fd);
    if (got > 0 && out_text[got - 1] == '\n')
        got--;
    out_text[got] = 0;
    return error;
}

/* Is `word` one of the words between commas in `list`? */
static bool has_word(const char *list, const char *word)
{
    size_t len = strlen(word);
    while (list) {
        if (strncmp(list, word, len) == 0 && (list[len] == ',' || list[len] == 0))
            return true;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return false;
}

/* The group of this process in the hierarchy of `controller`, or of version 2 if that is "". */
static bool find_group(const char *root, const char *controller, char *out_group, size_t cap)
{
    char line[LINE_CAP];
    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    if (!file)
        return false;
    bool found = false;
    while (!found && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        found = controller[0] ? has_word(controllers, controller)
                              : strcmp(line, "0") == 0 && controllers[0] == 0;
        if (found)
            found = (size_t)snprintf(out_group, cap, "%s", group) < cap;
    }
    fclose(file);
    return found;
}

struct mount {
    char part[CGROUP_PATH_MAX];   /* of the hierarchy that is mounted */
    char folder[CGROUP_PATH_MAX]; /* where, without the test's root */
};

/* Mount of the hierarchy of `controller` (version 2 if ""), or its usual place. */
static void find_mount(const char *root, const char *controller, struct mount *out_mount)
{
    int len = snprintf(out_mount->folder, sizeof(out_mount->folder), "/sys/fs/cgroup%s%s",
                       controller[0] ? "/" : "", controller);
    snprintf(out_mount->part, sizeof(out_mount->part), "/");
    char line[LINE_CAP];
    snprintf(line, sizeof(line), "%s/proc/self/mountinfo", root);
    FILE *file = len > 0 ? fopen(line, "re") : NULL;
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        char part[CGROUP_PATH_MAX], folder[CGROUP_PATH_MAX], type[32], options[1024];
        line[strcspn(line, "\n")] = 0;
        const char *tail = strstr(line, " - ");
        if (!tail || sscanf(line, "%*s %*s %*s %4095s %4095s", part, folder) != 2 ||
            sscanf(tail, " - %31s %*s %1023s", type, options) != 2)
            continue;
        if (strcmp(type, controller[0] ? "cgroup" : "cgroup2") != 0 ||
            (controller[0] && !has_word(options, controller)))
            continue;
        memcpy(out_mount->part, part, sizeof(part));
        memcpy(out_mount->folder, folder, sizeof(folder));
        break;
    }
    fclose(file);
}

static void walk_hierarchy(const char *root, const char *controller, int version,
                           cgroup_visit_fn visit, void *context)
{
    char group[CGROUP_PATH_MAX];
    const char *hierarchy = version == 1 ? controller : "";
    if (!find_group(root, hierarchy, group, sizeof(group)))
        return;
    struct mount mount;
    find_mount(root, hierarchy, &mount);

    const char *below = group;
    size_t part_len = strcmp(mount.part, "/") == 0 ? 0 : strlen(mount.part);
    if (part_len && strncmp(group, mount.part, part_len) == 0 &&
        (group[part_len] == '/' || group[part_len] == 0))
        below = group + part_len;

    char folder[2 * CGROUP_PATH_MAX];
    int top_len = snprintf(folder, CGROUP_PATH_MAX, "%s%s", root, mount.folder);
    if (top_len < 0 || top_len >= CGROUP_PATH_MAX)
        return;
    if (strcmp(below, "/") != 0)
        snprintf(folder + top_len, CGROUP_PATH_MAX, "%s", below);
    for (;;) {
        struct stat info;
        if (stat(folder, &info) == 0)
            visit(folder, version, context);
        char *slash = strrchr(folder, '/');
        if (!folder[top_len] || !slash || slash < folder + top_len)
            break;
        *slash = 0;
    }
}

void cgroup_walk(const char *root, const char *controller, cgroup_visit_fn visit, void *context)
{
    walk_hierarchy(root, controller, 1, visit, context);
    walk_hierarchy(root, controller, 2, visit, context);
}
