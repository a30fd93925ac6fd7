/*
 * How: 16384 registers; an element's hash chooses one by its low 14 bits, and the zeros that follow
 * (and the one that ends them) are counted: the register keeps the highest count. The estimate is
 * Otmar Ertl's, "New cardinality estimation algorithms for HyperLogLog sketches"
 * (arXiv:1702.01284).
 *
 *   0  "HYLL"
 *   4  encoding: 0 dense, 1 sparse
 *   5  three zeros
 *   8  the count, little endian, when it was last computed; its highest bit: no longer right
 *  16  dense: the registers, 6 bits each, the first in the lowest bits
 *      sparse: runs of registers
 *        00nnnnnn            n + 1 zeros
 *        01nnnnnn mmmmmmmm   nm + 1 zeros (n is the high byte)
 *        1vvvvvnn            n + 1 times the value v + 1
 *
 * Which of several equal descriptions is written must be as in Redis, byte for byte: a run that is
 * hit is split where it stands, and afterwards neighbours with equal values are joined, looking at
 * five runs from the one before the split.
 */
#include "core/type/hll.h"

#include <math.h>

#include "core/base/check.h"

#define ENCODING_AT 4u
#define COUNT_AT 8u
#define COUNT_LEN 8u
#define STALE 0x80u /* in the last byte of the count */

enum encoding { ENCODING_DENSE, ENCODING_SPARSE };

#define INDEX_BITS 14u
#define RANK_BITS (64u - INDEX_BITS) /* of the hash; the highest rank is one more */
#define RANK_MAX (RANK_BITS + 1)

#define LONG_ZEROS 0x40u
#define VALUES 0x80u
#define SHORT_ZEROS_MAX 64u
#define SPARSE_VALUE_MAX 32u
#define VALUES_MAX 4u
#define SPLIT_LEN_MAX 5u
#define JOIN_RUNS 5u

/* ---- Elements -------------------------------------------------------------------------------- */

/* Austin Appleby's MurmurHash64A, with the seed that Redis gives it. */
#define MURMUR_SEED UINT64_C(0xadc83b19)
#define MURMUR_FACTOR UINT64_C(0xc6a4a7935bd1e995)
#define MURMUR_SHIFT 47

static uint64_t murmur(struct bytes bytes)
{
    uint64_t hash = MURMUR_SEED ^ (bytes.len * MURMUR_FACTOR);
    size_t at = 0;
    for (; at + 8 <= bytes.len; at += 8) {
        uint64_t word;
        memcpy(&word, bytes.ptr + at, sizeof word);
        word *= MURMUR_FACTOR;
        word ^= word >> MURMUR_SHIFT;
        hash = (hash ^ (word * MURMUR_FACTOR)) * MURMUR_FACTOR;
    }
    if (at < bytes.len) {
        uint64_t rest = 0;
        memcpy(&rest, bytes.ptr + at, bytes.len - at);
        hash = (hash ^ rest) * MURMUR_FACTOR;
    }
    hash = (hash ^ (hash >> MURMUR_SHIFT)) * MURMUR_FACTOR;
    return hash ^ (hash >> MURMUR_SHIFT);
}

struct hll_mark hll_mark(struct bytes element)
{
    uint64_t hash = murmur(element);
    uint64_t rest = hash >> INDEX_BITS | UINT64_C(1) << RANK_BITS;
    return (struct hll_mark){.index = hash % HLL_REGISTERS,
                             .rank = (uint8_t)(__builtin_ctzll(rest) + 1)};
}

/* ---- The header ------------------------------------------------------------------------------ */

static bool has_encoding(struct bytes text, enum encoding encoding)
{
    return (uint8_t)text.ptr[ENCODING_AT] == encoding;
}

bool hll_is_one(struct bytes text)
{
    if (text.len < HLL_HEADER_LEN || memcmp(text.ptr, "HYLL", ENCODING_AT) != 0)
        return false;
    return has_encoding(text, ENCODING_SPARSE) ||
           (has_encoding(text, ENCODING_DENSE) && text.len == HLL_DENSE_LEN);
}

bool hll_is_dense(struct bytes text)
{
    return has_encoding(text, ENCODING_DENSE);
}

bool hll_find_cached(struct bytes text, uint64_t *out)
{
    uint64_t count;
    memcpy(&count, text.ptr + COUNT_AT, sizeof count);
    if ((uint8_t)text.ptr[COUNT_AT + COUNT_LEN - 1] & STALE)
        return false;
    *out = count;
    return true;
}

void hll_put_cached(char *text, uint64_t count)
{
    memcpy(text + COUNT_AT, &count, sizeof count);
}

void hll_drop_cached(char *text)
{
    text[COUNT_AT + COUNT_LEN - 1] = (char)((uint8_t)text[COUNT_AT + COUNT_LEN - 1] | STALE);
}

/* ---- Dense registers ---------------------------------------------------------------------------
 */

/* Four registers lie in three bytes. */
static uint8_t dense_get(const uint8_t *registers, uint32_t index)
{
    const uint8_t *from = registers + index / 4 * 3;
    uint32_t four = from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16;
    return four >> (index % 4 * 6) & HLL_REGISTER_MAX;
}

static void dense_set(uint8_t *registers, uint32_t index, uint8_t value)
{
    uint8_t *to = registers + index / 4 * 3;
    uint32_t four = to[0] | (uint32_t)to[1] << 8 | (uint32_t)to[2] << 16;
    unsigned shift = index % 4 * 6;
    four = (four & ~(HLL_REGISTER_MAX << shift)) | (uint32_t)value << shift;
    to[0] = (uint8_t)four;
    to[1] = (uint8_t)(four >> 8);
    to[2] = (uint8_t)(four >> 16);
}

static void dense_merge(const uint8_t *dense, uint8_t *registers)
{
    for (uint32_t i = 0; i < HLL_REGISTERS; i += 4, dense += 3) {
        uint32_t four = dense[0] | (uint32_t)dense[1] << 8 | (uint32_t)dense[2] << 16;
        for (unsigned j = 0; j < 4; j++, four >>= 6) {
            uint8_t value = four & HLL_REGISTER_MAX;
            registers[i + j] = value > registers[i + j] ? value : registers[i + j];
        }
    }
}

/* ---- Sparse runs -------------------------------------------------------------------------------
 */

bool hll_run_at(struct bytes text, size_t offset, struct hll_run *out)
{
    uint8_t byte = (uint8_t)text.ptr[offset];
    if (byte & VALUES) {
        *out = (struct hll_run){.count = (uint16_t)((byte & 3) + 1),
                                .value = (uint8_t)((byte >> 2 & 31) + 1),
                                .len = 1};
        return true;
    }
    if (!(byte & LONG_ZEROS)) {
        *out = (struct hll_run){.count = (uint16_t)(byte + 1), .len = 1};
        return true;
    }
    if (offset + 1 == text.len)
        return false;
    uint16_t low = (uint8_t)text.ptr[offset + 1];
    *out = (struct hll_run){.count = (uint16_t)(((byte & 63) << 8 | low) + 1), .len = 2};
    return true;
}

static size_t write_zeros(uint8_t *to, uint32_t count)
{
    if (count <= SHORT_ZEROS_MAX) {
        to[0] = (uint8_t)(count - 1);
        return 1;
    }
    to[0] = (uint8_t)((count - 1) >> 8 | LONG_ZEROS);
    to[1] = (uint8_t)(count - 1);
    return 2;
}

static size_t write_values(uint8_t *to, uint8_t value, uint32_t count)
{
    to[0] = (uint8_t)(VALUES | (value - 1u) << 2 | (count - 1));
    return 1;
}

/* A run like `run`, but of `count` registers; nothing if there are none. */
static size_t write_piece(uint8_t *to, const struct hll_run *run, uint32_t count)
{
    if (!count)
        return 0;
    return run->value ? write_values(to, run->value, count) : write_zeros(to, count);
}

bool hll_is_whole(struct bytes text)
{
    if (hll_is_dense(text))
        return true;
    uint32_t index = 0;
    struct hll_run run;
    for (size_t at = HLL_HEADER_LEN; at < text.len; at += run.len) {
        if (!hll_run_at(text, at, &run) || run.count > HLL_REGISTERS - index)
            return false;
        index += run.count;
    }
    return index == HLL_REGISTERS;
}

/* The run that holds a register, and what is around it. */
struct place {
    size_t at;      /* its offset */
    size_t before;  /* that of the run before it, or its own */
    uint32_t first; /* its first register */
    struct hll_run run;
};

static bool sparse_find(struct bytes text, uint32_t index, struct place *out)
{
    struct place place = {.at = HLL_HEADER_LEN, .before = HLL_HEADER_LEN};
    while (place.at < text.len) {
        if (!hll_run_at(text, place.at, &place.run))
            return false;
        if (index < place.first + place.run.count) {
            *out = place;
            return true;
        }
        place.before = place.at;
        place.at += place.run.len;
        place.first += place.run.count;
    }
    return false;
}

int hll_get(struct bytes text, uint32_t index)
{
    if (hll_is_dense(text))
        return dense_get((const uint8_t *)text.ptr + HLL_HEADER_LEN, index);
    struct place place;
    return sparse_find(text, index, &place) ? place.run.value : -1;
}

/* ---- Merging and counting ----------------------------------------------------------------------
 */

bool hll_merge(struct bytes text, uint8_t *registers)
{
    if (hll_is_dense(text)) {
        dense_merge((const uint8_t *)text.ptr + HLL_HEADER_LEN, registers);
        return true;
    }
    uint32_t index = 0;
    struct hll_run run;
    for (size_t at = HLL_HEADER_LEN; at < text.len; at += run.len) {
        if (!hll_run_at(text, at, &run) || run.count > HLL_REGISTERS - index)
            return false;
        for (uint32_t i = 0; run.value && i < run.count; i++) {
            uint8_t *old = &registers[index + i];
            *old = run.value > *old ? run.value : *old;
        }
        index += run.count;
    }
    return index == HLL_REGISTERS;
}

/* The two series of the paper, summed up until they do not change any more. */
static double sigma(double x)
{
    if (x == 1.0)
        return INFINITY;
    double sum = x, weight = 1.0, last;
    do {
        x *= x;
        last = sum;
        sum += x * weight;
        weight += weight;
    } while (last != sum);
    return sum;
}

static double tau(double x)
{
    if (x == 0.0 || x == 1.0)
        return 0.0;
    double sum = 1.0 - x, weight = 1.0, last;
    do {
        x = sqrt(x);
        last = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
    } while (last != sum);
    return sum / 3.0;
}

/* `counts[v]` registers have the value v. */
static uint64_t estimate(const uint32_t counts[HLL_REGISTER_MAX + 1])
{
    const double half_by_ln2 = 0.721347520444481703680;
    const double all = HLL_REGISTERS;
    double sum = all * tau((all - counts[RANK_MAX]) / all);
    for (unsigned rank = RANK_BITS; rank > 0; rank--)
        sum = (sum + counts[rank]) * 0.5;
    sum += all * sigma(counts[0] / all);
    return (uint64_t)llround(half_by_ln2 * all * all / sum);
}

uint64_t hll_count_registers(const uint8_t *registers)
{
    uint32_t counts[HLL_REGISTER_MAX + 1] = {0};
    for (uint32_t i = 0; i < HLL_REGISTERS; i++)
        counts[registers[i]]++;
    return estimate(counts);
}

bool hll_count(struct bytes text, uint64_t *out)
{
    uint32_t counts[HLL_REGISTER_MAX + 1] = {0};
    if (hll_is_dense(text)) {
        const uint8_t *dense = (const uint8_t *)text.ptr + HLL_HEADER_LEN;
        for (uint32_t i = 0; i < HLL_REGISTERS; i += 4, dense += 3) {
            uint32_t four = dense[0] | (uint32_t)dense[1] << 8 | (uint32_t)dense[2] << 16;
            counts[four & HLL_REGISTER_MAX]++;
            counts[four >> 6 & HLL_REGISTER_MAX]++;
            counts[four >> 12 & HLL_REGISTER_MAX]++;
            counts[four >> 18]++;
        }
    } else {
        if (!hll_is_whole(text))
            return false;
        struct hll_run run;
        for (size_t at = HLL_HEADER_LEN; at < text.len; at += run.len) {
            ASSERT(hll_run_at(text, at, &run));
            counts[run.value] += run.count;
        }
    }
    *out = estimate(counts);
    return true;
}

/* ---- Drafts ------------------------------------------------------------------------------------
 */

static struct bytes view(const struct hll_draft *draft)
{
    return bytes_of(draft->bytes, draft->len);
}

void hll_draft_empty(struct hll_draft *draft)
{
    ASSERT(draft->cap >= HLL_EMPTY_LEN);
    memset(draft->bytes, 0, HLL_HEADER_LEN);
    memcpy(draft->bytes, "HYLL", ENCODING_AT);
    draft->bytes[ENCODING_AT] = ENCODING_SPARSE;
    draft->len = HLL_HEADER_LEN + write_zeros(draft->bytes + HLL_HEADER_LEN, HLL_REGISTERS);
}

void hll_draft_make_dense(struct hll_draft *draft)
{
    if (hll_is_dense(view(draft)))
        return;
    ASSERT(draft->cap >= HLL_DENSE_LEN);
    uint8_t registers[HLL_REGISTERS] = {0};
    ASSERT(hll_merge(view(draft), registers));
    draft->bytes[ENCODING_AT] = ENCODING_DENSE;
    draft->len = HLL_DENSE_LEN;
    for (uint32_t i = 0; i < HLL_REGISTERS; i++)
        dense_set(draft->bytes + HLL_HEADER_LEN, i, registers[i]);
}

/* Puts `len` bytes where there were `old_len`, at `at`. */
static void replace(struct hll_draft *draft, size_t at, size_t old_len, const uint8_t *from,
                    size_t len)
{
    uint8_t *to = draft->bytes + at;
    memmove(to + len, to + old_len, draft->len - at - old_len);
    memcpy(to, from, len);
    draft->len += len - old_len;
}

static void join_values(struct hll_draft *draft, size_t at)
{
    struct hll_run run, next;
    for (unsigned left = JOIN_RUNS; left > 0 && at < draft->len; left--) {
        ASSERT(hll_run_at(view(draft), at, &run));
        if (run.value && at + 1 < draft->len && hll_run_at(view(draft), at + 1, &next) &&
            next.value == run.value && run.count + next.count <= (int)VALUES_MAX) {
            uint8_t joined;
            replace(draft, at, 2, &joined,
                    write_values(&joined, run.value, (uint32_t)run.count + next.count));
        } else {
            at += run.len;
        }
    }
}

static bool dense_raise(struct hll_draft *draft, struct hll_mark mark)
{
    uint8_t *registers = draft->bytes + HLL_HEADER_LEN;
    if (dense_get(registers, mark.index) >= mark.rank)
        return false;
    dense_set(registers, mark.index, mark.rank);
    return true;
}

bool hll_draft_raise(struct hll_draft *draft, struct hll_mark mark, size_t sparse_max_len)
{
    if (hll_is_dense(view(draft)))
        return dense_raise(draft, mark);
    struct place place;
    ASSERT(sparse_find(view(draft), mark.index, &place));
    if (place.run.value >= mark.rank)
        return false;

    uint32_t before = mark.index - place.first;
    uint8_t split[SPLIT_LEN_MAX];
    size_t len = 0;
    if (mark.rank <= SPARSE_VALUE_MAX) {
        len += write_piece(split, &place.run, before);
        len += write_values(split + len, mark.rank, 1);
        len += write_piece(split + len, &place.run, place.run.count - before - 1);
    }
    size_t new_len = draft->len + len - place.run.len;
    bool is_too_long = len > place.run.len && (new_len > sparse_max_len || new_len > draft->cap);
    if (mark.rank > SPARSE_VALUE_MAX || is_too_long) {
        hll_draft_make_dense(draft);
        return dense_raise(draft, mark);
    }
    replace(draft, place.at, place.run.len, split, len);
    join_values(draft, place.before);
    return true;
}
