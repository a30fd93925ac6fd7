#include "shards/admin/slowlog.h"

#include <criterion/criterion.h>

#include "tests/unit/shards/admin/watched.h"

static struct watched watched;
static struct slowlog slow;

static void begin(void)
{
    watched_init(&watched, "set");
}

static void finish(void)
{
    slowlog_clear(&slow);
    cr_assert_eq(slow.count, 0);
    cr_assert_null(slow.newest);
}

TestSuite(slowlog, .init = begin, .fini = finish);

static void note(uint32_t elapsed_us)
{
    watched.event.elapsed_us = elapsed_us;
    slowlog_note(&watched.home, &slow, &watched.event);
}

static bool newest_contains(const char *text)
{
    struct bytes encoded = bytes_of(slow.newest->encoded, slow.newest->len);
    return bytes_find(encoded, bytes_from_text(text)) != SIZE_MAX;
}

Test(slowlog, keeps_what_takes_as_long_as_the_threshold_or_longer)
{
    note(9999);
    cr_assert_eq(slow.count, 0);
    note(10000);
    cr_assert_eq(slow.count, 1);
    watched.config.slowlog_slower_than_us = 0;
    note(0);
    cr_assert_eq(slow.count, 2);
    watched.config.slowlog_slower_than_us = -1;
    note(1000000);
    cr_assert_eq(slow.count, 2, "a negative threshold switches it off");
}

Test(slowlog, passes_over_commands_that_ask_for_it)
{
    watched.command.flags = CMD_SKIP_SLOWLOG;
    note(1000000);
    cr_assert_eq(slow.count, 0);
}

Test(slowlog, answers_an_entry_as_redis_does)
{
    watched.session.name = BYTES("me");
    watched_add_word(&watched, BYTES("k"));
    note(12345);
    cr_assert_eq(slow.newest->id, 0);
    cr_assert(newest_contains("*6\r\n:0\r\n:1690000000\r\n:12345\r\n*2\r\n$3\r\nset\r\n$1\r\nk\r\n"
                              "$15\r\n127.0.0.1:50000\r\n$2\r\nme\r\n"));
}

Test(slowlog, takes_ids_from_the_counter_of_all_homes)
{
    note(10000);
    atomic_fetch_add(&watched.server.slowlog_next_id, 5); /* other homes were busy */
    note(10000);
    cr_assert_eq(slow.newest->id, 6);
    cr_assert_eq(slow.newest->older->id, 0);
}

Test(slowlog, drops_the_oldest_beyond_its_length)
{
    watched.config.slowlog_max_len = 3;
    for (int i = 0; i < 10; i++)
        note(10000);
    cr_assert_eq(slow.count, 3);
    cr_assert_eq(slow.newest->id, 9);
    cr_assert_eq(slow.newest->older->older->id, 7);
    cr_assert_null(slow.newest->older->older->older);
    watched.config.slowlog_max_len = 0;
    note(10000);
    cr_assert_eq(slow.count, 0);
}

Test(slowlog, keeps_a_bounded_number_of_words)
{
    for (uint32_t i = 1; i < SLOWLOG_ARGS_MAX; i++)
        watched_add_word(&watched, BYTES("w"));
    note(10000);
    cr_assert(newest_contains("*32\r\n"));
    cr_assert_not(newest_contains("more arguments"));
    watched_add_word(&watched, BYTES("w"));
    note(10000);
    cr_assert(newest_contains("*32\r\n"));
    cr_assert(newest_contains("... (2 more arguments)"));
}

Test(slowlog, keeps_a_bounded_number_of_bytes_of_a_word)
{
    static char word[SLOWLOG_ARG_BYTES_MAX + 1];
    memset(word, 'x', sizeof(word));
    watched_add_word(&watched, bytes_of(word, SLOWLOG_ARG_BYTES_MAX));
    note(10000);
    cr_assert_not(newest_contains("more bytes"));
    watched_add_word(&watched, bytes_of(word, SLOWLOG_ARG_BYTES_MAX + 1));
    note(10000);
    cr_assert(newest_contains("x... (1 more bytes)"));
}

Test(slowlog, keeps_no_secrets)
{
    watched_init(&watched, "auth");
    watched_add_word(&watched, BYTES("sesame"));
    note(10000);
    cr_assert(newest_contains("(redacted)"));
    cr_assert_not(newest_contains("sesame"));
}
