/*
 * log: one line an event, to standard output, a file or syslog.
 *
 * An event to search for, then fields: log_warn("journal.sync_failed", "shard=%u error=%s", ...).
 * Error: someone must act. Warning: something was survived. Info: a state has changed. Nothing
 * per successful command. Lines keep Redis's shape, "pid:M 30 Nov 2026 20:13:13.000 * event fields",
 * so that existing log parsers work. Thread: any; a line is written by one write(2).
 */
#pragma once

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_VERBOSE, LOG_LEVEL_NOTICE, LOG_LEVEL_WARNING, LOG_LEVEL_NOTHING };

/* `path` NULL or "": standard output. Returns 0 or a negative errno; the old target then stays. */
int log_open(const char *path, enum log_level level);
void log_set_level(enum log_level level);

void log_line(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(event, ...) log_line(LOG_LEVEL_DEBUG, event, __VA_ARGS__)
#define log_verbose(event, ...) log_line(LOG_LEVEL_VERBOSE, event, __VA_ARGS__)
#define log_info(event, ...) log_line(LOG_LEVEL_NOTICE, event, __VA_ARGS__)
#define log_warn(event, ...) log_line(LOG_LEVEL_WARNING, event, __VA_ARGS__)
#define log_error(event, ...) log_line(LOG_LEVEL_WARNING, event, __VA_ARGS__)
