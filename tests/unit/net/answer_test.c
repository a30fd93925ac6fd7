#include "net/answer.h"

#include <criterion/criterion.h>

#include "core/base/buf.h"

/* Each of these is one whole reply. */
static const char *const replies[] = {
    "+OK\r\n",
    "-ERR wrong\r\n",
    ":-5\r\n",
    "$5\r\na\r\nbc\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*0\r\n",
    "*2\r\n:1\r\n$1\r\nx\r\n",
    "*2\r\n*2\r\n:1\r\n*0\r\n%1\r\n+k\r\n~2\r\n:1\r\n:2\r\n",
    "_\r\n",
    "#t\r\n",
    ",1.5\r\n",
    "(123\r\n",
    "=7\r\ntxt:abc\r\n",
    "!5\r\nERR x\r\n",
    ">2\r\n+a\r\n+b\r\n",
    "|1\r\n+ttl\r\n:5\r\n*1\r\n:1\r\n",
};
#define REPLY_COUNT (sizeof(replies) / sizeof(replies[0]))

Test(answer, splits_off_one_whole_reply_of_any_kind)
{
    for (size_t i = 0; i < REPLY_COUNT; i++) {
        struct buf all = {0};
        buf_add_text(&all, replies[i]);
        buf_add_text(&all, "+next\r\n");
        struct bytes rest = buf_bytes(&all);
        struct bytes reply = answer_next(&rest);
        cr_expect(bytes_equal(reply, bytes_from_text(replies[i])), "reply %zu", i);
        cr_expect(bytes_equal(rest, BYTES("+next\r\n")), "what follows reply %zu", i);
        buf_fini(&all);
    }
}

Test(answer, does_not_recurse_into_deep_nesting)
{
    struct buf deep = {0};
    for (int i = 0; i < 1000000; i++)
        buf_add_text(&deep, "*1\r\n");
    buf_add_text(&deep, ":1\r\n");
    struct bytes rest = buf_bytes(&deep);
    cr_assert_eq(answer_next(&rest).len, deep.len);
    buf_fini(&deep);
}

Test(answer, reads_integers)
{
    cr_assert_eq(answer_int(BYTES(":42\r\n")), 42);
    cr_assert_eq(answer_int(BYTES(":-9223372036854775808\r\n")), INT64_MIN);
}

Test(answer, tells_errors)
{
    cr_assert(answer_is_error(BYTES("-ERR x\r\n")));
    cr_assert(answer_is_error(BYTES("!5\r\nERR x\r\n")));
    cr_assert_not(answer_is_error(BYTES("+OK\r\n")));
    cr_assert_not(answer_is_error(BYTES("$2\r\n-1\r\n")));
}

Test(answer, opens_aggregates)
{
    struct bytes elements;
    cr_assert_eq(answer_elements(BYTES("*2\r\n:1\r\n:2\r\n"), &elements), 2);
    cr_assert(bytes_equal(elements, BYTES(":1\r\n:2\r\n")));
    cr_assert_eq(answer_elements(BYTES("%1\r\n+k\r\n+v\r\n"), &elements), 2);
    cr_assert(bytes_equal(elements, BYTES("+k\r\n+v\r\n")));
    cr_assert_eq(answer_elements(BYTES("*-1\r\n"), &elements), 0);
    cr_assert_eq(elements.len, 0);
}
