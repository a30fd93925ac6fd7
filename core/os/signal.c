/*
 * signal: handlers that do no more than a handler may.
 *
 * A handler and not a signalfd, so that a second SIGINT still works when no loop is turning.
 * The crash report formats by hand and uses backtrace_symbols_fd(), which does not allocate;
 * backtrace() itself loads a library at its first call, so one call is made beforehand.
 */
#include "core/os/signal.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/log.h"

#define CRASH_FRAMES_MAX 64
#define CRASH_STACK_BYTES 65536

/* The sanitizers report crashes better than we do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static signal_shutdown_fn shutdown_fn;
static void *shutdown_context;
static atomic_bool interrupted; /* by a first SIGINT */
static atomic_bool crashing;

static void write_text(int fd, const char *text)
{
    ssize_t written = write(fd, text, strlen(text));
    (void)written;
}

static void on_shutdown_signal(int number)
{
    int saved_errno = errno;
    if (number == SIGINT && atomic_exchange(&interrupted, true)) {
        write_text(log_fd(), "signal.exit a second SIGINT ends the process at once\n");
        _exit(1);
    }
    shutdown_fn(shutdown_context, number);
    errno = saved_errno;
}

static const char *name_of(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

static void on_crash(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (!atomic_exchange(&crashing, true)) {
        /* "signal.crash signal=SIGSEGV address=0x0000000000000010" in one write. */
        static const char hex[] = "0123456789abcdef";
        char line[96] = "signal.crash signal=";
        size_t len = strlen(line);
        for (const char *c = name_of(number); *c; c++)
            line[len++] = *c;
        static const char field[] = " address=0x";
        memcpy(line + len, field, sizeof(field) - 1);
        len += sizeof(field) - 1;
        for (int shift = 60; shift >= 0; shift -= 4)
            line[len++] = hex[((uintptr_t)info->si_addr >> shift) & 15];
        line[len++] = '\n';
        line[len] = 0;
        write_text(log_fd(), line);

        void *frames[CRASH_FRAMES_MAX];
        backtrace_symbols_fd(frames, backtrace(frames, CRASH_FRAMES_MAX), log_fd());
    }
    /* SA_RESETHAND has restored the default, which now ends the process in the usual way. */
    raise(number);
}

static int handle(int number, struct sigaction action)
{
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0 ? 0 : -errno;
}

void signal_prepare_thread(void)
{
    if (SANITIZED)
        return;
    /* Lives as long as the thread may crash, that is, as long as the process. */
    static _Thread_local bool prepared;
    if (prepared)
        return;
    prepared = true;
    stack_t stack = {.ss_sp = mem_alloc(CRASH_STACK_BYTES), .ss_size = CRASH_STACK_BYTES};
    sigaltstack(&stack, NULL);
}

int signal_install(signal_shutdown_fn on_shutdown, void *context)
{
    ASSERT(on_shutdown);
    shutdown_fn = on_shutdown;
    shutdown_context = context;

    static const int shutdowns[] = {SIGTERM, SIGINT};
    static const int ignored[] = {SIGHUP, SIGPIPE};
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(shutdowns) / sizeof(shutdowns[0]); i++)
        r = handle(shutdowns[i],
                   (struct sigaction){.sa_handler = on_shutdown_signal, .sa_flags = SA_RESTART});
    for (size_t i = 0; r == 0 && i < sizeof(ignored) / sizeof(ignored[0]); i++)
        r = handle(ignored[i], (struct sigaction){.sa_handler = SIG_IGN});
    if (SANITIZED || r != 0)
        return r;

    void *frames[1];
    backtrace(frames, 1);
    signal_prepare_thread();
    for (size_t i = 0; r == 0 && i < sizeof(crashes) / sizeof(crashes[0]); i++)
        r = handle(crashes[i],
                   (struct sigaction){.sa_sigaction = on_crash,
                                      .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK});
    return r;
}
