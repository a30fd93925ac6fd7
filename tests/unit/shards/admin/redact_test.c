#include "shards/admin/redact.h"

#include <criterion/criterion.h>

#include "tests/unit/shards/admin/watched.h"

static struct watched watched;

/* `hidden` has a letter for each word: x hidden, any other shown. */
static void expect(const char *name, const char *const *words, const char *hidden)
{
    watched_init(&watched, name);
    for (size_t i = 0; words[i]; i++)
        watched_add_word(&watched, bytes_from_text(words[i]));
    for (uint32_t i = 0; i < watched.call.arg_count; i++)
        cr_assert_eq(redact_hides(&watched.call, i), hidden[i] == 'x', "%s, word %u", name, i);
}

#define EXPECT(name, hidden, ...) expect(name, (const char *const[]){__VA_ARGS__, NULL}, hidden)

Test(redact, hides_what_auth_is_given)
{
    EXPECT("auth", ".x", "password");
    EXPECT("auth", ".xx", "user", "password");
}

Test(redact, hides_credentials_among_hellos_options)
{
    EXPECT("hello", "...xx", "3", "auth", "user", "password");
    EXPECT("hello", "....", "3", "setname", "me");
    EXPECT("hello", ".....xx", "3", "SETNAME", "auth", "AUTH", "user", "password");
}

Test(redact, hides_the_values_of_secret_settings)
{
    EXPECT("config", "...x", "set", "requirepass", "password");
    EXPECT("config", ".....x", "SET", "maxmemory", "1", "masterauth", "password");
    EXPECT("config", "...", "get", "requirepass");
    EXPECT("config", "....", "set", "maxmemory", "requirepass");
}

Test(redact, hides_nothing_else)
{
    EXPECT("set", "...", "auth", "password");
    EXPECT("append", "...", "k", "password");
    EXPECT("hset", "....", "h", "auth", "password");
}
