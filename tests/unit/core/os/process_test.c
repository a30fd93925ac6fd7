#include "core/os/process.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Daemon: the caller is played by a child, since process_detach() ends its caller. ---- */

static int exit_status_of_caller(bool serves)
{
    pid_t caller = fork();
    if (caller == 0) {
        if (process_detach() == 0 && serves)
            process_ready();
        _exit(7); /* of the daemon: nobody waits for it */
    }
    int status;
    cr_assert_eq(waitpid(caller, &status, 0), caller);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

Test(process, that_detaches_ends_well_once_the_daemon_serves)
{
    cr_assert_eq(exit_status_of_caller(true), EXIT_SUCCESS);
}

Test(process, that_detaches_ends_badly_if_the_daemon_never_serves)
{
    cr_assert_eq(exit_status_of_caller(false), EXIT_FAILURE);
}

Test(process, that_detaches_goes_on_in_a_session_of_its_own)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    if (fork() == 0) {
        cr_assert_eq(process_detach(), 0);
        char is_leader = getsid(0) == getpid();
        process_ready();
        _exit(write(ends[1], &is_leader, 1) != 1);
    }
    char is_leader = 0;
    cr_assert_eq(read(ends[0], &is_leader, 1), 1);
    cr_assert(is_leader);
}

Test(process, that_has_no_parent_waiting_may_say_ready)
{
    process_ready();
    cr_assert_neq(fcntl(STDOUT_FILENO, F_GETFD), -1, "it gave up its output");
}

/* ---- Supervisors ---- */

static char supervisor_path[] = "/tmp/sherd-notify-XXXXXX";

static int open_supervisor(const char *name, size_t name_len)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, name, name_len);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name_len);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, len), 0);
    return fd;
}

static void expect_datagram(int fd, const char *wanted)
{
    char got[64];
    ssize_t len = recv(fd, got, sizeof got, MSG_DONTWAIT);
    cr_assert_eq(len, (ssize_t)strlen(wanted));
    cr_assert_eq(memcmp(got, wanted, (size_t)len), 0);
}

Test(process, notifies_the_socket_that_systemd_names)
{
    cr_assert_not_null(mkdtemp(supervisor_path));
    char name[64];
    snprintf(name, sizeof name, "%s/notify", supervisor_path);
    int fd = open_supervisor(name, strlen(name));
    setenv("NOTIFY_SOCKET", name, 1);
    cr_assert(process_has_systemd());
    cr_assert_eq(process_notify("READY=1"), 0);
    expect_datagram(fd, "READY=1");
    unlink(name);
    rmdir(supervisor_path);
}

Test(process, notifies_an_abstract_socket)
{
    char name[64];
    int len = snprintf(name, sizeof name, "@sherd-test-%d", (int)getpid());
    setenv("NOTIFY_SOCKET", name, 1);
    name[0] = '\0';
    int fd = open_supervisor(name, (size_t)len);
    cr_assert_eq(process_notify("STOPPING=1"), 0);
    expect_datagram(fd, "STOPPING=1");
}

Test(process, without_a_supervisor_has_nobody_to_notify)
{
    unsetenv("NOTIFY_SOCKET");
    unsetenv("UPSTART_JOB");
    cr_assert_not(process_has_systemd());
    cr_assert_not(process_has_upstart());
    cr_assert_eq(process_notify("READY=1"), -ENOENT);
}

Test(process, stops_itself_for_upstart_and_goes_on_when_told_to)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("UPSTART_JOB", "sherd", 1);
        process_stop_for_upstart();
        _exit(process_has_upstart());
    }
    int status;
    cr_assert_eq(waitpid(child, &status, WUNTRACED), child);
    cr_assert(WIFSTOPPED(status));
    kill(child, SIGCONT);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- Files of the system ---- */

Test(process, writes_its_number_over_an_older_one)
{
    char path[] = "/tmp/sherd-pid-XXXXXX", text[64] = "", wanted[64];
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, "999999999999\n", 13), 13);
    cr_assert_eq(process_write_pid(path), 0);
    snprintf(wanted, sizeof wanted, "%d\n", (int)getpid());
    cr_assert_eq(pread(fd, text, sizeof text - 1, 0), (ssize_t)strlen(wanted));
    cr_assert_str_eq(text, wanted);
    unlink(path);
    cr_assert_eq(process_write_pid("/nowhere/at/all"), -ENOENT);
}

Test(process, runs_on_the_cpus_that_a_list_names)
{
    cpu_set_t before, after;
    cr_assert_eq(sched_getaffinity(0, sizeof before, &before), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    char list[64];
    snprintf(list, sizeof list, "%d-%d:5", first, first + 4);
    cr_assert_eq(process_set_cpus(list), 0);
    cr_assert_eq(sched_getaffinity(0, sizeof after, &after), 0);
    cr_assert_eq(CPU_COUNT(&after), 1);
    cr_assert(CPU_ISSET(first, &after));
}

Test(process, refuses_what_is_no_list_of_cpus)
{
    const char *const lists[] = {"", "a", "1-", "3-1", "1:0", "1-2:", "1,", ",1", "1 2", "99999"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        cr_assert_eq(process_set_cpus(lists[i]), -EINVAL, "'%s' was taken for a list", lists[i]);
}

static int oom_score(void)
{
    FILE *file = fopen("/proc/self/oom_score_adj", "r");
    int score = INT_MIN;
    cr_assert_eq(fscanf(file, "%d", &score), 1);
    fclose(file);
    return score;
}

Test(process, weighs_more_and_then_what_it_weighed_before)
{
    int before = oom_score();
    cr_assert_eq(process_unweigh(), 0, "nothing to undo is no error");
    cr_assert_eq(process_weigh(true, 7), 0);
    cr_assert_eq(oom_score(), before + 7);
    cr_assert_eq(process_weigh(true, 9), 0);
    cr_assert_eq(oom_score(), before + 9, "weights do not add up");
    cr_assert_eq(process_weigh(false, 5000), 0);
    cr_assert_eq(oom_score(), 1000);
    cr_assert_eq(process_unweigh(), 0);
    cr_assert_eq(oom_score(), before);
}

/* ---- Title: in a program of two arguments and its environment, laid out as the system does. ----
 */

static char block[64] = "sherd\0--port\0A=1\0BB=22";
static char *arguments[] = {block, block + 6, NULL};
static char *variables[] = {block + 13, block + 17, NULL};

static void lay_out(void)
{
    environ = variables;
    process_title_init(2, arguments);
}

Test(process, title_takes_the_room_of_arguments_and_environment)
{
    lay_out();
    process_set_title("sherd *:6379");
    cr_assert_str_eq(block, "sherd *:6379");
    process_set_title("a title that is far longer than all the room there is for it");
    cr_assert_eq(strlen(block), sizeof("sherd\0--port\0A=1\0BB=22") - 1);
}

Test(process, title_leaves_arguments_and_environment_readable)
{
    lay_out();
    process_set_title("x");
    cr_assert_str_eq(arguments[0], "sherd");
    cr_assert_str_eq(arguments[1], "--port");
    cr_assert_str_eq(getenv("BB"), "22");
}

Test(process, title_without_room_is_no_harm)
{
    process_set_title("x");
}
