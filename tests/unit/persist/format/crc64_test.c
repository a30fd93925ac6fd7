#include "persist/format/crc64.h"

#include <criterion/criterion.h>

Test(crc64, gives_the_published_check_value)
{
    cr_assert_eq(crc64(0, "123456789", 9), UINT64_C(0xe9c6d914c4b8d9ca));
    cr_assert_eq(crc64(0, "", 0), 0);
}

Test(crc64, is_the_same_in_pieces_of_any_length)
{
    unsigned char bytes[100];
    for (int i = 0; i < 100; i++)
        bytes[i] = (unsigned char)(i * 37 + 11);
    uint64_t whole = crc64(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut++)
        cr_assert_eq(crc64(crc64(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), whole);
}

Test(crc64, joins_the_checksums_of_parts_of_any_length)
{
    unsigned char bytes[3000];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    uint64_t whole = crc64(0, bytes, sizeof(bytes));
    for (size_t cut = 0; cut <= sizeof(bytes); cut += cut < 70 ? 1 : 97) {
        size_t rest = sizeof(bytes) - cut;
        cr_assert_eq(crc64_join(crc64(0, bytes, cut), crc64(0, bytes + cut, rest), rest), whole);
    }
    cr_assert_eq(crc64_join(whole, 0, 0), whole);
}
