/*
 * fake_root: a folder that stands for "/", with the /proc and /sys files that a test wants.
 */
#pragma once

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fake_root {
    char path[64];
};

static inline struct fake_root fake_root_make(void)
{
    struct fake_root root = {.path = "/tmp/sherd-fake-root-XXXXXX"};
    cr_assert_not_null(mkdtemp(root.path));
    return root;
}

/* Writes `text` and a line end to `path`, which begins with '/', and makes the folders above it. */
static inline void fake_root_write(const struct fake_root *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root->path, path);
    for (char *slash = full + strlen(root->path); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    cr_assert_not_null(file, "%s", full);
    fprintf(file, "%s\n", text);
    fclose(file);
}

static inline int fake_root_remove_one(const char *path, const struct stat *info, int type,
                                       struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void fake_root_remove(struct fake_root *root)
{
    nftw(root->path, fake_root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
