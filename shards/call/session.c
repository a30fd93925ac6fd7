#include "shards/call/session.h"

#include "core/base/mem.h"

struct session *session_create(struct home *home, uint64_t id, struct conn *conn,
                               bool needs_password, int64_t now_ms)
{
    struct session *session = mem_zalloc(sizeof(*session));
    session->id = id;
    session->conn = conn;
    session->home = home;
    session->resp = 2;
    session->user = "default";
    session->group_calls_max = SESSION_GROUP_CALLS_FIRST;
    session->created_at_ms = session->active_at_ms = now_ms;
    conn->owner = session;
    session_let_in(session, needs_password);
    return session;
}

void session_let_in(struct session *session, bool needs_password)
{
    session->authenticated = !needs_password;
    session->conn->trusted = session->authenticated;
}

void session_destroy(struct session *session)
{
    mem_free((void *)(uintptr_t)session->name.ptr);
    mem_free((void *)(uintptr_t)session->lib_name.ptr);
    mem_free((void *)(uintptr_t)session->lib_ver.ptr);
    mem_free(session->protocol_error);
    mem_free(session);
}

void session_set_text(struct bytes *place, struct bytes text)
{
    mem_free((void *)(uintptr_t)place->ptr);
    *place = (struct bytes){0};
    if (text.len) {
        char *copy = mem_alloc(text.len);
        memcpy(copy, text.ptr, text.len);
        *place = bytes_of(copy, text.len);
    }
}
