#include "persist/format/rdb.h"

#include <criterion/criterion.h>
#include <math.h>

static struct arena arena;
static struct buf out;

static void close_all(void)
{
    arena_fini(&arena);
    buf_fini(&out);
}

TestSuite(rdb, .fini = close_all);

static struct rdb_reader reader_of(struct bytes bytes)
{
    return (struct rdb_reader){.at = bytes.ptr, .end = bytes.ptr + bytes.len, .arena = &arena};
}

static void assert_string(struct bytes text, bool compress, size_t written_len)
{
    out.len = 0;
    rdb_write_string(&out, text, compress);
    cr_assert_eq(out.len, written_len, "%zu bytes as %zu", text.len, out.len);
    struct rdb_reader reader = reader_of(buf_bytes(&out));
    cr_assert(bytes_equal(rdb_read_string(&reader), text));
    cr_assert_not(reader.failed);
    cr_assert_eq(rdb_left(&reader), 0);
}

Test(rdb, lengths_take_one_two_five_or_nine_bytes)
{
    static const struct {
        uint64_t len;
        size_t bytes;
    } cases[] = {{0, 1},
                 {63, 1},
                 {64, 2},
                 {16383, 2},
                 {16384, 5},
                 {UINT32_MAX, 5},
                 {UINT32_MAX + UINT64_C(1), 9},
                 {UINT64_MAX, 9}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        out.len = 0;
        rdb_write_len(&out, cases[i].len);
        cr_assert_eq(out.len, cases[i].bytes);
        struct rdb_reader reader = reader_of(buf_bytes(&out));
        cr_assert_eq(rdb_read_len(&reader), cases[i].len);
        cr_assert_not(reader.failed);
    }
}

Test(rdb, texts_that_spell_small_integers_are_kept_as_such)
{
    assert_string(BYTES("0"), true, 2);
    assert_string(BYTES("127"), true, 2);
    assert_string(BYTES("-129"), true, 3);
    assert_string(BYTES("2147483647"), true, 5);
    assert_string(BYTES("-2147483648"), true, 5);
    assert_string(BYTES("2147483648"), true, 11);
    assert_string(BYTES("007"), true, 4);
    assert_string(BYTES("-0"), true, 3);
    assert_string(BYTES(""), true, 1);
}

Test(rdb, long_texts_are_compressed_if_it_pays)
{
    char same[1000], different[256];
    memset(same, 'a', sizeof(same));
    for (int i = 0; i < 256; i++)
        different[i] = (char)i;
    assert_string(bytes_of(same, sizeof(same)), false, sizeof(same) + 2);
    assert_string(bytes_of(different, sizeof(different)), true, sizeof(different) + 2);
    assert_string(bytes_of(same, 20), true, 21);
    out.len = 0;
    rdb_write_string(&out, bytes_of(same, sizeof(same)), true);
    cr_assert_lt(out.len, 50);
    struct rdb_reader reader = reader_of(buf_bytes(&out));
    cr_assert(bytes_equal(rdb_read_string(&reader), bytes_of(same, sizeof(same))));
}

Test(rdb, lengths_that_the_bytes_do_not_bear_out_fail)
{
    static const struct bytes wrong[] = {
        {"\x05"
         "abc",
         4}, /* shorter than it says */
        {"\x81\xff\xff\xff\xff\xff\xff\xff\xff"
         "a",
         10},
        {"\x82"
         "abc",
         4}, /* no such length */
        {"\xc4"
         "abc",
         4},         /* no such encoding */
        {"\xc0", 1}, /* an integer without its byte */
        {"\xc3\x03\x80\xff\xff\xff\xff"
         "abc",
         11},                        /* three bytes that unpack to four thousand million */
        {"\xc3\x02\x05\xe0\xff", 5}, /* a reference to before the start */
        {"\xc3\x00\x00", 3},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct rdb_reader reader = reader_of(wrong[i]);
        cr_assert_eq(rdb_read_string(&reader).len, 0);
        cr_assert(reader.failed, "case %zu", i);
        cr_assert_eq(rdb_read_u64(&reader), 0, "nothing is read after a failure");
    }
    struct rdb_reader reader = reader_of(BYTES("\x04"
                                               "ab"));
    cr_assert_eq(rdb_read_count(&reader, 1), 0);
    cr_assert(reader.failed);
}

Test(rdb, doubles_come_back_bit_by_bit)
{
    static const double numbers[] = {0, -0.0, 1.5, -1e300, INFINITY, 4.9e-324};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        out.len = 0;
        rdb_write_double(&out, numbers[i]);
        struct rdb_reader reader = reader_of(buf_bytes(&out));
        double read = rdb_read_double(&reader);
        cr_assert_eq(memcmp(&read, &numbers[i], sizeof(read)), 0);
    }
    struct rdb_reader reader = reader_of(BYTES("\xff\xfe\xfd\x03"
                                               "1.5\x01"
                                               "x"));
    cr_assert_eq(rdb_read_text_double(&reader), -INFINITY);
    cr_assert_eq(rdb_read_text_double(&reader), INFINITY);
    cr_assert(isnan(rdb_read_text_double(&reader)));
    cr_assert_eq(rdb_read_text_double(&reader), 1.5);
    (void)rdb_read_text_double(&reader);
    cr_assert(reader.failed);
}

Test(rdb, a_compressed_string_becomes_no_longer_than_allowed)
{
    char same[1000];
    memset(same, 'a', sizeof(same));
    rdb_write_string(&out, bytes_of(same, sizeof(same)), true);
    struct rdb_reader reader = reader_of(buf_bytes(&out));
    reader.unpacked_max = sizeof(same);
    cr_assert_eq(rdb_read_string(&reader).len, sizeof(same));
    reader = reader_of(buf_bytes(&out));
    reader.unpacked_max = sizeof(same) - 1;
    cr_assert_eq(rdb_read_string(&reader).len, 0);
    cr_assert(reader.failed);
}
