/*
 * How: a replacement is written beside the file, synced, and renamed over it; then the folder is
 * synced, since the name is its content.
 */
#include "core/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_BYTES 65536u

int file_read(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t got;
    do {
        got = read(fd, buf_room(out, READ_BYTES), READ_BYTES);
        if (got > 0)
            out->len += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    int result = got < 0 ? -errno : 0;
    close(fd);
    return result;
}

static int write_all(int fd, struct bytes content)
{
    while (content.len) {
        ssize_t written = write(fd, content.ptr, content.len);
        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0) {
            content.ptr += written;
            content.len -= (size_t)written;
        }
    }
    return 0;
}

/* Another owner can only be kept by root, which is no reason to fail. */
static int keep_mode(const char *path, int fd)
{
    struct stat old;
    if (stat(path, &old) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (fchmod(fd, old.st_mode & 07777) < 0)
        return -errno;
    return fchown(fd, old.st_uid, old.st_gid) < 0 && errno != EPERM ? -errno : 0;
}

static int sync_folder_of(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int result = fsync(fd) < 0 && errno != EINVAL ? -errno : 0; /* EINVAL: it needs none */
    close(fd);
    return result;
}

int file_replace(const char *path, struct bytes content)
{
    char beside[PATH_MAX];
    if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
        return -ENAMETOOLONG;
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return -errno;

    int result = write_all(fd, content);
    if (result == 0)
        result = keep_mode(path, fd);
    if (result == 0 && fsync(fd) < 0)
        result = -errno;
    if (close(fd) < 0 && result == 0)
        result = -errno;
    if (result == 0 && rename(beside, path) < 0)
        result = -errno;
    if (result < 0) {
        unlink(beside);
        return result;
    }
    return sync_folder_of(path);
}
