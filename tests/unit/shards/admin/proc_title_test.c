#include "shards/admin/proc_title.h"

#include <criterion/criterion.h>

static struct config config = {
    .bind = {"-::1", "127.0.0.1"},
    .bind_count = 2,
    .port = 7000,
    .unix_socket = "/run/x.sock",
    .config_file = "/etc/x.conf",
};

static void expect(const char *template, const char *wanted)
{
    struct buf title = {0};
    cr_assert(proc_title_expand(bytes_from_text(template), "sherd", &config, &title), "%s",
              template);
    buf_add_char(&title, '\0');
    cr_assert_str_eq(title.ptr, wanted);
    buf_fini(&title);
}

Test(proc_title, fills_in_each_variable)
{
    expect("{title}", "sherd");
    expect("{port} {tls-port}", "7000 0");
    expect("{unixsocket}|{config-file}", "/run/x.sock|/etc/x.conf");
    expect("a{title}b{title}c", "asherdbsherdc");
}

Test(proc_title, cuts_blanks_that_empty_variables_leave)
{
    expect("  {title} {server-mode}", "sherd");
}

Test(proc_title, shows_the_first_address)
{
    expect("{listen-addr}", "[::1]:7000");
    config.bind[0] = "*";
    expect("{listen-addr}", "*:7000");
    config.bind_count = 0;
    expect("{listen-addr}", "*:7000");
    config.port = 0;
    expect("{listen-addr}", "/run/x.sock");
}

Test(proc_title, writes_a_doubled_brace_as_one)
{
    expect("{{title}", "{title}");
}

Test(proc_title, refuses_open_braces_and_unknown_variables)
{
    struct buf title = {0};
    const char *const wrong[] = {"{", "a {title", "{}", "{Title}", "{nosuch}"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert_not(proc_title_expand(bytes_from_text(wrong[i]), "sherd", &config, &title), "%s",
                      wrong[i]);
    cr_assert_eq(title.len, 0);
}
