/*
 * session: what the server knows of one client: who it is, and what it has begun.
 *
 * Belongs to its connection and lives at home. While a group of its commands is out it is frozen.
 * Thread: home.
 */
#pragma once

#include "core/base/buf.h"
#include "core/base/check.h"
#include "net/conn.h"

struct home;
struct command;
struct group;
struct multi;
struct watching;

#define SESSION_IN_MULTI (1u << 0)
#define SESSION_DIRTY_EXEC (1u << 1) /* a command was refused while queueing: EXEC aborts */
#define SESSION_REPLY_OFF (1u << 2)
#define SESSION_REPLY_SKIP (1u << 3)      /* the command begun last is not answered */
#define SESSION_REPLY_SKIP_NEXT (1u << 4) /* the next one is not */
#define SESSION_NO_EVICT (1u << 5)
#define SESSION_NO_TOUCH (1u << 6)
#define SESSION_MONITOR (1u << 7)
#define SESSION_UNIX (1u << 8)

/* Commands that a client's first group over shards may have; it grows while replies are small. */
#define SESSION_GROUP_CALLS_FIRST 32

struct session {
    uint64_t id; /* unique in the process, ascending */
    struct conn *conn;
    struct home *home;
    uint16_t db_index;
    uint8_t resp;
    bool authenticated;
    uint32_t flags;
    struct bytes name, lib_name, lib_ver; /* owned, len 0 when unset */
    const char *user;                     /* "default" */
    int64_t created_at_ms, active_at_ms;
    const struct command *last_command;
    uint64_t commands, argv_bytes;
    struct group *group;       /* out now, or NULL */
    uint16_t group_calls_max;  /* how many commands its next group may have */
    struct multi *multi;       /* commands queued since MULTI, or NULL */
    struct watching *watching; /* what EXEC will ask for, or NULL */
    uint32_t watch_epoch;      /* tells its watches from those it has given up */
    bool is_blocked;           /* its command waits */
    bool paused;               /* CLIENT PAUSE holds its next command back */
    uint64_t opened_at_look;   /* home->config_looks when it came */
    bool closed;          /* its connection is gone; it lives on until its group has come home */
    char *protocol_error; /* owed once the group is home, then the connection closes; owned */
};

/* A session for a connection that was just adopted. Thread: home. */
struct session *session_create(struct home *home, uint64_t id, struct conn *conn,
                               bool needs_password, int64_t now_ms);
/* Makes it anew a client that has, or has not, to log in. */
void session_let_in(struct session *session, bool needs_password);
/* Frees it and what it owns, except `multi`, which must be gone. */
void session_destroy(struct session *session);

/* A command begins: it may be the one that a CLIENT REPLY SKIP has spoken of. */
static inline void session_begin_command(struct session *session)
{
    uint32_t flags = session->flags;
    if (likely(!(flags & (SESSION_REPLY_SKIP | SESSION_REPLY_SKIP_NEXT))))
        return;
    session->flags = flags & ~(SESSION_REPLY_SKIP | SESSION_REPLY_SKIP_NEXT);
    if (flags & SESSION_REPLY_SKIP_NEXT)
        session->flags |= SESSION_REPLY_SKIP;
}

/* It did not begin after all, and will be met again. */
static inline void session_unbegin_command(struct session *session)
{
    if (session->flags & SESSION_REPLY_SKIP)
        session->flags ^= SESSION_REPLY_SKIP | SESSION_REPLY_SKIP_NEXT;
}

/* Replaces one of the owned texts by a copy of `text`. */
void session_set_text(struct bytes *place, struct bytes text);
