#include "net/conn.h"

#include "tests/unit/net/house.h"

/* Output that a socket pair cannot take without a reader. */
static void fill_output(struct conn *conn, size_t len)
{
    struct buf *out = conn_output(conn);
    memset(buf_room(out, len), 'x', len);
    out->len += len;
}

/* Reads all that comes until nothing is unsent; returns how much that was. */
static size_t drain(struct house *house, struct conn *conn, int client)
{
    static char scratch[1 << 20];
    size_t total = 0;
    for (int turns = 0; turns < TURNS_MAX; turns++) {
        ssize_t len = recv(client, scratch, sizeof(scratch), MSG_DONTWAIT);
        total += len > 0 ? (size_t)len : 0;
        house_turn(house);
        if (conn_output_len(conn) == 0 && len <= 0)
            break;
    }
    return total;
}

HouseTest(outbox, sends_all_replies_of_a_turn_at_once)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("PING\r\nPING\r\nPING\r\n"));
    house_turn_until(house, conn->bytes_out > 0);
    cr_assert_eq(conns_stats(house->conns)->sends, 1);
    expect_received(client, "+OK\r\n+OK\r\n+OK\r\n");
    cr_assert_eq(conn->out.cap + conn->sending.cap, 0, "an idle connection keeps memory");
    close(client);
}

HouseTest(outbox, holds_replies_back_while_told_to)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn->held = true;
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, conn_output_len(conn) == 5);
    house_turns(house, 3);
    expect_received(client, "");
    conn->held = false;
    house_turn_until(house, conn->bytes_out == 5);
    expect_received(client, "+OK\r\n");
    close(client);
}

HouseTest(outbox, lets_long_output_leave_early)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn->held = true;
    fill_output(conn, CONN_SEND_EARLY - 1);
    conn_flush_early(conn);
    cr_assert_not(conn->in_flight);
    fill_output(conn, 1);
    conn_flush_early(conn);
    cr_assert(conn->in_flight);
    house_turn_until(house, conn->bytes_out == CONN_SEND_EARLY);
    close(client);
}

HouseTest(outbox, keeps_replies_in_order_behind_a_send_that_waits)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    fill_output(conn, 4u << 20);
    house_turns(house, 3);
    cr_assert(conn->in_flight);
    buf_add_text(conn_output(conn), "last");
    house_turns(house, 3);
    cr_assert_eq(drain(house, conn, client), (4u << 20) + 4);
    close(client);
}

HouseTest(outbox, stops_reading_from_a_client_that_does_not_read)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->reply = "";
    fill_output(conn, 2 * CONN_OUTPUT_PAUSE);
    house_turns(house, 3);
    cr_assert_not(conn_may_parse(conn));
    cr_assert_not(conn->receiving);
    client_send(client, BYTES("PING\r\n"));
    house_turns(house, 5);
    cr_assert_eq(house->inputs, 0);

    cr_assert_eq(drain(house, conn, client), 2 * CONN_OUTPUT_PAUSE);
    house_turn_until(house, house->notes.len > 0);
    expect_notes(house, "[PING]\n");
    close(client);
}

HouseTest(outbox, goes_on_parsing_when_output_has_drained)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->reply = "+a reply that is much longer than the command which it answers is\r\n";
    struct buf pipeline = {0};
    for (int i = 0; i < 10000; i++)
        buf_add_text(&pipeline, "PING\r\n");
    client_send(client, buf_bytes(&pipeline));
    for (int i = 0; i < 4; i++) {
        fill_output(conn, CONN_OUTPUT_PAUSE);
        house_turns(house, 3);
    }
    size_t expected = 4 * CONN_OUTPUT_PAUSE + 10000 * strlen(house->reply), total = 0;
    for (int turns = 0; total < expected && turns < TURNS_MAX; turns++)
        total += drain(house, conn, client);
    cr_assert_eq(total, expected);
    buf_fini(&pipeline);
    close(client);
}

HouseTest(outbox, closes_at_the_hard_limit)
{
    house->options.output[CONN_NORMAL].hard_bytes = 3u << 20;
    int client;
    struct conn *conn = house_connect(house, &client);
    fill_output(conn, (3u << 20) - 1);
    house_turns(house, 3);
    cr_assert(conn_may_parse(conn), "the limit decides, not the pause");
    cr_assert_eq(house->closed, 0);
    fill_output(conn, 1);
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(conns_stats(house->conns)->output_limit_closed, 1);
    close(client);
}

HouseTest(outbox, judges_each_class_by_its_own_limit)
{
    house->options.output[CONN_PUBSUB].hard_bytes = 1u << 20;
    int clients[2];
    struct conn *normal = house_connect(house, &clients[0]);
    struct conn *pubsub = house_connect(house, &clients[1]);
    pubsub->class = CONN_PUBSUB;
    fill_output(normal, 2u << 20);
    fill_output(pubsub, 2u << 20);
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(conns_first(house->conns), normal);
    cr_assert_eq(conns_count(house->conns), 1);
    close(clients[0]);
    close(clients[1]);
}

HouseTest(outbox, closes_when_over_the_soft_limit_for_long)
{
    house->options.output[CONN_NORMAL].soft_bytes = 1u << 20;
    house->options.output[CONN_NORMAL].soft_s = 5;
    int client;
    struct conn *conn = house_connect(house, &client);
    fill_output(conn, 2u << 20);
    house_turns(house, 3);
    house->now_ms += 5000;
    house_turns(house, 3);
    cr_assert_eq(house->closed, 0, "not yet longer than that");

    cr_assert_eq(drain(house, conn, client), 2u << 20); /* below: time begins again */
    fill_output(conn, 2u << 20);
    house_turns(house, 3);
    house->now_ms += 5000;
    house_turns(house, 3);
    cr_assert_eq(house->closed, 0);

    house->now_ms += 1000; /* nothing is written any more: the clock alone finds it */
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(conns_stats(house->conns)->output_limit_closed, 1);
    close(client);
}

HouseTest(outbox, survives_a_reset_in_the_middle_of_a_reply)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    fill_output(conn, 8u << 20);
    house_turns(house, 3);
    cr_assert(conn->in_flight);
    client_send(client, BYTES("PING\r\n"));
    close(client); /* with the reply unread */
    house_turn_until(house, house->closed == 1);
    cr_assert_eq(conns_count(house->conns), 0);
}

HouseTest(outbox, takes_no_new_memory_in_a_steady_state)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    char *buffer = NULL;
    for (int i = 0; i < 100; i++) {
        client_send(client, BYTES("PING\r\n"));
        uint64_t sent = conn->bytes_out + 5;
        house->keeps_ready = true;
        house_turn_until(house, conn->is_ready);
        house->keeps_ready = false;
        char *used = conn_output(conn)->ptr;
        cr_assert(!buffer || used == buffer, "another buffer than last time");
        buffer = used;
        house_turn_until(house, conn->bytes_out == sent);
    }
    close(client);
}
