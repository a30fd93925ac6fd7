#include "shards/admin/options.h"

#include <criterion/criterion.h>
#include <ctype.h>

#include "shards/admin/config_copy.h"

/* The table itself: every row must make sense, so that a new one is checked as it is added. */

static bool is_number(const struct option *option)
{
    return option->kind == OPTION_NUMBER || option->kind == OPTION_MEMORY ||
           option->kind == OPTION_MEMORY_PERCENT || option->kind == OPTION_OCTAL;
}

Test(options, are_found_by_name_and_by_alias_in_any_case)
{
    const struct option *option = option_find(BYTES("replica-priority"));
    cr_assert_not_null(option);
    cr_assert_eq(option_find(BYTES("SLAVE-Priority")), option);
    cr_assert_eq(option_at(option_index(option)), option);
    cr_assert_null(option_find(BYTES("replica-priorit")));
    cr_assert_null(option_find(BYTES("")));
}

Test(options, have_names_of_their_own_in_lower_case)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        const char *names[] = {option->name, option->alias};
        for (int j = 0; j < 2 && names[j]; j++) {
            cr_assert_eq(option_find(bytes_from_text(names[j])), option, "%s is there twice",
                         names[j]);
            for (const char *c = names[j]; *c; c++)
                cr_assert(islower(*c) || isdigit(*c) || strchr("-_", *c), "%s", names[j]);
        }
    }
}

Test(options, that_are_not_obeyed_say_why_and_others_do_not)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        bool is_obeyed = !(option->flags & (OPTION_IDLE | OPTION_REFUSED));
        cr_assert_eq(is_obeyed, option->note == NULL, "%s", option->name);
        cr_assert(!(option->flags & OPTION_IDLE && option->flags & OPTION_REFUSED), "%s",
                  option->name);
        if (is_obeyed && option->kind != OPTION_SPECIAL)
            cr_assert_gt(option->width, 0, "%s is obeyed by whom, without a field?", option->name);
    }
}

Test(options, have_ranges_that_their_fields_can_hold)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        if (!is_number(option) || option->width == 0 || option->width == 8)
            continue;
        uint64_t max = (UINT64_C(1) << (8 * option->width)) - 1;
        cr_assert_geq(option->low, 0, "%s", option->name);
        cr_assert_leq((uint64_t)option->high, max, "%s", option->name);
    }
}

Test(options, have_defaults_that_they_would_take)
{
    struct config *config = config_default();
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        struct option_error error = {""};
        struct buf text = {0};
        option_get(option, config, &text);
        /* Setting `dir` again leaves us where we are; no replication is no words. */
        if (strcmp(option->name, "replicaof") != 0)
            cr_assert(option_set_value(option, config, buf_bytes(&text), &error), "%s: %s",
                      option->name, error.text);
        cr_assert(option_is_default(option, config), "%s", option->name);
        buf_fini(&text);
    }
    config_free(config);
}

Test(options, of_words_show_each_word_that_they_take)
{
    struct config *config = config_default();
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        for (const struct option_word *word = option->words; word && word->word; word++) {
            struct option_error error;
            struct buf text = {0};
            if (!option_set_value(option, config, bytes_from_text(word->word), &error))
                continue; /* "save" at a signal is refused */
            option_get(option, config, &text);
            const struct option_word *shown = option->words;
            while (shown->word && !bytes_is(buf_bytes(&text), shown->word))
                shown++;
            cr_assert_not_null(shown->word, "%s %s", option->name, word->word);
            cr_assert_eq(shown->value, word->value, "%s %s", option->name, word->word);
            buf_fini(&text);
        }
    }
    config_free(config);
}

Test(options, keep_what_they_are_set_to_apart_from_each_other)
{
    struct config *config = config_default();
    struct option_error error;
    cr_assert(option_set_value(option_find(BYTES("repl-timeout")), config, BYTES("77"), &error));
    cr_assert(option_set_value(option_find(BYTES("dbfilename")), config, BYTES("x.rdb"), &error));
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        bool is_set = strcmp(option->name, "repl-timeout") == 0 ||
                      strcmp(option->name, "dbfilename") == 0;
        cr_assert_eq(option_is_default(option, config), !is_set, "%s", option->name);
    }
    config_free(config);
}
