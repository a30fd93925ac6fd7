#include "net/addr.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static struct addr ipv4(const char *host, uint16_t port)
{
    struct addr addr = {.len = sizeof(struct sockaddr_in)};
    struct sockaddr_in *in = (struct sockaddr_in *)&addr.storage;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    cr_assert_eq(inet_pton(AF_INET, host, &in->sin_addr), 1);
    return addr;
}

static struct addr ipv6(const char *host, uint16_t port)
{
    struct addr addr = {.len = sizeof(struct sockaddr_in6)};
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&addr.storage;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    cr_assert_eq(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
    return addr;
}

static struct addr local(const char *path)
{
    struct addr addr = {.len = sizeof(struct sockaddr_un)};
    struct sockaddr_un *un = (struct sockaddr_un *)&addr.storage;
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strnlen(path, sizeof(un->sun_path)));
    return addr;
}

static void expect_text(struct addr addr, const char *expected)
{
    char text[ADDR_TEXT_MAX];
    addr_text(&addr, text);
    cr_expect_str_eq(text, expected);
}

Test(addr, is_written_as_redis_writes_it)
{
    expect_text(ipv4("127.0.0.1", 6379), "127.0.0.1:6379");
    expect_text(ipv6("::1", 6379), "[::1]:6379");
    expect_text(ipv6("fe80:1111:2222:3333:4444:5555:6666:7777", 65535),
                "[fe80:1111:2222:3333:4444:5555:6666:7777]:65535");
    expect_text(local("/run/sherd.sock"), "/run/sherd.sock:0");
    expect_text((struct addr){0}, "?:0");
}

Test(addr, is_written_whole_when_a_path_fills_its_field)
{
    char path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1], expected[sizeof(path) + 2];
    memset(path, 'p', sizeof(path) - 1);
    path[sizeof(path) - 1] = '\0';
    snprintf(expected, sizeof(expected), "%s:0", path);
    expect_text(local(path), expected);
}

Test(addr, is_local_on_loopback_and_unix_sockets)
{
    struct addr addresses[] = {ipv4("127.0.0.1", 1), ipv4("127.255.0.9", 1), ipv6("::1", 1),
                               local("/x")};
    for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
        cr_expect(addr_is_local(&addresses[i]), "address %zu", i);

    struct addr far[] = {ipv4("10.0.0.1", 1), ipv4("128.0.0.1", 1), ipv4("0.0.0.0", 1),
                         ipv6("::2", 1), ipv6("::", 1)};
    for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++)
        cr_expect_not(addr_is_local(&far[i]), "address %zu", i);
}
