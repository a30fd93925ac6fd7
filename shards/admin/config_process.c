/*
 * config_process: each setting with an effect on the process is one small function that takes the
 * settings and puts them into effect; a change that fails runs the same functions with the old
 * settings again.
 */
#include "shards/admin/config_process.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/log.h"
#include "core/os/process.h"
#include "shards/admin/proc_title.h"

#define PID_FILE_DEFAULT "/var/run/redis.pid"

/* ---- One setting each
 * ---------------------------------------------------------------------------- */

/* What ps shows, terminated; empty where it is left alone. */
static void add_title(const struct config *config, struct buf *title)
{
    if (config->set_proc_title)
        ASSERT(proc_title_expand(bytes_from_text(config->proc_title_template), config->program,
                                 config, title));
    buf_add_char(title, '\0');
}

static void set_title(const struct config *config)
{
    struct buf title = {0};
    add_title(config, &title);
    if (title.ptr[0])
        process_set_title(title.ptr);
    buf_fini(&title);
}

static int set_oom_score(const struct config *config)
{
    int result = 0;
    switch (config->oom_score_adj) {
    case OOM_SCORE_NO:
        result = process_unweigh();
        break;
    case OOM_SCORE_RELATIVE:
        result = process_weigh(true, config->oom_score_adj_values[0]);
        break;
    case OOM_SCORE_ABSOLUTE:
        result = process_weigh(false, config->oom_score_adj_values[0]);
        break;
    }
    if (result < 0)
        log_warn("config.oom_score_failed", "error=\"%s\"", strerror(-result));
    return result;
}

static void open_syslog(const struct config *config)
{
    if (!config->syslog)
        return;
    struct buf facility = {0};
    option_get(option_find(BYTES("syslog-facility")), config, &facility);
    buf_add_char(&facility, '\0');
    int result = log_open_syslog(config->syslog_ident, facility.ptr);
    if (result < 0)
        log_warn("config.syslog_failed", "error=\"%s\"", strerror(-result));
    buf_fini(&facility);
}

static void write_pid_file(const struct config *config)
{
    int result = process_write_pid(config->pidfile);
    if (result < 0)
        log_warn("config.pidfile_failed", "path=\"%s\" error=\"%s\"", config->pidfile,
                 strerror(-result));
}

/* ---- What has no effect
 * -------------------------------------------------------------------------- */

void config_process_log_idle(const struct option *option)
{
    if (option->flags & OPTION_IDLE)
        log_info("config.no_effect", "options=\"%s\" because=\"%s\"", option->name, option->note);
}

static bool is_idle_and_named(const struct option *option, const struct config *config)
{
    return option->flags & OPTION_IDLE && option_is_named(option, config);
}

static bool is_idle_for(const struct option *option, const char *note, const struct config *config)
{
    return is_idle_and_named(option, config) && strcmp(option->note, note) == 0;
}

/* Has a row before `end` said this reason already? */
static bool is_said(uint32_t end, const char *note, const struct config *config)
{
    for (uint32_t i = 0; i < end; i++)
        if (is_idle_for(option_at(i), note, config))
            return true;
    return false;
}

/* One line a reason, with all options that were named and have none. */
static void log_all_idle(const struct config *config)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *first = option_at(i);
        if (!is_idle_and_named(first, config) || is_said(i, first->note, config))
            continue;
        struct buf names = {0};
        for (uint32_t j = i; j < option_count(); j++)
            if (is_idle_for(option_at(j), first->note, config))
                buf_add_format(&names, "%s%s", names.len ? " " : "", option_at(j)->name);
        log_info("config.no_effect", "options=\"%.*s\" because=\"%s\"", (int)names.len, names.ptr,
                 first->note);
        buf_fini(&names);
    }
}

/* Save points are there by default, so their absence is said even if no file names them. */
static void log_save_points(const struct config *config)
{
    const struct option *save = option_find(BYTES("save"));
    if (config->save_point_count && !option_is_named(save, config))
        config_process_log_idle(save);
}

/* ---- Start and end
 * ------------------------------------------------------------------------------- */

static bool is_supervised_by_systemd(const struct config *config)
{
    return (config->supervised == SUPERVISED_SYSTEMD || config->supervised == SUPERVISED_AUTO) &&
           process_has_systemd();
}

static bool is_supervised_by_upstart(const struct config *config)
{
    return (config->supervised == SUPERVISED_UPSTART || config->supervised == SUPERVISED_AUTO) &&
           process_has_upstart();
}

static void log_supervisor(const struct config *config)
{
    bool is_supervised = is_supervised_by_systemd(config) || is_supervised_by_upstart(config);
    if (config->supervised != SUPERVISED_NO && config->supervised != SUPERVISED_AUTO &&
        !is_supervised)
        log_warn("config.no_supervisor", "missing=%s",
                 config->supervised == SUPERVISED_SYSTEMD ? "NOTIFY_SOCKET" : "UPSTART_JOB");
}

int config_process_begin(struct config *config, FILE *err)
{
    bool is_supervised = is_supervised_by_systemd(config) || is_supervised_by_upstart(config);
    bool is_daemon = config->daemonize && !is_supervised;
    int result;

    if (config->server_cpulist[0] && (result = process_set_cpus(config->server_cpulist)) < 0) {
        fprintf(err, "server_cpulist '%s': %s\n", config->server_cpulist, strerror(-result));
        return -1;
    }
    if (is_daemon && (result = process_detach()) < 0) {
        fprintf(err, "daemonize: %s\n", strerror(-result));
        return -1;
    }
    if ((result = log_open(config->logfile, (enum log_level)config->loglevel)) < 0) {
        fprintf(err, "Can't open the log file: %s\n", strerror(-result));
        return -1;
    }
    open_syslog(config);
    if (is_daemon && !config->pidfile[0])
        config->pidfile = PID_FILE_DEFAULT;
    if (config->pidfile[0])
        write_pid_file(config);
    set_title(config);
    if (set_oom_score(config) < 0)
        log_warn("config.no_effect", "options=\"oom-score-adj\" because=\"%s\"",
                 "the system does not allow it");
    log_supervisor(config);
    log_all_idle(config);
    log_save_points(config);
    return 0;
}

void config_process_warn_of_memory(const struct config *config)
{
    size_t used = mem_used();
    if (config->maxmemory && config->maxmemory < used)
        log_warn(
            "config.maxmemory_below_use",
            "maxmemory=%llu used=%zu: by maxmemory-policy keys will be evicted or writes refused",
            (unsigned long long)config->maxmemory, used);
}

void config_process_ready(const struct config *config)
{
    process_ready();
    if (is_supervised_by_upstart(config)) {
        process_stop_for_upstart();
    } else if (is_supervised_by_systemd(config)) {
        int result = process_notify("STATUS=Ready to accept connections\nREADY=1");
        if (result < 0)
            log_warn("config.notify_failed", "error=\"%s\"", strerror(-result));
    }
}

void config_process_end(const struct config *config)
{
    if (is_supervised_by_systemd(config)) {
        int result = process_notify("STOPPING=1");
        if (result < 0)
            log_warn("config.notify_failed", "error=\"%s\"", strerror(-result));
    }
    if (config->pidfile[0])
        unlink(config->pidfile);
    log_close_syslog();
}

/* ---- Changes
 * ------------------------------------------------------------------------------------- */

static bool differ_in_oom_score(const struct config *a, const struct config *b)
{
    return a->oom_score_adj != b->oom_score_adj ||
           a->oom_score_adj_values[0] != b->oom_score_adj_values[0];
}

static bool differ_in_title(const struct config *a, const struct config *b)
{
    struct buf of_a = {0}, of_b = {0};
    add_title(a, &of_a);
    add_title(b, &of_b);
    bool is_equal = bytes_equal(buf_bytes(&of_a), buf_bytes(&of_b));
    buf_fini(&of_a);
    buf_fini(&of_b);
    return !is_equal;
}

bool config_process_change(const struct config *before, const struct config *after,
                           struct option_error *error)
{
    if (differ_in_oom_score(before, after) && set_oom_score(after) < 0) {
        if (set_oom_score(before) < 0)
            log_warn("config.restore_failed", "options=\"oom-score-adj\"");
        return option_fail(error, "Failed to set current oom_score_adj. Check server logs.");
    }
    if (before->loglevel != after->loglevel)
        log_set_level((enum log_level)after->loglevel);
    if (differ_in_title(before, after))
        set_title(after);
    return true;
}
