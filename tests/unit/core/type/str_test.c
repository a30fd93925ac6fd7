#include "core/type/str.h"

#include <criterion/criterion.h>

#include "core/type/record.h"

static struct heap *heap;

static void open_heap(void)
{
    heap = heap_create(-1);
}

static void close_heap(void)
{
    heap_destroy(heap);
}

TestSuite(str, .init = open_heap, .fini = close_heap);

static const struct value *make(const char *text)
{
    size_t len = strlen(text);
    struct value *record = record_create(heap, BYTES("k"), RECORD_NO_TTL, TYPE_STRING,
                                         ENCODING_EMBED, len);
    memcpy(record_value(record), text, len);
    return record;
}

static const struct value *make_int(int64_t number)
{
    struct value *record = record_create(heap, BYTES("k"), RECORD_NO_TTL, TYPE_STRING, ENCODING_INT,
                                         8);
    memcpy(record_value(record), &number, sizeof number);
    return record;
}

static const struct value *make_block(size_t len)
{
    struct value *record = record_create(heap, BYTES("k"), RECORD_NO_TTL, TYPE_STRING,
                                         ENCODING_BLOCK, 8);
    struct str_block *block = str_block_create(heap, len);
    memset(block->bytes, 'b', len);
    block->len = len;
    record_set_pointer(record, block);
    return record;
}

Test(str, shows_its_bytes_however_it_is_stored)
{
    char scratch[STR_SCRATCH];
    cr_assert(bytes_equal(str_view(make("hello"), scratch), BYTES("hello")));
    cr_assert(bytes_equal(str_view(make_int(-42), scratch), BYTES("-42")));
    cr_assert(bytes_equal(str_view(make_int(INT64_MIN), scratch), BYTES("-9223372036854775808")));
    cr_assert_eq(str_view(make_block(1000), scratch).len, 1000);
    cr_assert_eq(str_view(make(""), scratch).len, 0);
    cr_assert_eq(str_len(make_int(12345)), 5);
    cr_assert_eq(str_len(make_block(777)), 777);
}

Test(str, reads_as_an_integer_in_the_strict_form_only)
{
    int64_t number = 99;
    cr_assert_eq(str_to_int(make_int(7), &number), OK);
    cr_assert_eq(number, 7);
    cr_assert_eq(str_to_int(make("-12"), &number), OK);
    cr_assert_eq(number, -12);
    static const char *const wrong[] = {"", " 1", "1 ", "+1", "01", "1.0", "9223372036854775808",
                                        "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert_eq(str_to_int(make(wrong[i]), &number), ERR_NOT_AN_INTEGER, "'%s'", wrong[i]);
    cr_assert_eq(str_to_int(make_block(600), &number), ERR_NOT_AN_INTEGER);
    cr_assert_eq(number, -12, "failure leaves the output alone");
}

Test(str, reads_as_a_long_double)
{
    long double number = 0;
    cr_assert_eq(str_to_long_double(make("3.5"), &number), OK);
    cr_assert_eq(number, 3.5L);
    cr_assert_eq(str_to_long_double(make_int(-3), &number), OK);
    cr_assert_eq(number, -3.0L);
    cr_assert_eq(str_to_long_double(make("abc"), &number), ERR_NOT_A_FLOAT);
    cr_assert_eq(str_to_long_double(make(""), &number), ERR_NOT_A_FLOAT);
}
