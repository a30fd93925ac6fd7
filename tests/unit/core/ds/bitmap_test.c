/* Against the plainest code that could be right: a loop over bits. */
#include "core/ds/bitmap.h"

#include <criterion/criterion.h>

#include "core/base/rng.h"

#define MAP_BYTES 2100u /* more than twice what vectors sum up before they widen: 31 * 32 */
#define LONG_BYTES 9000u

static char map[LONG_BYTES];

static bool bit_at(struct bytes bytes, uint64_t at)
{
    return at / 8 < bytes.len && ((uint8_t)bytes.ptr[at / 8] >> (7 - at % 8)) & 1;
}

static struct bytes filled(struct rng *rng, char *to, size_t len)
{
    /* Runs of equal bytes, which finding skips, and random ones between them. */
    for (size_t i = 0; i < len;) {
        size_t run = 1 + rng_below(rng, 90);
        uint64_t kind = rng_below(rng, 3);
        for (; run > 0 && i < len; run--, i++)
            to[i] = (char)(kind == 0 ? 0x00 : kind == 1 ? 0xff : rng_below(rng, 256));
    }
    return bytes_of(to, len);
}

static void check_ranges(struct bytes bytes, struct rng *rng)
{
    for (int round = 0; round < 300; round++) {
        uint64_t first = rng_below(rng, bytes.len * 8);
        uint64_t last = first + rng_below(rng, bytes.len * 8 - first);
        uint64_t count = 0, found[2] = {BITMAP_NONE, BITMAP_NONE};
        for (uint64_t at = first; at <= last; at++) {
            bool bit = bit_at(bytes, at);
            count += bit;
            if (found[bit] == BITMAP_NONE)
                found[bit] = at;
        }
        cr_assert_eq(bitmap_count(bytes, first, last), count);
        cr_assert_eq(bitmap_find(bytes, false, first, last), found[0]);
        cr_assert_eq(bitmap_find(bytes, true, first, last), found[1]);
    }
}

Test(bitmap, counts_and_finds_in_any_range_with_every_instruction_set)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int simd = BITMAP_PLAIN; simd < BITMAP_SIMD_COUNT; simd++) {
        if (!bitmap_use((enum bitmap_simd)simd))
            continue;
        for (size_t len = 1; len <= 70; len++)
            check_ranges(filled(&rng, map + len % 8, len), &rng);
        check_ranges(filled(&rng, map + 1, MAP_BYTES), &rng);
    }
}

Test(bitmap, counts_a_long_run_of_ones_without_overflow)
{
    memset(map, 0xff, sizeof map);
    for (int simd = BITMAP_PLAIN; simd < BITMAP_SIMD_COUNT; simd++) {
        if (bitmap_use((enum bitmap_simd)simd))
            cr_assert_eq(bitmap_count(bytes_of(map, sizeof map), 0, sizeof map * 8 - 1),
                         sizeof map * 8);
    }
}

static bool combined(enum bitmap_op op, const struct bytes *sources, size_t count, uint64_t at)
{
    bool bit = bit_at(sources[0], at);
    if (op == BITMAP_NOT)
        return !bit;
    for (size_t i = 1; i < count; i++) {
        bool other = bit_at(sources[i], at);
        bit = op == BITMAP_AND ? bit && other : op == BITMAP_OR ? bit || other : bit != other;
    }
    return bit;
}

static void check_combine(enum bitmap_op op, const struct bytes *sources, size_t count, size_t len)
{
    static char out[LONG_BYTES + 1];
    memset(out, 'x', sizeof out);
    bitmap_combine(op, sources, count, len, out);
    for (uint64_t at = 0; at < len * 8; at++)
        cr_assert_eq(bit_at(bytes_of(out, len), at), combined(op, sources, count, at));
    cr_assert_eq(out[len], 'x', "nothing behind the result is touched");
}

Test(bitmap, combines_sources_of_any_length_with_every_instruction_set)
{
    struct rng rng;
    rng_init(&rng, 2);
    static char texts[3][LONG_BYTES];
    const size_t lens[][3] = {{9000, 9000, 9000}, {0, 5, 70},     {4096, 4097, 1},
                              {33, 32, 31},       {1, 9000, 100}, {5000, 0, 8191}};
    for (int simd = BITMAP_PLAIN; simd < BITMAP_SIMD_COUNT; simd++) {
        if (!bitmap_use((enum bitmap_simd)simd))
            continue;
        for (size_t n = 0; n < sizeof lens / sizeof lens[0]; n++) {
            struct bytes sources[3];
            size_t longest = 0;
            for (int i = 0; i < 3; i++) {
                sources[i] = filled(&rng, texts[i], lens[n][i]);
                longest = lens[n][i] > longest ? lens[n][i] : longest;
            }
            for (int op = BITMAP_AND; op <= BITMAP_NOT; op++)
                check_combine((enum bitmap_op)op, sources, op == BITMAP_NOT ? 1 : 3, longest);
        }
    }
}

Test(bitmap, combines_into_one_of_its_sources)
{
    struct rng rng;
    rng_init(&rng, 3);
    static char other[LONG_BYTES], in_place[LONG_BYTES], apart[LONG_BYTES];
    for (int op = BITMAP_AND; op <= BITMAP_XOR; op++) {
        filled(&rng, other, sizeof other);
        filled(&rng, in_place, sizeof in_place);
        struct bytes sources[] = {bytes_of(other, sizeof other),
                                  bytes_of(in_place, sizeof in_place)};
        bitmap_combine((enum bitmap_op)op, sources, 2, sizeof apart, apart);
        bitmap_combine((enum bitmap_op)op, sources, 2, sizeof in_place, in_place);
        cr_assert_arr_eq(in_place, apart, sizeof apart);
    }
}

Test(bitmap, reads_and_writes_fields_of_every_width_at_every_offset)
{
    struct rng rng;
    rng_init(&rng, 4);
    for (unsigned width = 1; width <= BITMAP_FIELD_MAX; width++) {
        for (uint64_t offset = 0; offset < 24; offset++) {
            char text[12], before[12];
            struct bytes bytes = filled(&rng, text, sizeof text);
            memcpy(before, text, sizeof text);
            uint64_t value = rng_next(&rng);
            bitmap_write(text, offset, width, value);
            cr_assert_eq(bitmap_read(bytes, offset, width), value & (UINT64_MAX >> (64 - width)));
            for (uint64_t at = 0; at < sizeof text * 8; at++) {
                if (at < offset || at >= offset + width)
                    cr_assert_eq(bit_at(bytes, at), bit_at(bytes_of(before, sizeof before), at));
            }
        }
    }
}

Test(bitmap, reads_zeros_behind_the_end)
{
    struct bytes two = BYTES("\xff\xff");
    cr_assert_eq(bitmap_read(two, 12, 8), 0xf0);
    cr_assert_eq(bitmap_read(two, 16, 64), 0);
    cr_assert_eq(bitmap_read(two, UINT64_MAX - 7, 1), 0);
    cr_assert_eq(bitmap_read(BYTES(""), 0, 1), 0);
    cr_assert_eq(bitmap_read(two, 1, 64), UINT64_C(0xfffe) << 48);
}
