/*
 * addr: text as inet_ntop() makes it, with brackets around an IPv6 address that a port follows.
 */
#include "net/addr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

void addr_text(const struct addr *addr, char out[ADDR_TEXT_MAX])
{
    char host[INET6_ADDRSTRLEN];
    switch (addr->storage.ss_family) {
    case AF_INET: {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&addr->storage;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
        snprintf(out, ADDR_TEXT_MAX, "%s:%u", host, ntohs(in->sin_port));
        break;
    }
    case AF_INET6: {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&addr->storage;
        inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
        snprintf(out, ADDR_TEXT_MAX, "[%s]:%u", host, ntohs(in->sin6_port));
        break;
    }
    case AF_UNIX: {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&addr->storage;
        /* A path that fills its field has no terminator. */
        snprintf(out, ADDR_TEXT_MAX, "%.*s:0", (int)sizeof(un->sun_path), un->sun_path);
        break;
    }
    default:
        snprintf(out, ADDR_TEXT_MAX, "?:0");
    }
}

int addr_is_local(const struct addr *addr)
{
    switch (addr->storage.ss_family) {
    case AF_INET: {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&addr->storage;
        return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    case AF_INET6: {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&addr->storage;
        return IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
    }
    default:
        return addr->storage.ss_family == AF_UNIX;
    }
}
