#include "core/base/glob.h"

#include <criterion/criterion.h>

/* As KEYS of redis-server answers for a key of that name. */
static const struct {
    const char *pattern, *text;
    bool matches;
} cases[] = {
    {"hello", "hello", true},
    {"hello", "hell", false},
    {"hell", "hello", false},
    {"h?llo", "hallo", true},
    {"h?llo", "hllo", false},
    {"h*llo", "hllo", true},
    {"h*llo", "heeeello", true},
    {"*", "anything", true},
    {"***", "anything", true},
    {"*x", "anything", false},
    {"*ing", "anything", true},
    {"any*", "any", true},
    {"a*b*c", "aXbXbXc", true},
    {"a*b*c", "aXbXbX", false},
    {"*?", "a", true},
    {"*??", "a", false},
    {"h[ae]llo", "hello", true},
    {"h[ae]llo", "hillo", false},
    {"h[^e]llo", "hallo", true},
    {"h[^e]llo", "hello", false},
    {"h[a-c]llo", "hbllo", true},
    {"h[c-a]llo", "hbllo", true},
    {"h[a-c]llo", "hdllo", false},
    {"[a-]", "^", true}, /* from "]" to "a", and no end */
    {"[a-]", "-", false},
    {"[a-]", "a", true},
    {"[a-]", "b", false},
    {"[]a]", "a]", false}, /* an empty bracket, which nothing matches */
    {"[]", "]", false},
    {"[^]", "x", true},
    {"[", "[", false},
    {"[^", "x", true},
    {"[abc", "c", true}, /* without its end */
    {"[\\]]", "]", true},
    {"[a\\-c]", "b", false},
    {"[a\\-c]", "-", true},
    {"[\\", "\\", true},
    {"\\*", "*", true},
    {"\\*", "x", false},
    {"\\h\\e", "he", true},
    {"\\", "\\", true}, /* at the end it stands for itself */
    {"a\\", "a\\", true},
    {"[\x80-a]", "A", true}, /* bytes above 127 are negative in a range */
    {"[\x80-a]", "b", false},
    {"HELLO", "hello", false},
    {"", "", true},
    {"", "a", false},
    {"*", "", false}, /* see glob_is_all() */
    {"a", "", false},
};

Test(glob, matches_as_redis_does)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        cr_expect_eq(
            glob_matches(bytes_from_text(cases[i].pattern), bytes_from_text(cases[i].text)),
            cases[i].matches, "'%s' and '%s'", cases[i].pattern, cases[i].text);
    }
}

Test(glob, matches_zero_bytes)
{
    cr_expect(glob_matches(BYTES("a?c"), BYTES("a\0c")));
    cr_expect(glob_matches(BYTES("a\0*"), BYTES("a\0c")));
    cr_expect_not(glob_matches(BYTES("a\0b"), BYTES("a\0c")));
}

Test(glob, folds_case_on_demand)
{
    cr_expect(glob_matches_nocase(BYTES("MaxMemory*"), BYTES("maxmemory-policy")));
    cr_expect(glob_matches_nocase(BYTES("[A-C]x"), BYTES("bX")));
    cr_expect(glob_matches_nocase(BYTES("[B]"), BYTES("b")));
    cr_expect_not(glob_matches_nocase(BYTES("[\\B]"), BYTES("b")), "escaped in a bracket: exact");
    cr_expect(glob_matches_nocase(BYTES("\\B"), BYTES("b")));
}

Test(glob, takes_no_exponential_time)
{
    /* Forty stars; tried one against the other they would not end in a lifetime. */
    char pattern[81], text[400];
    for (int i = 0; i < 80; i += 2) {
        pattern[i] = 'a';
        pattern[i + 1] = '*';
    }
    pattern[80] = 'b';
    memset(text, 'a', sizeof(text));
    cr_expect_not(glob_matches(bytes_of(pattern, 81), bytes_of(text, sizeof(text))));
    text[399] = 'b';
    cr_expect(glob_matches(bytes_of(pattern, 81), bytes_of(text, sizeof(text))));
}

Test(glob, knows_what_is_special)
{
    cr_expect(glob_is_all(BYTES("*")));
    cr_expect_not(glob_is_all(BYTES("**")));
    cr_expect_not(glob_is_all(BYTES("")));
    cr_expect(glob_is_literal(BYTES("plain-name:{1}]")));
    cr_expect(glob_is_literal(BYTES("zero\0byte")));
    cr_expect_not(glob_is_literal(BYTES("a*")));
    cr_expect_not(glob_is_literal(BYTES("a?")));
    cr_expect_not(glob_is_literal(BYTES("[a")));
    cr_expect_not(glob_is_literal(BYTES("\\a")));
}
