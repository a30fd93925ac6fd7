/*
 * signal: what the process does about signals.
 *
 * SIGTERM, SIGINT       ask for a clean shutdown: `on_shutdown` is called; a second SIGINT ends the
 *                       process at once, for a shutdown that is stuck.
 * SIGHUP, SIGPIPE       ignored: a closed terminal or socket is not an event for the process.
 * SIGSEGV SIGBUS SIGFPE SIGILL SIGABRT   a line with the signal and the address, then a backtrace,
 *                       to the log; then the signal's own end (a core file, where allowed).
 *
 * Thread: signal_install() once, at start, before other threads.
 */
#pragma once

#include "core/base/check.h"

/* Runs inside the signal handler, on any thread: it may store atomics and call
 * ring_wake(NULL, ...), nothing else. */
typedef void (*signal_shutdown_fn)(void *context, int signal_number);

/* 0 or a negative errno. */
MUST_CHECK int signal_install(signal_shutdown_fn on_shutdown, void *context);

/* Gives the calling thread a stack of its own for crash reports, so that running out of stack is
 * reported too. For each thread, at its start; signal_install() does it for its caller. */
void signal_prepare_thread(void);
