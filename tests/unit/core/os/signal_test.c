#include "core/os/signal.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/log.h"
#include "tests/support/fake_root.h"

static atomic_int asked;

static void ask(void *context, int signal_number)
{
    atomic_store((atomic_int *)context, signal_number);
}

static void install(void)
{
    cr_assert_eq(signal_install(ask, &asked), 0);
}

Test(signal, a_request_to_end_is_passed_on)
{
    install();
    raise(SIGTERM);
    cr_assert_eq(atomic_load(&asked), SIGTERM);
    raise(SIGINT);
    cr_assert_eq(atomic_load(&asked), SIGINT);
    raise(SIGTERM);
    cr_assert_eq(atomic_load(&asked), SIGTERM, "SIGTERM may come again");
}

Test(signal, a_second_interrupt_ends_the_process, .exit_code = 1)
{
    install();
    raise(SIGINT);
    raise(SIGINT);
    cr_assert_fail("still here");
}

Test(signal, a_lost_terminal_or_pipe_is_ignored)
{
    install();
    raise(SIGHUP);
    raise(SIGPIPE);
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    close(fds[0]);
    cr_assert_eq(write(fds[1], "x", 1), -1);
    cr_assert_eq(atomic_load(&asked), 0);
}

/* Runs `crash` in a child whose log is a file; returns how it ended and what it logged. */
static int crash_in_child(void (*crash)(void), char *out_log, size_t cap)
{
    struct fake_root folder = fake_root_make();
    char path[128];
    snprintf(path, sizeof(path), "%s/log", folder.path);
    pid_t child = fork();
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (log_open(path, LOG_LEVEL_NOTICE) != 0 || signal_install(ask, &asked) != 0)
            _exit(99);
        crash();
        _exit(98);
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? 0 : read(fd, out_log, cap - 1);
    close(fd);
    out_log[n > 0 ? n : 0] = 0;
    fake_root_remove(&folder);
    return status;
}

static void crash_by_pointer(void)
{
    *(volatile int *)0x10 = 1;
}

static void crash_by_abort(void)
{
    abort();
}

/* Not optimised into a loop: each call's array is used after the next one. */
static int crash_by_depth_at(int depth)
{
    volatile char frame[4096];
    frame[depth % 4096] = 1;
    return depth < 0 ? 0 : crash_by_depth_at(depth + 1) + frame[depth % 4096];
}

static void crash_by_depth(void)
{
    _exit(crash_by_depth_at(0) & 1);
}

#if defined(__SANITIZE_ADDRESS__)
#define SKIP_IF_SANITIZED() cr_skip_test("the sanitizer reports crashes itself")
#else
#define SKIP_IF_SANITIZED() (void)0
#endif

Test(signal, a_crash_is_logged_with_a_backtrace_and_keeps_its_end)
{
    SKIP_IF_SANITIZED();
    char text[16384];
    int status = crash_in_child(crash_by_pointer, text, sizeof(text));
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(WTERMSIG(status), SIGSEGV);
    const char line[] = "signal.crash signal=SIGSEGV address=0x0000000000000010\n";
    cr_assert_eq(strncmp(text, line, sizeof(line) - 1), 0, "%s", text);
    cr_assert_not_null(strstr(text + sizeof(line) - 1, "["), "no backtrace: %s", text);
}

Test(signal, an_abort_is_logged_once)
{
    SKIP_IF_SANITIZED();
    char text[16384];
    int status = crash_in_child(crash_by_abort, text, sizeof(text));
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(WTERMSIG(status), SIGABRT);
    const char *line = strstr(text, "signal.crash signal=SIGABRT");
    cr_assert_not_null(line, "%s", text);
    cr_assert_null(strstr(line + 1, "signal.crash"));
}

Test(signal, running_out_of_stack_is_logged_too)
{
    SKIP_IF_SANITIZED();
    char text[16384];
    int status = crash_in_child(crash_by_depth, text, sizeof(text));
    cr_assert(WIFSIGNALED(status));
    cr_assert_eq(WTERMSIG(status), SIGSEGV);
    cr_assert_not_null(strstr(text, "signal.crash signal=SIGSEGV"), "%s", text);
}
