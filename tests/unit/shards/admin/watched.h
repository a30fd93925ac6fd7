/* watched: a home with one client and a command that has just run, for tests of those who watch. */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/session.h"
#include "shards/call/tap.h"
#include "shards/local/shard.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

#define WATCHED_WORDS_MAX 64
#define WATCHED_NOW_US INT64_C(1690000000123456)

struct watched {
    struct server server;
    struct config config;
    struct shard shard;
    struct home home;
    struct conn conn;
    struct session session;
    struct command command;
    struct bytes words[WATCHED_WORDS_MAX];
    struct call call;
    struct tap_event event;
};

static inline void watched_add_word(struct watched *watched, struct bytes word)
{
    watched->words[watched->call.arg_count++] = word;
}

/* A client at 127.0.0.1:50000 has run the command `name`, which stands before the words. */
static inline void watched_init(struct watched *watched, const char *name)
{
    *watched = (struct watched){0};
    watched->config.unix_socket = "";
    watched->config.slowlog_max_len = 128;
    watched->config.slowlog_slower_than_us = 10000;
    watched->home.server = &watched->server;
    watched->home.config = watched->shard.config = &watched->config;
    watched->home.shard = &watched->shard;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(50000)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(&watched->conn.peer.storage, &address, sizeof(address));
    watched->conn.peer.len = sizeof(address);
    watched->session = (struct session){.id = 7, .conn = &watched->conn, .home = &watched->home};
    watched->command = (struct command){.name = name};
    watched->call = (struct call){.command = &watched->command, .args = watched->words};
    watched->event = (struct tap_event){
        .call = &watched->call, .session = &watched->session, .now_us = WATCHED_NOW_US};
    watched_add_word(watched, bytes_from_text(name));
}
