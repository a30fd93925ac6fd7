/*
 * client_info: one client as CLIENT LIST and INFO show it, and which kinds of clients there are.
 *
 * Thread: the client's home.
 */
#pragma once

#include "core/base/buf.h"

struct call;
struct home;
struct session;

enum client_type {
    CLIENT_TYPE_NORMAL,
    CLIENT_TYPE_MASTER,
    CLIENT_TYPE_REPLICA,
    CLIENT_TYPE_PUBSUB
};

/* The kind named "normal", "master", "replica" (or "slave"), "pubsub", in any case; -1: there is
 * none. */
int client_type_find(struct bytes name);
enum client_type client_type_of(const struct session *session);

/* Its peer's and its own address: "127.0.0.1:50000"; of a unix socket the socket's path and ":0".
 */
void client_info_addr(const struct session *session, char out_peer[], char out_local[], size_t cap);

/* Appends its line, without a line end. `call` is the command being run: if the client is its
 * caller, that command is still in its input. */
void client_info_add(struct buf *text, const struct session *session, const struct call *call,
                     int64_t now_ms);

/* Bytes of memory that the client takes: buffers, queued commands, its structures. */
size_t client_info_bytes(const struct session *session);
