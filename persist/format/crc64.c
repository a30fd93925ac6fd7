/*
 * How: eight bytes at a time, by eight tables, of which table k says what a byte does k bytes
 * later.
 */
#include "persist/format/crc64.h"

#include <string.h>

#define POLYNOMIAL UINT64_C(0x95ac9329ac4bc9b5) /* its bits in reverse */
#define STEP 8

static uint64_t tables[STEP][256];

__attribute__((constructor)) static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint64_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        tables[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int step = 1; step < STEP; step++)
            tables[step][byte] = tables[step - 1][byte] >> 8 ^
                                 tables[0][tables[step - 1][byte] & 0xff];
}

uint64_t crc64(uint64_t crc, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    for (; len >= STEP; len -= STEP, at += STEP) {
        uint64_t word;
        memcpy(&word, at, STEP);
        word ^= crc;
        crc = 0;
        for (int i = 0; i < STEP; i++)
            crc ^= tables[STEP - 1 - i][word >> 8 * i & 0xff];
    }
    for (; len; len--, at++)
        crc = crc >> 8 ^ tables[0][(crc ^ *at) & 0xff];
    return crc;
}
