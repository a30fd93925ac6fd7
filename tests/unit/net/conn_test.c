#include "net/conn.h"

#include "tests/unit/net/house.h"

HouseTest(conn, serves_a_pipeline_in_place)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\nTIME\r\n"));
    house_turn_until(house, house->notes.len > 0);
    expect_notes(house, "[PING]\n[GET][k]\n[TIME]\n");
    cr_assert_eq(conn->in.cap, 0, "what was read in place was copied");
    house_turns(house, 2);
    expect_received(client, "+OK\r\n+OK\r\n+OK\r\n");
    cr_assert_eq(conn->bytes_in, 40);
    cr_assert_eq(conn->bytes_out, 15);
    close(client);
}

HouseTest(conn, puts_a_command_together_wherever_it_was_cut)
{
    static const char command[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\nECHO 'a b'\r\n";
    for (size_t cut = 1; cut < sizeof(command) - 1; cut++) {
        int client;
        house_connect(house, &client);
        client_send(client, bytes_of(command, cut));
        house_turn_until(house, house->inputs == 1);
        client_send(client, bytes_of(command + cut, sizeof(command) - 1 - cut));
        house_turn_until(house, house->inputs == 2);
        expect_notes(house, "[SET][k][value]\n[ECHO][a b]\n");
        house->inputs = 0;
        close(client);
    }
}

HouseTest(conn, answers_nonsense_and_closes)
{
    int client;
    house_connect(house, &client);
    client_send(client, BYTES("PING\r\n*1\r\nPING\r\nPING\r\n"));
    house_turn_until(house, house->closed == 1);
    expect_notes(house, "[PING]\n");
    expect_received(client, "+OK\r\n-ERR Protocol error: expected '$', got 'P'\r\n<end>");
    close(client);
}

HouseTest(conn, takes_no_input_after_nonsense)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn->held = true; /* something earlier is still to be answered */
    client_send(client, BYTES("*x\r\nPING\r\n"));
    house_turn_until(house, conn->broken);
    house_turns(house, 2);
    client_send(client, BYTES("PING\r\n"));
    house_turn_until(house, conn->bytes_in == 16);
    cr_assert_eq(conn_input_len(conn), 0);
    cr_assert_eq(house->notes.len, 0);
    conn->held = false;
    house_turn_until(house, house->closed == 1);
    expect_received(client, "-ERR Protocol error: invalid multibulk length\r\n<end>");
    close(client);
}

HouseTest(conn, keeps_to_the_limits_of_the_untrusted)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    conn->trusted = false;
    client_send(client, BYTES("*11\r\n"));
    house_turn_until(house, house->closed == 1);
    expect_received(client, "-ERR Protocol error: unauthenticated multibulk length\r\n<end>");
    close(client);
}

HouseTest(conn, lends_words_until_it_is_settled)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->keeps_ready = true;
    client_send(client, BYTES("*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPIN"));
    house_turn_until(house, house->inputs == 1);

    struct args args;
    struct bytes error;
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);
    struct buf input;
    cr_assert_not(conn_detach_input(conn, &input), "the ring's buffer was given away");
    cr_assert(bytes_equal(args.words[1], BYTES("hi")));
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_NONE);
    conn_settle(conn);
    cr_assert_not(conn->has_received);
    cr_assert(bytes_equal(buf_bytes(&conn->in), BYTES("PIN")));
    conn->is_ready = false;
    close(client);
}

HouseTest(conn, gives_its_own_buffer_away_with_the_words_in_it)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("*2\r\n$4\r\nECHO\r\n"));
    house_turn_until(house, house->inputs == 1);
    house->keeps_ready = true;
    client_send(client, BYTES("$2\r\nhi\r\nPIN"));
    house_turn_until(house, house->inputs == 2);

    struct args args;
    struct bytes error;
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);
    struct buf input;
    cr_assert(conn_detach_input(conn, &input));
    cr_assert(bytes_equal(buf_bytes(&conn->in), BYTES("PIN")), "the rest was left behind");
    conn_settle(conn);

    house->ready = NULL;
    conn->is_ready = false;
    house->keeps_ready = false;
    client_send(client, BYTES("G\r\n"));
    house_turn_until(house, house->inputs == 3);
    expect_notes(house, "[PING]\n");
    cr_assert(bytes_equal(args.words[1], BYTES("hi")), "words changed that were given away");
    buf_fini(&input);
    close(client);
}

HouseTest(conn, does_not_give_its_buffer_away_when_words_lie_in_the_arena)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    client_send(client, BYTES("ECHO \"a"));
    house_turn_until(house, house->inputs == 1);
    house->keeps_ready = true;
    client_send(client, BYTES("\\x41\"\r\n"));
    house_turn_until(house, house->inputs == 2);
    struct args args;
    struct bytes error;
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);
    cr_assert(bytes_equal(args.words[1], BYTES("aA")));
    struct buf input;
    cr_assert_not(conn_detach_input(conn, &input));
    conn_settle(conn);
    conn->is_ready = false;
    close(client);
}

HouseTest(conn, takes_a_command_back)
{
    int client;
    struct conn *conn = house_connect(house, &client);
    house->keeps_ready = true;
    client_send(client, BYTES("PING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"));
    house_turn_until(house, house->inputs == 1);
    struct args args;
    struct bytes error;
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);
    cr_assert_eq(conn_next(conn, &house->arena, &args, &error), CONN_NEXT_COMMAND);
    conn_unread(conn, &args);
    conn_settle(conn);
    house->keeps_ready = false;
    house_turn_until(house, house->notes.len > 0);
    expect_notes(house, "[ECHO][hi]\n");
    close(client);
}
