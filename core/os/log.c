/*
 * log: formats a line on the stack and hands it to the kernel with one write.
 *
 * The file is opened with O_APPEND, so lines of several threads do not mix. Its descriptor never
 * changes while the process runs: a fresh file is opened beside it and moved onto the same number
 * (dup3), so that a thread in the middle of a line always has a good one and no lock is needed.
 * A stat(2) before each line notices that the path no longer leads to our file; lines are rare.
 */
#include "core/os/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define FIELDS_MAX (LOG_LINE_MAX / 2) /* before escaping, which may grow them */

static _Atomic int target_fd = STDOUT_FILENO;
static _Atomic int lowest_level = LOG_LEVEL_NOTICE;
static char target_path[4096]; /* "": standard output. Set before there are other threads */
static _Atomic int syslog_on;
static char syslog_ident[64]; /* openlog() keeps the pointer */

static int open_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    return fd < 0 ? -errno : fd;
}

int log_open(const char *path, enum log_level level)
{
    if (!path)
        path = "";
    if (strlen(path) >= sizeof(target_path))
        return -ENAMETOOLONG;
    int fd = path[0] ? open_file(path) : STDOUT_FILENO;
    if (fd < 0)
        return fd;
    if (target_path[0])
        close(atomic_load(&target_fd));
    memcpy(target_path, path, strlen(path) + 1);
    atomic_store(&target_fd, fd);
    log_set_level(level);
    return 0;
}

void log_set_level(enum log_level level)
{
    atomic_store(&lowest_level, (int)level);
}

int log_fd(void)
{
    return atomic_load(&target_fd);
}

static const struct {
    const char *name;
    int value;
} facilities[] = {
    {"user", LOG_USER},     {"local0", LOG_LOCAL0}, {"local1", LOG_LOCAL1},
    {"local2", LOG_LOCAL2}, {"local3", LOG_LOCAL3}, {"local4", LOG_LOCAL4},
    {"local5", LOG_LOCAL5}, {"local6", LOG_LOCAL6}, {"local7", LOG_LOCAL7},
};

int log_open_syslog(const char *ident, const char *facility)
{
    for (size_t i = 0; i < sizeof(facilities) / sizeof(facilities[0]); i++) {
        if (strcasecmp(facility, facilities[i].name) != 0)
            continue;
        snprintf(syslog_ident, sizeof(syslog_ident), "%s", ident);
        openlog(syslog_ident, LOG_PID | LOG_NDELAY | LOG_NOWAIT, facilities[i].value);
        atomic_store(&syslog_on, 1);
        return 0;
    }
    return -EINVAL;
}

void log_close_syslog(void)
{
    if (atomic_exchange(&syslog_on, 0))
        closelog();
}

/* Makes the file anew when its path leads elsewhere or nowhere. A failure keeps the old file. */
static void follow_rotation(int fd)
{
    struct stat here, there;
    if (!target_path[0] || fstat(fd, &here) != 0)
        return;
    if (stat(target_path, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return;
    int fresh = open_file(target_path);
    if (fresh < 0)
        return;
    dup3(fresh, fd, O_CLOEXEC);
    close(fresh);
}

/* Appends `text` from `at` on, control bytes escaped, as long as `cap` allows; returns the new end.
 */
static size_t append_escaped(char *line, size_t at, size_t cap, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (; *text && at + 4 < cap; text++) {
        unsigned char c = (unsigned char)*text;
        if (c >= 0x20 && c != 0x7f) {
            line[at++] = (char)c;
            continue;
        }
        line[at++] = '\\';
        if (c == '\n' || c == '\r' || c == '\t') {
            line[at++] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
            continue;
        }
        line[at++] = 'x';
        line[at++] = hex[c >> 4];
        line[at++] = hex[c & 15];
    }
    return at;
}

static size_t append_prefix(char *line, size_t cap, enum log_level level)
{
    struct timespec now;
    struct tm local;
    char day[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    strftime(day, sizeof(day), "%d %b %Y %H:%M:%S", &local);
    return (size_t)snprintf(line, cap, "%d:M %s.%03d %c ", (int)getpid(), day,
                            (int)(now.tv_nsec / 1000000), ".-*#"[level]);
}

void log_line(enum log_level level, const char *event, const char *format, ...)
{
    static const int priorities[] = {LOG_DEBUG, LOG_INFO, LOG_NOTICE, LOG_WARNING};
    if (level >= LOG_LEVEL_NOTHING || (int)level < atomic_load(&lowest_level))
        return;

    int saved_errno = errno;
    char fields[FIELDS_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(fields, sizeof(fields), format, args);
    va_end(args);

    char line[LOG_LINE_MAX];
    size_t prefix_len = append_prefix(line, sizeof(line), level);
    size_t len = append_escaped(line, prefix_len, sizeof(line) - 1, event);
    if (fields[0]) {
        line[len++] = ' ';
        len = append_escaped(line, len, sizeof(line) - 1, fields);
    }
    line[len] = '\n';

    int fd = atomic_load(&target_fd);
    follow_rotation(fd);
    /* A log that cannot be written has nobody to tell. */
    ssize_t written = write(fd, line, len + 1);
    (void)written;
    if (atomic_load(&syslog_on))
        syslog(priorities[level], "%.*s", (int)(len - prefix_len), line + prefix_len);
    errno = saved_errno;
}
