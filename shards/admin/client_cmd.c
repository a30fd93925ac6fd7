/*
 * How: what concerns the calling client alone runs at its home; what concerns others visits every
 * thread. A visited thread knows the caller by its id only.
 */
#include <stdlib.h>

#include "shards/admin/client_attr.h"
#include "shards/admin/client_info.h"
#include "shards/admin/client_kill.h"
#include "shards/admin/part.h"
#include "shards/call/call.h"
#include "shards/call/command.h"
#include "shards/call/help.h"
#include "shards/call/session.h"
#include "shards/local/shard.h"
#include "shards/route/blocked.h"
#include "shards/route/home.h"

/* ---- The calling client ---- */

static enum status cmd_id(struct call *call)
{
    reply_int(call->reply, (int64_t)call->session->id);
    return OK;
}

static enum status cmd_info(struct call *call)
{
    struct buf text = {0};
    client_info_add(&text, call->session, call, call_now_ms(call));
    buf_add_char(&text, '\n');
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
    return OK;
}

static enum status cmd_getname(struct call *call)
{
    if (call->session->name.len)
        reply_bulk(call->reply, call->session->name);
    else
        reply_null(call->reply);
    return OK;
}

static enum status cmd_setname(struct call *call)
{
    if (!client_attr_is_valid(call_arg(call, 2)))
        return call_fail_text(call, "ERR Client names cannot contain spaces, newlines or special "
                                    "characters.");
    session_set_text(&call->session->name, call_arg(call, 2));
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_setinfo(struct call *call)
{
    struct bytes option = call_arg(call, 2);
    struct bytes *attr;
    if (bytes_is(option, "lib-name"))
        attr = &call->session->lib_name;
    else if (bytes_is(option, "lib-ver"))
        attr = &call->session->lib_ver;
    else
        return call_fail_text(call, "ERR Unrecognized option '%.*s'", (int)option.len, option.ptr);
    if (!client_attr_is_valid(call_arg(call, 3)))
        return call_fail_text(call,
                              "ERR %.*s cannot contain spaces, newlines or special characters.",
                              (int)option.len, option.ptr);
    session_set_text(attr, call_arg(call, 3));
    reply_ok(call->reply);
    return OK;
}

/* Nothing is tracked, so nothing is redirected. */
static enum status cmd_getredir(struct call *call)
{
    reply_int(call->reply, -1);
    return OK;
}

static enum status cmd_reply(struct call *call)
{
    struct session *session = call->session;
    if (call_arg_is(call, 2, "on")) {
        session->flags &= ~(SESSION_REPLY_OFF | SESSION_REPLY_SKIP);
        reply_ok(call->reply);
    } else if (call_arg_is(call, 2, "off")) {
        session->flags |= SESSION_REPLY_OFF;
    } else if (call_arg_is(call, 2, "skip")) {
        if (!(session->flags & SESSION_REPLY_OFF))
            session->flags |= SESSION_REPLY_SKIP_NEXT;
    } else {
        return ERR_SYNTAX;
    }
    return OK;
}

static enum status switch_flag(struct call *call, uint32_t flag)
{
    if (call_arg_is(call, 2, "on"))
        call->session->flags |= flag;
    else if (call_arg_is(call, 2, "off"))
        call->session->flags &= ~flag;
    else
        return ERR_SYNTAX;
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_no_evict(struct call *call)
{
    return switch_flag(call, SESSION_NO_EVICT);
}

static enum status cmd_no_touch(struct call *call)
{
    return switch_flag(call, SESSION_NO_TOUCH);
}

/* ---- LIST ---- */

struct list_line {
    uint64_t id;
    struct bytes text;
};

/* CLIENT LIST, ... TYPE type, ... ID id [id ...] */
static enum status check_list(struct call *call)
{
    if (call->arg_count == 2)
        return OK;
    if (call->arg_count == 4 && call_arg_is(call, 2, "type")) {
        struct bytes type = call_arg(call, 3);
        if (client_type_find(type) < 0)
            return call_fail_text(call, "ERR Unknown client type '%.*s'", (int)type.len, type.ptr);
        return OK;
    }
    if (call->arg_count < 4 || !call_arg_is(call, 2, "id"))
        return ERR_SYNTAX;
    for (uint32_t i = 3; i < call->arg_count; i++) {
        int64_t id;
        if (call_arg_int(call, i, &id) != OK)
            return call_fail_text(call, "ERR Invalid client ID");
    }
    return OK;
}

/* Is the client asked for? The words have been checked. */
static bool lists(const struct call *call, const struct session *session)
{
    if (call->arg_count == 2)
        return true;
    if (call_arg_is(call, 2, "type"))
        return (int)client_type_of(session) == client_type_find(call_arg(call, 3));
    for (uint32_t i = 3; i < call->arg_count; i++) {
        int64_t id;
        if (call_arg_int(call, i, &id) == OK && (uint64_t)id == session->id)
            return true;
    }
    return false;
}

static enum status cmd_list(struct call *call)
{
    TRY(check_list(call));
    struct buf content = {0}, line = {0};
    for (struct session *session = home_first_session(call->home); session;
         session = home_next_session(session)) {
        if (!lists(call, session))
            continue;
        line.len = 0;
        client_info_add(&line, session, call, call_now_ms(call));
        part_add(&content, &session->id, sizeof(session->id));
        part_add_bytes(&content, buf_bytes(&line));
    }
    buf_fini(&line);
    part_write(call, &content);
    return OK;
}

static int eldest_first(const void *a, const void *b)
{
    const struct list_line *left = a, *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static void add_line(struct buf *text, struct bytes line)
{
    buf_add_bytes(text, line);
    buf_add_char(text, '\n');
}

/* With ids the lines come in the order of the words, and as often. */
static void add_lines_by_word(struct buf *text, const struct call *call,
                              const struct list_line *lines, size_t count)
{
    for (uint32_t i = 3; i < call->arg_count; i++) {
        int64_t id;
        if (call_arg_int(call, i, &id) != OK)
            continue;
        struct list_line wanted = {.id = (uint64_t)id};
        const struct list_line *line = bsearch(&wanted, lines, count, sizeof(*lines), eldest_first);
        if (line)
            add_line(text, line->text);
    }
}

static void merge_list(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    struct buf collected = {0};
    for (uint32_t i = 0; i < part_count; i++) {
        struct bytes content = part_open(parts[i]);
        while (content.len) {
            struct list_line line;
            part_take(&content, &line.id, sizeof(line.id));
            line.text = part_take_bytes(&content);
            buf_add(&collected, &line, sizeof(line));
        }
    }
    struct list_line *lines = (struct list_line *)collected.ptr;
    size_t count = collected.len / sizeof(*lines);
    struct buf text = {0};
    if (count)
        qsort(lines, count, sizeof(*lines), eldest_first);
    if (call->arg_count > 2 && call_arg_is(call, 2, "id")) {
        if (count)
            add_lines_by_word(&text, call, lines, count);
    } else {
        for (size_t i = 0; i < count; i++)
            add_line(&text, lines[i].text);
    }
    reply_verbatim(call->reply, buf_bytes(&text), "txt");
    buf_fini(&text);
    buf_fini(&collected);
}

/* ---- KILL ---- */

static enum status check_kill(struct call *call)
{
    struct client_filter filter;
    return client_filter_parse(call, &filter);
}

static enum status cmd_kill(struct call *call)
{
    struct client_filter filter;
    int64_t killed = 0;
    TRY(client_filter_parse(call, &filter));
    struct session *next;
    for (struct session *session = home_first_session(call->home); session; session = next) {
        next = home_next_session(session); /* this one may be gone afterwards */
        if (!client_filter_matches(&filter, session, call->client_id, call_now_ms(call)))
            continue;
        home_close_session(call->home, session, session->id != call->client_id);
        killed++;
    }
    reply_int(call->reply, killed);
    return OK;
}

static void merge_kill(struct call *call, const struct bytes *parts, uint32_t part_count)
{
    int64_t killed = 0;
    for (uint32_t i = 0; i < part_count; i++)
        killed += answer_int(parts[i]);
    if (call->arg_count > 3)
        reply_int(call->reply, killed);
    else if (killed)
        reply_ok(call->reply);
    else
        call_write_error(call, call_fail_text(call, "ERR No such client"));
}

/* ---- PAUSE ---- */

static enum status parse_pause(struct call *call, int64_t *out_ms, bool *out_writes_only)
{
    bool writes_only = false;
    if (call->arg_count > 4)
        return help_wrong_words(call);
    if (call->arg_count == 4) {
        writes_only = call_arg_is(call, 3, "write");
        if (!writes_only && !call_arg_is(call, 3, "all"))
            return call_fail_text(call, "ERR CLIENT PAUSE mode must be WRITE or ALL");
    }
    int64_t ms;
    if (call_arg_int(call, 2, &ms) != OK)
        return call_fail_text(call, "ERR timeout is not an integer or out of range");
    if (ms < 0)
        return call_fail_text(call, "ERR timeout is negative");
    if (ms > INT64_MAX - call_now_ms(call))
        return call_fail_text(call, "ERR timeout is out of range");
    *out_ms = ms;
    *out_writes_only = writes_only;
    return OK;
}

static enum status check_pause(struct call *call)
{
    int64_t ms;
    bool writes_only;
    return parse_pause(call, &ms, &writes_only);
}

/* A pause that runs already is never shortened, nor loosened from all commands to writes. */
static enum status cmd_pause(struct call *call)
{
    struct home *home = call->home;
    int64_t ms = 0, now_ms = call_now_ms(call);
    bool writes_only = false;
    TRY(parse_pause(call, &ms, &writes_only));
    bool holds_all = home->pause_until_ms > now_ms && !home->pause_writes_only;
    home->pause_writes_only = writes_only && !holds_all;
    if (home->pause_until_ms < now_ms + ms)
        home->pause_until_ms = now_ms + ms;
    home->shard->keeps_expired_until_ms = home->pause_until_ms;
    reply_ok(call->reply);
    return OK;
}

static enum status cmd_unpause(struct call *call)
{
    call->home->pause_until_ms = 0;
    call->home->pause_writes_only = false;
    call->home->shard->keeps_expired_until_ms = 0;
    reply_ok(call->reply);
    return OK;
}

/* ---- UNBLOCK ---- */

/* The words: whom, and whether it is told. */
static enum status parse_unblock(struct call *call, int64_t *out_id, enum blocked_end *out_end)
{
    if (call->arg_count > 4)
        return help_wrong_words(call);
    *out_end = BLOCKED_TIMED_OUT;
    if (call_arg_is(call, 3, "error"))
        *out_end = BLOCKED_REFUSED;
    else if (call->arg_count == 4 && !call_arg_is(call, 3, "timeout"))
        return call_fail_text(call, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    return call_arg_int(call, 2, out_id);
}

static enum status check_unblock(struct call *call)
{
    int64_t id;
    enum blocked_end end;
    return parse_unblock(call, &id, &end);
}

/* On each thread: the client may be there. One that CLIENT PAUSE holds back does not count. */
static enum status cmd_unblock(struct call *call)
{
    int64_t id = 0, count = 0;
    enum blocked_end end = BLOCKED_NO_END;
    TRY(parse_unblock(call, &id, &end));
    for (struct session *session = home_first_session(call->home); session;
         session = home_next_session(session))
        if (session->id == (uint64_t)id)
            count += blocked_leave(call->home, session, end);
    reply_int(call->reply, count);
    return OK;
}

#define MINE (CMD_NOSCRIPT | CMD_LOADING | CMD_STALE | CMD_SENTINEL)
#define OTHERS (CMD_ADMIN | MINE)

/* clang-format off */
static const struct command client_subcommands[] = {
    {.name = "getname", .arity = 2, .run = cmd_getname, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "", .since = "2.6.9", .cost = "O(1)",
     .brief = "Tells the connection's name."},
    {.name = "getredir", .arity = 2, .run = cmd_getredir, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "", .since = "6.0.0", .cost = "O(1)",
     .brief = "Tells which client gets this connection's invalidation messages; -1: tracking is off."},
    {.name = "help", .arity = 2, .run = help_run, .plan = PLAN_HERE,
     .flags = CMD_LOADING | CMD_STALE | CMD_SENTINEL,
     .acl = ACL_CONNECTION, .syntax = "", .since = "5.0.0", .cost = "O(1)",
     .brief = "Shows this list."},
    {.name = "id", .arity = 2, .run = cmd_id, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "", .since = "5.0.0", .cost = "O(1)",
     .brief = "Tells the connection's number, which no other has or had."},
    {.name = "info", .arity = 2, .run = cmd_info, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "", .since = "6.2.0", .cost = "O(1)",
     .tips = "nondeterministic_output", .brief = "Describes the connection."},
    {.name = "kill", .arity = -3, .run = cmd_kill, .check = check_kill, .plan = PLAN_ALL,
     .merge = merge_kill, .flags = OTHERS | CMD_LOOKS, .acl = ACL_CONNECTION,
     .syntax = "filter=<old-format=ip:port!2.8.12 | new-format=<[ID client-id]@2.8.12 | "
               "[TYPE client-type=<normal | master@3.2.0 | slave | replica@5.0.0 | pubsub>]@2.8.12 | "
               "[USER username] | [ADDR addr=ip:port] | [LADDR laddr=ip:port]@6.2.0 | "
               "[SKIPME <YES | NO>] | [MAXAGE maxage]> [...]>",
     .since = "2.4.0", .cost = "O(N) where N is the number of client connections",
     .history = "2.8.12 Takes filters.; 2.8.12 Filters by ID.; 3.2.0 Knows the type master.; "
                "5.0.0 Knows the type replica, as slaves are called now.; 6.2.0 Filters by LADDR.",
     .brief = "Closes the connections that match."},
    {.name = "list", .arity = -2, .run = cmd_list, .check = check_list, .plan = PLAN_ALL,
     .merge = merge_list, .flags = OTHERS | CMD_LOOKS, .acl = ACL_CONNECTION,
     .syntax = "[TYPE client-type=<normal | master | replica | pubsub>]@5.0.0 "
               "[ID client-id [client-id ...]]@6.2.0",
     .since = "2.4.0", .cost = "O(N) where N is the number of client connections",
     .history = "2.8.12 Shows id.; 5.0.0 Filters by TYPE.; 6.0.0 Shows user.; "
                "6.2.0 Shows laddr, redir, argv-mem and tot-mem, and filters by ID.; "
                "7.0.0 Shows resp, multi-mem, rbs and rbp.; 7.0.3 Shows ssub.",
     .tips = "nondeterministic_output", .brief = "Describes all connections, or those that match."},
    {.name = "no-evict", .arity = 3, .run = cmd_no_evict, .plan = PLAN_HERE, .flags = OTHERS,
     .acl = ACL_CONNECTION, .syntax = "enabled=<ON | OFF>", .since = "7.0.0", .cost = "O(1)",
     .brief = "Spares the connection when clients take too much memory."},
    {.name = "no-touch", .arity = 3, .run = cmd_no_touch, .plan = PLAN_HERE,
     .flags = CMD_NOSCRIPT | CMD_LOADING | CMD_STALE, .acl = ACL_CONNECTION,
     .syntax = "enabled=<ON | OFF>", .since = "7.2.0", .cost = "O(1)",
     .brief = "Lets the connection's commands leave the access times of keys alone."},
    {.name = "pause", .arity = -3, .run = cmd_pause, .check = check_pause, .plan = PLAN_ALL,
     .merge = merge_ok, .flags = OTHERS | CMD_LOOKS, .acl = ACL_CONNECTION,
     .syntax = "timeout mode=[WRITE | ALL]@6.2.0", .since = "3.0.0", .cost = "O(1)",
     .history = "6.2.0 Holds back all commands, or only writes.",
     .brief = "Holds back all commands, or those that write, for so many milliseconds."},
    {.name = "reply", .arity = 3, .run = cmd_reply, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "action=<ON | OFF | SKIP>", .since = "3.2.0", .cost = "O(1)",
     .brief = "Switches replies to the connection off or on, or leaves out the next one."},
    {.name = "setinfo", .arity = 4, .run = cmd_setinfo, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "attr=<lib-name libname | lib-ver libver>", .since = "7.2.0",
     .cost = "O(1)", .tips = "request_policy:all_nodes,response_policy:all_succeeded",
     .brief = "Notes the client library's name or version."},
    {.name = "setname", .arity = 3, .run = cmd_setname, .plan = PLAN_HERE, .flags = MINE,
     .acl = ACL_CONNECTION, .syntax = "connection-name", .since = "2.6.9", .cost = "O(1)",
     .tips = "request_policy:all_nodes,response_policy:all_succeeded",
     .brief = "Names the connection; an empty name takes it away."},
    {.name = "unblock", .arity = -3, .run = cmd_unblock, .plan = PLAN_ALL,
     .check = check_unblock, .merge = merge_sum, .flags = OTHERS | CMD_LOOKS,
     .acl = ACL_CONNECTION, .syntax = "client-id unblock-type=[TIMEOUT | ERROR]", .since = "5.0.0",
     .cost = "O(log N) where N is the number of client connections",
     .brief = "Ends the wait of a client in a blocking command."},
    {.name = "unpause", .arity = 2, .run = cmd_unpause, .plan = PLAN_ALL, .merge = merge_ok,
     .flags = OTHERS | CMD_LOOKS, .acl = ACL_CONNECTION, .syntax = "", .since = "6.2.0",
     .cost = "O(N) where N is the number of paused clients",
     .brief = "Ends CLIENT PAUSE."},
    {0},
};

const struct command client_commands[] = {
    {.name = "client", .arity = -2, .subcommands = client_subcommands, .flags = CMD_SENTINEL,
     .syntax = "", .since = "2.4.0", .cost = "Depends on subcommand.",
     .brief = "Groups the commands for connections."},
    {0},
};
/* clang-format on */
