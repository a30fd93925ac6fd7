#include "net/reply.h"

#include <criterion/criterion.h>
#include <math.h>

#include "core/base/mem.h"

/* What `write` makes in either protocol. */
#define expect_reply(write, resp2, resp3)                                                          \
    do {                                                                                           \
        static const char *const expected_[] = {resp2, resp3};                                     \
        for (uint8_t resp_ = 2; resp_ <= 3; resp_++) {                                             \
            struct buf out_ = {0};                                                                 \
            struct reply *reply = &(struct reply){&out_, resp_};                                   \
            write;                                                                                 \
            buf_add_char(&out_, '\0');                                                             \
            cr_expect_str_eq(out_.ptr, expected_[resp_ - 2]);                                      \
            buf_fini(&out_);                                                                       \
        }                                                                                          \
    } while (0)
#define expect_both(write, expected) expect_reply(write, expected, expected)

Test(reply, writes_integers_of_any_length)
{
    expect_both(reply_int(reply, 0), ":0\r\n");
    expect_both(reply_int(reply, 9), ":9\r\n");
    expect_both(reply_int(reply, 10), ":10\r\n");
    expect_both(reply_int(reply, 99), ":99\r\n");
    expect_both(reply_int(reply, 100), ":100\r\n");
    expect_both(reply_int(reply, -1), ":-1\r\n");
    expect_both(reply_int(reply, INT64_MAX), ":9223372036854775807\r\n");
    expect_both(reply_int(reply, INT64_MIN), ":-9223372036854775808\r\n");
}

Test(reply, writes_strings)
{
    expect_both(reply_ok(reply), "+OK\r\n");
    expect_both(reply_simple(reply, "PONG"), "+PONG\r\n");
    expect_both(reply_bulk(reply, BYTES("hello")), "$5\r\nhello\r\n");
    expect_both(reply_bulk(reply, bytes_of(NULL, 0)), "$0\r\n\r\n");
    expect_both(reply_bulk_text(reply, "twelve bytes"), "$12\r\ntwelve bytes\r\n");
    expect_both(reply_bulk_int(reply, -42), "$3\r\n-42\r\n");
}

Test(reply, writes_big_strings_whole)
{
    size_t len = 3u << 20;
    char *value = mem_alloc(len);
    memset(value, 'v', len);
    struct buf out = {0};
    reply_bulk(&(struct reply){&out, 2}, bytes_of(value, len));
    cr_assert_eq(out.len, strlen("$3145728\r\n") + len + 2);
    cr_assert_eq(memcmp(out.ptr, "$3145728\r\nvvv", 13), 0);
    cr_assert_eq(memcmp(out.ptr + out.len - 4, "vv\r\n", 4), 0);
    mem_free(value);
    buf_fini(&out);
}

Test(reply, writes_nothing_in_the_form_of_each_protocol)
{
    expect_reply(reply_null(reply), "$-1\r\n", "_\r\n");
    expect_reply(reply_null_array(reply), "*-1\r\n", "_\r\n");
}

Test(reply, writes_aggregates_in_the_form_of_each_protocol)
{
    expect_both(reply_array(reply, 0), "*0\r\n");
    expect_both(reply_array(reply, 1000000), "*1000000\r\n");
    expect_reply(reply_map(reply, 3), "*6\r\n", "%3\r\n");
    expect_reply(reply_set(reply, 3), "*3\r\n", "~3\r\n");
    expect_reply(reply_push(reply, 3), "*3\r\n", ">3\r\n");
}

Test(reply, writes_attributes_in_resp3)
{
    struct buf out = {0};
    reply_attribute(&(struct reply){&out, 3}, 2);
    cr_assert(bytes_equal(buf_bytes(&out), BYTES("|2\r\n")));
    buf_fini(&out);
}

Test(reply, writes_truth_and_numbers_in_the_form_of_each_protocol)
{
    expect_reply(reply_bool(reply, true), ":1\r\n", "#t\r\n");
    expect_reply(reply_bool(reply, false), ":0\r\n", "#f\r\n");
    expect_reply(reply_double(reply, 1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
    expect_reply(reply_double(reply, 3), "$1\r\n3\r\n", ",3\r\n");
    expect_reply(reply_double(reply, -INFINITY), "$4\r\n-inf\r\n", ",-inf\r\n");
    expect_both(reply_long_double(reply, 10.5L), "$4\r\n10.5\r\n");
    expect_reply(reply_big_number(reply, BYTES("123456789012345678901234567890")),
                 "$30\r\n123456789012345678901234567890\r\n",
                 "(123456789012345678901234567890\r\n");
    expect_reply(reply_verbatim(reply, BYTES("some text"), "txt"), "$9\r\nsome text\r\n",
                 "=13\r\ntxt:some text\r\n");
}

Test(reply, keeps_errors_on_one_line)
{
    expect_both(reply_error(reply, BYTES("ERR no such key")), "-ERR no such key\r\n");
    expect_both(reply_error(reply, BYTES("ERR a\r\nb\nc")), "-ERR a  b c\r\n");
    expect_both(reply_error(reply, BYTES("ERR a\r\n\n")), "-ERR a\r\n");
}

Test(reply, passes_encoded_replies_through)
{
    expect_both(reply_raw(reply, BYTES("*1\r\n:1\r\n")), "*1\r\n:1\r\n");
}

static void write_late_counts(struct reply *reply)
{
    size_t outer = reply_mark(reply);
    reply_int(reply, 1);
    size_t map = reply_mark(reply);
    reply_int(reply, 2);
    reply_int(reply, 3);
    reply_map_at(reply, map, 1);
    size_t set = reply_mark(reply);
    reply_set_at(reply, set, 0);
    reply_array_at(reply, outer, 3);
}

Test(reply, takes_counts_afterwards)
{
    expect_reply(write_late_counts(reply), "*3\r\n:1\r\n*2\r\n:2\r\n:3\r\n*0\r\n",
                 "*3\r\n:1\r\n%1\r\n:2\r\n:3\r\n~0\r\n");
}

static void write_and_rewind(struct reply *reply)
{
    reply_ok(reply);
    size_t mark = reply_mark(reply);
    reply_array(reply, 5);
    reply_int(reply, 1);
    reply_rewind(reply, mark);
}

Test(reply, forgets_what_was_begun)
{
    expect_both(write_and_rewind(reply), "+OK\r\n");
}
