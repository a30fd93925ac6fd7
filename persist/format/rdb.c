#include "persist/format/rdb.h"

#include <liblzf/lzf.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/num.h"

#define LEN_14 0x40u
#define LEN_32 0x80u
#define LEN_64 0x81u
#define INT_8 0xc0u
#define INT_16 0xc1u
#define INT_32 0xc2u
#define LZF 0xc3u

#define INTEGER_TEXT_MAX 11u /* digits of 32 bits, and a sign */
#define LZF_LEN_MIN 20u      /* shorter strings are not compressed */
#define LZF_SAVES_MIN 4u     /* bytes that it must save */
#define LZF_FACTOR_MAX 88u   /* no byte unpacks to more: a reference of 3 bytes means 264 at most */

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_big_endian(struct buf *out, uint64_t number, int bytes)
{
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        buf_add_char(out, (char)(number >> shift & 0xff));
}

static void write_little_endian(struct buf *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        buf_add_char(out, (char)(number >> 8 * i & 0xff));
}

void rdb_write_len(struct buf *out, uint64_t len)
{
    if (len < 1u << 6) {
        buf_add_char(out, (char)len);
    } else if (len < 1u << 14) {
        write_big_endian(out, LEN_14 << 8 | len, 2);
    } else if (len <= UINT32_MAX) {
        buf_add_char(out, (char)LEN_32);
        write_big_endian(out, len, 4);
    } else {
        buf_add_char(out, (char)LEN_64);
        write_big_endian(out, len, 8);
    }
}

static bool write_integer(struct buf *out, struct bytes text)
{
    int64_t number;
    if (text.len > INTEGER_TEXT_MAX || !num_to_int(text, &number) || number < INT32_MIN ||
        number > INT32_MAX)
        return false;
    bool is_8 = number == (int8_t)number, is_16 = number == (int16_t)number;
    buf_add_char(out, (char)(is_8 ? INT_8 : is_16 ? INT_16 : INT_32));
    write_little_endian(out, (uint64_t)number, is_8 ? 1 : is_16 ? 2 : 4);
    return true;
}

static bool write_compressed(struct buf *out, struct bytes text)
{
    if (text.len <= LZF_LEN_MIN || text.len > UINT_MAX)
        return false;
    size_t room = text.len - LZF_SAVES_MIN;
    char *packed = mem_alloc(room + 1);
    unsigned len = lzf_compress(text.ptr, (unsigned)text.len, packed, (unsigned)room);
    if (len) {
        buf_add_char(out, (char)LZF);
        rdb_write_len(out, len);
        rdb_write_len(out, text.len);
        buf_add(out, packed, len);
    }
    mem_free(packed);
    return len > 0;
}

void rdb_write_string(struct buf *out, struct bytes text, bool compress)
{
    if (write_integer(out, text) || (compress && write_compressed(out, text)))
        return;
    rdb_write_len(out, text.len);
    buf_add_bytes(out, text);
}

void rdb_write_u64(struct buf *out, uint64_t number)
{
    write_little_endian(out, number, 8);
}

void rdb_write_double(struct buf *out, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    rdb_write_u64(out, bits);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* `len` bytes, which are passed over; NULL if there are not so many. */
static const unsigned char *take(struct rdb_reader *reader, uint64_t len)
{
    if (reader->failed || len > rdb_left(reader)) {
        reader->failed = true;
        return NULL;
    }
    const char *at = reader->at;
    reader->at += len;
    return (const unsigned char *)at;
}

static uint64_t read_big_endian(struct rdb_reader *reader, int bytes)
{
    const unsigned char *at = take(reader, (uint64_t)bytes);
    uint64_t number = 0;
    for (int i = 0; at && i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

uint64_t rdb_read_number(struct rdb_reader *reader, int bytes)
{
    const unsigned char *at = take(reader, (uint64_t)bytes);
    uint64_t number = 0;
    for (int i = bytes; at && i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

struct bytes rdb_read_text(struct rdb_reader *reader, uint64_t len)
{
    const unsigned char *at = take(reader, len);
    return at ? bytes_of((const char *)at, len) : bytes_of("", 0);
}

uint8_t rdb_read_byte(struct rdb_reader *reader)
{
    return (uint8_t)read_big_endian(reader, 1);
}

/* A length; or, of a string, `*out_encoding` is INT_8 to LZF, and the length none. */
static uint64_t read_len(struct rdb_reader *reader, uint8_t *out_encoding)
{
    uint8_t first = rdb_read_byte(reader);
    *out_encoding = 0;
    switch (first >> 6) {
    case 0:
        return first;
    case 1:
        return (uint64_t)(first & 0x3f) << 8 | rdb_read_byte(reader);
    case 2:
        if (first == LEN_32)
            return read_big_endian(reader, 4);
        if (first == LEN_64)
            return read_big_endian(reader, 8);
        reader->failed = true;
        return 0;
    default:
        *out_encoding = first;
        return 0;
    }
}

uint64_t rdb_read_len(struct rdb_reader *reader)
{
    uint8_t encoding;
    uint64_t len = read_len(reader, &encoding);
    if (encoding)
        reader->failed = true;
    return reader->failed ? 0 : len;
}

uint64_t rdb_read_count(struct rdb_reader *reader, size_t least)
{
    uint64_t count = rdb_read_len(reader);
    if (count > rdb_left(reader) / least) {
        reader->failed = true;
        return 0;
    }
    return count;
}

static struct bytes read_integer(struct rdb_reader *reader, uint8_t encoding)
{
    int64_t number = encoding == INT_8    ? (int8_t)rdb_read_number(reader, 1)
                     : encoding == INT_16 ? (int16_t)rdb_read_number(reader, 2)
                                          : (int32_t)rdb_read_number(reader, 4);
    char *text = arena_alloc(reader->arena, NUM_INT_CAP);
    return bytes_of(text, num_from_int(text, number));
}

static struct bytes read_compressed(struct rdb_reader *reader)
{
    uint64_t packed_len = rdb_read_len(reader);
    uint64_t len = rdb_read_len(reader);
    const unsigned char *packed = take(reader, packed_len);
    bool is_too_large = reader->unpacked_max && len > reader->unpacked_max;
    if (!packed || is_too_large || packed_len > UINT_MAX || len > UINT_MAX ||
        len > packed_len * LZF_FACTOR_MAX + LZF_FACTOR_MAX) {
        reader->failed = true;
        return bytes_of(NULL, 0);
    }
    char *text = arena_alloc(reader->arena, len);
    if (len == 0 || lzf_decompress(packed, (unsigned)packed_len, text, (unsigned)len) != len) {
        reader->failed = true;
        return bytes_of(NULL, 0);
    }
    return bytes_of(text, len);
}

struct bytes rdb_read_string(struct rdb_reader *reader)
{
    uint8_t encoding;
    uint64_t len = read_len(reader, &encoding);
    struct bytes text = bytes_of("", 0);
    if (encoding == LZF) {
        text = read_compressed(reader);
    } else if (encoding >= INT_8 && encoding <= INT_32) {
        text = read_integer(reader, encoding);
    } else if (encoding) {
        reader->failed = true;
    } else {
        text = rdb_read_text(reader, len);
    }
    return reader->failed ? bytes_of("", 0) : text;
}

uint64_t rdb_read_u64(struct rdb_reader *reader)
{
    return rdb_read_number(reader, 8);
}

double rdb_read_double(struct rdb_reader *reader)
{
    uint64_t bits = rdb_read_u64(reader);
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

double rdb_read_text_double(struct rdb_reader *reader)
{
    uint8_t len = rdb_read_byte(reader);
    double number = 0;
    if (len == 255)
        return -INFINITY;
    if (len == 254)
        return INFINITY;
    if (len == 253)
        return NAN;
    const unsigned char *at = take(reader, len);
    if (!at || !num_to_double(bytes_of((const char *)at, len), &number))
        reader->failed = true;
    return number;
}
