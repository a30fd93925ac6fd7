/*
 * How: three loops over whole bytes, in a table for each instruction set; ends of a range that are
 * not whole bytes are masked by the callers. The table is chosen before main() and only read
 * afterwards.
 *
 * Counting with vectors looks up each half byte in a register of sixteen counts. Combining goes by
 * pieces that stay in the first cache: a piece is made of all sources before it is written, so the
 * result may lie where a source does.
 */
#include "core/ds/bitmap.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "core/base/check.h"

#define PIECE_BYTES 4096u

struct kernel {
    uint64_t (*count)(const uint8_t *from, size_t len);
    /* How many bytes at the beginning are all `byte`; may stop early, by less than a vector. */
    size_t (*skip)(const uint8_t *from, size_t len, uint8_t byte);
    void (*fold)(enum bitmap_op op, uint8_t *to, const uint8_t *from, size_t len);
};

/* ---- For any CPU, and for the CPU's better compiler flags ------------------------------------ */

#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t load(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

INLINE void store(uint8_t *to, uint64_t word)
{
    memcpy(to, &word, sizeof word);
}

INLINE uint64_t count_words(const uint8_t *from, size_t len)
{
    uint64_t count = 0;
    size_t i = 0;
    for (; i + 8 <= len; i += 8)
        count += (uint64_t)__builtin_popcountll(load(from + i));
    for (; i < len; i++)
        count += (uint64_t)__builtin_popcount(from[i]);
    return count;
}

INLINE size_t skip_words(const uint8_t *from, size_t len, uint8_t byte)
{
    const uint64_t filled = byte * UINT64_C(0x0101010101010101);
    size_t i = 0;
    while (i + 8 <= len && load(from + i) == filled)
        i += 8;
    return i;
}

#define FOLD(operator)                                                                             \
    do {                                                                                           \
        for (; i + 32 <= len; i += 32) {                                                           \
            for (size_t j = i; j < i + 32; j += 8)                                                 \
                store(to + j, load(to + j) operator load(from + j));                               \
        }                                                                                          \
        for (; i < len; i++)                                                                       \
            to[i] = (uint8_t)(to[i] operator from[i]);                                             \
    } while (0)

INLINE void fold_words(enum bitmap_op op, uint8_t *restrict to, const uint8_t *restrict from,
                       size_t len)
{
    size_t i = 0;
    switch (op) {
    case BITMAP_AND:
        FOLD(&);
        return;
    case BITMAP_OR:
        FOLD(|);
        return;
    case BITMAP_XOR:
        FOLD(^);
        return;
    case BITMAP_NOT:
        for (; i + 8 <= len; i += 8)
            store(to + i, ~load(from + i));
        for (; i < len; i++)
            to[i] = (uint8_t)~from[i];
        return;
    }
}

static uint64_t count_plain(const uint8_t *from, size_t len)
{
    return count_words(from, len);
}

static size_t skip_plain(const uint8_t *from, size_t len, uint8_t byte)
{
    return skip_words(from, len, byte);
}

static void fold_plain(enum bitmap_op op, uint8_t *to, const uint8_t *from, size_t len)
{
    fold_words(op, to, from, len);
}

static const struct kernel plain_kernel = {count_plain, skip_plain, fold_plain};

#if defined(__x86_64__)

__attribute__((target("popcnt"))) static uint64_t count_popcnt(const uint8_t *from, size_t len)
{
    return count_words(from, len);
}

/* ---- With vectors of 32 bytes ---------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2,popcnt")))

/* How many sums of at most 8 fit a byte. */
#define BYTE_SUMS 31u

AVX2 static inline __m256i count_each_byte(__m256i bytes)
{
    const __m256i counts = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1,
                                            2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(0x0f);
    __m256i low = _mm256_and_si256(bytes, half);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
    return _mm256_add_epi8(_mm256_shuffle_epi8(counts, low), _mm256_shuffle_epi8(counts, high));
}

AVX2 static uint64_t count_avx2(const uint8_t *from, size_t len)
{
    __m256i total = _mm256_setzero_si256();
    size_t i = 0;
    while (i + 32 <= len) {
        __m256i sums = _mm256_setzero_si256();
        for (unsigned n = 0; n < BYTE_SUMS && i + 32 <= len; n++, i += 32) {
            __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
            sums = _mm256_add_epi8(sums, count_each_byte(bytes));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(sums, _mm256_setzero_si256()));
    }
    uint64_t lanes[4];
    _mm256_storeu_si256((__m256i *)(void *)lanes, total);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3] + count_words(from + i, len - i);
}

AVX2 static size_t skip_avx2(const uint8_t *from, size_t len, uint8_t byte)
{
    const __m256i filled = _mm256_set1_epi8((char)byte);
    size_t i = 0;
    for (; i + 32 <= len; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
        if (_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, filled)) != -1)
            break;
    }
    return i + skip_words(from + i, len - i, byte);
}

AVX2 static void fold_avx2(enum bitmap_op op, uint8_t *to, const uint8_t *from, size_t len)
{
    fold_words(op, to, from, len);
}

static const struct kernel kernels[BITMAP_SIMD_COUNT] = {
    [BITMAP_PLAIN] = {count_plain, skip_plain, fold_plain},
    [BITMAP_POPCNT] = {count_popcnt, skip_plain, fold_plain},
    [BITMAP_AVX2] = {count_avx2, skip_avx2, fold_avx2},
};

static bool has_simd(enum bitmap_simd simd)
{
    __builtin_cpu_init();
    bool has_popcnt = __builtin_cpu_supports("popcnt");
    return simd == BITMAP_PLAIN || (simd == BITMAP_POPCNT && has_popcnt) ||
           (simd == BITMAP_AVX2 && has_popcnt && __builtin_cpu_supports("avx2"));
}

#else

static const struct kernel kernels[BITMAP_SIMD_COUNT] = {{count_plain, skip_plain, fold_plain}};

static bool has_simd(enum bitmap_simd simd)
{
    return simd == BITMAP_PLAIN;
}

#endif

static const struct kernel *kernel = &plain_kernel;

bool bitmap_use(enum bitmap_simd simd)
{
    if (!has_simd(simd))
        return false;
    kernel = &kernels[simd];
    return true;
}

__attribute__((constructor)) static void use_best(void)
{
    for (unsigned simd = BITMAP_SIMD_COUNT; simd-- > 0 && !bitmap_use((enum bitmap_simd)simd);)
        ;
}

/* ---- Ranges of bits -------------------------------------------------------------------------- */

/* The bits of a byte from bit `first` % 8 on, and up to bit `last` % 8. */
static uint8_t mask_from(uint64_t first)
{
    return (uint8_t)(0xff >> (first % 8));
}

static uint8_t mask_to(uint64_t last)
{
    return (uint8_t)(0xff << (7 - last % 8));
}

uint64_t bitmap_count(struct bytes map, uint64_t first, uint64_t last)
{
    ASSERT(first <= last && last / 8 < map.len);
    const uint8_t *from = (const uint8_t *)map.ptr;
    size_t first_byte = first / 8, last_byte = last / 8;
    uint64_t count = kernel->count(from + first_byte, last_byte - first_byte + 1);
    count -= (uint64_t)__builtin_popcount((uint8_t)(from[first_byte] & ~mask_from(first)));
    return count - (uint64_t)__builtin_popcount((uint8_t)(from[last_byte] & ~mask_to(last)));
}

uint64_t bitmap_find(struct bytes map, bool bit, uint64_t first, uint64_t last)
{
    ASSERT(first <= last && last / 8 < map.len);
    const uint8_t *from = (const uint8_t *)map.ptr;
    const uint8_t other = bit ? 0x00 : 0xff; /* a byte without what is sought */
    const size_t end = last / 8 + 1;
    uint8_t mask = mask_from(first);
    for (size_t i = first / 8; i < end; i++, mask = 0xff) {
        uint8_t found = (uint8_t)((from[i] ^ other) & mask);
        if (found) {
            uint64_t at = (uint64_t)i * 8 + (uint64_t)__builtin_clz(found) - 24;
            return at <= last ? at : BITMAP_NONE;
        }
        i += kernel->skip(from + i + 1, end - i - 1, other);
    }
    return BITMAP_NONE;
}

/* ---- Combining ------------------------------------------------------------------------------- */

/* How much of the piece of `len` bytes at `offset` a source has. */
static size_t have(struct bytes source, size_t offset, size_t len)
{
    size_t left = source.len > offset ? source.len - offset : 0;
    return left < len ? left : len;
}

static void fold_source(enum bitmap_op op, struct bytes source, size_t offset, size_t len,
                        uint8_t *piece)
{
    size_t had = have(source, offset, len);
    if (had)
        kernel->fold(op, piece, (const uint8_t *)source.ptr + offset, had);
    if (op == BITMAP_AND)
        memset(piece + had, 0, len - had);
    if (op == BITMAP_NOT)
        memset(piece + had, 0xff, len - had);
}

void bitmap_combine(enum bitmap_op op, const struct bytes *sources, size_t source_count, size_t len,
                    char *out)
{
    uint8_t piece[PIECE_BYTES];
    for (size_t offset = 0; offset < len; offset += PIECE_BYTES) {
        size_t piece_len = len - offset < PIECE_BYTES ? len - offset : PIECE_BYTES;
        /* The first is taken as it is, to which zeros belong; NOT overwrites them. */
        memset(piece, 0, piece_len);
        fold_source(op == BITMAP_NOT ? op : BITMAP_OR, sources[0], offset, piece_len, piece);
        for (size_t i = 1; op != BITMAP_NOT && i < source_count; i++)
            fold_source(op, sources[i], offset, piece_len, piece);
        memcpy(out + offset, piece, piece_len);
    }
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* A field touches at most nine bytes: seven bits before it in the first, then 64 bits. */
uint64_t bitmap_read(struct bytes map, uint64_t offset, unsigned width)
{
    uint8_t window[9] = {0};
    size_t had = have(map, offset / 8, sizeof window);
    if (had)
        memcpy(window, map.ptr + offset / 8, had);
    unsigned before = offset % 8;
    uint64_t value = __builtin_bswap64(load(window)) << before;
    value |= before ? (uint64_t)window[8] >> (8 - before) : 0;
    return value >> (64 - width);
}

void bitmap_write(char *map, uint64_t offset, unsigned width, uint64_t value)
{
    uint8_t *byte = (uint8_t *)map + offset / 8;
    unsigned at = offset % 8; /* in this byte, from its highest bit */
    while (width > 0) {
        unsigned count = 8 - at < width ? 8 - at : width;
        unsigned shift = 8 - at - count;
        uint8_t mask = (uint8_t)((0xffu >> (8 - count)) << shift);
        uint8_t bits = (uint8_t)((value >> (width - count)) << shift);
        *byte = (uint8_t)((*byte & ~mask) | (bits & mask));
        byte++;
        width -= count;
        at = 0;
    }
}
