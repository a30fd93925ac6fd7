#include "net/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/unit/net/house.h"

struct door {
    int accepted_fd;
    int accepted_count;
};

static void on_accept(void *context, int fd)
{
    struct door *door = context;
    door->accepted_fd = fd;
    door->accepted_count++;
}

/* A folder that only this test knows, with room for one socket's name. */
static char *make_path(char path[64])
{
    char folder[] = "/tmp/sherd-listener-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, 64, "%s/socket", folder);
    return path;
}

static void remove_path(char *path)
{
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
}

static int connect_unix(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    memcpy(un.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    return fd;
}

HouseTest(listener, accepts_on_a_unix_socket)
{
    char path[64], error[256];
    struct door door = {0};
    struct listener_options options = {
        .unix_path = make_path(path), .unix_perm = 0700, .backlog = 16};
    int stale = open(path, O_CREAT | O_WRONLY, 0600);
    close(stale); /* as after kill -9 */

    struct listener *listener;
    cr_assert_eq(
        listener_create(house->ring, &options, on_accept, &door, &listener, error, sizeof(error)),
        0);
    cr_assert_eq(listener_socket_count(listener), 1);
    struct stat stat_of;
    cr_assert_eq(stat(path, &stat_of), 0);
    cr_assert_eq(stat_of.st_mode & 0777, 0700);

    int clients[2] = {connect_unix(path), connect_unix(path)};
    house_turn_until(house, door.accepted_count == 2);
    struct conn *conn = conns_adopt(house->conns, door.accepted_fd);
    char text[ADDR_TEXT_MAX], expected[ADDR_TEXT_MAX];
    addr_text(&conn->peer, text);
    snprintf(expected, sizeof(expected), "%s:0", path);
    cr_assert_str_eq(text, expected);

    listener_destroy(listener);
    cr_assert_neq(stat(path, &stat_of), 0, "the socket's file is still there");
    close(clients[0]);
    close(clients[1]);
    remove_path(path);
}

HouseTest(listener, refuses_a_path_that_is_too_long)
{
    char path[200] = "/", error[256] = "";
    memset(path + 1, 'p', sizeof(path) - 2);
    path[sizeof(path) - 1] = '\0';
    struct listener_options options = {.unix_path = path, .backlog = 16};
    struct listener *listener = NULL;
    cr_assert_eq(
        listener_create(house->ring, &options, on_accept, NULL, &listener, error, sizeof(error)),
        -ENAMETOOLONG);
    cr_assert_null(listener);
    cr_assert_not_null(strstr(error, "File name too long"));
}

HouseTest(listener, listens_nowhere_when_told_so)
{
    char error[256];
    struct listener_options options = {.backlog = 16};
    struct listener *listener;
    cr_assert_eq(
        listener_create(house->ring, &options, on_accept, NULL, &listener, error, sizeof(error)),
        0);
    cr_assert_eq(listener_socket_count(listener), 0);
    listener_destroy(listener);
    listener_destroy(NULL);
}

HouseTest(listener, refuses_connections_for_want_of_descriptors_and_goes_on)
{
    char path[64], error[256];
    struct door door = {0};
    struct listener_options options = {.unix_path = make_path(path), .backlog = 16};
    struct listener *listener;
    cr_assert_eq(
        listener_create(house->ring, &options, on_accept, &door, &listener, error, sizeof(error)),
        0);
    int refused = connect_unix(path);
    int next = dup(0);
    struct rlimit limit, old;
    getrlimit(RLIMIT_NOFILE, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)next; /* all below are taken */
    close(next);
    for (int fd = dup(0); fd >= 0 && fd < next - 1; fd = dup(0))
        continue;                                      /* fill gaps */
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0); /* before the first accept leaves */
    char byte;
    house_turn_until(house, recv(refused, &byte, 1, MSG_DONTWAIT) == 0);
    cr_assert_eq(door.accepted_count, 0);

    house_turns(house, 3);

    setrlimit(RLIMIT_NOFILE, &old);
    for (int count = 1; count <= 3; count++) {
        int client = connect_unix(path);
        house_turn_until(house, door.accepted_count == count);
        close(door.accepted_fd);
        close(client);
    }
    close(refused);
    listener_destroy(listener);
    remove_path(path);
}

/* A socket that listens where the kernel likes, and the options to listen there too. */
static int occupy_port(uint16_t *out_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    cr_assert_eq(bind(fd, (struct sockaddr *)&in, len), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&in, &len), 0);
    *out_port = ntohs(in.sin_port);
    return fd;
}

Test(listener, notices_a_port_that_another_server_shares)
{
    struct listener_options options = {.bind = (const char *const[]){"127.0.0.1"}, .bind_count = 1};
    int other = occupy_port(&options.port);
    char error[256], expected[256];
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), -EADDRINUSE);
    snprintf(expected, sizeof(expected),
             "Could not create server TCP listening socket 127.0.0.1:%u: bind: "
             "Address already in use",
             options.port);
    cr_assert_str_eq(error, expected);
    close(other);
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), 0);
}

HouseTest(listener, shares_a_port_between_threads)
{
    char error[256];
    struct door doors[2] = {{0}, {0}};
    struct listener *listeners[2];
    struct listener_options options = {
        .bind = (const char *const[]){"localhost", "-192.0.2.1"}, .bind_count = 2, .backlog = 16};
    close(occupy_port(&options.port));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(listener_create(house->ring, &options, on_accept, &doors[i], &listeners[i],
                                     error, sizeof(error)),
                     0, "%s", error);
        cr_assert_eq(listener_socket_count(listeners[i]), 1, "192.0.2.1 is nobody's address");
    }
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons(options.port)};
    int client = socket(AF_INET, SOCK_STREAM, 0), on = 0;
    socklen_t len = sizeof(on);
    cr_assert_eq(connect(client, (struct sockaddr *)&in, sizeof(in)), 0);
    house_turn_until(house, doors[0].accepted_count + doors[1].accepted_count == 1);
    int fd = doors[doors[1].accepted_count].accepted_fd;
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, &len), 0);
    cr_assert_eq(on, LISTENER_UNSENT_BYTES);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    cr_assert_eq(on, 1, "no delay is not inherited");

    house->options.keepalive_s = 300;
    struct conn *conn = conns_adopt(house->conns, fd);
    cr_assert_not_null(conn);
    cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len), 0);
    cr_assert_eq(on, 1);
    cr_assert_eq(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &on, &len), 0);
    cr_assert_eq(on, 300);
    close(client);
    listener_destroy(listeners[0]);
    listener_destroy(listeners[1]);
}

Test(listener, refuses_what_is_no_address)
{
    char error[256];
    struct listener_options options = {.port = 1, .bind_count = 1};
    options.bind = (const char *const[]){"example.org"};
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), -EINVAL);
    cr_assert_not_null(strstr(error, "example.org:1"));
    options.bind = (const char *const[]){"::g"};
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), -EINVAL);
}

Test(listener, passes_over_a_missing_address_only_if_it_may_be_missing)
{
    char error[256];
    struct listener_options options = {.bind_count = 1};
    close(occupy_port(&options.port));
    options.bind = (const char *const[]){"192.0.2.1"};
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), -EADDRNOTAVAIL);
    options.bind = (const char *const[]){"-192.0.2.1"};
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), 0);
}

Test(listener, takes_every_address_of_either_family)
{
    char error[256];
    struct listener_options options = {.bind = (const char *const[]){"*", "-::*"}, .bind_count = 2};
    close(occupy_port(&options.port));
    cr_assert_eq(listener_check(&options, 0, error, sizeof(error)), 0, "%s", error);
}
