#include "shards/admin/monitor.h"

#include <criterion/criterion.h>

#include "shards/admin/home_admin.h"
#include "tests/unit/shards/admin/watched.h"

static struct watched watched;

static void expect(const char *line)
{
    struct buf text = {0};
    monitor_add_line(&text, &watched.event, "/run/sherd.sock");
    buf_add_char(&text, '\0');
    cr_assert_str_eq(text.ptr, line);
    buf_fini(&text);
}

Test(monitor, shows_time_database_address_and_words)
{
    watched_init(&watched, "get");
    watched_add_word(&watched, BYTES("k"));
    expect("+1690000000.123456 [0 127.0.0.1:50000] \"get\" \"k\"\r\n");
    watched.call.db_index = 9;
    watched.event.now_us = INT64_C(1690000000000007);
    expect("+1690000000.000007 [9 127.0.0.1:50000] \"get\" \"k\"\r\n");
}

Test(monitor, shows_the_path_of_a_unix_socket)
{
    watched_init(&watched, "ping");
    watched.session.flags = SESSION_UNIX;
    expect("+1690000000.123456 [0 unix:/run/sherd.sock] \"ping\"\r\n");
}

Test(monitor, escapes_what_is_not_printable)
{
    watched_init(&watched, "set");
    watched_add_word(&watched, BYTES("a \"b\" \\ \n\r\t\a\b"));
    watched_add_word(&watched, BYTES("\0\x1f\x7f\xff~"));
    watched_add_word(&watched, BYTES(""));
    expect("+1690000000.123456 [0 127.0.0.1:50000] \"set\" "
           "\"a \\\"b\\\" \\\\ \\n\\r\\t\\a\\b\" \"\\x00\\x1f\\x7f\\xff~\" \"\"\r\n");
}

Test(monitor, shows_no_secrets)
{
    watched_init(&watched, "hello");
    watched_add_word(&watched, BYTES("3"));
    watched_add_word(&watched, BYTES("AUTH"));
    watched_add_word(&watched, BYTES("me"));
    watched_add_word(&watched, BYTES("sesame"));
    expect("+1690000000.123456 [0 127.0.0.1:50000] \"hello\" \"3\" \"AUTH\" \"(redacted)\" "
           "\"(redacted)\"\r\n");
}

Test(monitor, listens_until_there_has_been_nobody_for_a_while)
{
    static struct home_admin admin;
    static struct home *homes[1];
    watched_init(&watched, "get");
    homes[0] = &watched.home;
    watched.server.homes = homes;
    watched.server.shard_count = 1;
    watched.home.admin = &admin;

    monitor_tend(&watched.home, 1000);
    cr_assert_eq(watched.home.tap.before_count, 0);
    monitor_expect(&watched.home, 1000);
    monitor_expect(&watched.home, 1000);
    cr_assert_eq(watched.home.tap.before_count, 1);
    monitor_start(&watched.home, &watched.session);
    monitor_start(&watched.home, &watched.session);
    cr_assert_eq(admin.monitor.here, 1, "a monitor counts once");
    int64_t now_ms = 1000 + MONITOR_LINGER_MS;
    monitor_tend(&watched.home, now_ms);
    cr_assert_eq(watched.home.tap.before_count, 1, "somebody monitors");

    monitor_stop(&watched.home, &watched.session);
    monitor_stop(&watched.home, &watched.session);
    cr_assert_eq(admin.monitor.here, 0);
    monitor_tend(&watched.home, now_ms + MONITOR_LINGER_MS - 1);
    cr_assert_eq(watched.home.tap.before_count, 1, "another may be on its way");
    monitor_tend(&watched.home, now_ms + MONITOR_LINGER_MS);
    cr_assert_eq(watched.home.tap.before_count, 0);
}
