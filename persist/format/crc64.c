/*
 * Eight bytes at a time ("slicing by 8"): table k says what a byte does that k others follow. A
 * checksum is linear, so an entry is the sum of the entries of its bits, which alone are written
 * down here. The bit of x^0 is the highest one: polynomials lie reversed.
 */
#include "persist/format/crc64.h"

#include <string.h>

#define POLYNOMIAL UINT64_C(0x95ac9329ac4bc9b5)
#define ONE (UINT64_C(1) << 63)    /* the polynomial 1 */
#define X_TO_8 (UINT64_C(1) << 55) /* a byte further on */
#define SLICES 8u

#define BIT(byte, bit, value) ((byte) >> (bit)&1 ? UINT64_C(value) : 0)
#define ENTRY(byte, a, b, c, d, e, f, g, h)                                                        \
    (BIT(byte, 0, a) ^ BIT(byte, 1, b) ^ BIT(byte, 2, c) ^ BIT(byte, 3, d) ^ BIT(byte, 4, e) ^     \
     BIT(byte, 5, f) ^ BIT(byte, 6, g) ^ BIT(byte, 7, h))
#define FOUR(n, ...)                                                                               \
    ENTRY((n), __VA_ARGS__), ENTRY((n) + 1, __VA_ARGS__), ENTRY((n) + 2, __VA_ARGS__),             \
        ENTRY((n) + 3, __VA_ARGS__)
#define SIXTEEN(n, ...)                                                                            \
    FOUR((n), __VA_ARGS__), FOUR((n) + 4, __VA_ARGS__), FOUR((n) + 8, __VA_ARGS__),                \
        FOUR((n) + 12, __VA_ARGS__)
#define SIXTY_FOUR(n, ...)                                                                         \
    SIXTEEN((n), __VA_ARGS__), SIXTEEN((n) + 16, __VA_ARGS__), SIXTEEN((n) + 32, __VA_ARGS__),     \
        SIXTEEN((n) + 48, __VA_ARGS__)
#define TABLE(...)                                                                                 \
    {                                                                                              \
        SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), SIXTY_FOUR(128, __VA_ARGS__),     \
            SIXTY_FOUR(192, __VA_ARGS__)                                                           \
    }

/* clang-format off */
static const uint64_t tables[SLICES][256] = {
    TABLE(0x7ad870c830358979, 0xf5b0e190606b12f2, 0xc038e5739841b68f, 0xab28ecb46814fe75,
          0x7d08ff3b88be6f81, 0xfa11fe77117cdf02, 0xdf7adabd7a6e2d6f, 0x95ac9329ac4bc9b5),
    TABLE(0x89e99ffd73bddf69, 0x388a19a9bfec2db9, 0x711433537fd85b72, 0xe22866a6ffb0b6e4,
          0xef09eb1ea7f6fea3, 0xf54af06e177a6e2d, 0xc1ccc68f76634f31, 0xa8c0ab4db4510d09),
    TABLE(0xf4125129ce4038be, 0xc37d8400c417e217, 0xada22e52d0b85745, 0x701d7af6f9e73de1,
          0xe03af5edf3ce7bc2, 0xeb2ccd88bf0b64ef, 0xfd00bd4226815ab5, 0xd1585cd715952601),
    TABLE(0x8ce168638c796306, 0x329bf69440655567, 0x6537ed2880caaace, 0xca6fda510195559c,
          0xbf8692f15bbd3853, 0x545403b1efede3cd, 0xa8a80763dfdbc79a, 0x7a092894e7201c5f),
    TABLE(0x3504e58b9ba6dd1e, 0x6a09cb17374dba3c, 0xd413962e6e9b7478, 0x837e0a0f85a17b9b,
          0x2da5324c53d5645d, 0x5b4a6498a7aac8ba, 0xb694c9314f559174, 0x4670b431c63cb183),
    TABLE(0xe39d1389931b9354, 0xec6301407ea0b5c3, 0xf39f24d3a5d6f8ed, 0xcc676ff4133a62b1,
          0xb397f9bb7ee35609, 0x4c76d525a5513f79, 0x98edaa4b4aa27ef2, 0x1a8272c5cdd36e8f),
    TABLE(0x62a95de6e302eff2, 0xc552bbcdc605dfe4, 0xa1fc51c8d49c2ca3, 0x68a185c2f1afca2d,
          0xd1430b85e35f945a, 0x89df31589e28bbdf, 0x38e744e264c6e4d5, 0x71ce89c4c98dc9aa),
    TABLE(0x381d0015c96f4444, 0x703a002b92de8888, 0xe074005725bd1110, 0xebb126fd13edb14b,
          0xfc3b6ba97f4cf1fd, 0xd32ff101a60e7091, 0x8d06c450148b7249, 0x3154aef3718177f9),
};
/* clang-format on */

static uint8_t byte_of(uint64_t word, uint32_t index)
{
    return (uint8_t)(word >> (8 * index));
}

uint64_t crc64(uint64_t crc, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;
    for (; len >= SLICES; len -= SLICES, at += SLICES) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        word ^= crc;
        crc = tables[7][byte_of(word, 0)] ^ tables[6][byte_of(word, 1)] ^
              tables[5][byte_of(word, 2)] ^ tables[4][byte_of(word, 3)] ^
              tables[3][byte_of(word, 4)] ^ tables[2][byte_of(word, 5)] ^
              tables[1][byte_of(word, 6)] ^ tables[0][byte_of(word, 7)];
    }
    for (; len; len--, at++)
        crc = crc >> 8 ^ tables[0][(uint8_t)(crc ^ *at)];
    return crc;
}

/* ---- Joining ------------------------------------------------------------------------------- */

/* The product of two polynomials, modulo that of the checksum. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (; a; a <<= 1) {
        if (a & ONE)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

uint64_t crc64_join(uint64_t first, uint64_t second, uint64_t second_len)
{
    for (uint64_t power = X_TO_8; second_len; second_len >>= 1) {
        if (second_len & 1)
            first = multiply(first, power);
        power = multiply(power, power);
    }
    return first ^ second;
}
