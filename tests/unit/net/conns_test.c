#include "net/conns.h"

#include <fcntl.h>

#include "tests/unit/net/house.h"

HouseTest(conns, lists_connections_in_order_of_adoption)
{
    int clients[3];
    struct conn *conns[3];
    for (int i = 0; i < 3; i++)
        conns[i] = house_connect(house, &clients[i]);
    cr_assert_eq(house->opened, 3);
    cr_assert_eq(conns_count(house->conns), 3);
    cr_assert_eq(conns_first(house->conns), conns[0]);
    cr_assert_eq(conns[0]->next, conns[1]);
    cr_assert_eq(conns[1]->next, conns[2]);

    close(clients[1]);
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(conns[0]->next, conns[2]);
    cr_assert_eq(conns[2]->prev, conns[0]);
    cr_assert_eq(conns_count(house->conns), 2);
    close(clients[0]);
    close(clients[2]);
}

HouseTest(conns, refuses_what_is_no_connected_socket)
{
    int fd = open("/dev/null", O_RDONLY);
    cr_assert_null(conns_adopt(house->conns, fd));
    cr_assert_eq(fcntl(fd, F_GETFD), -1, "the descriptor was left open");
    cr_assert_eq(house->opened, 0);
}

HouseTest(conns, makes_adopted_sockets_non_blocking)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    cr_assert(fcntl(conn->fd, F_GETFL) & O_NONBLOCK);
    close(client);
}

HouseTest(conns, costs_less_than_a_kibibyte_when_idle)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, conn->bytes_out > 0);
    size_t bytes = sizeof(*conn) + conn->in.cap + conn->out.cap + conn->sending.cap;
    cr_assert_lt(bytes, 1024, "%zu", bytes);
    cr_assert_null(conn->parser);
    close(client);
}

HouseTest(conns, can_be_closed_from_within_the_handler)
{
    int client;
    house_connect(house, &client);
    house->closes_at_once = true;
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(house->notes.len, 0, "a closed connection was served");
    expect_received(client, "<end>");
    house_turns(house, 3);
    cr_assert_eq(house->closed, 1);
    close(client);
}

HouseTest(conns, reports_a_close_later_and_once)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house_turn(house);
    conn_close(conn);
    conn_close(conn);
    cr_assert_eq(house->closed, 0);
    house_turn_until(house, house->closed == 1);
    house_turns(house, 3);
    cr_assert_eq(house->closed, 1);
    close(client);
}

HouseTest(conns, keeps_a_pinned_struct_after_the_end)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn_pin(conn);
    close(client);
    house_turn_until(house, house->closed == 1);
    house_turns(house, 3);
    cr_assert(conn->gone);
    buf_add_text(conn_output(conn), "+late\r\n"); /* dropped, and no harm done */
    house_turns(house, 3);
    cr_assert_eq(conn_output_len(conn), 7);
    conn_unpin(conn);
    house_turns(house, 2);
}

HouseTest(conns, keeps_a_struct_that_is_on_the_ready_list)
{
    int client;
    house_connect(house, &client);
    house->keeps_ready = true;
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, house->inputs == 1);
    conn_close(house->ready);
    house_turn_until(house, house->closed == 1);
    house_turns(house, 3);
    house->keeps_ready = false;
    house_turns(house, 3); /* takes it off the list, and reads nothing */
    cr_assert_eq(house->notes.len, 0);
    close(client);
}

HouseTest(conns, answers_what_came_before_the_end_of_input)
{
    int client;
    house_connect(house, &client);
    client_send(client, BYTES("PING\r\nPING\r\nPI"));
    shutdown(client, SHUT_WR);
    house_turn_until(house, house->closed == 1);
    expect_received(client, "+OK\r\n+OK\r\n<end>");
    close(client);
}

HouseTest(conns, waits_at_the_end_of_input_for_what_is_held)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn->held = true; /* a group is out */
    shutdown(client, SHUT_WR);
    house_turn_until(house, conn->ended);
    house_turns(house, 3);
    cr_assert_eq(house->closed, 0);
    buf_add_text(conn_output(conn), "+home\r\n");
    conn->held = false;
    house_turn_until(house, house->closed == 1);
    expect_received(client, "+home\r\n<end>");
    close(client);
}

HouseTest(conns, closes_at_the_end_of_input_when_nothing_is_under_way)
{
    int client;
    house_connect(house, &client);
    shutdown(client, SHUT_WR);
    house_turn_until(house, house->closed == 1);
    expect_received(client, "<end>");
    close(client);
}

HouseTest(conns, closes_after_the_last_reply)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    buf_add_text(conn_output(conn), "+OK\r\n");
    conn_finish(conn);
    cr_assert_not(conn_may_parse(conn));
    house_turn_until(house, house->closed == 1);
    expect_received(client, "+OK\r\n<end>");
    close(client);
}

HouseTest(conns, does_not_linger_for_ever)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    struct buf *out = conn_output(conn);
    memset(buf_room(out, 8u << 20), 'x', 8u << 20);
    out->len += 8u << 20;
    conn_finish(conn);
    house_turns(house, 3);
    house->now_ms += CONN_LINGER_MS - 1;
    house_turns(house, 3);
    cr_assert_eq(house->closed, 0);
    house->now_ms += CONNS_WATCH_MS + 1;
    house_turn_until(house, house->closed == 1);
    close(client);
}

HouseTest(conns, destroys_all_with_work_under_way)
{
    int clients[3];
    for (int i = 0; i < 3; i++) {
        struct conn *conn = house_connect(house, &clients[i]);
        client_send(clients[i], BYTES("*2\r\n$4\r\nECHO\r\n$100000\r\nhalf"));
        struct buf *out = conn_output(conn);
        memset(buf_room(out, 4u << 20), 'x', 4u << 20);
        out->len += 4u << 20;
    }
    house_turns(house, 3);
    conns_destroy(house->conns);
    cr_assert_eq(house->closed, 3);
    house->conns = NULL;
    for (int i = 0; i < 3; i++)
        close(clients[i]);
}

HouseTest(conns, counts_what_went_through)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, conn->bytes_out == 5);
    const struct conns_stats *stats = conns_stats(house->conns);
    cr_assert_eq(stats->bytes_in, 6);
    cr_assert_eq(stats->bytes_out, 5);
    cr_assert_eq(stats->receives, 1);
    cr_assert_eq(stats->sends, 1);
    close(client);
}
