/*
 * How: a line is written once, where the command ran, and copied for each home that has monitors.
 * A post carries it there: lanes keep order, so a client's commands arrive in its order.
 *
 * `here` is read relaxed: a home that misses a monitor which has just begun only misses lines of
 * commands that ran before the monitor was answered, since that answer waits for every home.
 */
#include "shards/admin/monitor.h"

#include "core/base/mem.h"
#include "shards/admin/home_admin.h"
#include "shards/admin/redact.h"
#include "shards/call/call.h"
#include "shards/call/session.h"
#include "shards/call/tap.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

/* A line on its way to another home. */
struct monitor_line {
    uint32_t len;
    char text[];
};

/* In double quotes, with C's escapes for what is not printable ASCII. */
static void add_quoted(struct buf *line, struct bytes word)
{
    static const char digits[] = "0123456789abcdef";
    buf_add_char(line, '"');
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        const char *name = NULL;
        switch (c) {
        case '\\':
            name = "\\\\";
            break;
        case '"':
            name = "\\\"";
            break;
        case '\n':
            name = "\\n";
            break;
        case '\r':
            name = "\\r";
            break;
        case '\t':
            name = "\\t";
            break;
        case '\a':
            name = "\\a";
            break;
        case '\b':
            name = "\\b";
            break;
        }
        if (name) {
            buf_add_text(line, name);
        } else if (c >= ' ' && c <= '~') {
            buf_add_char(line, (char)c);
        } else {
            buf_add(line, (char[]){'\\', 'x', digits[c >> 4], digits[c & 15]}, 4);
        }
    }
    buf_add_char(line, '"');
}

void monitor_add_line(struct buf *line, const struct tap_event *event, const char *unix_path)
{
    const struct call *call = event->call;
    buf_add_format(line, "+%lld.%06lld [%u ", (long long)(event->now_us / 1000000),
                   (long long)(event->now_us % 1000000), call->db_index);
    if (event->session->flags & SESSION_UNIX) {
        buf_add_format(line, "unix:%s] ", unix_path);
    } else {
        char addr[ADDR_TEXT_MAX];
        addr_text(&event->session->conn->peer, addr);
        buf_add_format(line, "%s] ", addr);
    }
    for (uint32_t i = 0; i < call->arg_count; i++) {
        if (i > 0)
            buf_add_char(line, ' ');
        add_quoted(line, redact_hides(call, i) ? BYTES(REDACTED) : call_arg(call, i));
    }
    buf_add_text(line, "\r\n");
}

static void show(struct home *home, struct bytes line)
{
    for (struct session *session = home_first_session(home); session;
         session = home_next_session(session)) {
        if (session->flags & SESSION_MONITOR)
            home_send_push(home, session, line);
    }
}

static void receive_line(struct home *to, void *message)
{
    struct monitor_line *line = message;
    show(to, bytes_of(line->text, line->len));
    mem_free(line);
}

static bool lives_on(const struct home *home)
{
    return atomic_load_explicit(&home->admin->monitor.here, memory_order_relaxed) > 0;
}

static bool lives_anywhere(const struct server *server)
{
    for (uint32_t i = 0; i < server->shard_count; i++) {
        if (lives_on(server->homes[i]))
            return true;
    }
    return false;
}

static void on_command(void *context, const struct tap_event *event)
{
    struct home *home = context;
    const struct server *server = home->server;
    if (event->call->command->flags & (CMD_SKIP_MONITOR | CMD_ADMIN) || !lives_anywhere(server))
        return;
    struct buf text = {0};
    monitor_add_line(&text, event, home->config->unix_socket);
    for (uint32_t i = 0; i < server->shard_count; i++) {
        if (!lives_on(server->homes[i]))
            continue;
        struct monitor_line *line = mem_alloc(sizeof(*line) + text.len);
        line->len = (uint32_t)text.len;
        memcpy(line->text, text.ptr, text.len);
        home_post(home, (uint16_t)i, receive_line, line);
    }
    buf_fini(&text);
}

void monitor_expect(struct home *home, int64_t now_ms)
{
    struct monitor *monitor = &home->admin->monitor;
    monitor->expected_at_ms = now_ms;
    if (monitor->listens)
        return;
    monitor->listens = true;
    tap_add_before(&home->tap, on_command, home);
}

void monitor_start(struct home *home, struct session *session)
{
    if (session->flags & SESSION_MONITOR)
        return;
    session->flags |= SESSION_MONITOR;
    atomic_fetch_add_explicit(&home->admin->monitor.here, 1, memory_order_relaxed);
}

void monitor_stop(struct home *home, struct session *session)
{
    if (!(session->flags & SESSION_MONITOR))
        return;
    session->flags &= ~SESSION_MONITOR;
    atomic_fetch_sub_explicit(&home->admin->monitor.here, 1, memory_order_relaxed);
}

void monitor_tend(struct home *home, int64_t now_ms)
{
    struct monitor *monitor = &home->admin->monitor;
    if (!monitor->listens || now_ms - monitor->expected_at_ms < MONITOR_LINGER_MS)
        return;
    if (lives_anywhere(home->server)) {
        monitor->expected_at_ms = now_ms;
        return;
    }
    monitor->listens = false;
    tap_remove_before(&home->tap, on_command);
}
