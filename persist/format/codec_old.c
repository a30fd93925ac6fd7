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

#define ZIPLIST_HEADER 10u
#define END 0xffu
#define BIG_PREVIOUS 0xfeu
#define ZIPMAP_BIG 254u

struct input {
    const unsigned char *at, *end;
    bool failed;
};

static const unsigned char *take(struct input *input, uint64_t len)
{
    const unsigned char *at = input->at;
    if (input->failed || len > (uint64_t)(input->end - at)) {
        input->failed = true;
        return NULL;
    }
    input->at += len;
    return at;
}

static uint64_t read_number(struct input *input, int bytes)
{
    const unsigned char *at = take(input, (uint64_t)bytes);
    uint64_t number = 0;
    for (int i = bytes; at && i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

static struct bytes read_text(struct input *input, uint64_t len)
{
    const unsigned char *at = take(input, len);
    return at ? bytes_of(at, len) : bytes_of("", 0);
}

static struct bytes read_integer(struct input *input, uint8_t head, char digits[NUM_INT_CAP])
{
    static const int widths[] = {[0xc0 >> 4] = 2, [0xd0 >> 4] = 4, [0xe0 >> 4] = 8};
    int64_t number;
    if (head > 0xf0 && head < 0xfe) {
        number = head - 0xf1;
    } else {
        int width = head == 0xfe ? 1 : head == 0xf0 ? 3 : (head & 15) == 0 ? widths[head >> 4] : 0;
        if (!width) {
            input->failed = true;
            return bytes_of("", 0);
        }
        int unused = 64 - 8 * width;
        number = (int64_t)(read_number(input, width) << unused) >> unused;
    }
    return bytes_of(digits, num_from_int(digits, number));
}

static struct bytes read_ziplist_entry(struct input *input, char digits[NUM_INT_CAP])
{
    uint8_t head = (uint8_t)read_number(input, 1);
    uint64_t len;
    switch (head >> 6) {
    case 0:
        return read_text(input, head);
    case 1:
        len = (uint64_t)(head & 0x3f) << 8;
        return read_text(input, len | read_number(input, 1));
    case 2:
        len = __builtin_bswap32((uint32_t)read_number(input, 4));
        if (head != 0x80)
            input->failed = true;
        return read_text(input, len);
    default:
        return read_integer(input, head, digits);
    }
}

bool codec_each_of_ziplist(struct bytes ziplist, codec_text_fn visit, void *context)
{
    const unsigned char *start = (const unsigned char *)ziplist.ptr;
    struct input input = {.at = start, .end = start + ziplist.len};
    uint64_t bytes = read_number(&input, 4), last = read_number(&input, 4);
    uint64_t count = read_number(&input, 2), seen = 0, previous_len = 0;
    const unsigned char *last_entry = start + ZIPLIST_HEADER;
    char digits[NUM_INT_CAP];
    if (input.failed || bytes != ziplist.len)
        return false;
    while (!input.failed && input.at < input.end && *input.at != END) {
        const unsigned char *entry = input.at;
        uint64_t previous = read_number(&input, 1);
        if (previous == BIG_PREVIOUS)
            previous = read_number(&input, 4);
        struct bytes text = read_ziplist_entry(&input, digits);
        if (input.failed || previous != previous_len || !visit(context, text))
            return false;
        previous_len = (uint64_t)(input.at - entry);
        last_entry = entry;
        seen++;
    }
    return !input.failed && input.at + 1 == input.end && last == (uint64_t)(last_entry - start) &&
           (count == UINT16_MAX || count == seen);
}

static uint64_t read_zipmap_len(struct input *input)
{
    uint64_t len = read_number(input, 1);
    if (len == END)
        input->failed = true;
    return len == ZIPMAP_BIG ? read_number(input, 4) : len;
}

bool codec_each_of_zipmap(struct bytes zipmap, codec_text_fn visit, void *context)
{
    const unsigned char *start = (const unsigned char *)zipmap.ptr;
    struct input input = {.at = start, .end = start + zipmap.len};
    uint64_t count = read_number(&input, 1), seen = 0;
    while (!input.failed && input.at < input.end && *input.at != END) {
        struct bytes field = read_text(&input, read_zipmap_len(&input));
        uint64_t len = read_zipmap_len(&input);
        uint64_t unused = read_number(&input, 1);
        struct bytes value = read_text(&input, len);
        (void)take(&input, unused);
        if (input.failed || !visit(context, field) || !visit(context, value))
            return false;
        seen++;
    }
    return !input.failed && input.at + 1 == input.end && (count >= ZIPMAP_BIG || count == seen);
}
