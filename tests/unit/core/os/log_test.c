#include "core/os/log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/fake_root.h"

static char path[128];
static struct fake_root folder;

static void open_log(enum log_level level)
{
    folder = fake_root_make();
    snprintf(path, sizeof(path), "%s/log", folder.path);
    cr_assert_eq(log_open(path, level), 0);
}

/* All that was written. */
static const char *content(void)
{
    static char text[16384];
    int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    cr_assert_geq(n, 0);
    text[n] = 0;
    return text;
}

static void forget(void)
{
    fake_root_remove(&folder);
}

/* What follows "pid:M date time " in the only line. */
static const char *message(void)
{
    const char *text = content(), *at = strstr(text, ".");
    cr_assert_not_null(at, "%s", text);
    return at + strlen(".123 ");
}

Test(log, a_line_has_the_shape_of_redis, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    log_info("server.ready", "shards=%d", 4);
    regex_t shape;
    cr_assert_eq(regcomp(&shape,
                         "^[0-9]+:M [0-9]{2} [A-Z][a-z]{2} [0-9]{4} "
                         "[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3} \\* server\\.ready shards=4\n$",
                         REG_EXTENDED | REG_NOSUB),
                 0);
    cr_assert_eq(regexec(&shape, content(), 0, NULL, 0), 0, "%s", content());
    regfree(&shape);
    char pid[32];
    snprintf(pid, sizeof(pid), "%d:M ", (int)getpid());
    cr_assert_eq(strncmp(content(), pid, strlen(pid)), 0);
}

Test(log, each_level_has_its_mark, .fini = forget)
{
    open_log(LOG_LEVEL_DEBUG);
    log_debug("a", "%s", "");
    log_verbose("b", "%s", "");
    log_info("c", "%s", "");
    log_warn("d", "%s", "");
    log_error("e", "%s", "");
    static const char *const marks[] = {" . a\n", " - b\n", " * c\n", " # d\n", " # e\n"};
    for (int i = 0; i < 5; i++)
        cr_assert_not_null(strstr(content(), marks[i]), "%s", content());
}

Test(log, what_is_below_the_level_is_not_written, .fini = forget)
{
    open_log(LOG_LEVEL_WARNING);
    log_info("quiet", "%s", "");
    cr_assert_str_empty(content());
    log_warn("loud", "%s", "");
    cr_assert_str_eq(message(), "# loud\n");
    log_set_level(LOG_LEVEL_NOTHING);
    log_error("louder", "%s", "");
    cr_assert_null(strstr(content(), "louder"));
}

Test(log, line_ends_and_control_bytes_are_escaped, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    log_info("client.name", "name=%s", "a\nb\rc\td\x01\x1b[31m\x7f \xc3\xa9");
    cr_assert_str_eq(message(), "* client.name name=a\\nb\\rc\\td\\x01\\x1b[31m\\x7f \xc3\xa9\n");
}

Test(log, a_long_line_is_cut_and_still_one_line, .fini = forget)
{
    static char fields[3 * LOG_LINE_MAX];
    open_log(LOG_LEVEL_NOTICE);
    memset(fields, 'x', sizeof(fields) - 1);
    log_info("long", "%s", fields);
    memset(fields, '\n', sizeof(fields) - 1);
    log_info("longer", "%s", fields);
    const char *first = content(), *end = strchr(first, '\n');
    cr_assert_not_null(end);
    cr_assert_leq(end + 1 - first, LOG_LINE_MAX);
    const char *second_end = strchr(end + 1, '\n');
    cr_assert_not_null(second_end);
    cr_assert_leq(second_end - end, LOG_LINE_MAX);
    cr_assert_eq(second_end[1], 0);
}

Test(log, a_file_that_was_moved_away_is_made_anew, .fini = forget)
{
    char moved[160];
    open_log(LOG_LEVEL_NOTICE);
    log_info("before", "%s", "");
    snprintf(moved, sizeof(moved), "%s.1", path);
    cr_assert_eq(rename(path, moved), 0);
    int fd = log_fd();
    log_info("after", "%s", "");
    cr_assert_eq(log_fd(), fd);
    cr_assert_str_eq(message(), "* after\n");
}

Test(log, a_file_that_cannot_be_opened_leaves_the_old_one, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    cr_assert_eq(log_open("/nowhere/at/all", LOG_LEVEL_NOTICE), -ENOENT);
    log_info("still", "%s", "here");
    cr_assert_str_eq(message(), "* still here\n");
}

Test(log, appends_to_what_is_there, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    log_info("one", "%s", "");
    cr_assert_eq(log_open(path, LOG_LEVEL_NOTICE), 0);
    log_info("two", "%s", "");
    cr_assert_not_null(strstr(content(), "* one\n"));
    cr_assert_not_null(strstr(content(), "* two\n"));
}

Test(log, no_path_is_standard_output, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    int fds[2];
    char text[256] = "";
    cr_assert_eq(pipe(fds), 0);
    int saved = dup(STDOUT_FILENO);
    dup2(fds[1], STDOUT_FILENO);
    int r = log_open("", LOG_LEVEL_NOTICE);
    log_info("spoken", "%s", "");
    dup2(saved, STDOUT_FILENO);
    cr_assert_eq(r, 0);
    cr_assert_gt(read(fds[0], text, sizeof(text) - 1), 0);
    cr_assert_not_null(strstr(text, "* spoken\n"));
    cr_assert_str_empty(content());
}

Test(log, errno_survives_a_line, .fini = forget)
{
    open_log(LOG_LEVEL_NOTICE);
    errno = ENOTTY;
    log_info("x", "%s", "");
    cr_assert_eq(errno, ENOTTY);
}

Test(log, syslog_knows_the_facilities_of_redis)
{
    cr_assert_eq(log_open_syslog("sherd", "local0"), 0);
    cr_assert_eq(log_open_syslog("sherd", "LOCAL7"), 0);
    cr_assert_eq(log_open_syslog("sherd", "user"), 0);
    cr_assert_eq(log_open_syslog("sherd", "local8"), -EINVAL);
    cr_assert_eq(log_open_syslog("sherd", ""), -EINVAL);
    log_close_syslog();
    log_close_syslog();
}
