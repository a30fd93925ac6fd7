#include "core/base/buf.h"

#include <criterion/criterion.h>

static void expect_content(const struct buf *buf, const char *expected)
{
    cr_expect(bytes_equal(buf_bytes(buf), bytes_from_text(expected)), "it holds '%.*s'",
              (int)buf->len, buf->ptr);
}

Test(buf, begins_empty_and_owning_nothing)
{
    struct buf buf = {0};
    cr_expect_eq(buf_bytes(&buf).len, 0);
    cr_expect_null(buf.ptr);
    buf_fini(&buf);
}

Test(buf, keeps_what_is_added_in_order)
{
    struct buf buf = {0};
    buf_add(&buf, "one", 3);
    buf_add_char(&buf, ' ');
    buf_add_text(&buf, "two ");
    buf_add_bytes(&buf, BYTES("three "));
    buf_add_int(&buf, -42);
    buf_add(&buf, NULL, 0);
    expect_content(&buf, "one two three -42");
    buf_fini(&buf);
    cr_expect_null(buf.ptr);
    cr_expect_eq(buf.cap, 0);
}

Test(buf, survives_growth_of_any_size)
{
    struct buf buf = {0};
    for (int i = 0; i < 10000; i++)
        buf_add_int(&buf, i % 10);
    cr_expect_eq(buf.len, 10000);
    for (size_t i = 0; i < buf.len; i++)
        cr_assert_eq(buf.ptr[i], (char)('0' + i % 10));

    memset(buf_room(&buf, 1 << 20), 'x', 1 << 20);
    buf.len += 1 << 20;
    cr_expect_eq(buf.ptr[9999], '9');
    cr_expect_eq(buf.ptr[10000], 'x');
    buf_fini(&buf);
}

Test(buf, grows_by_doubling)
{
    struct buf buf = {0};
    int moves = 0;
    size_t cap = 0;
    for (int i = 0; i < 1 << 20; i++) {
        buf_add_char(&buf, 'x');
        moves += buf.cap != cap;
        cap = buf.cap;
    }
    cr_expect_leq(moves, 20, "a million bytes moved %d times", moves);
    buf_fini(&buf);
}

Test(buf, prints_with_and_without_room)
{
    struct buf buf = {0};
    buf_add_format(&buf, "%s=%d;", "first", 1);
    char word[301];
    memset(word, 'w', 300);
    word[300] = '\0';
    buf_add_format(&buf, "%s", word); /* more than there is room for */
    cr_expect_eq(buf.len, 8 + 300);
    cr_expect(memcmp(buf.ptr, "first=1;www", 11) == 0);
    buf_add_format(&buf, "%s", "");
    cr_expect_eq(buf.len, 308);
    buf_fini(&buf);
}

Test(buf, prints_what_fits_to_the_last_byte)
{
    /* printf wants a place for a terminator, which is no part of the content. */
    struct buf buf = {0};
    buf_add_text(&buf, "x");
    while (buf.len < buf.cap - 3)
        buf_add_char(&buf, 'x');
    buf_add_format(&buf, "%s", "abc");
    cr_expect(memcmp(buf.ptr + buf.len - 4, "xabc", 4) == 0);
    buf_fini(&buf);
}

Test(buf, opens_gaps_and_closes_them)
{
    struct buf buf = {0};
    buf_add_text(&buf, "held");
    buf_insert(&buf, 2, "llo wor", 7);
    expect_content(&buf, "hello world");
    buf_insert(&buf, 0, ">", 1);
    buf_insert(&buf, buf.len, "<", 1);
    buf_insert(&buf, 3, NULL, 0);
    expect_content(&buf, ">hello world<");
    buf_drop_front(&buf, 7);
    expect_content(&buf, "world<");
    buf_drop_front(&buf, 0);
    buf_drop_front(&buf, 6);
    cr_expect_eq(buf.len, 0);
    buf_fini(&buf);
}

Test(buf, forgets_and_keeps_its_memory_if_that_is_little)
{
    struct buf buf = {0};
    buf_add_text(&buf, "something");
    size_t cap = buf.cap;
    buf_clear(&buf, cap);
    cr_expect_eq(buf.len, 0);
    cr_expect_eq(buf.cap, cap);
    buf_add_text(&buf, "else");
    buf_clear(&buf, cap - 1);
    cr_expect_eq(buf.cap, 0);
    cr_expect_null(buf.ptr);
}
