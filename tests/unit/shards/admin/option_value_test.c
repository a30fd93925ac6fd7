#include <criterion/criterion.h>

#include "shards/admin/config_copy.h"
#include "shards/admin/options.h"

static struct config *config;
static struct option_error error;

static void begin(void)
{
    config = config_default();
}

static void end(void)
{
    config_free(config);
}

TestSuite(option_value, .init = begin, .fini = end);

static bool set(const char *name, const char *value)
{
    return option_set_value(option_find(bytes_from_text(name)), config, bytes_from_text(value),
                            &error);
}

static void expect(const char *name, const char *wanted)
{
    struct buf text = {0};
    option_get(option_find(bytes_from_text(name)), config, &text);
    cr_assert_eq(text.len, strlen(wanted), "%s is '%.*s', not '%s'", name, (int)text.len, text.ptr,
                 wanted);
    cr_assert_eq(memcmp(text.ptr ? text.ptr : "", wanted, text.len), 0);
    buf_fini(&text);
}

/* Sets and shows. */
static void expect_taken(const char *name, const char *value, const char *shown)
{
    cr_assert(set(name, value), "%s '%s': %s", name, value, error.text);
    expect(name, shown);
}

static void expect_refused(const char *name, const char *value, const char *reason)
{
    cr_assert_not(set(name, value), "%s took '%s'", name, value);
    cr_assert_str_eq(error.text, reason);
}

Test(option_value, of_yes_and_no_is_read_in_any_case)
{
    expect_taken("protected-mode", "NO", "no");
    expect_taken("protected-mode", "yes", "yes");
    expect_refused("protected-mode", "1", "argument must be 'yes' or 'no'");
    expect_refused("protected-mode", "", "argument must be 'yes' or 'no'");
    expect("protected-mode", "yes");
}

Test(option_value, that_is_a_number_is_read_strictly)
{
    expect_taken("timeout", "0", "0");
    expect_taken("timeout", "2147483647", "2147483647");
    const char *const texts[] = {
        "", " 1", "1 ", "01", "+1", "1.0", "1k", "x", "9999999999999999999"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        expect_refused("timeout", texts[i], "argument couldn't be parsed into an integer");
}

Test(option_value, has_a_range_that_its_error_names)
{
    expect_refused("timeout", "-1", "argument must be between 0 and 2147483647 inclusive");
    expect_refused("timeout", "2147483648", "argument must be between 0 and 2147483647 inclusive");
    expect_refused("port", "65536", "argument must be between 0 and 65535 inclusive");
    expect_refused("maxclients", "0", "argument must be between 1 and 4294967295 inclusive");
    expect_refused("maxclients", "-1", "argument must be between 1 and 4294967295 inclusive");
    expect_refused("unixsocketperm", "1000", "argument must be between 0 and 777 inclusive");
    expect_taken("slowlog-log-slower-than", "-1", "-1");
    expect_taken("maxmemory", "18446744073709551615", "18446744073709551615");
}

Test(option_value, of_memory_has_units_of_1000_and_of_1024)
{
    expect_taken("maxmemory", "100", "100");
    expect_taken("maxmemory", "100b", "100");
    expect_taken("maxmemory", "2k", "2000");
    expect_taken("maxmemory", "2kb", "2048");
    expect_taken("maxmemory", "2M", "2000000");
    expect_taken("maxmemory", "2mB", "2097152");
    expect_taken("maxmemory", "2g", "2000000000");
    expect_taken("maxmemory", "2GB", "2147483648");
    expect_refused("maxmemory", "-1", "argument must be a memory value");
    expect_refused("maxmemory", "1tb", "argument must be a memory value");
    expect_refused("maxmemory", "1 mb", "argument must be a memory value");
    expect("maxmemory", "2147483648");
}

Test(option_value, of_memory_may_be_a_share)
{
    expect_taken("maxmemory-clients", "5%", "5%");
    expect_taken("maxmemory-clients", "0%", "0");
    expect_taken("maxmemory-clients", "1mb", "1048576");
    expect_refused("maxmemory-clients", "101%", "percentage argument must be less or equal to 100");
    expect_refused("maxmemory-clients", "-5%", "argument must be a memory or percent value");
    expect_refused("maxmemory-clients", "%", "argument must be a memory or percent value");
}

Test(option_value, that_is_a_file_mode_is_octal)
{
    expect_taken("unixsocketperm", "700", "700");
    cr_assert_eq(config->unix_socket_perm, 0700);
    expect_taken("unixsocketperm", "0755", "755");
    expect_refused("unixsocketperm", "8", "argument couldn't be parsed as an octal number");
}

Test(option_value, that_is_a_word_is_one_of_a_list)
{
    expect_taken("maxmemory-policy", "ALLKEYS-LRU", "allkeys-lru");
    cr_assert_eq(config->maxmemory_policy, MAXMEMORY_ALLKEYS_LRU);
    expect_refused(
        "maxmemory-policy", "lru",
        "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, "
        "volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction");
    expect_taken("oom-score-adj", "relative", "yes");
}

Test(option_value, of_several_words_is_shown_in_the_order_of_the_list)
{
    expect_taken("shutdown-on-sigterm", "force nosave", "nosave force");
    expect_taken("shutdown-on-sigterm", "default now", "now");
    expect_taken("shutdown-on-sigterm", "default", "default");
    expect_refused("shutdown-on-sigterm", "save nosave",
                   "shutdown options SAVE and NOSAVE can't be used simultaneously");
    expect_refused("shutdown-on-sigterm", "",
                   "argument(s) must be one of the following: default, save, nosave, now, force");
}

Test(option_value, that_is_text_is_kept_as_it_is)
{
    expect_taken("requirepass", "a \"b\" \x01", "a \"b\" \x01");
    cr_assert_str_eq(config->requirepass, "a \"b\" \x01");
    expect_taken("requirepass", "", "");
}

Test(option_value, that_is_text_has_no_zero_byte)
{
    cr_assert_not(
        option_set_value(option_find(BYTES("requirepass")), config, BYTES("a\0b"), &error));
    cr_assert_str_eq(error.text, "argument must not contain a zero byte");
}

Test(option_value, that_protects_and_is_not_built_is_refused)
{
    expect_refused("appendonly", "yes", "the append-only file is not built yet");
    expect_taken("appendonly", "no", "no");
    expect_refused("tls-port", "6380", "TLS is not built yet");
    expect_refused("cluster-enabled", "yes", "cluster mode is not built yet");
    expect_refused("aclfile", "users.acl", "ACL rules are not built yet");
    expect_refused("min-replicas-to-write", "1", "replication is not built yet");
    expect_refused("shutdown-on-sigterm", "save", "snapshots are not built yet");
}

Test(option_value, of_hz_is_the_nearest_that_is_allowed)
{
    expect_taken("hz", "0", "1");
    expect_taken("hz", "501", "500");
    expect_taken("repl-backlog-size", "1", "16384");
}

Test(option_value, has_conditions_beside_its_kind)
{
    expect_refused("dbfilename", "a/b", "dbfilename can't be a path, just a filename");
    expect_refused("appendfilename", "", "appendfilename can't be empty");
    expect_refused("appenddirname", "a/b", "appenddirname can't be a path, just a dirname");
    expect_refused("cluster-announce-hostname", "a_b",
                   "Hostnames may only contain alphanumeric characters, hyphens or dots");
    expect_refused("order-log-entries", "1000", "argument must be a power of two");
    expect_taken("order-log-entries", "1024", "1024");
    expect_refused("locale-collate", "nowhere", "Invalid locale name");
    expect_taken("locale-collate", "C", "C");
}

Test(option_value, that_takes_one_word_takes_no_two)
{
    struct bytes words[] = {BYTES("1"), BYTES("2")};
    cr_assert_not(option_set(option_find(BYTES("timeout")), config, words, 2, &error));
    cr_assert_str_eq(error.text, "wrong number of arguments");
    cr_assert_not(option_set(option_find(BYTES("timeout")), config, words, 0, &error));
}

/* ---- Lines of a file ---- */

static struct buf lines;

static void put(void *context, const struct option *option, struct bytes line, bool is_forced)
{
    buf_add_format(&lines, "%c%.*s\n", is_forced ? '!' : '?', (int)line.len, line.ptr);
}

static void expect_lines(const char *name, const char *wanted)
{
    lines.len = 0;
    struct option_sink sink = {.put = put};
    option_rewrite(option_find(bytes_from_text(name)), config, &sink);
    buf_add_char(&lines, '\0');
    cr_assert_str_eq(lines.ptr, wanted);
}

Test(option_value, is_written_with_the_largest_exact_unit)
{
    expect_taken("maxmemory", "3gb", "3221225472");
    expect_lines("maxmemory", "!maxmemory 3gb\n");
    expect_taken("maxmemory", "1536kb", "1572864");
    expect_lines("maxmemory", "!maxmemory 1536kb\n");
    expect_taken("maxmemory", "1025", "1025");
    expect_lines("maxmemory", "!maxmemory 1025\n");
    expect_taken("maxmemory", "0", "0");
    expect_lines("maxmemory", "?maxmemory 0\n");
}

Test(option_value, is_forced_into_a_file_unless_it_is_the_default)
{
    expect_lines("timeout", "?timeout 0\n");
    expect_taken("timeout", "5", "5");
    expect_lines("timeout", "!timeout 5\n");
    expect_lines("syslog-ident", "?syslog-ident \"redis\"\n");
}

Test(option_value, that_is_text_is_written_in_quotes)
{
    expect_taken("requirepass", "a\"\\\n\x01", "a\"\\\n\x01");
    expect_lines("requirepass", "!requirepass \"a\\\"\\\\\\n\\x01\"\n");
}

Test(option_value, that_is_unset_is_not_written_at_all)
{
    expect_lines("requirepass", "");
    expect_lines("logfile", "?logfile \"\"\n");
}
