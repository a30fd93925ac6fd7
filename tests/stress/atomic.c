/*
 * How: values, tokens and sums that are written over several shards at once and must never be seen
 * half written. A broken writer does step by step, waiting for each reply, what the right one does
 * at once.
 */
#include "tests/stress/scenario.h"

#include <inttypes.h>
#include <string.h>

#include "tests/stress/expect.h"

#define GROUPS_MAX 4u
#define KEYS 6u
#define ACCOUNTS 6u
#define ACCOUNT_START 1000
#define RING_KEYS 5u

static struct counter twins[GROUPS_MAX];

/* ---- twins ---------------------------------------------------------------------------------- */

static const struct role twins_prober = {"twins-prober", NULL, 1};

static void twins_read_one(struct conn *conn, const struct request *request,
                           const struct reply *reply);

static void twins_written(struct conn *conn, const struct request *request,
                          const struct reply *reply)
{
    if (expect_no_error(conn, request, reply))
        counter_learn(&twins[conn->group], request->a);
}

static void twins_write(struct conn *conn)
{
    struct counter *counter = &twins[conn->group];
    struct request last = checked("MSET", twins_written, 0);
    if (scenario_is_broken[SCENARIO_TWINS]) {
        conn->depth = 1;
        uint32_t at = (uint32_t)conn->memory[0]++ % KEYS;
        int64_t value = at == 0 ? ++counter->sent : counter->sent;
        client_send(conn, plain("SET"), "SET twin:%u:%u %" PRId64, conn->group, at, value);
        return;
    }
    int64_t value = last.a = ++counter->sent;
    if (client_random(4) > 0) {
        client_send(conn, last, "%s",
                    scenario_keys("MSET", "twin", conn->group, KEYS, (uint32_t)client_random(KEYS),
                                  &value));
        return;
    }
    client_send(conn, plain("MULTI"), "MULTI");
    for (uint32_t i = 0; i < KEYS; i++)
        client_send(conn, plain("SET"), "SET twin:%u:%u %" PRId64, conn->group, i, value);
    last.what = "EXEC";
    client_send(conn, last, "EXEC");
}

/* Something new has been seen at one key: now it must be seen at all, from all threads. */
static void twins_probe(struct conn *conn)
{
    client_send(conn, checked("GET", twins_read_one, twins[conn->group].known), "GET twin:%u:%u",
                conn->group, (uint32_t)client_random(KEYS));
}

static void twins_see(struct conn *conn, const struct request *request, int64_t value)
{
    struct counter *counter = &twins[conn->group];
    bool is_new = value > counter->known;
    expect_known(conn, request, counter, value);
    if (is_new)
        client_stir(&twins_prober, conn->group, twins_probe);
}

static void twins_read_all(struct conn *conn, const struct request *request,
                           const struct reply *reply)
{
    scenario_checks[SCENARIO_TWINS]++;
    if (expect_array(conn, request, reply, KEYS) && expect_same(conn, request, reply, KEYS))
        twins_see(conn, request, reply->values[0]);
}

static void twins_read_one(struct conn *conn, const struct request *request,
                           const struct reply *reply)
{
    scenario_checks[SCENARIO_TWINS]++;
    twins_see(conn, request, reply->number);
}

static void twins_read(struct conn *conn)
{
    struct request request = checked("MGET", twins_read_all, twins[conn->group].known);
    uint32_t first = (uint32_t)client_random(KEYS);
    if (client_random(3) > 0) {
        client_send(conn, request, "%s",
                    scenario_keys("MGET", "twin", conn->group, KEYS, first, NULL));
    } else if (client_random(2)) {
        request.what = "GET";
        request.check = twins_read_one;
        client_send(conn, request, "GET twin:%u:%u", conn->group, first);
    } else {
        client_send(conn, plain("MULTI"), "MULTI");
        for (uint32_t i = 0; i < KEYS; i++)
            client_send(conn, plain("GET"), "GET twin:%u:%u", conn->group, i);
        request.what = "EXEC";
        client_send(conn, request, "EXEC");
    }
}

static const struct role twins_writer = {"twins-writer", twins_write, 16};
static const struct role twins_reader = {"twins-reader", twins_read, 32};

void twins_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_TWINS] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *writer = client_connect(options, &twins_writer, group);
        int64_t start = 0;
        client_ask(writer, "%s", scenario_keys("MSET", "twin", group, KEYS, 0, &start));
    }
    scenario_connect(options, &twins_reader, GROUPS_MAX, share - share / 2);
    scenario_connect(options, &twins_prober, GROUPS_MAX, share / 2);
}

/* ---- ring ----------------------------------------------------------------------------------- */

/* Several movers race; whoever names a place without the token gets an error. */
static void ring_moved(struct conn *conn, const struct request *request, const struct reply *reply)
{
    if (reply->type == '-' && !strstr(reply->text, "no such key"))
        client_fail(conn, request, "%s", reply->text);
}

static void ring_move(struct conn *conn)
{
    uint32_t from = (uint32_t)client_random(RING_KEYS);
    uint32_t to = (from + 1 + (uint32_t)client_random(RING_KEYS - 1)) % RING_KEYS;
    if (scenario_is_broken[SCENARIO_RING]) {
        conn->depth = 1;
        int64_t at = conn->memory[0]++;
        const char *command = at % 2 ? "DEL ring:%u:%u" : "SET ring:%u:%u 1";
        uint32_t place = (uint32_t)(at % 2 ? at / 2 : at / 2 + 1) % RING_KEYS;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        client_send(conn, plain("SET, DEL"), command, conn->group, place);
#pragma GCC diagnostic pop
        return;
    }
    const char *command = client_random(3) ? "RENAME" : "RENAMENX";
    client_send(conn, checked(command, ring_moved, 0), "%s ring:%u:%u ring:%u:%u", command,
                conn->group, from, conn->group, to);
}

static void ring_counted(struct conn *conn, const struct request *request,
                         const struct reply *reply)
{
    scenario_checks[SCENARIO_RING]++;
    int64_t tokens = reply->type == ':' ? reply->number : 0;
    for (uint32_t i = 0; i < reply->count && i < REPLY_VALUES_MAX; i++)
        tokens += !reply->nulls[i];
    if (tokens != 1)
        client_fail(conn, request, "there are %" PRId64 " tokens", tokens);
}

static void ring_count(struct conn *conn)
{
    const char *command = client_random(2) ? "EXISTS" : "MGET";
    client_send(conn, checked(command, ring_counted, 0), "%s",
                scenario_keys(command, "ring", conn->group, RING_KEYS,
                              (uint32_t)client_random(RING_KEYS), NULL));
}

static const struct role ring_mover = {"ring-mover", ring_move, 8};
static const struct role ring_counter = {"ring-counter", ring_count, 16};

void ring_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_RING] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *mover = client_connect(options, &ring_mover, group);
        client_ask(mover, "%s", scenario_keys("DEL", "ring", group, RING_KEYS, 0, NULL));
        client_ask(mover, "SET ring:%u:0 1", group);
    }
    if (!broken)
        scenario_connect(options, &ring_mover, GROUPS_MAX, share / 3);
    scenario_connect(options, &ring_counter, GROUPS_MAX, share - share / 3);
}

/* ---- swap: databases 1 and 2 ---------------------------------------------------------------- */

static void swap_write(struct conn *conn)
{
    if (scenario_is_broken[SCENARIO_SWAP]) {
        conn->depth = 1;
        int64_t at = conn->memory[0]++;
        client_send(conn, plain("SET"), "SET swap:0:%u %d", (uint32_t)(at % KEYS),
                    1 + (int)(at / KEYS % 2));
        return;
    }
    client_send(conn, plain("SWAPDB"), client_random(2) ? "SWAPDB 1 2" : "SWAPDB 2 1");
}

static void swap_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_SWAP]++;
    if (!expect_array(conn, request, reply, KEYS) || !expect_same(conn, request, reply, KEYS))
        return;
    if (reply->values[0] != 1 && reply->values[0] != 2)
        client_fail(conn, request, "the value is %" PRId64, reply->values[0]);
}

static void swap_counted(struct conn *conn, const struct request *request,
                         const struct reply *reply)
{
    if (reply->number != KEYS)
        client_fail(conn, request, "there are %" PRId64 " keys", reply->number);
}

static void swap_read(struct conn *conn)
{
    if (client_random(8) == 0)
        client_send(conn, checked("DBSIZE", swap_counted, 0), "DBSIZE");
    else
        client_send(conn, checked("MGET", swap_seen, 0), "%s",
                    scenario_keys("MGET", "swap", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role swap_writer = {"swap-writer", swap_write, 4};
static const struct role swap_reader = {"swap-reader", swap_read, 16};

void swap_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_SWAP] = broken;
    struct conn *writer = client_connect(options, &swap_writer, 0);
    for (int64_t db = 2; db >= 1; db--) {
        client_ask(writer, "SELECT %d", (int)db);
        client_ask(writer, "FLUSHDB");
        client_ask(writer, "%s", scenario_keys("MSET", "swap", 0, KEYS, 0, &db));
    }
    for (uint32_t i = 0; i < share; i++)
        client_ask(client_connect(options, &swap_reader, 0), "SELECT 1");
}

/* ---- flush: database 3 ---------------------------------------------------------------------- */

static void flush_write(struct conn *conn)
{
    int64_t value = conn->memory[0]++;
    if (scenario_is_broken[SCENARIO_FLUSH]) {
        conn->depth = 1;
        client_send(conn, plain("SET"), value / KEYS % 2 ? "SET flush:0:%u 1" : "DEL flush:0:%u",
                    (uint32_t)(value % KEYS));
        return;
    }
    if (client_random(3))
        client_send(conn, plain("MSET"), "%s",
                    scenario_keys("MSET", "flush", 0, KEYS, (uint32_t)client_random(KEYS), &value));
    else
        client_send(conn, plain("FLUSHDB"), client_random(2) ? "FLUSHDB" : "FLUSHDB ASYNC");
}

static void flush_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_FLUSH]++;
    if (expect_array(conn, request, reply, KEYS))
        expect_same(conn, request, reply, KEYS);
}

static void flush_counted(struct conn *conn, const struct request *request,
                          const struct reply *reply)
{
    if (reply->number != 0 && reply->number != KEYS)
        client_fail(conn, request, "there are %" PRId64 " keys", reply->number);
}

static void flush_read(struct conn *conn)
{
    if (client_random(4) == 0)
        client_send(conn, checked("DBSIZE", flush_counted, 0), "DBSIZE");
    else
        client_send(conn, checked("MGET", flush_seen, 0), "%s",
                    scenario_keys("MGET", "flush", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role flush_writer = {"flush-writer", flush_write, 8};
static const struct role flush_reader = {"flush-reader", flush_read, 16};

void flush_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_FLUSH] = broken;
    for (uint32_t i = 0; i < (broken ? 1 : 2); i++)
        client_ask(client_connect(options, &flush_writer, 0), "SELECT 3");
    for (uint32_t i = 0; i < share; i++)
        client_ask(client_connect(options, &flush_reader, 0), "SELECT 3");
}

/* ---- bank ----------------------------------------------------------------------------------- */

static void bank_transfer(struct conn *conn)
{
    uint32_t from = (uint32_t)client_random(ACCOUNTS);
    uint32_t to = (from + 1 + (uint32_t)client_random(ACCOUNTS - 1)) % ACCOUNTS;
    int amount = 1 + (int)client_random(50);
    if (scenario_is_broken[SCENARIO_BANK]) {
        conn->depth = 1;
        bool second = conn->memory[0]++ % 2;
        client_send(conn, plain("INCRBY"), "INCRBY bank:0:%u %d", from, second ? 7 : -7);
        return;
    }
    client_send(conn, plain("MULTI"), "MULTI");
    client_send(conn, plain("DECRBY"), "DECRBY bank:0:%u %d", from, amount);
    client_send(conn, plain("INCRBY"), "INCRBY bank:0:%u %d", to, amount);
    if (client_random(10) == 0)
        client_send(conn, plain("DISCARD"), "DISCARD");
    else
        client_send(conn, plain("EXEC"), "EXEC");
}

static void bank_summed(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_BANK]++;
    if (!expect_array(conn, request, reply, ACCOUNTS))
        return;
    int64_t sum = 0;
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        sum += reply->values[i];
    if (sum != ACCOUNTS * ACCOUNT_START)
        client_fail(conn, request, "the sum is %" PRId64, sum);
}

static void bank_sum(struct conn *conn)
{
    if (client_random(2)) {
        client_send(conn, checked("MGET", bank_summed, 0), "%s",
                    scenario_keys("MGET", "bank", 0, ACCOUNTS, 0, NULL));
        return;
    }
    client_send(conn, plain("MULTI"), "MULTI");
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        client_send(conn, plain("GET"), "GET bank:0:%u", i);
    client_send(conn, checked("EXEC", bank_summed, 0), "EXEC");
}

static const struct role bank_teller = {"bank-teller", bank_transfer, 16};
static const struct role bank_auditor = {"bank-auditor", bank_sum, 16};

void bank_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_BANK] = broken;
    struct conn *first = client_connect(options, &bank_teller, 0);
    int64_t start = ACCOUNT_START;
    client_ask(first, "%s", scenario_keys("MSET", "bank", 0, ACCOUNTS, 0, &start));
    scenario_connect(options, &bank_teller, 1, share / 2);
    scenario_connect(options, &bank_auditor, 1, share - share / 2);
}

/* ---- lock ----------------------------------------------------------------------------------- */

static const struct conn *lock_holder; /* as far as replies have told */

static void lock_freed(struct conn *conn, const struct request *request, const struct reply *reply)
{
    if (reply->number != KEYS)
        client_fail(conn, request, "freed %" PRId64 " keys of its lock", reply->number);
    conn->memory[0] = 0;
}

static void lock_tried(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_LOCK]++;
    if (!expect_no_error(conn, request, reply))
        return;
    conn->memory[0] = reply->number;
    if (reply->number == 0)
        return;
    if (lock_holder)
        client_fail(conn, request, "connection %u has the lock too", lock_holder->index);
    lock_holder = conn;
}

/* Tries, one request at a time; who has got it gives it up with the next. */
static void lock_try(struct conn *conn)
{
    conn->depth = 1;
    int64_t value = conn->index;
    if (conn->memory[0]) {
        lock_holder = NULL;
        client_send(conn, checked("DEL", lock_freed, 0), "%s",
                    scenario_keys(client_random(2) ? "DEL" : "UNLINK", "lock", 0, KEYS, 0, NULL));
    } else if (scenario_is_broken[SCENARIO_LOCK]) {
        client_send(conn, checked("EXISTS", lock_tried, 0), "SETNX lock:0:%u %u",
                    (uint32_t)client_random(KEYS), conn->index);
    } else {
        client_send(
            conn, checked("MSETNX", lock_tried, 0), "%s",
            scenario_keys("MSETNX", "lock", 0, KEYS, (uint32_t)client_random(KEYS), &value));
    }
}

static void lock_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_LOCK]++;
    if (reply->number != 0 && reply->number != KEYS)
        client_fail(conn, request, "%" PRId64 " keys of the lock are there", reply->number);
}

static void lock_watch(struct conn *conn)
{
    const char *command = client_random(4) ? "EXISTS" : "TOUCH";
    client_send(conn, checked(command, lock_seen, 0), "%s",
                scenario_keys(command, "lock", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role lock_user = {"lock-user", lock_try, 1};
static const struct role lock_watcher = {"lock-watcher", lock_watch, 16};

void lock_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_LOCK] = broken;
    struct conn *first = client_connect(options, &lock_user, 0);
    client_ask(first, "%s", scenario_keys("DEL", "lock", 0, KEYS, 0, NULL));
    scenario_connect(options, &lock_user, 1, share / 2);
    scenario_connect(options, &lock_watcher, 1, share - share / 2);
}
