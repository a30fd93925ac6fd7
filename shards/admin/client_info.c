/*
 * How: fields in the order of Redis 7.2. What has no counterpart here (a reply list, subscriptions
 * before there are any) is 0; of the two output buffers the one being filled counts as the reply
 * buffer and the one being sent as the reply list.
 */
#include "shards/admin/client_info.h"

#include <stdio.h>

#include "core/base/num.h"
#include "shards/call/call.h"
#include "shards/call/command_table.h"
#include "shards/call/session.h"
#include "shards/route/home.h"
#include "shards/route/multi.h"

#define FLAGS_CAP 16u

int client_type_find(struct bytes name)
{
    if (bytes_is(name, "normal"))
        return CLIENT_TYPE_NORMAL;
    if (bytes_is(name, "master"))
        return CLIENT_TYPE_MASTER;
    if (bytes_is(name, "replica") || bytes_is(name, "slave"))
        return CLIENT_TYPE_REPLICA;
    if (bytes_is(name, "pubsub"))
        return CLIENT_TYPE_PUBSUB;
    return -1;
}

enum client_type client_type_of(const struct session *session)
{
    switch (session->conn->class) {
    case CONN_REPLICA:
        return CLIENT_TYPE_REPLICA;
    case CONN_PUBSUB:
        return CLIENT_TYPE_PUBSUB;
    default:
        return CLIENT_TYPE_NORMAL;
    }
}

void client_info_addr(const struct session *session, char out_peer[], char out_local[], size_t cap)
{
    if (session->flags & SESSION_UNIX) {
        snprintf(out_peer, cap, "%s:0", session->home->config->unix_socket);
        snprintf(out_local, cap, "%s:0", session->home->config->unix_socket);
        return;
    }
    ASSERT(cap >= ADDR_TEXT_MAX);
    addr_text(&session->conn->peer, out_peer);
    addr_text(&session->conn->local, out_local);
}

static void flag_letters(const struct session *session, char out[FLAGS_CAP])
{
    char *to = out;
    if (session->flags & SESSION_MONITOR)
        *to++ = 'O';
    if (client_type_of(session) == CLIENT_TYPE_REPLICA)
        *to++ = 'S';
    if (client_type_of(session) == CLIENT_TYPE_PUBSUB)
        *to++ = 'P';
    if (session->flags & SESSION_IN_MULTI)
        *to++ = 'x';
    if (session->paused || session->is_blocked)
        *to++ = 'b';
    if (session->conn->close_after_reply)
        *to++ = 'c';
    if (session->conn->closing)
        *to++ = 'A';
    if (session->flags & SESSION_UNIX)
        *to++ = 'U';
    if (session->flags & SESSION_NO_EVICT)
        *to++ = 'e';
    if (session->flags & SESSION_NO_TOUCH)
        *to++ = 'T';
    if (to == out)
        *to++ = 'N';
    *to = '\0';
}

static size_t queued_bytes(const struct session *session)
{
    return session->multi ? session->multi->arena.taken_bytes : 0;
}

static size_t unparsed_bytes(const struct conn *conn)
{
    return conn->in.len - conn->in_at + conn->received_len;
}

size_t client_info_bytes(const struct session *session)
{
    const struct conn *conn = session->conn;
    return sizeof(*session) + sizeof(*conn) + conn->in.cap + conn->out.cap + conn->sending.cap +
           queued_bytes(session) + session->name.len + session->lib_name.len + session->lib_ver.len;
}

/* What a command takes on the wire, and what its words take. */
struct footprint {
    size_t wire_bytes, word_bytes;
};

static struct footprint footprint_of(const struct call *call)
{
    struct footprint footprint = {.wire_bytes = 3 + num_digits(call->arg_count)}; /* *2\r\n */
    for (uint32_t i = 0; i < call->arg_count; i++) {
        size_t len = call->args[i].len;
        footprint.word_bytes += len;
        footprint.wire_bytes += 5 + num_digits(len) + len; /* $6\r\nclient\r\n */
    }
    return footprint;
}

static void add_field(struct buf *text, const char *name, struct bytes value)
{
    buf_add_text(text, name);
    buf_add_bytes(text, value);
}

void client_info_add(struct buf *text, const struct session *session, const struct call *call,
                     int64_t now_ms)
{
    const struct conn *conn = session->conn;
    char peer[ADDR_TEXT_MAX], local[ADDR_TEXT_MAX], flags[FLAGS_CAP];
    client_info_addr(session, peer, local, ADDR_TEXT_MAX);
    flag_letters(session, flags);
    bool is_queueing = session->flags & SESSION_IN_MULTI;
    struct footprint running = {0};
    const struct command *last = session->last_command;
    if (session->id == call->client_id) {
        running = footprint_of(call);
        last = call->command;
    }

    buf_add_format(text, "id=%llu addr=%s laddr=%s fd=%d", (unsigned long long)session->id, peer,
                   local, conn->fd);
    add_field(text, " name=", session->name);
    buf_add_format(text, " age=%lld idle=%lld flags=%s db=%u sub=0 psub=0 ssub=0 multi=%d",
                   (long long)(now_ms - session->created_at_ms) / 1000,
                   (long long)(now_ms - session->active_at_ms) / 1000, flags, session->db_index,
                   is_queueing && session->multi ? (int)session->multi->count
                                                 : (is_queueing ? 0 : -1));
    buf_add_format(text, " qbuf=%zu qbuf-free=%zu argv-mem=%zu multi-mem=%zu",
                   unparsed_bytes(conn) + running.wire_bytes, conn->in.cap - conn->in.len,
                   running.word_bytes, queued_bytes(session));
    buf_add_format(text, " rbs=%zu rbp=%zu obl=%zu oll=%d omem=%zu tot-mem=%zu", conn->out.cap,
                   conn->out.cap, conn->out.len, conn->sending.len > 0, conn->sending.cap,
                   client_info_bytes(session));
    buf_add_format(text, " events=%s%s cmd=%s user=%s redir=-1 resp=%u",
                   conn->receive_op.armed ? "r" : "", conn->send_op.armed ? "w" : "",
                   last ? command_full_name(last) : "NULL",
                   session->user ? session->user : "(superuser)", session->resp);
    add_field(text, " lib-name=", session->lib_name);
    add_field(text, " lib-ver=", session->lib_ver);
}
