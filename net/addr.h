/*
 * addr: a peer's or listener's address, and its text. Thread: any.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#define ADDR_TEXT_MAX 128

struct addr {
    struct sockaddr_storage storage;
    socklen_t len;
};

/* "127.0.0.1:6379", "[::1]:6379" as Redis prints them, "/path:0" for a unix socket. */
void addr_text(const struct addr *addr, char out[ADDR_TEXT_MAX]);
/* Is it 127/8, ::1 or a unix socket? For protected-mode. */
int addr_is_local(const struct addr *addr);
