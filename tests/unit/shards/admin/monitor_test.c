#include "shards/admin/monitor.h"

#include <criterion/criterion.h>

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
