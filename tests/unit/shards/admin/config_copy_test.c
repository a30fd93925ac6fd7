#include "shards/admin/config_copy.h"

#include <criterion/criterion.h>

#include "shards/admin/options.h"

static void set(struct config *config, const char *name, const char *value)
{
    struct option_error error;
    cr_assert(option_set_value(option_find(bytes_from_text(name)), config, bytes_from_text(value),
                               &error),
              "%s", error.text);
}

static void expect_equal(const struct config *a, const struct config *b)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        struct buf of_a = {0}, of_b = {0};
        option_get(option_at(i), a, &of_a);
        option_get(option_at(i), b, &of_b);
        cr_assert(bytes_equal(buf_bytes(&of_a), buf_bytes(&of_b)), "%s", option_at(i)->name);
        buf_fini(&of_a);
        buf_fini(&of_b);
    }
}

Test(config_copy, default_has_the_values_that_users_of_redis_expect)
{
    struct config *config = config_default();
    cr_assert_eq(config->port, 6379);
    cr_assert_eq(config->databases, 16);
    cr_assert_eq(config->maxclients, 10000);
    cr_assert_eq(config->bind_count, 2);
    cr_assert_str_eq(config->bind[1], "-::*");
    cr_assert(config->protected_mode);
    cr_assert_eq(config->conn.bulk_max, 512u << 20);
    cr_assert_eq(config->conn.output[CONN_REPLICA].soft_bytes, 64u << 20);
    cr_assert_eq(config->slowlog_slower_than_us, 10000);
    cr_assert_str_eq(config->requirepass, "");
    config_free(config);
}

Test(config_copy, says_the_same_after_the_original_is_gone)
{
    struct config *original = config_default();
    set(original, "requirepass", "secret");
    set(original, "bind", "127.0.0.1 ::1");
    set(original, "dbfilename", "x.rdb");
    set(original, "maxmemory", "1gb");
    struct config *copy = config_copy(original), *again = config_copy(copy);
    expect_equal(original, copy);
    config_free(original);
    expect_equal(copy, again);
    cr_assert_str_eq(copy->requirepass, "secret");
    cr_assert_str_eq(copy->bind[0], "127.0.0.1");
    config_free(copy);
    config_free(again);
}

Test(config_copy, can_be_changed_and_leaves_the_original_alone)
{
    struct config *original = config_default(), *copy = config_copy(original);
    set(copy, "requirepass", "secret");
    set(copy, "bind", "127.0.0.1");
    set(copy, "repl-timeout", "7");
    cr_assert_str_eq(original->requirepass, "");
    cr_assert_eq(original->bind_count, 2);
    cr_assert(option_is_default(option_find(BYTES("repl-timeout")), original));
    config_free(original);
    config_free(copy);
}

Test(config_copy, free_accepts_null)
{
    config_free(NULL);
}
