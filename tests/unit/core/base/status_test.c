#include "core/base/status.h"

#include <criterion/criterion.h>

Test(status, has_a_text_with_a_code_for_every_error)
{
    for (int status = WAITING + 1; status < STATUS_COUNT; status++) {
        struct bytes text = status_text((enum status)status);
        cr_assert_gt(text.len, 0, "status %d says nothing", status);
        cr_expect_eq(bytes_find(text, BYTES("\r")), SIZE_MAX);
        cr_expect_eq(bytes_find(text, BYTES("\n")), SIZE_MAX);
        bool is_whole = status == ERR_TEXT; /* brings its code along */
        cr_expect(is_whole || (text.ptr[0] >= 'A' && text.ptr[0] <= 'Z'), "%.*s", (int)text.len,
                  text.ptr);
    }
}

Test(status, has_the_texts_of_redis)
{
    cr_expect(bytes_equal(status_text(ERR_SYNTAX), BYTES("ERR syntax error")));
    cr_expect(
        bytes_equal(status_text(ERR_WRONG_TYPE),
                    BYTES("WRONGTYPE Operation against a key holding the wrong kind of value")));
}

static enum status pass_on(enum status status, bool *out_reached_end)
{
    TRY(status);
    *out_reached_end = true;
    return WAITING;
}

Test(status, try_passes_all_but_ok_on)
{
    bool reached_end = false;
    cr_expect_eq(pass_on(ERR_SYNTAX, &reached_end), ERR_SYNTAX);
    cr_expect_not(reached_end);
    cr_expect_eq(pass_on(OK, &reached_end), WAITING);
    cr_expect(reached_end);
}
