#include "shards/commands.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "shards/admin/command_docs.h"
#include "shards/call/command_table.h"
#include "shards/call/syntax.h"

static void setup(void)
{
    command_table_build(command_families, command_family_groups);
}

TestSuite(commands, .init = setup);

/* COMMAND DOCS reads them when a client asks, and ends the process over a row that it cannot read.
 */
Test(commands, every_row_has_a_syntax_that_can_be_read)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct command *row = command_at(id);
        struct arena arena = {0};
        if (row->syntax)
            syntax_parse(row->syntax, &arena);
        arena_fini(&arena);
    }
}

/* A version is three numbers, and no earlier than that of the change before. */
Test(commands, every_history_goes_forward)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct command *row = command_at(id);
        const char *at = row->history ? row->history : "";
        char last[16] = "";
        for (struct bytes version, change; command_docs_change(&at, &version, &change);) {
            char text[16];
            snprintf(text, sizeof text, "%.*s", (int)version.len, version.ptr);
            int a, b, c;
            cr_assert_eq(sscanf(text, "%d.%d.%d", &a, &b, &c), 3, "%s: '%s'",
                         command_full_name(row), text);
            cr_assert_geq(strverscmp(text, last), 0, "%s: %s after %s", command_full_name(row),
                          text, last);
            cr_assert_eq(change.ptr[change.len - 1], '.', "%s: a sentence", command_full_name(row));
            memcpy(last, text, sizeof last);
        }
    }
}

Test(commands, every_row_that_runs_is_documented)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct command *row = command_at(id);
        if (!row->run)
            continue;
        cr_assert(row->since && row->since[0], "%s", command_full_name(row));
        cr_assert(row->brief && row->brief[0], "%s", command_full_name(row));
        cr_assert(row->plan == PLAN_HERE || row->plan == PLAN_ONE || row->merge ||
                      row->plan == PLAN_TOGETHER,
                  "%s has parts and no merge", command_full_name(row));
    }
}

Test(commands, every_walk_knows_its_next_stop)
{
    for (uint32_t id = 0; id < command_count(); id++) {
        const struct command *row = command_at(id);
        cr_assert_eq(row->plan == PLAN_WALK, row->next_shard != NULL, "%s", command_full_name(row));
    }
}
