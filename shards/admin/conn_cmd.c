/*
 * How: these commands touch nothing but the session of the client that calls, so they run at its
 * home. A password is compared in time that depends on what was given only.
 */
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/admin/client_attr.h"
#include "shards/admin/home_admin.h"
#include "shards/admin/monitor.h"
#include "shards/call/session.h"
#include "shards/route/home.h"
#include "shards/route/multi.h"
#include "shards/local/version.h"

#define NO_SUCH_CREDENTIALS "WRONGPASS invalid username-password pair or user is disabled."
#define BAD_CLIENT_NAME "ERR Client names cannot contain spaces, newlines or special characters."

static enum status cmd_ping(struct call *call)
{
    if (call->arg_count > 2)
        return ERR_WRONG_ARITY;
    if (call->arg_count == 2)
        reply_bulk(call->reply, call_arg(call, 1));
    else
        reply_simple(call->reply, "PONG");
    return OK;
}

static enum status cmd_echo(struct call *call)
{
    reply_bulk(call->reply, call_arg(call, 1));
    return OK;
}

static enum status cmd_select(struct call *call)
{
    int64_t index;
    TRY(call_arg_int(call, 1, &index));
    if (index < INT32_MIN || index > INT32_MAX)
        return call_fail_text(call, "ERR value is out of range, value must between %d and %d",
                              INT32_MIN, INT32_MAX);
    if (index < 0 || index >= call->config->databases)
        return call_fail_text(call, "ERR DB index is out of range");
    call->session->db_index = (uint16_t)index;
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_quit(struct call *call)
{
    reply_ok(call->reply);
    home_close_session(call->home, call->session, false);
    return OK;
}

/* ---- Who the client is ---- */

/* Tells nothing about the secret by the time it takes: every given byte is looked at, whatever came
 * before. */
static bool secret_equal(struct bytes given, struct bytes secret)
{
    unsigned difference = given.len != secret.len;
    size_t at = 0;
    for (size_t i = 0; i < given.len; i++) {
        difference |= (unsigned)(uint8_t)given.ptr[i] ^ (uint8_t)secret.ptr[at];
        at = at + 1 < secret.len ? at + 1 : 0;
    }
    return difference == 0;
}

static bool has_password(const struct config *config)
{
    return config->requirepass && config->requirepass[0];
}

/* There is one user; it may be known by its name, and needs its password if it has one. */
static enum status authenticate(struct call *call, struct bytes user, struct bytes password)
{
    bool known = bytes_equal(user, BYTES("default"));
    if (known && has_password(call->config))
        known = secret_equal(password, bytes_from_text(call->config->requirepass));
    if (!known) {
        call->home->admin->denied_auth++;
        return call_fail_text(call, "%s", NO_SUCH_CREDENTIALS);
    }
    call->session->user = "default";
    call->session->authenticated = true;
    call->session->conn->trusted = true;
    return OK;
}

static enum status cmd_auth(struct call *call)
{
    if (call->arg_count > 3)
        return ERR_SYNTAX;
    if (call->arg_count == 3) {
        TRY(authenticate(call, call_arg(call, 1), call_arg(call, 2)));
    } else {
        if (!has_password(call->config))
            return call_fail_text(call, "ERR AUTH <password> called without any password "
                                        "configured for the default user. Are you sure your "
                                        "configuration is correct?");
        TRY(authenticate(call, BYTES("default"), call_arg(call, 1)));
    }
    reply_ok(call->reply);
    return OK;
}

struct hello {
    int64_t version; /* 0: leave it */
    bool has_credentials, has_name;
    struct bytes user, password, name;
};

static enum status parse_hello(struct call *call, struct hello *hello)
{
    if (call->arg_count >= 2) {
        if (call_arg_int(call, 1, &hello->version) != OK)
            return call_fail_text(call, "ERR Protocol version is not an integer or out of range");
        if (hello->version < 2 || hello->version > 3)
            return call_fail_text(call, "NOPROTO unsupported protocol version");
    }
    for (uint32_t i = 2; i < call->arg_count; i++) {
        uint32_t more = call->arg_count - 1 - i;
        if (call_arg_is(call, i, "auth") && more >= 2) {
            hello->has_credentials = true;
            hello->user = call_arg(call, i + 1);
            hello->password = call_arg(call, i + 2);
            i += 2;
        } else if (call_arg_is(call, i, "setname") && more >= 1) {
            hello->has_name = true;
            hello->name = call_arg(call, ++i);
            if (!client_attr_is_valid(hello->name))
                return call_fail_text(call, "%s", BAD_CLIENT_NAME);
        } else {
            struct bytes option = call_arg(call, i);
            return call_fail_text(call, "ERR Syntax error in HELLO option '%.*s'", (int)option.len,
                                  option.ptr);
        }
    }
    return OK;
}

static enum status cmd_hello(struct call *call)
{
    struct hello hello = {0};
    struct session *session = call->session;
    TRY(parse_hello(call, &hello));
    if (hello.has_credentials)
        TRY(authenticate(call, hello.user, hello.password));
    if (!session->authenticated)
        return call_fail_text(call, "NOAUTH HELLO must be called with the client already "
                                    "authenticated, otherwise the HELLO <proto> AUTH <user> "
                                    "<pass> option can be used to authenticate the client and "
                                    "select the RESP protocol version at the same time");
    if (hello.has_name)
        session_set_text(&session->name, hello.name);
    if (hello.version)
        session->resp = call->reply->resp = (uint8_t)hello.version;

    reply_map(call->reply, 7);
    reply_bulk_text(call->reply, "server");
    reply_bulk_text(call->reply, "redis");
    reply_bulk_text(call->reply, "version");
    reply_bulk_text(call->reply, REDIS_VERSION);
    reply_bulk_text(call->reply, "proto");
    reply_int(call->reply, session->resp);
    reply_bulk_text(call->reply, "id");
    reply_int(call->reply, (int64_t)session->id);
    reply_bulk_text(call->reply, "mode");
    reply_bulk_text(call->reply, "standalone");
    reply_bulk_text(call->reply, "role");
    reply_bulk_text(call->reply, "master");
    reply_bulk_text(call->reply, "modules");
    reply_array(call->reply, 0);
    return OK;
}

/* Back to what a new connection is; id, library and address stay. (If CLIENT REPLY SKIP came before
 * it, this very command is still not answered.) */
static enum status cmd_reset(struct call *call)
{
    struct session *session = call->session;
    monitor_stop(call->home, session);
    multi_discard(session);
    session->flags &= ~(SESSION_REPLY_OFF | SESSION_REPLY_SKIP_NEXT | SESSION_NO_EVICT |
                        SESSION_NO_TOUCH);
    session->db_index = 0;
    session->resp = call->reply->resp = 2;
    session_set_text(&session->name, (struct bytes){0});
    session->user = "default";
    session_let_in(session, has_password(call->config));
    reply_simple(call->reply, "RESET");
    return OK;
}

/* clang-format off */
const struct command conn_commands[] = {
    {.name = "ping", .arity = -1, .run = cmd_ping, .plan = PLAN_HERE,
     .flags = CMD_FAST | CMD_SENTINEL, .acl = ACL_CONNECTION,
     .syntax = "[message]", .since = "1.0.0", .cost = "O(1)",
     .tips = "request_policy:all_shards,response_policy:all_succeeded",
     .brief = "Answers PONG, or the message that it was given."},
    {.name = "echo", .arity = 2, .run = cmd_echo, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE | CMD_FAST, .acl = ACL_CONNECTION,
     .syntax = "message", .since = "1.0.0", .cost = "O(1)",
     .brief = "Answers the message."},
    {.name = "select", .arity = 2, .run = cmd_select, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE | CMD_FAST, .acl = ACL_CONNECTION,
     .syntax = "index", .since = "1.0.0", .cost = "O(1)",
     .brief = "Makes the numbered database the one that the connection works on."},
    {.name = "quit", .arity = -1, .run = cmd_quit, .plan = PLAN_HERE,
     .flags = CMD_ALLOW_BUSY | CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH |
              CMD_SESSION,
     .acl = ACL_CONNECTION, .syntax = "", .since = "1.0.0", .cost = "O(1)",
     .deprecated_since = "7.2.0", .replaced_by = "just closing the connection",
     .brief = "Answers, and closes the connection."},
    {.name = "reset", .arity = 1, .run = cmd_reset, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_ALLOW_BUSY |
              CMD_SESSION,
     .acl = ACL_CONNECTION, .syntax = "", .since = "6.2.0", .cost = "O(1)",
     .brief = "Makes the connection what it was when it had just been opened."},
    {.name = "hello", .arity = -1, .run = cmd_hello, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_SENTINEL |
              CMD_ALLOW_BUSY,
     .acl = ACL_CONNECTION,
     .syntax = "[protover [AUTH username password] [SETNAME clientname]]",
     .since = "6.0.0", .cost = "O(1)",
     .history = "6.2.0 May be called without a version, to learn the one in use.",
     .brief = "Agrees on the protocol's version, and may log in and name the connection."},
    {.name = "auth", .arity = -2, .run = cmd_auth, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_FAST | CMD_NO_AUTH | CMD_SENTINEL |
              CMD_ALLOW_BUSY,
     .acl = ACL_CONNECTION, .syntax = "[username]@6.0.0 password", .since = "1.0.0",
     .cost = "O(N) where N is the number of passwords of the user",
     .history = "6.0.0 Takes the name of a user too.",
     .brief = "Logs the connection in."},
    {0},
};
/* clang-format on */
