/*
 * log: one line an event, to standard output, a file or syslog.
 *
 * An event to search for, then fields: log_warn("journal.sync_failed", "shard=%u error=%s", ...).
 * Error: someone must act. Warning: something was survived. Info: a state has changed. Nothing
 * per successful command. Lines keep Redis's shape, "pid:M 30 Nov 2026 20:13:13.000 * event
 * fields", so that existing log parsers work; debug, verbose, notice and warning are marked . - *
 * #. Control bytes in fields are escaped, so a line is always one line.
 *
 * Thread: any, for log_line(), log_set_level() and log_fd(); a line is written by one write(2). The
 * others at start, before there are other threads.
 */
#pragma once

#define LOG_LINE_MAX 2048 /* bytes of one line, its end included; what is longer is cut */

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_VERBOSE,
    LOG_LEVEL_NOTICE,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_NOTHING
};

/* `path` NULL or "": standard output. Returns 0 or a negative errno; the old target then stays.
 * A file that is moved away (logrotate) is made anew before the next line. */
int log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);

/* Sends every line to syslog as well. `facility` is "user" or "local0" to "local7", in either
 * case; both texts are copied. Returns 0, or -EINVAL for another facility. */
int log_open_syslog(const char *ident, const char *facility);
void log_close_syslog(void);

/* Where lines go now, for what must not allocate or format (a crash report). */
int log_fd(void);

void log_line(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(event, ...) log_line(LOG_LEVEL_DEBUG, event, __VA_ARGS__)
#define log_verbose(event, ...) log_line(LOG_LEVEL_VERBOSE, event, __VA_ARGS__)
#define log_info(event, ...) log_line(LOG_LEVEL_NOTICE, event, __VA_ARGS__)
#define log_warn(event, ...) log_line(LOG_LEVEL_WARNING, event, __VA_ARGS__)
#define log_error(event, ...) log_line(LOG_LEVEL_WARNING, event, __VA_ARGS__)
