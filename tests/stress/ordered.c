/*
 * How: what is written one after the other must be seen in this order, by its writer and by
 * everybody else, on whatever shard or thread.
 */
#include "tests/stress/scenario.h"

#include <inttypes.h>
#include <string.h>

#include "tests/stress/expect.h"

#define GROUPS_MAX 4u
#define HEAVY_BYTES 600u
#define HEAVY_PLACES 8u
#define BIG_BYTES 50000u
#define BIG_KEYS 3u
#define LETTERS 26u

static struct counter orders[GROUPS_MAX], settings;

/* ---- order ---------------------------------------------------------------------------------- */

static void order_written(struct conn *conn, const struct request *request,
                          const struct reply *reply)
{
    if (expect_no_error(conn, request, reply))
        counter_learn(&orders[conn->group], request->a);
}

static void order_write(struct conn *conn)
{
    bool broken = scenario_is_broken[SCENARIO_ORDER];
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
    if (!expect_array(conn, request, reply, 2))
        return;
    int64_t b = reply->values[0], a = reply->values[1];
    if (a != b && a != b + 1)
        client_fail(conn, request, "b is %" PRId64 " and a %" PRId64, b, a);
    expect_known(conn, request, &orders[conn->group], b);
}

static void order_read_b(struct conn *conn, const struct request *request,
                         const struct reply *reply)
{
    expect_known(conn, request, &orders[conn->group], reply->number);
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

void order_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_ORDER] = broken;
    for (uint32_t group = 0; group < GROUPS_MAX; group++) {
        struct conn *writer = client_connect(options, &order_writer, group);
        client_ask(writer, "MSET order:%u:a 0 order:%u:b 0", group, group);
    }
    scenario_connect(options, &order_reader, GROUPS_MAX, share);
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
    uint32_t me = scenario_is_broken[SCENARIO_OWN] ? conn->index / 2 : conn->index;
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

void own_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_OWN] = broken;
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
    if (expect_no_error(conn, request, reply))
        counter_learn(&settings, request->a);
}

static void config_write(struct conn *conn)
{
    int64_t value = ++settings.sent;
    if (scenario_is_broken[SCENARIO_CONFIG]) { /* claims to be acknowledged when it is only sent */
        conn->depth = 1;
        settings.known = value;
    }
    client_send(conn, checked("CONFIG SET", config_written, value),
                "CONFIG SET slowlog-max-len %" PRId64, value);
}

static void config_seen(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_CONFIG]++;
    if (expect_array(conn, request, reply, 2))
        expect_known(conn, request, &settings, reply->values[1]);
}

static void config_read(struct conn *conn)
{
    client_send(conn, checked("CONFIG GET", config_seen, settings.known),
                "CONFIG GET slowlog-max-len");
}

static const struct role config_writer = {"config-writer", config_write, 2};
static const struct role config_reader = {"config-reader", config_read, 4};

void config_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_CONFIG] = broken;
    settings.sent = settings.known = 1000;
    client_ask(client_connect(options, &config_writer, 0), "CONFIG SET slowlog-max-len 1000");
    scenario_connect(options, &config_reader, 1, share);
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
    if (scenario_is_broken[SCENARIO_HEAVY])
        client_send(conn, plain("SETRANGE"), "SETRANGE {heavy:%u}:1 9 xxxxxxxxx", place);
    client_send(conn, checked("LCS", heavy_done, 0), "LCS {heavy:%u}:1 {heavy:%u}:2 LEN", place,
                place);
}

static const struct role heavy_worker = {"heavy-worker", heavy_work, 1};

void heavy_start(const struct client_options *options, uint32_t share, bool broken)
{
    (void)share; /* two are plenty */
    scenario_is_broken[SCENARIO_HEAVY] = broken;
    struct conn *first = client_connect(options, &heavy_worker, 0);
    for (uint32_t place = 0; place < HEAVY_PLACES; place++)
        heavy_fill(first, place);
    client_connect(options, &heavy_worker, 0);
}

/* ---- big ------------------------------------------------------------------------------------ */

/* `len` times the same letter. */
static const char *big_value(uint32_t letter, uint32_t len)
{
    static char values[LETTERS][BIG_BYTES + 1];
    static bool is_filled;
    for (uint32_t i = 0; !is_filled && i < LETTERS; i++)
        memset(values[i], (int)('a' + i), BIG_BYTES);
    is_filled = true;
    return values[letter] + BIG_BYTES - len;
}

static void big_read(struct conn *conn, const struct request *request, const struct reply *reply)
{
    scenario_checks[SCENARIO_BIG]++;
    uint32_t letter = (uint32_t)(request->a >> 32), len = (uint32_t)request->a;
    bool is_whole = reply->type == '*' ? reply->count == BIG_KEYS
                                       : (uint32_t)reply->text[0] == 'a' + letter;
    if (!is_whole || !reply->is_uniform || reply->len != len)
        client_fail(conn, request, "wanted %u times '%c', got '%c' with %zu bytes%s: %.20s", len,
                    (int)('a' + letter), reply->type, reply->len,
                    reply->is_uniform ? "" : " of several kinds", reply->text);
}

/* Writes a value to one key, or to several at once, and reads it back; all keys are its own. */
static void big_use(struct conn *conn)
{
    uint32_t me = scenario_is_broken[SCENARIO_BIG] ? 0 : conn->index;
    uint32_t letter = (uint32_t)client_random(LETTERS);
    uint32_t len = 1 + (uint32_t)client_random(client_random(3) ? 6000 : BIG_BYTES);
    const char *value = big_value(letter, len);
    int64_t wanted = (int64_t)letter << 32 | len;
    if (client_random(2)) {
        client_send(conn, plain("SET"), "SET big:%u:0 %s", me, value);
        client_send(conn, checked("GET", big_read, wanted), "GET big:%u:0", me);
        return;
    }
    client_send(conn, plain("MSET"), "MSET big:%u:0 %s big:%u:1 %s big:%u:2 %s", me, value, me,
                value, me, value);
    client_send(conn, plain("RENAME"), "RENAME big:%u:1 big:%u:3", me, me);
    client_send(conn, checked("MGET", big_read, wanted), "MGET big:%u:0 big:%u:2 big:%u:3", me, me,
                me);
}

static const struct role big_user = {"big-user", big_use, 12};

void big_start(const struct client_options *options, uint32_t share, bool broken)
{
    scenario_is_broken[SCENARIO_BIG] = broken;
    scenario_connect(options, &big_user, 1, share / 2 > 4 ? share / 2 : 4);
}
