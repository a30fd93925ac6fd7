/*
 * What Redis kept small values in before listpacks.
 *
 *     ziplist   u32 bytes, u32 offset of the last entry, u16 count (65535: many), entries, 0xff; an
 *               entry is: the length of the one before (1 byte, or 0xfe and 4), a head, content
 *         00xxxxxx, 01xxxxxx + 1, 10...... + 4      a text of 6, 14 or 32 bits of length
 *         c0, d0, e0, f0, fe                         an integer of 2, 4, 8, 3, 1 bytes
 *         f1 to fd                                   an integer from 0 to 12
 *     zipmap    u8 count (254: many), entries, 0xff; an entry is: length, field, length, u8 free,
 *               value, free bytes; a length is a byte below 254, or 254 and 4 bytes
 *
 * Numbers have their lowest byte first, but for the lengths of texts in a ziplist.
 */
#include "core/base/num.h"
#include "persist/format/codec.h"
#include "persist/format/rdb.h"

#define ZIPLIST_HEADER 10u
#define END 0xffu
#define BIG_PREVIOUS 0xfeu
#define ZIPMAP_BIG 254u

static struct bytes read_integer(struct rdb_reader *reader, uint8_t head, char digits[NUM_INT_CAP])
{
    static const int widths[] = {[0xc0 >> 4] = 2, [0xd0 >> 4] = 4, [0xe0 >> 4] = 8};
    int64_t number;
    if (head > 0xf0 && head < 0xfe) {
        number = head - 0xf1;
    } else {
        int width = head == 0xfe ? 1 : head == 0xf0 ? 3 : (head & 15) == 0 ? widths[head >> 4] : 0;
        if (!width) {
            reader->failed = true;
            return bytes_of("", 0);
        }
        int unused = 64 - 8 * width;
        number = (int64_t)(rdb_read_number(reader, width) << unused) >> unused;
    }
    return bytes_of(digits, num_from_int(digits, number));
}

static struct bytes read_ziplist_entry(struct rdb_reader *reader, char digits[NUM_INT_CAP])
{
    uint8_t head = rdb_read_byte(reader);
    uint64_t len;
    switch (head >> 6) {
    case 0:
        return rdb_read_text(reader, head);
    case 1:
        len = (uint64_t)(head & 0x3f) << 8;
        return rdb_read_text(reader, len | rdb_read_byte(reader));
    case 2:
        len = __builtin_bswap32((uint32_t)rdb_read_number(reader, 4));
        if (head != 0x80)
            reader->failed = true;
        return rdb_read_text(reader, len);
    default:
        return read_integer(reader, head, digits);
    }
}

bool codec_each_of_ziplist(struct bytes ziplist, codec_text_fn visit, void *context)
{
    struct rdb_reader reader = {.at = ziplist.ptr, .end = ziplist.ptr + ziplist.len};
    uint64_t bytes = rdb_read_number(&reader, 4), last = rdb_read_number(&reader, 4);
    uint64_t count = rdb_read_number(&reader, 2), seen = 0, previous_len = 0;
    const char *last_entry = ziplist.ptr + ZIPLIST_HEADER;
    char digits[NUM_INT_CAP];
    if (reader.failed || bytes != ziplist.len)
        return false;
    while (!reader.failed && reader.at < reader.end && (unsigned char)*reader.at != END) {
        const char *entry = reader.at;
        uint64_t previous = rdb_read_byte(&reader);
        if (previous == BIG_PREVIOUS)
            previous = rdb_read_number(&reader, 4);
        struct bytes text = read_ziplist_entry(&reader, digits);
        if (reader.failed || previous != previous_len || !visit(context, text))
            return false;
        previous_len = (uint64_t)(reader.at - entry);
        last_entry = entry;
        seen++;
    }
    return !reader.failed && reader.at + 1 == reader.end &&
           last == (uint64_t)(last_entry - ziplist.ptr) && (count == UINT16_MAX || count == seen);
}

static uint64_t read_zipmap_len(struct rdb_reader *reader)
{
    uint64_t len = rdb_read_byte(reader);
    if (len == END)
        reader->failed = true;
    return len == ZIPMAP_BIG ? rdb_read_number(reader, 4) : len;
}

bool codec_each_of_zipmap(struct bytes zipmap, codec_text_fn visit, void *context)
{
    struct rdb_reader reader = {.at = zipmap.ptr, .end = zipmap.ptr + zipmap.len};
    uint64_t count = rdb_read_byte(&reader), seen = 0;
    while (!reader.failed && reader.at < reader.end && (unsigned char)*reader.at != END) {
        struct bytes field = rdb_read_text(&reader, read_zipmap_len(&reader));
        uint64_t len = read_zipmap_len(&reader);
        uint64_t unused = rdb_read_byte(&reader);
        struct bytes value = rdb_read_text(&reader, len);
        (void)rdb_read_text(&reader, unused);
        if (reader.failed || !visit(context, field) || !visit(context, value))
            return false;
        seen++;
    }
    return !reader.failed && reader.at + 1 == reader.end && (count >= ZIPMAP_BIG || count == seen);
}
