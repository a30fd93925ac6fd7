#include "net/conn.h"

#include "tests/unit/net/house.h"

/* "SET k <len bytes>" without its value. */
static void send_head(int client, size_t len)
{
    struct buf head = {0};
    buf_add_format(&head, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%zu\r\n", len);
    client_send(client, buf_bytes(&head));
    buf_fini(&head);
}

/* Sends as much of `len` bytes as the socket takes, turn by turn. */
static void send_slowly(struct house *house, int client, size_t len)
{
    static char value[65536];
    for (int turns = 0; len > 0 && turns < TURNS_MAX; turns++) {
        size_t piece = len < sizeof(value) ? len : sizeof(value);
        ssize_t sent = send(client, value, piece, MSG_NOSIGNAL | MSG_DONTWAIT);
        len -= sent > 0 ? (size_t)sent : 0;
        house_turn(house);
    }
    cr_assert_eq(len, 0);
}

HouseTest(rx, puts_together_what_needs_several_receives)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    size_t len = 3 * RING_BUFFER_BYTES; /* of which several may complete in one turn */
    char *value = mem_alloc(len);
    for (size_t i = 0; i < len; i++)
        value[i] = (char)('a' + i % 23);
    send_head(client, len);
    client_send(client, bytes_of(value, len));
    client_send(client, BYTES("\r\nPING\r\n"));
    house_turn_until(house, house->notes.len >= len + 18);
    cr_assert(bytes_equal(bytes_of(house->notes.ptr, 9), BYTES("[SET][k][")));
    cr_assert_eq(memcmp(house->notes.ptr + 9, value, len), 0);
    cr_assert(bytes_equal(bytes_of(house->notes.ptr + 9 + len, 9), BYTES("]\n[PING]\n")));
    cr_assert_eq(conn->in.cap, 0, "an idle connection keeps memory");
    mem_free(value);
    close(client);
}

HouseTest(rx, moves_no_word_before_the_connection_is_settled)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->keeps_ready = true;
    client_send(client, BYTES("*2\r\n$4\r\nECHO\r\n$5\r\nfirst\r\n*1\r\n$4\r\nPI"));
    house_turn_until(house, house->inputs == 1);
    struct args args;
    struct bytes error;
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);

    char noise[RING_BUFFER_BYTES];
    memset(noise, 'x', sizeof(noise));
    client_send(client, BYTES("NG\r\n*2\r\n$4\r\nECHO\r\n$16384\r\n"));
    client_send(client, bytes_of(noise, sizeof(noise)));
    client_send(client, BYTES("\r\n"));
    house_turn_until(house, conn->late.len >= sizeof(noise));
    house_turns(house, 3);
    cr_expect(bytes_equal(args.words[1], BYTES("first")), "a word was overwritten");
    cr_expect_eq(house->inputs, 1, "input of a connection that is being served was announced");

    conn_settle(conn);
    cr_expect_eq(house->inputs, 2, "what arrived meanwhile was not announced");
    cr_expect_eq(conn->late.cap, 0);
    house->keeps_ready = false;
    house_turn_until(house, house->notes.len >= sizeof(noise) + 16);
    cr_expect_eq(memcmp(house->notes.ptr, "[PING]\n[ECHO][xxx", 17), 0);
    close(client);
}

HouseTest(rx, announces_at_once_what_arrived_while_words_were_used)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn_serve(conn);
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, conn->late.len == 6);
    cr_expect_eq(house->inputs, 0);
    conn_words_done(conn);
    cr_expect_eq(house->inputs, 1);
    house_turn_until(house, house->notes.len > 0);
    expect_notes(house, "[PING]\n");
    close(client);
}

HouseTest(rx, costs_little_for_what_is_only_announced)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    send_head(client, 512u << 20);
    house_turn_until(house, house->inputs == 1);
    cr_assert_leq(conn->in.cap, 256u << 10);

    send_slowly(house, client, 1u << 20);
    house_turn_until(house, conn->in.len >= 1u << 20);
    cr_assert_leq(conn->in.cap, 17u << 20, "%zu bytes for one MiB", conn->in.cap);
    close(client);
}

HouseTest(rx, sizes_its_buffer_for_a_long_word)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    size_t len = 5u << 20;
    send_head(client, len);
    send_slowly(house, client, len);
    house_turn_until(house, conn->in.len >= len);
    cr_assert_leq(conn->in.cap, len + 2 * RING_BUFFER_BYTES, "no doubling beyond the end");
    client_send(client, BYTES("\r\nPIN"));
    house_turn_until(house, house->notes.len > len);
    cr_assert_leq(conn->in.cap, RING_BUFFER_BYTES, "%zu bytes for \"PIN\"", conn->in.cap);
    close(client);
}

HouseTest(rx, closes_a_connection_over_the_query_limit)
{
    house->options.query_buffer_max = 1u << 20;
    int client;
    house_connect(house, &client);
    send_head(client, 2u << 20);
    static char piece[65536];
    house_turn_until(house, send(client, piece, sizeof(piece), MSG_NOSIGNAL | MSG_DONTWAIT) == 0 ||
                                house->closed == 1);
    cr_assert_eq(conns_stats(house->conns)->query_limit_closed, 1);
    close(client);
}

HouseTest(rx, does_not_count_finished_words_against_the_query_limit)
{
    house->options.query_buffer_max = 1u << 20;
    int client;
    struct conn *conn = house_connect(house, &client);
    size_t len = 700u << 10;
    struct buf head = {0};
    buf_add_format(&head, "*3\r\n$4\r\nECHO\r\n$%zu\r\n", len);
    client_send(client, buf_bytes(&head));
    send_slowly(house, client, len);
    head.len = 0;
    buf_add_format(&head, "\r\n$%zu\r\n", len);
    client_send(client, buf_bytes(&head));
    send_slowly(house, client, len);
    client_send(client, BYTES("\r\n"));
    house_turn_until(house, house->notes.len > 2 * len);
    cr_assert_not(conn->closing);
    buf_fini(&head);
    close(client);
}

HouseTest(rx, stops_receiving_what_nobody_parses)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->keeps_ready = true;
    static char piece[65536];
    memset(piece, '\n', sizeof(piece)); /* empty commands */
    for (int turns = 0; turns < 200; turns++) {
        (void)!send(client, piece, sizeof(piece), MSG_NOSIGNAL | MSG_DONTWAIT);
        house_turn(house);
    }
    cr_assert(conn->paused);
    cr_assert_not(conn->receiving);
    cr_assert_leq(conn_input_len(conn), CONN_INPUT_PAUSE + 64 * RING_BUFFER_BYTES);
    cr_assert_eq(send(client, piece, 1, MSG_NOSIGNAL | MSG_DONTWAIT), -1, "the socket has room");

    house->keeps_ready = false;
    house_turn_until(house, conn_input_len(conn) == 0 && !conn->paused);
    house_turn_until(house, send(client, "PING\r\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) == 6);
    house_turn_until(house, house->notes.len > 0);
    expect_notes(house, "[PING]\n");
    close(client);
}

HouseTest(rx, goes_on_receiving_a_command_of_many_words)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    struct buf command = {0};
    buf_add_text(&command, "*300000\r\n"); /* 2.1 MB: more than may wait unparsed */
    for (int i = 0; i < 300000; i++)
        buf_add_text(&command, "$1\r\nw\r\n");
    size_t sent = 0;
    for (int turns = 0; sent < command.len && turns < TURNS_MAX; turns++) {
        ssize_t len = send(client, command.ptr + sent, command.len - sent,
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += len > 0 ? (size_t)len : 0;
        house_turn(house);
    }
    house_turn_until(house, house->notes.len == 3 * 300000 + 1);
    cr_assert_null(conn->parser);
    buf_fini(&command);
    close(client);
}
