/*
 * How: a parent that waits reads one byte from a pipe whose other end only the child holds; end of
 * file without it means that the child has gone. systemd is talked to directly: one datagram to the
 * socket that NOTIFY_SOCKET names. A title is written over argv and environ, which the system lays
 * out end to end and ps reads from there.
 */
#include "core/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/mem.h"

#define OOM_SCORE_FILE "/proc/self/oom_score_adj"
#define OOM_SCORE_MAX 1000

static int parent_fd = -1; /* the pipe to a parent that waits */
static char *title_room;   /* where ps looks */
static size_t title_cap;
/* Any thread may change title and weight, none of them often. */
static pthread_mutex_t change_lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_weighed;
static int first_oom_score; /* before process_weigh() */

/* ---- Daemon
 * -------------------------------------------------------------------------------------- */

_Noreturn static void wait_for_child(int fd)
{
    char byte;
    ssize_t got;
    do
        got = read(fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    _exit(got == 1 ? EXIT_SUCCESS : EXIT_FAILURE);
}

int process_detach(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return -errno;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    if (child > 0) {
        close(ends[1]);
        wait_for_child(ends[0]);
    }
    close(ends[0]);
    parent_fd = ends[1];
    setsid();
    return 0;
}

void process_ready(void)
{
    if (parent_fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            dup2(null, fd);
        close(null);
    }
    while (write(parent_fd, "", 1) < 0 && errno == EINTR)
        ;
    close(parent_fd);
    parent_fd = -1;
}

/* ---- Supervisors
 * --------------------------------------------------------------------------------- */

bool process_has_systemd(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

bool process_has_upstart(void)
{
    return getenv("UPSTART_JOB") != NULL;
}

int process_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || !*path)
        return -ENOENT;
    size_t len = strlen(path);
    if (len >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@') /* an abstract name */
        address.sun_path[0] = '\0';

    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    int error = sent < 0 ? -errno : 0;
    close(fd);
    return error;
}

void process_stop_for_upstart(void)
{
    raise(SIGSTOP);
    unsetenv("UPSTART_JOB");
}

/* ---- Files
 * --------------------------------------------------------------------------------------- */

static int write_file(const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0)
        return -errno;
    size_t len = strlen(text);
    ssize_t written = write(fd, text, len);
    int error = written == (ssize_t)len ? 0 : written < 0 ? -errno : -EIO;
    close(fd);
    return error;
}

int process_write_pid(const char *path)
{
    char text[32];
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    return write_file(path, O_CREAT | O_TRUNC, text);
}

static int read_oom_score(int *out)
{
    int fd = open(OOM_SCORE_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    char text[32];
    ssize_t len = read(fd, text, sizeof text - 1);
    int error = len < 0 ? -errno : 0;
    close(fd);
    if (error)
        return error;
    text[len] = '\0';
    *out = (int)strtol(text, NULL, 10);
    return 0;
}

static int write_oom_score(int score)
{
    char text[32];
    if (score > OOM_SCORE_MAX)
        score = OOM_SCORE_MAX;
    if (score < -OOM_SCORE_MAX)
        score = -OOM_SCORE_MAX;
    snprintf(text, sizeof text, "%d\n", score);
    return write_file(OOM_SCORE_FILE, 0, text);
}

static int weigh(bool is_relative, int score)
{
    if (!is_weighed) {
        int error = read_oom_score(&first_oom_score);
        if (error)
            return error;
        is_weighed = true;
    }
    return write_oom_score(is_relative ? first_oom_score + score : score);
}

int process_weigh(bool is_relative, int score)
{
    pthread_mutex_lock(&change_lock);
    int result = weigh(is_relative, score);
    pthread_mutex_unlock(&change_lock);
    return result;
}

int process_unweigh(void)
{
    pthread_mutex_lock(&change_lock);
    int result = is_weighed ? write_oom_score(first_oom_score) : 0;
    is_weighed = false;
    pthread_mutex_unlock(&change_lock);
    return result;
}

/* ---- CPUs
 * ---------------------------------------------------------------------------------------- */

static bool take_number(const char **at, unsigned long *out)
{
    if (**at < '0' || **at > '9')
        return false;
    char *end;
    *out = strtoul(*at, &end, 10);
    *at = end;
    return *out < CPU_SETSIZE;
}

int process_set_cpus(const char *list)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char *at = list;; at++) {
        unsigned long first, last, step = 1;
        if (!take_number(&at, &first))
            return -EINVAL;
        last = first;
        if (*at == '-' && (at++, !take_number(&at, &last)))
            return -EINVAL;
        if (*at == ':' && (at++, !take_number(&at, &step)))
            return -EINVAL;
        if (last < first || step == 0 || (*at && *at != ','))
            return -EINVAL;
        for (unsigned long cpu = first; cpu <= last; cpu += step)
            CPU_SET(cpu, &set);
        if (!*at)
            break;
    }
    return sched_setaffinity(0, sizeof set, &set) < 0 ? -errno : 0;
}

/* ---- Title
 * --------------------------------------------------------------------------------------- */

/* The texts of `list` lie one after the other from `end` on: how far? Each is replaced by a copy.
 */
static char *move_texts(char **list, size_t count, char *end)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i] == end)
            end += strlen(list[i]) + 1;
        list[i] = mem_copy_text(list[i]);
    }
    return end;
}

void process_title_init(int argc, char **argv)
{
    if (argc < 1 || title_room)
        return;
    size_t variables = 0;
    while (environ[variables])
        variables++;
    title_room = argv[0];
    char *end = move_texts(argv, (size_t)argc, title_room);
    end = move_texts(environ, variables, end);
    title_cap = (size_t)(end - title_room);
}

void process_set_title(const char *title)
{
    if (title_cap == 0)
        return;
    size_t len = strlen(title);
    pthread_mutex_lock(&change_lock);
    memset(title_room, 0, title_cap);
    memcpy(title_room, title, len < title_cap ? len : title_cap - 1);
    pthread_mutex_unlock(&change_lock);
}
