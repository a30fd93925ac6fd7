#include "shards/admin/config_load.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shards/admin/config_copy.h"
#include "shards/admin/options.h"
#include "shards/call/command_table.h"
#include "shards/commands.h"
#include "shards/local/version.h"
#include "tests/support/fake_root.h"

/* Each test is a process of its own, whose working directory is a folder of its own. */
static struct fake_root folder;
static struct config *config;
static char out[4096], err[4096];

static void begin(void)
{
    folder = fake_root_make();
    cr_assert_eq(chdir(folder.path), 0);
    command_table_build(command_families, command_family_groups);
}

static void end(void)
{
    config_free(config);
    fake_root_remove(&folder);
}

TestSuite(config_load, .init = begin, .fini = end);

static int load(int argc, const char *const *argv)
{
    FILE *to_out = fmemopen(out, sizeof out, "w"), *to_err = fmemopen(err, sizeof err, "w");
    int status = config_load(argc, (char **)(uintptr_t)argv, &config, to_out, to_err);
    fclose(to_out);
    fclose(to_err);
    return status;
}

/* Loads "sherd" with these words. */
#define WORDS(...) ((const char *const[]){"sherd", __VA_ARGS__, NULL})
#define LOAD(...) load((int)(sizeof(WORDS(__VA_ARGS__)) / sizeof(char *)) - 1, WORDS(__VA_ARGS__))

static void expect(const char *name, const char *wanted)
{
    struct buf text = {0};
    option_get(option_find(bytes_from_text(name)), config, &text);
    buf_add_char(&text, '\0');
    cr_assert_str_eq(text.ptr, wanted, "%s", name);
    buf_fini(&text);
}

/* `file` is where the line is, "" for the command line. */
static void expect_fatal(int status, const char *file, const char *wanted)
{
    char text[1024];
    const char *at = strstr(wanted, "@");
    cr_assert_eq(status, EXIT_FAILURE);
    snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - wanted) : (int)strlen(wanted), wanted,
             at ? file : "", at ? at + 1 : "");
    cr_assert_str_eq(err, text);
}

/* The absolute name of a file of the folder, with a blank before it. */
static const char *named(const char *name)
{
    static char text[128];
    snprintf(text, sizeof text, " %s/%s", folder.path, name);
    return text;
}

#define FATAL "\n*** FATAL CONFIG FILE ERROR (Sherd " SHERD_VERSION ") ***\n"

/* ---- Files ---- */

Test(config_load, without_words_has_the_defaults)
{
    cr_assert_eq(load(1, (const char *const[]){"sherd", NULL}), CONFIG_START);
    expect("port", "6379");
    cr_assert_str_eq(config->config_file, "");
}

Test(config_load, reads_a_file_with_comments_blanks_quotes_and_carriage_returns)
{
    fake_root_write(&folder, "/x.conf",
                    "# port 1\n\n  PORT\t7000 \r\nsyslog-ident 'a b'\n  # hz 1\nrequirepass "
                    "\"\\x41\\\"\"\nbind 127.0.0.1 -::1\nsave 900 1\nsave 60 2\nreplicaof no one");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START, "%s", err);
    expect("port", "7000");
    expect("syslog-ident", "a b");
    expect("requirepass", "A\"");
    expect("bind", "127.0.0.1 -::1");
    expect("save", "900 1 60 2");
    cr_assert_eq(config->config_file[0], '/');
}

Test(config_load, names_the_line_that_is_wrong)
{
    fake_root_write(&folder, "/x.conf", "port 1\n\n bogus  line \n");
    expect_fatal(LOAD("x.conf"), named("x.conf"),
                 FATAL "Reading the configuration file@, at line 3\n>>> 'bogus  line'\n"
                       "Bad directive or wrong number of arguments\n");
}

Test(config_load, names_a_quote_that_is_open)
{
    fake_root_write(&folder, "/x.conf", "dir \"/tmp\n");
    expect_fatal(LOAD("x.conf"), named("x.conf"),
                 FATAL "Reading the configuration file@, at line 1\n>>> 'dir \"/tmp'\n"
                       "Unbalanced quotes in configuration line\n");
}

Test(config_load, says_why_a_value_is_refused)
{
    fake_root_write(&folder, "/x.conf", "appendonly yes\n");
    expect_fatal(LOAD("x.conf"), named("x.conf"),
                 FATAL "Reading the configuration file@, at line 1\n>>> 'appendonly yes'\n"
                       "the append-only file is not built yet\n");
}

Test(config_load, refuses_users_modules_and_being_a_sentinel)
{
    const char *const lines[] = {"user x on", "loadmodule x.so", "mod.option 1", "sentinel x"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        fake_root_write(&folder, "/x.conf", lines[i]);
        cr_assert_eq(LOAD("x.conf"), EXIT_FAILURE, "%s", lines[i]);
    }
}

Test(config_load, forgets_directives_of_earlier_times)
{
    fake_root_write(&folder, "/x.conf",
                    "list-max-ziplist-entries 512\nlist-max-ziplist-value 64\n"
                    "lua-replicate-commands yes\n");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START, "%s", err);
}

Test(config_load, needs_the_file_that_it_is_given)
{
    cr_assert_eq(LOAD("none.conf"), EXIT_FAILURE);
    cr_assert_not_null(strstr(err, "can't open config file"));
    cr_assert_not_null(strstr(err, "No such file or directory"));
}

Test(config_load, remembers_which_options_were_named)
{
    fake_root_write(&folder, "/x.conf", "slave-priority 100\n");
    cr_assert_eq(LOAD("x.conf", "--hz", "10"), CONFIG_START);
    cr_assert(option_is_named(option_find(BYTES("replica-priority")), config));
    cr_assert(option_is_named(option_find(BYTES("hz")), config));
    cr_assert_not(option_is_named(option_find(BYTES("port")), config));
}

Test(config_load, needs_a_log_file_that_can_be_written)
{
    expect_fatal(LOAD("--logfile", "/nowhere/at/all"), "",
                 FATAL "Can't open the log file: No such file or directory\n");
}

Test(config_load, moves_to_the_folder_that_dir_names_at_once)
{
    fake_root_write(&folder, "/sub/inner.conf", "hz 33\n");
    fake_root_write(&folder, "/x.conf", "dir sub\ninclude inner.conf\n");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START, "%s", err);
    expect("hz", "33");
    cr_assert_not_null(strstr(config->dir, "/sub"));
    cr_assert_null(strstr(config->config_file, "/sub"), "the file was found before we moved");
}

/* ---- Includes ---- */

Test(config_load, reads_an_included_file_where_it_stands)
{
    fake_root_write(&folder, "/inner.conf", "hz 33\ntimeout 7\n");
    fake_root_write(&folder, "/x.conf", "hz 11\ninclude inner.conf\ntimeout 8\n");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START);
    expect("hz", "33");
    expect("timeout", "8");
}

Test(config_load, reads_all_files_that_a_pattern_matches_even_none)
{
    fake_root_write(&folder, "/d/1.conf", "hz 33");
    fake_root_write(&folder, "/d/2.conf", "timeout 7");
    fake_root_write(&folder, "/x.conf", "include d/*.conf\ninclude d/*.none\n");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START, "%s", err);
    expect("hz", "33");
    expect("timeout", "7");
}

Test(config_load, names_the_line_of_the_included_file)
{
    fake_root_write(&folder, "/inner.conf", "\nwrong\n");
    fake_root_write(&folder, "/x.conf", "hz 11\nhz 12\nhz 13\ninclude inner.conf\n");
    expect_fatal(LOAD("x.conf"), " inner.conf",
                 FATAL "Reading the configuration file@, at line 2\n>>> 'wrong'\n"
                       "Bad directive or wrong number of arguments\n");
}

Test(config_load, stops_at_a_file_that_includes_itself)
{
    fake_root_write(&folder, "/x.conf", "include x.conf\n");
    expect_fatal(LOAD("x.conf"), " x.conf",
                 FATAL "Reading the configuration file@, at line 1\n>>> 'include x.conf'\n"
                       "includes are nested more than 16 deep\n");
}

/* ---- Renamed commands ---- */

Test(config_load, renames_commands_and_takes_them_away)
{
    fake_root_write(&folder, "/x.conf", "rename-command get fetch\nrename-command SET \"\"\n");
    cr_assert_eq(LOAD("x.conf"), CONFIG_START, "%s", err);
    cr_assert_null(command_find(BYTES("get")));
    cr_assert_null(command_find(BYTES("set")));
    cr_assert_not_null(command_find(BYTES("fetch")));
}

Test(config_load, refuses_to_rename_what_is_not_there_or_to_what_is)
{
    fake_root_write(&folder, "/x.conf", "rename-command nosuch x\n");
    cr_assert_eq(LOAD("x.conf"), EXIT_FAILURE);
    cr_assert_not_null(strstr(err, "No such command in rename-command"));
    fake_root_write(&folder, "/x.conf", "rename-command get set\n");
    cr_assert_eq(LOAD("x.conf"), EXIT_FAILURE);
    cr_assert_not_null(strstr(err, "Target command name already exists"));
}

/* ---- The command line ---- */

Test(config_load, options_of_the_command_line_win)
{
    fake_root_write(&folder, "/x.conf", "port 1\nsave 1 1\nhz 7\n");
    cr_assert_eq(LOAD("x.conf", "--port", "2", "--port", "3", "--save", ""), CONFIG_START);
    expect("port", "3");
    expect("save", "");
    expect("hz", "7");
}

Test(config_load, an_option_takes_several_values_or_all_in_one_word)
{
    cr_assert_eq(LOAD("--bind", "127.0.0.1", "::1", "--save", "1 2 3 4", "--port 7000"),
                 CONFIG_START, "%s", err);
    expect("bind", "127.0.0.1 ::1");
    expect("save", "1 2 3 4");
    expect("port", "7000");
}

Test(config_load, save_may_be_left_empty)
{
    cr_assert_eq(LOAD("--save", "--port", "7000"), CONFIG_START, "%s", err);
    expect("save", "");
    expect("port", "7000");
    config_free(config);
    cr_assert_eq(LOAD("--port", "7000", "--save"), CONFIG_START, "%s", err);
    expect("save", "");
}

Test(config_load, a_value_may_begin_with_dashes)
{
    cr_assert_eq(LOAD("--requirepass", "--secret", "--port", "7000"), CONFIG_START, "%s", err);
    expect("requirepass", "--secret");
    expect("port", "7000");
}

Test(config_load, names_the_option_that_is_wrong)
{
    expect_fatal(LOAD("--port", "x"), "",
                 FATAL "Reading the configuration file@, at line 2\n>>> 'port \"x\"'\n"
                       "argument couldn't be parsed into an integer\n");
}

Test(config_load, reads_standard_input_between_file_and_options)
{
    fake_root_write(&folder, "/x.conf", "hz 1\ntimeout 1\nport 1\n");
    fake_root_write(&folder, "/stdin", "hz 2\ntimeout 2\n");
    cr_assert_not_null(freopen("stdin", "r", stdin));
    cr_assert_eq(LOAD("x.conf", "--hz", "3", "-"), CONFIG_START, "%s", err);
    expect("port", "1");
    expect("timeout", "2");
    expect("hz", "3");
}

Test(config_load, answers_what_it_is_and_how_it_is_used)
{
    cr_assert_eq(LOAD("--version"), EXIT_SUCCESS);
    cr_assert_not_null(strstr(out, "v=" SHERD_VERSION " redis=" REDIS_VERSION));
    cr_assert_eq(LOAD("-v"), EXIT_SUCCESS);
    cr_assert_eq(LOAD("--help"), EXIT_SUCCESS);
    cr_assert_not_null(strstr(out, "Usage: sherd"));
    cr_assert_eq(LOAD("-h"), EXIT_SUCCESS);
}
