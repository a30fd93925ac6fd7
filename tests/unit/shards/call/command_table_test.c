#include "shards/call/command_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "core/base/arena.h"

static int find_two(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                    uint16_t *out_flags)
{
    if (arg_count < 3)
        return -1;
    out_index[0] = 1;
    out_index[1] = arg_count - 1;
    out_flags[0] = KEY_RO;
    out_flags[1] = KEY_OW;
    return 2;
}

static const struct command children[] = {
    {.name = "kill", .arity = -3, .flags = CMD_ADMIN, .acl = ACL_CONNECTION},
    {.name = "list", .arity = -2},
    {0},
};

/* clang-format off */
static const struct command family[] = {
    {.name = "get", .arity = 2, .flags = CMD_READONLY | CMD_FAST, .acl = ACL_STRING,
     .keys = KEYS_FIRST(KEY_RO | KEY_ACCESS)},
    {.name = "mset", .arity = -3, .flags = CMD_WRITE, .keys = KEYS_ALL_PAIRS(KEY_OW | KEY_UPDATE)},
    {.name = "del", .arity = -2, .flags = CMD_WRITE, .keys = KEYS_ALL(KEY_RM | KEY_DELETE)},
    {.name = "client", .arity = -2, .subcommands = children},
    {.name = "rename", .arity = 3, .flags = CMD_WRITE,
     .keys = {{.flags = KEY_RW, .index = 1, .step = 1}, {.flags = KEY_OW, .index = 2, .step = 1}}},
    {.name = "georadiusbymember_ro", .arity = -5, .keys = KEYS_FIRST(KEY_RO)},
    {.name = "eval", .arity = -3, .flags = CMD_BLOCKING,
     .keys = {{.flags = KEY_RW, .index = 2, .counted = true, .last = 0, .first = 1, .step = 1}}},
    {.name = "sort", .arity = -2,
     .keys = {{.flags = KEY_RO, .index = 1, .step = 1}, {.flags = KEY_OW | KEY_INCOMPLETE, .index = 1, .step = 1}},
     .find_keys = find_two},
    {.name = "xread", .arity = -4,
     .keys = {{.flags = KEY_RO, .keyword = "STREAMS", .index = 1, .last = -1, .step = 1, .limit = 2}}},
    {.name = "xreadgroup", .arity = -7, .find_keys = find_two,
     .keys = {{.flags = KEY_RO, .keyword = "STREAMS", .index = 4, .last = -1, .step = 1, .limit = 2}}},
    {.name = "migrate", .arity = -6,
     .keys = {{.flags = KEY_RW, .keyword = "KEYS", .index = -2, .last = -1, .step = 1}}},
    {.name = "ping", .arity = -1, .flags = CMD_FAST},
    {0},
};
/* clang-format on */

static void build(void)
{
    static const struct command *const families[] = {family, NULL};
    static const char *const groups[] = {"test", NULL};
    command_table_build(families, groups);
}

TestSuite(command_table, .init = build);

static const struct command *find(const char *name)
{
    return command_find(bytes_from_text(name));
}

Test(command_table, finds_a_name_in_any_case)
{
    cr_assert_not_null(find("get"));
    cr_assert_eq(find("GET"), find("get"));
    cr_assert_eq(find("gEt"), find("get"));
    cr_assert_eq(find("GeoRadiusByMember_RO"), find("georadiusbymember_ro"));
    cr_assert_str_eq(find("GeoRadiusByMember_RO")->name, "georadiusbymember_ro");
}

Test(command_table, takes_no_other_name_for_a_known_one)
{
    static const char *const strangers[] = {"",
                                            "g",
                                            "ge",
                                            "gets",
                                            "het",
                                            "get ",
                                            " get",
                                            "clien",
                                            "clients",
                                            "georadiusbymember_r",
                                            "georadiusbymember_rx",
                                            "georadiusbymember\x7fro",
                                            "georadiusxymember_ro"};
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
        cr_assert_null(find(strangers[i]), "'%s' was found", strangers[i]);
    cr_assert_null(command_find(bytes_of("get\0", 4)), "a zero byte is part of a name");
}

/* Folding is done for eight bytes at once: no byte may be taken for a letter that is none, nor
 * spill into its neighbour. */
Test(command_table, folds_letters_and_nothing_else)
{
    for (int byte = 0; byte < 256; byte++) {
        char name[4] = {'m', 's', (char)byte, 't'};
        bool expected = byte == 'e' || byte == 'E';
        cr_assert_eq(command_find(bytes_of(name, 4)) != NULL, expected, "byte %d", byte);
    }
}

Test(command_table, numbers_rows_without_a_gap)
{
    cr_assert_eq(command_count(), 14);
    for (uint32_t id = 0; id < command_count(); id++) {
        cr_assert_eq(command_at(id)->id, id);
        cr_assert_not_null(command_at(id)->name);
    }
    cr_assert_eq(command_top_count(), 12);
    cr_assert_eq(command_top_at(0), find("get"));
}

Test(command_table, links_children_to_their_container)
{
    const struct command *client = find("client");
    const struct command *kill = command_find_sub(client, BYTES("KILL"));
    cr_assert_str_eq(kill->name, "kill");
    cr_assert_eq(kill->parent, client);
    cr_assert_str_eq(command_full_name(kill), "client|kill");
    cr_assert_str_eq(command_full_name(client), "client");
    cr_assert_null(command_find_sub(client, BYTES("nosuch")));
    cr_assert_null(command_find_sub(find("get"), BYTES("kill")));
    cr_assert_null(client->subcommands[2].name, "children end with a zero row");
    cr_assert_eq(command_find_full(BYTES("CLIENT|Kill")), kill);
    cr_assert_eq(command_find_full(BYTES("client")), client);
    cr_assert_null(command_find_full(BYTES("client|")));
    cr_assert_null(command_find_full(BYTES("|kill")));
}

Test(command_table, derives_categories_from_flags)
{
    cr_assert_eq(find("get")->acl, ACL_STRING | ACL_READ | ACL_FAST);
    cr_assert_eq(find("del")->acl, ACL_WRITE | ACL_SLOW);
    cr_assert_eq(find("eval")->acl, ACL_BLOCKING | ACL_SLOW);
    cr_assert_eq(command_find_full(BYTES("client|kill"))->acl,
                 ACL_CONNECTION | ACL_ADMIN | ACL_DANGEROUS | ACL_SLOW);
    cr_assert_str_eq(find("get")->group, "test");
}

Test(command_table, renames_and_takes_away)
{
    cr_assert_eq(command_table_rename(BYTES("GET"), BYTES("a-name-that-is-long")), 0);
    cr_assert_null(find("get"));
    cr_assert_str_eq(find("A-Name-That-Is-Long")->name, "get");
    cr_assert_eq(command_table_rename(BYTES("del"), BYTES("")), 0);
    cr_assert_null(find("del"));
    cr_assert_eq(command_top_count(), 11);
    cr_assert_eq(command_table_rename(BYTES("del"), BYTES("x")), -ENOENT);
    cr_assert_eq(command_table_rename(BYTES("mset"), BYTES("Ping")), -EEXIST);
    cr_assert_not_null(find("mset"));
}

/* ---- Keys ---- */

struct keys {
    int count;
    const uint32_t *index;
    const uint16_t *flags;
};

static struct arena arena;

static struct keys keys_of(const char *line, bool with_flags)
{
    static char text[256];
    static struct bytes args[64];
    static uint32_t fast[COMMAND_KEYS_FAST];
    uint32_t count = 0;
    snprintf(text, sizeof(text), "%s", line);
    for (char *at = text; *at;) {
        size_t len = strcspn(at, " ");
        args[count++] = bytes_of(at, len);
        at += len + (at[len] == ' ');
    }
    struct keys keys = {0};
    keys.count = command_keys(command_find(args[0]), args, count, fast, &arena, &keys.index,
                              with_flags ? &keys.flags : NULL);
    return keys;
}

static void expect(const char *line, const uint32_t *index, int count)
{
    for (int with_flags = 0; with_flags < 2; with_flags++) {
        struct keys keys = keys_of(line, with_flags);
        cr_assert_eq(keys.count, count, "%s: %d keys", line, keys.count);
        for (int i = 0; i < count; i++)
            cr_assert_eq(keys.index[i], index[i], "%s: key %d is word %u", line, i, keys.index[i]);
    }
}

#define EXPECT(line, ...)                                                                          \
    expect(line, (const uint32_t[]){__VA_ARGS__},                                                  \
           (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)))

Test(command_table, finds_keys_at_fixed_places)
{
    EXPECT("get k", 1);
    EXPECT("rename a b", 1, 2);
    EXPECT("del a b c", 1, 2, 3);
    EXPECT("mset a 1 b 2", 1, 3);
    expect("ping a", NULL, 0);
    cr_assert(find("get")->has_one_key);
    cr_assert_not(find("del")->has_one_key);
    cr_assert_not(find("rename")->has_one_key);
}

Test(command_table, finds_counted_keys)
{
    EXPECT("eval script 2 a b c", 3, 4);
    EXPECT("eval script 1 a", 3);
    expect("eval script 3 a b", NULL, -1);
    expect("eval script x a b", NULL, -1);
    expect("eval script -1 a b", NULL, -1);
    expect("eval script 9223372036854775807 a b", NULL, -1);
}

Test(command_table, finds_keys_behind_a_keyword)
{
    EXPECT("xread COUNT 2 streams a b 0 0", 4, 5);
    EXPECT("migrate h p 0 t keys a b", 6, 7);
    expect("migrate h p k 0 t", NULL, 0);
}

Test(command_table, asks_the_command_where_no_specification_knows)
{
    EXPECT("sort a BY b STORE c", 1, 5);
    struct keys keys = keys_of("sort a BY b STORE c", true);
    cr_assert_eq(keys.flags[0], KEY_RO);
    cr_assert_eq(keys.flags[1], KEY_OW);
    expect("sort a", NULL, -1);
}

/* Where a command is planned, its own word counts; where clients ask, the specification's. */
Test(command_table, asks_the_command_first_to_plan_it)
{
    const char *line = "xreadgroup GROUP g c STREAMS k >";
    struct keys planned = keys_of(line, false), asked = keys_of(line, true);
    cr_assert_eq(planned.count, 2);
    cr_assert_eq(planned.index[1], 6);
    cr_assert_eq(asked.count, 1);
    cr_assert_eq(asked.index[0], 5);
}

Test(command_table, tells_what_is_done_to_keys)
{
    struct keys keys = keys_of("rename a b", true);
    cr_assert_eq(keys.flags[0], KEY_RW);
    cr_assert_eq(keys.flags[1], KEY_OW);
}

Test(command_table, finds_more_keys_than_fit_the_fast_array)
{
    enum { KEYS = 3 * COMMAND_KEYS_FAST };
    static struct bytes args[KEYS + 1];
    args[0] = BYTES("del");
    for (uint32_t i = 1; i <= KEYS; i++)
        args[i] = BYTES("k");
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    const uint16_t *flags;
    for (int with_flags = 0; with_flags < 2; with_flags++) {
        cr_assert_eq(command_keys(find("del"), args, KEYS + 1, fast, &arena, &index,
                                  with_flags ? &flags : NULL),
                     KEYS);
        for (uint32_t i = 0; i < KEYS; i++)
            cr_assert_eq(index[i], i + 1);
    }
    cr_assert_eq(flags[KEYS - 1], KEY_RM | KEY_DELETE);
}

/* ---- COMMAND INFO's three numbers ---- */

static void expect_range(const char *name, int first, int last, int step)
{
    int got_first, got_last, got_step;
    command_key_range(find(name), &got_first, &got_last, &got_step);
    cr_assert_eq(got_first, first, "%s", name);
    cr_assert_eq(got_last, last, "%s", name);
    cr_assert_eq(got_step, step, "%s", name);
}

Test(command_table, sums_key_places_up_in_three_numbers)
{
    expect_range("get", 1, 1, 1);
    expect_range("mset", 1, -1, 2);
    expect_range("rename", 1, 2, 1);
    expect_range("eval", 0, 0, 0);
    expect_range("ping", 0, 0, 0);
}

Test(command_table, calls_keys_movable_that_three_numbers_do_not_reach)
{
    static const char *const movable[] = {"eval", "sort", "xread", "migrate"};
    static const char *const fixed[] = {"get", "mset", "del", "rename", "ping"};
    for (size_t i = 0; i < sizeof(movable) / sizeof(movable[0]); i++)
        cr_assert(find(movable[i])->flags & CMD_MOVABLE_KEYS, "%s", movable[i]);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        cr_assert_not(find(fixed[i])->flags & CMD_MOVABLE_KEYS, "%s", fixed[i]);
}

Test(command_table_build, ends_the_process_on_a_name_that_occurs_twice, .signal = SIGABRT)
{
    static const struct command twice[] = {
        {.name = "get", .arity = 2}, {.name = "GET", .arity = 3}, {0}};
    static const struct command *const families[] = {twice, NULL};
    static const char *const groups[] = {"test", NULL};
    command_table_build(families, groups);
}
