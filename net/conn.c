/*
 * conn: the way from bytes to commands.
 *
 * A command that is there entirely and of the usual form is taken by resp_read_whole(), which keeps
 * no state. For all others a parser remembers how far it came; it is allocated when a command is
 * found to be incomplete, and freed with it. The window (rx.c) therefore always begins with a
 * command's first byte.
 */
#include "net/conn.h"

#include "core/base/mem.h"
#include "net/conns.h"

/* Throws the parser away, and a command's bytes, or all that there are, off the window. */
static void end_command(struct conn *conn, struct resp_parser *parser, size_t len)
{
    resp_parser_fini(parser);
    if (parser == conn->parser) {
        mem_free(conn->parser);
        conn->parser = NULL;
    }
    rx_consume(conn, len);
}

/* The thorough way, for one command. False when it was empty and the next one is to be looked at.
 */
static bool read_thoroughly(struct conn *conn, struct arena *arena, struct args *out_args,
                            struct bytes *out_error, enum conn_next_result *out_result)
{
    struct resp_limits limits = {conn->conns->options->bulk_max, conn->trusted};
    struct resp_parser fresh = {0};
    struct resp_parser *parser = conn->parser ? conn->parser : &fresh;
    struct bytes window = rx_window(conn);
    size_t len = 0;

    if (window.len == 0) {
        *out_result = CONN_NEXT_NONE;
        return true;
    }
    switch (resp_read(parser, window, &limits, arena, out_args, &len, out_error)) {
    case RESP_MORE:
        if (parser == &fresh) {
            conn->parser = mem_alloc(sizeof(fresh));
            *conn->parser = fresh;
        }
        *out_result = CONN_NEXT_NONE;
        return true;
    case RESP_COMMAND:
        conn->has_inline |= window.ptr[0] != '*';
        end_command(conn, parser, len);
        *out_result = CONN_NEXT_COMMAND;
        return true;
    case RESP_EMPTY:
        end_command(conn, parser, len);
        return false;
    case RESP_ERROR:
        break;
    }
    end_command(conn, parser, window.len);
    conn->broken = true;
    *out_result = CONN_NEXT_ERROR;
    return true;
}

enum conn_next_result conn_next(struct conn *conn, struct arena *arena, struct args *out_args,
                                struct bytes *out_error)
{
    if (unlikely(conn->closing || conn->close_after_reply || conn->broken))
        return CONN_NEXT_NONE;

    conn_serve(conn);
    uint32_t words_max = conn->trusted ? RESP_WHOLE_WORDS_MAX : RESP_UNTRUSTED_WORDS_MAX;
    enum conn_next_result result;
    do {
        if (likely(!conn->parser)) {
            size_t len = resp_read_whole(rx_window(conn), words_max, arena, out_args);
            if (likely(len > 0)) {
                rx_consume(conn, len);
                return CONN_NEXT_COMMAND;
            }
        }
    } while (!read_thoroughly(conn, arena, out_args, out_error, &result));
    return result;
}

size_t conn_input_len(const struct conn *conn)
{
    return rx_window(conn).len;
}

bool conn_may_parse(const struct conn *conn)
{
    return !conn->closing && !conn->close_after_reply &&
           conn_output_len(conn) <= outbox_pause_bytes(conn);
}

void conn_pin(struct conn *conn)
{
    conn->pin_count++;
}

void conn_unpin(struct conn *conn)
{
    ASSERT(conn->pin_count > 0);
    conn->pin_count--; /* conns_flush() frees it if it is gone */
}
