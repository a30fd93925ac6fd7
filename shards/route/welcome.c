#include "shards/route/welcome.h"

#include <string.h>
#include <unistd.h>

#include "core/os/log.h"
#include "net/listener.h"
#include "shards/local/config.h"
#include "shards/route/dispatch.h"
#include "shards/route/home.h"
#include "shards/route/hop.h"
#include "shards/route/mailbox.h"
#include "shards/route/server.h"

static const char too_many[] = "-ERR max number of clients reached\r\n";

static const char protected_text[] =
    "-DENIED Redis is running in protected mode because protected mode is enabled and no password "
    "is "
    "set for the default user. In this mode connections are only accepted from the loopback "
    "interface. If you want to connect from external computers to Redis you may adopt one of the "
    "following solutions: 1) Just disable protected mode sending the command 'CONFIG SET "
    "protected-mode no' from the loopback interface by connecting to Redis from the same host the "
    "server is running, however MAKE SURE Redis is not publicly accessible from internet if you do "
    "so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable "
    "the "
    "protected mode by editing the Redis configuration file, and setting the protected mode option "
    "to 'no', and then restarting the server. 3) If you started the server manually just for "
    "testing, restart it with the '--protected-mode no' option. 4) Setup a an authentication "
    "password for the default user. NOTE: You only need to do one of the above things in order for "
    "the server to start accepting connections from the outside.\r\n";

static struct server_count *count_of(const struct home *home, uint32_t id)
{
    return &home->server->counts[id];
}

/* The thread with the fewest clients; this one if it is among them. Counting at once, not when the
 * connection has arrived, keeps a burst from all going to one thread. */
static uint16_t choose(struct home *home)
{
    uint32_t best = home->id;
    uint32_t fewest = atomic_load_explicit(&count_of(home, best)->sessions, memory_order_relaxed);
    for (uint32_t id = 0; id < home->server->shard_count; id++) {
        uint32_t sessions = atomic_load_explicit(&count_of(home, id)->sessions,
                                                 memory_order_relaxed);
        if (sessions < fewest) {
            fewest = sessions;
            best = id;
        }
    }
    return (uint16_t)best;
}

static void on_accept(void *context, int fd)
{
    struct home *home = context;
    if (server_is_stopping(home->server)) {
        close(fd);
        return;
    }
    if (server_session_count(home->server) >= home->config->maxclients) {
        ssize_t sent = write(fd, too_many, sizeof(too_many) - 1);
        (void)sent; /* it is closed either way */
        close(fd);
        home->stats.connections_rejected++;
        return;
    }
    uint16_t to = choose(home);
    atomic_fetch_add_explicit(&count_of(home, to)->sessions, 1, memory_order_relaxed);
    if (to == home->id) {
        home_adopt(home, fd);
        return;
    }
    struct hop *hop = hop_take(home, HOP_ADOPT, to);
    hop->fd = fd;
    atomic_fetch_add_explicit(&home->server->posts_out, 1, memory_order_relaxed);
    mailbox_send(home->mailbox, to, hop);
}

void home_adopt(struct home *home, int fd)
{
    if (!conns_adopt(home->conns, fd))
        atomic_fetch_sub_explicit(&count_of(home, home->id)->sessions, 1, memory_order_relaxed);
}

void home_welcome(struct home *home, struct conn *conn)
{
    const struct config *config = home->config;
    bool needs_password = config->requirepass[0] != 0;
    uint64_t id = 1 + atomic_fetch_add_explicit(&home->server->next_session_id, 1,
                                                memory_order_relaxed);
    struct session *session = session_create(home, id, conn, needs_password, home->now_ms);
    session->opened_at_look = home->config_looks;
    if (conn->peer.storage.ss_family == AF_UNIX)
        session->flags |= SESSION_UNIX;
    home->stats.connections_received++;
    if (config->protected_mode && !needs_password && !addr_is_local(&conn->peer)) {
        buf_add(conn_output(conn), protected_text, sizeof(protected_text) - 1);
        conn_finish(conn);
        home->stats.connections_rejected++;
    }
}

void home_forget_session(struct home *home, struct session *session)
{
    tap_fire_closed(&home->tap, session);
    atomic_fetch_sub_explicit(&count_of(home, home->id)->sessions, 1, memory_order_relaxed);
}

static struct listener_options options_of(const struct home *home, const struct config *config)
{
    return (struct listener_options){
        .bind = config->bind,
        .bind_count = config->bind_count,
        .port = config->port,
        .unix_path = home->id == 0 && config->unix_socket[0] ? config->unix_socket : NULL,
        .unix_perm = config->unix_socket_perm,
        .backlog = config->tcp_backlog,
    };
}

int welcome_listen(struct home *home, const struct config *config, char *out_error,
                   size_t error_cap)
{
    struct listener_options options = options_of(home, config);
    return listener_create(home->ring, &options, on_accept, home, &home->listener, out_error,
                           error_cap);
}

static bool listens_alike(const struct config *a, const struct config *b)
{
    if (a->port != b->port || a->bind_count != b->bind_count)
        return false;
    for (uint32_t i = 0; i < a->bind_count; i++)
        if (strcmp(a->bind[i], b->bind[i]) != 0)
            return false;
    return true;
}

void welcome_follow_config(struct home *home, const struct config *old, const struct config *new)
{
    char error[256];
    if (listens_alike(old, new))
        return;
    listener_destroy(home->listener);
    home->listener = NULL;
    int result = welcome_listen(home, new, error, sizeof(error));
    if (result < 0)
        log_error("listen.failed", "thread=%u error=\"%s\"", home->id, error);
}
