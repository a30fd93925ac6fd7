#include "shards/admin/client_kill.h"

#include <criterion/criterion.h>

#include "core/base/arena.h"
#include "shards/admin/client_info.h"
#include "tests/unit/shards/admin/watched.h"

static struct watched watched;
static struct arena arena;
static struct client_filter filter;

#define CALLER 99
#define NOW_MS 100000

static enum status parse(const char *const *words)
{
    watched_init(&watched, "client");
    watched_add_word(&watched, BYTES("kill"));
    for (size_t i = 0; words[i]; i++)
        watched_add_word(&watched, bytes_from_text(words[i]));
    watched.call.arena = &arena;
    watched.conn.local = watched.conn.peer;
    return client_filter_parse(&watched.call, &filter);
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static bool matches(void)
{
    return client_filter_matches(&filter, &watched.session, CALLER, NOW_MS);
}

static void expect_text(enum status status, const char *text)
{
    cr_assert_eq(status, ERR_TEXT);
    cr_assert(bytes_equal(watched.call.error_arg, bytes_from_text(text)), "%.*s",
              (int)watched.call.error_arg.len, watched.call.error_arg.ptr);
}

Test(client_kill, takes_an_address_in_the_old_form)
{
    cr_assert_eq(PARSE("127.0.0.1:50000"), OK);
    cr_assert(filter.is_old_form);
    cr_assert_not(filter.skips_caller);
    cr_assert(matches());
    cr_assert_eq(PARSE("127.0.0.1:50001"), OK);
    cr_assert_not(matches());
}

Test(client_kill, narrows_by_every_filter)
{
    cr_assert_eq(PARSE("id", "7"), OK);
    cr_assert(matches());
    cr_assert_eq(PARSE("ID", "8"), OK);
    cr_assert_not(matches());
    cr_assert_eq(PARSE("type", "normal", "id", "7"), OK);
    cr_assert(matches());
    cr_assert_eq(PARSE("type", "pubsub", "id", "7"), OK);
    cr_assert_not(matches());
    cr_assert_eq(PARSE("addr", "127.0.0.1:50000"), OK);
    cr_assert_eq(PARSE("laddr", "127.0.0.1:50000", "user", "default"), OK);
    cr_assert(matches());
    cr_assert_eq(PARSE("laddr", "127.0.0.1:6379"), OK);
    cr_assert_not(matches());
}

Test(client_kill, spares_the_caller_unless_told_otherwise)
{
    cr_assert_eq(PARSE("type", "normal"), OK);
    cr_assert(matches());
    watched.session.id = CALLER;
    cr_assert_not(matches());
    cr_assert_eq(PARSE("type", "normal", "skipme", "no"), OK);
    watched.session.id = CALLER;
    cr_assert(matches());
}

Test(client_kill, takes_those_who_have_been_here_long_enough)
{
    cr_assert_eq(PARSE("maxage", "10"), OK);
    watched.session.created_at_ms = NOW_MS - 9999;
    cr_assert_not(matches());
    watched.session.created_at_ms = NOW_MS - 10000;
    cr_assert(matches());
}

Test(client_kill, refuses_what_it_does_not_know)
{
    cr_assert_eq(PARSE("id", "7", "type"), ERR_SYNTAX);
    cr_assert_eq(PARSE("nosuch", "7"), ERR_SYNTAX);
    cr_assert_eq(PARSE("skipme", "perhaps"), ERR_SYNTAX);
    expect_text(PARSE("id", "0"), "ERR client-id should be greater than 0");
    expect_text(PARSE("id", "x"), "ERR client-id should be greater than 0");
    expect_text(PARSE("type", "nosuch"), "ERR Unknown client type 'nosuch'");
    expect_text(PARSE("user", "nobody"), "ERR No such user 'nobody'");
    expect_text(PARSE("maxage", "x"), "ERR maxage is not an integer or out of range");
    expect_text(PARSE("maxage", "0"), "ERR maxage should be greater than 0");
}

Test(client_kill, knows_replicas_by_both_names)
{
    cr_assert_eq(client_type_find(BYTES("slave")), CLIENT_TYPE_REPLICA);
    cr_assert_eq(client_type_find(BYTES("Replica")), CLIENT_TYPE_REPLICA);
    cr_assert_eq(client_type_find(BYTES("master")), CLIENT_TYPE_MASTER);
    cr_assert_eq(client_type_find(BYTES("")), -1);
}
