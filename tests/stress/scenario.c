/*
 * How: where one writer counts up, `sent` is the newest value it has sent and `known` the newest
 * that any reply has shown: an acknowledgement, or a read. A read is right if it lies between
 * `known` as it was when the read was sent and `sent` as it is when the reply is there: that is
 * real time, across connections. A broken writer does step by step, waiting for each reply, what
 * the right one does at once.
 */
#include "tests/stress/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/check.h"

#define GROUPS_MAX 4u
#define KEYS 6u
#define ACCOUNTS 6u
#define ACCOUNT_START 1000
#define RING_KEYS 5u
#define HEAVY_BYTES 600u
#define HEAVY_PLACES 8u

uint64_t scenario_checks[SCENARIO_COUNT];

/* One writer's values. */
static struct counter {
    int64_t sent, known;
} twins[GROUPS_MAX], orders[GROUPS_MAX], settings;

static bool is_broken[SCENARIO_COUNT];

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool is_error(const struct conn *conn, const struct request *request,
                     const struct reply *reply)
{
    if (reply->type != '-')
        return false;
    client_fail(conn, request, "%s", reply->text);
    return true;
}

/* An array of `count` values; false, and told, if it is not. */
static bool is_array(const struct conn *conn, const struct request *request,
                     const struct reply *reply, uint32_t count)
{
    if (reply->type == '*' && reply->count == count)
        return true;
    client_fail(conn, request, "wanted %u values, got '%c' with %u: %s", count, reply->type,
                reply->count, reply->text);
    return false;
}

/* A value read by `request`, whose `a` is what was known when it was sent. */
static void see(const struct conn *conn, const struct request *request, struct counter *counter,
                int64_t value)
{
    if (value < request->a || value > counter->sent)
        client_fail(conn, request, "read %" PRId64 ", known before: %" PRId64 ", sent: %" PRId64,
                    value, request->a, counter->sent);
    counter->known = max(counter->known, value);
}

/* All values equal, or all null. */
static bool is_one(const struct conn *conn, const struct request *request,
                   const struct reply *reply, uint32_t from, uint32_t count)
{
    for (uint32_t i = from + 1; i < from + count; i++)
        if (reply->nulls[i] != reply->nulls[from] ||
            (!reply->nulls[i] && reply->values[i] != reply->values[from])) {
            client_fail(conn, request, "torn: %" PRId64 "%s at one key, %" PRId64 "%s at another",
                        reply->values[from], reply->nulls[from] ? " (null)" : "", reply->values[i],
                        reply->nulls[i] ? " (null)" : "");
            return false;
        }
    return true;
}

/* "COMMAND name:0 name:1 ..." from key `first` on, each followed by `value` unless that is NULL. */
static const char *over_keys(const char *command, const char *name, uint32_t group, uint32_t count,
                             uint32_t first, const int64_t *value)
{
    static char text[1024];
    int len = snprintf(text, sizeof(text), "%s", command);
    for (uint32_t i = 0; i < count; i++) {
        len += snprintf(text + len, sizeof(text) - (size_t)len, " %s:%u:%u", name, group,
                        (first + i) % count);
        if (value)
            len += snprintf(text + len, sizeof(text) - (size_t)len, " %" PRId64, *value);
    }
    ASSERT((size_t)len < sizeof(text));
    return text;
}

static void make(const struct client_options *options, const struct role *role, uint32_t groups,
                 uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        client_connect(options, role, i % groups);
}

/* ---- twins ---------------------------------------------------------------------------------- */

static const struct role twins_prober = {"twins-prober", NULL, 1};

static void twins_read_one(struct conn *conn, const struct request *request,
                           const struct reply *reply);

static void twins_written(struct conn *conn, const struct request *request,
                          const struct reply *reply)
{
    if (!is_error(conn, request, reply))
        twins[conn->group].known = max(twins[conn->group].known, request->a);
}

static void twins_write(struct conn *conn)
{
    struct counter *counter = &twins[conn->group];
    struct request last = checked("MSET", twins_written, 0);
    if (is_broken[SCENARIO_TWINS]) {
        conn->depth = 1;
        uint32_t at = (uint32_t)conn->memory[0]++ % KEYS;
        int64_t value = at == 0 ? ++counter->sent : counter->sent;
        client_send(conn, plain("SET"), "SET twin:%u:%u %" PRId64, conn->group, at, value);
        return;
    }
    int64_t value = last.a = ++counter->sent;
    if (client_random(4) > 0) {
        client_send(
            conn, last, "%s",
            over_keys("MSET", "twin", conn->group, KEYS, (uint32_t)client_random(KEYS), &value));
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
    see(conn, request, counter, value);
    if (is_new)
        client_stir(&twins_prober, conn->group, twins_probe);
}

static void twins_read_all(struct conn *conn, const struct request *request,
                           const struct reply *reply)
{
    scenario_checks[SCENARIO_TWINS]++;
    if (is_array(conn, request, reply, KEYS) && is_one(conn, request, reply, 0, KEYS))
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
        client_send(conn, request, "%s", over_keys("MGET", "twin", conn->group, KEYS, first, NULL));
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

static void twins_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_TWINS] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *writer = client_connect(options, &twins_writer, group);
        int64_t start = 0;
        client_ask(writer, "%s", over_keys("MSET", "twin", group, KEYS, 0, &start));
    }
    make(options, &twins_reader, GROUPS_MAX, share - share / 2);
    make(options, &twins_prober, GROUPS_MAX, share / 2);
}

/* ---- order ---------------------------------------------------------------------------------- */

static void order_written(struct conn *conn, const struct request *request,
                          const struct reply *reply)
{
    if (!is_error(conn, request, reply))
        orders[conn->group].known = max(orders[conn->group].known, request->a);
}

static void order_write(struct conn *conn)
{
    bool broken = is_broken[SCENARIO_ORDER];
    struct counter *counter = &orders[conn->group];
    if (broken) {
        conn->depth = 1;
        bool second = conn->memory[0]++ % 2;
        int64_t value = second ? counter->sent : ++counter->sent;
        client_send(conn, plain("SET"), "SET order:%u:%c %" PRId64, conn->group, second ? 'a' : 'b',
                    value);
        return;
    }
    int64_t value = ++counter->sent;
    client_send(conn, plain("SET"), "SET order:%u:a %" PRId64, conn->group, value);
    client_send(conn, checked("SET", order_written, value), "SET order:%u:b %" PRId64, conn->group,
                value);
}

static void order_read_both(struct conn *conn, const struct request *request,
                            const struct reply *reply)
{
    scenario_checks[SCENARIO_ORDER]++;
    if (!is_array(conn, request, reply, 2))
        return;
    int64_t b = reply->values[0], a = reply->values[1];
    if (a != b && a != b + 1)
        client_fail(conn, request, "b is %" PRId64 " and a %" PRId64, b, a);
    see(conn, request, &orders[conn->group], b);
}

static void order_read_b(struct conn *conn, const struct request *request,
                         const struct reply *reply)
{
    see(conn, request, &orders[conn->group], reply->number);
    conn->memory[0] = reply->number;
}

static void order_read_a(struct conn *conn, const struct request *request,
                         const struct reply *reply)
{
    scenario_checks[SCENARIO_ORDER]++;
    if (reply->number < conn->memory[0])
        client_fail(conn, request, "b was %" PRId64 ", then a is %" PRId64, conn->memory[0],
                    reply->number);
}

static void order_read(struct conn *conn)
{
    int64_t known = orders[conn->group].known;
    if (client_random(2)) {
        client_send(conn, checked("MGET", order_read_both, known), "MGET order:%u:b order:%u:a",
                    conn->group, conn->group);
        return;
    }
    client_send(conn, checked("GET", order_read_b, known), "GET order:%u:b", conn->group);
    client_send(conn, checked("GET", order_read_a, 0), "GET order:%u:a", conn->group);
}

static const struct role order_writer = {"order-writer", order_write, 64};
static const struct role order_reader = {"order-reader", order_read, 32};

static void order_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_ORDER] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *writer = client_connect(options, &order_writer, group);
        client_ask(writer, "MSET order:%u:a 0 order:%u:b 0", group, group);
    }
    make(options, &order_reader, GROUPS_MAX, share);
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
    if (is_broken[SCENARIO_RING]) {
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
                over_keys(command, "ring", conn->group, RING_KEYS,
                          (uint32_t)client_random(RING_KEYS), NULL));
}

static const struct role ring_mover = {"ring-mover", ring_move, 8};
static const struct role ring_counter = {"ring-counter", ring_count, 16};

static void ring_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_RING] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *mover = client_connect(options, &ring_mover, group);
        client_ask(mover, "%s", over_keys("DEL", "ring", group, RING_KEYS, 0, NULL));
        client_ask(mover, "SET ring:%u:0 1", group);
    }
    if (!broken)
        make(options, &ring_mover, GROUPS_MAX, share / 3);
    make(options, &ring_counter, GROUPS_MAX, share - share / 3);
}

/* ---- swap: databases 1 and 2 ---------------------------------------------------------------- */

static void swap_write(struct conn *conn)
{
    if (is_broken[SCENARIO_SWAP]) {
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
    if (!is_array(conn, request, reply, KEYS) || !is_one(conn, request, reply, 0, KEYS))
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
                    over_keys("MGET", "swap", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role swap_writer = {"swap-writer", swap_write, 4};
static const struct role swap_reader = {"swap-reader", swap_read, 16};

static void swap_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_SWAP] = broken;
    struct conn *writer = client_connect(options, &swap_writer, 0);
    for (int64_t db = 2; db >= 1; db--) {
        client_ask(writer, "SELECT %d", (int)db);
        client_ask(writer, "FLUSHDB");
        client_ask(writer, "%s", over_keys("MSET", "swap", 0, KEYS, 0, &db));
    }
    for (uint32_t i = 0; i < share; i++)
        client_ask(client_connect(options, &swap_reader, 0), "SELECT 1");
}

/* ---- flush: database 3 ---------------------------------------------------------------------- */

static void flush_write(struct conn *conn)
{
    int64_t value = conn->memory[0]++;
    if (is_broken[SCENARIO_FLUSH]) {
        conn->depth = 1;
        client_send(conn, plain("SET"), value / KEYS % 2 ? "SET flush:0:%u 1" : "DEL flush:0:%u",
                    (uint32_t)(value % KEYS));
        return;
    }
    if (client_random(3))
        client_send(conn, plain("MSET"), "%s",
                    over_keys("MSET", "flush", 0, KEYS, (uint32_t)client_random(KEYS), &value));
    else
        client_send(conn, plain("FLUSHDB"), client_random(2) ? "FLUSHDB" : "FLUSHDB ASYNC");
}

static void flush_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_FLUSH]++;
    if (is_array(conn, request, reply, KEYS))
        is_one(conn, request, reply, 0, KEYS);
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
                    over_keys("MGET", "flush", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role flush_writer = {"flush-writer", flush_write, 8};
static const struct role flush_reader = {"flush-reader", flush_read, 16};

static void flush_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_FLUSH] = broken;
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
    if (is_broken[SCENARIO_BANK]) {
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
    if (!is_array(conn, request, reply, ACCOUNTS))
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
                    over_keys("MGET", "bank", 0, ACCOUNTS, 0, NULL));
        return;
    }
    client_send(conn, plain("MULTI"), "MULTI");
    for (uint32_t i = 0; i < ACCOUNTS; i++)
        client_send(conn, plain("GET"), "GET bank:0:%u", i);
    client_send(conn, checked("EXEC", bank_summed, 0), "EXEC");
}

static const struct role bank_teller = {"bank-teller", bank_transfer, 16};
static const struct role bank_auditor = {"bank-auditor", bank_sum, 16};

static void bank_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_BANK] = broken;
    struct conn *first = client_connect(options, &bank_teller, 0);
    int64_t start = ACCOUNT_START;
    client_ask(first, "%s", over_keys("MSET", "bank", 0, ACCOUNTS, 0, &start));
    make(options, &bank_teller, 1, share / 2);
    make(options, &bank_auditor, 1, share - share / 2);
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
    if (is_error(conn, request, reply))
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
                    over_keys(client_random(2) ? "DEL" : "UNLINK", "lock", 0, KEYS, 0, NULL));
    } else if (is_broken[SCENARIO_LOCK]) {
        client_send(conn, checked("EXISTS", lock_tried, 0), "SETNX lock:0:%u %u",
                    (uint32_t)client_random(KEYS), conn->index);
    } else {
        client_send(conn, checked("MSETNX", lock_tried, 0), "%s",
                    over_keys("MSETNX", "lock", 0, KEYS, (uint32_t)client_random(KEYS), &value));
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
                over_keys(command, "lock", 0, KEYS, (uint32_t)client_random(KEYS), NULL));
}

static const struct role lock_user = {"lock-user", lock_try, 1};
static const struct role lock_watcher = {"lock-watcher", lock_watch, 16};

static void lock_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_LOCK] = broken;
    struct conn *first = client_connect(options, &lock_user, 0);
    client_ask(first, "%s", over_keys("DEL", "lock", 0, KEYS, 0, NULL));
    make(options, &lock_user, 1, share / 2);
    make(options, &lock_watcher, 1, share - share / 2);
}

/* ---- own ------------------------------------------------------------------------------------ */

static void own_number(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_OWN]++;
    if (reply->type == '-' || reply->number != request->a || reply->is_null)
        client_fail(conn, request, "wanted %" PRId64 ", got '%c' %s", request->a, reply->type,
                    reply->is_null ? "null" : reply->text);
}

static void own_null(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_OWN]++;
    if (!reply->is_null)
        client_fail(conn, request, "wanted null, got '%c' %s", reply->type, reply->text);
}

/* Memory: 0 the counter, 1 the last number written. Who owns the keys is `broken` for two. */
static void own_use(struct conn *conn)
{
    uint32_t me = is_broken[SCENARIO_OWN] ? conn->index / 2 : conn->index;
    uint32_t key = (uint32_t)client_random(4);
    int64_t number = (int64_t)client_random(1000000);
    switch (client_random(6)) {
    case 0:
        client_send(conn, checked("INCR", own_number, ++conn->memory[0]), "INCR own:%u:n", me);
        break;
    case 1:
        client_send(conn, checked("ECHO", own_number, number), "ECHO %" PRId64, number);
        break;
    case 2:
        client_send(conn, plain("SET"), "SET own:%u:%u %" PRId64, me, key, number);
        client_send(conn, checked("GET", own_number, number), "GET own:%u:%u", me, key);
        break;
    case 3:
        client_send(conn, plain("SET"), "SET own:%u:%u %" PRId64, me, key, number);
        client_send(conn, plain("RENAME"), "RENAME own:%u:%u own:%u:to", me, key, me);
        client_send(conn, checked("GET", own_number, number), "GET own:%u:to", me);
        client_send(conn, checked("GET", own_null, 0), "GET own:%u:%u", me, key);
        break;
    case 4:
        client_send(conn, plain("MSET"), "MSET own:%u:%u %" PRId64 " own:%u:to %" PRId64, me, key,
                    number, me, number);
        client_send(conn, checked("EXISTS", own_number, 2), "EXISTS own:%u:%u own:%u:to", me, key,
                    me);
        client_send(conn, checked("DEL", own_number, 2), "DEL own:%u:%u own:%u:to", me, key, me);
        client_send(conn, checked("GET", own_null, 0), "GET own:%u:to", me);
        break;
    default:
        client_send(conn, checked("STRLEN", own_number, 0), "STRLEN own:%u:none", me);
        break;
    }
}

static const struct role own_user = {"own-user", own_use, 200};

static void own_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_OWN] = broken;
    for (uint32_t i = 0; i < share; i++) {
        struct conn *conn = client_connect(options, &own_user, 0);
        uint32_t me = broken ? conn->index / 2 : conn->index;
        client_ask(conn, "DEL own:%u:n own:%u:0 own:%u:1 own:%u:2 own:%u:3 own:%u:to", me, me, me,
                   me, me, me);
    }
}

/* ---- config --------------------------------------------------------------------------------- */

static void config_written(struct conn *conn, const struct request *request,
                           const struct reply *reply)
{
    if (!is_error(conn, request, reply))
        settings.known = max(settings.known, request->a);
}

static void config_write(struct conn *conn)
{
    int64_t value = ++settings.sent;
    if (is_broken[SCENARIO_CONFIG]) { /* claims to be acknowledged when it is only sent */
        conn->depth = 1;
        settings.known = value;
    }
    client_send(conn, checked("CONFIG SET", config_written, value),
                "CONFIG SET slowlog-max-len %" PRId64, value);
}

static void config_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_CONFIG]++;
    if (is_array(conn, request, reply, 2))
        see(conn, request, &settings, reply->values[1]);
}

static void config_read(struct conn *conn)
{
    client_send(conn, checked("CONFIG GET", config_seen, settings.known),
                "CONFIG GET slowlog-max-len");
}

static const struct role config_writer = {"config-writer", config_write, 2};
static const struct role config_reader = {"config-reader", config_read, 4};

static void config_start(const struct client_options *options, uint32_t share, bool broken)
{
    is_broken[SCENARIO_CONFIG] = broken;
    settings.sent = settings.known = 1000;
    client_ask(client_connect(options, &config_writer, 0), "CONFIG SET slowlog-max-len 1000");
    make(options, &config_reader, 1, share);
}

/* ---- heavy ---------------------------------------------------------------------------------- */

/* Two texts that have every second byte in common. */
static void heavy_fill(struct conn *conn, uint32_t place)
{
    char first[HEAVY_BYTES + 1], second[HEAVY_BYTES + 1];
    for (uint32_t i = 0; i < HEAVY_BYTES; i++) {
        first[i] = i % 2 ? 'a' : 'b';
        second[i] = i % 2 ? 'a' : 'c';
    }
    first[HEAVY_BYTES] = second[HEAVY_BYTES] = 0;
    client_ask(conn, "SET {heavy:%u}:1 %s", place, first);
    client_ask(conn, "SET {heavy:%u}:2 %s", place, second);
}

static void heavy_done(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_HEAVY]++;
    if (reply->type == '-' || reply->number != HEAVY_BYTES / 2)
        client_fail(conn, request, "got '%c' %s", reply->type, reply->text);
}

static void heavy_work(struct conn *conn)
{
    conn->depth = 1;
    uint32_t place = (uint32_t)client_random(HEAVY_PLACES);
    if (is_broken[SCENARIO_HEAVY])
        client_send(conn, plain("SETRANGE"), "SETRANGE {heavy:%u}:1 9 xxxxxxxxx", place);
    client_send(conn, checked("LCS", heavy_done, 0), "LCS {heavy:%u}:1 {heavy:%u}:2 LEN", place,
                place);
}

static const struct role heavy_worker = {"heavy-worker", heavy_work, 1};

static void heavy_start(const struct client_options *options, uint32_t share, bool broken)
{
    (void)share; /* two are plenty */
    is_broken[SCENARIO_HEAVY] = broken;
    struct conn *first = client_connect(options, &heavy_worker, 0);
    for (uint32_t place = 0; place < HEAVY_PLACES; place++)
        heavy_fill(first, place);
    client_connect(options, &heavy_worker, 0);
}

const struct scenario scenarios[SCENARIO_COUNT] = {
    [SCENARIO_TWINS] = {"twins", twins_start},    [SCENARIO_ORDER] = {"order", order_start},
    [SCENARIO_RING] = {"ring", ring_start},       [SCENARIO_SWAP] = {"swap", swap_start},
    [SCENARIO_FLUSH] = {"flush", flush_start},    [SCENARIO_BANK] = {"bank", bank_start},
    [SCENARIO_LOCK] = {"lock", lock_start},       [SCENARIO_OWN] = {"own", own_start},
    [SCENARIO_CONFIG] = {"config", config_start}, [SCENARIO_HEAVY] = {"heavy", heavy_start},
};
