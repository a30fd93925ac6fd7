/*
 * hll: HyperLogLogs: strings that know about how many different elements they have seen.
 *
 * The bytes are those of Redis, so a value can be read by one and written by the other. A string
 * comes from a client and may be damaged: nothing here reads outside of it, and what edits one
 * wants it whole. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"

#define HLL_REGISTERS 16384u
#define HLL_REGISTER_MAX 63u
#define HLL_HEADER_LEN 16u
#define HLL_DENSE_LEN (HLL_HEADER_LEN + HLL_REGISTERS * 6 / 8)
#define HLL_EMPTY_LEN (HLL_HEADER_LEN + 2)
/* No whole one is longer: two bytes for every register. */
#define HLL_LEN_MAX (HLL_HEADER_LEN + HLL_REGISTERS * 2)

/* Where an element leaves its mark: the register, and the least value it has from then on. */
struct hll_mark {
    uint16_t index;
    uint8_t rank; /* 1..51 */
};

struct hll_mark hll_mark(struct bytes element);

/* ---- Reading ------------------------------------------------------------------------------- */

/* Does the string claim to be one, by its header (and, if dense, its length)? All functions below
 * want one of those. */
bool hll_is_one(struct bytes text);
bool hll_is_dense(struct bytes text);
/* Does a sparse one describe exactly all registers? A dense one always does. */
bool hll_is_whole(struct bytes text);

/* A register, or -1 when the string is damaged before it. */
int hll_get(struct bytes text, uint32_t index);

/* Raises `registers`, of which there are HLL_REGISTERS, to those of `text`. False when it is
 * damaged: they are then of no use. */
bool hll_merge(struct bytes text, uint8_t *registers);

/* How many different elements have been seen, more or less. False when the string is damaged. */
bool hll_count(struct bytes text, uint64_t *out);
uint64_t hll_count_registers(const uint8_t *registers);

/* The count that was written into the header after the last change, if it was. */
bool hll_find_cached(struct bytes text, uint64_t *out);

/* ---- Writing ------------------------------------------------------------------------------- */

void hll_put_cached(char *text, uint64_t count);
void hll_drop_cached(char *text);

/* One that is being changed, in the caller's memory. It must be whole. */
struct hll_draft {
    uint8_t *bytes;
    size_t len;
    size_t cap; /* at least HLL_DENSE_LEN to be made dense; `len` + 3 for a sparse one to grow */
};

/* Makes the draft an empty sparse one. */
void hll_draft_empty(struct hll_draft *draft);

/* Raises a register to the mark's rank; false when it is not below. A sparse draft becomes dense
 * when it would be longer than `sparse_max_len` or its capacity, or cannot hold the rank. */
bool hll_draft_raise(struct hll_draft *draft, struct hll_mark mark, size_t sparse_max_len);

/* No effect on a dense one. */
void hll_draft_make_dense(struct hll_draft *draft);

/* ---- Looking inside -------------------------------------------------------------------------- */

/* A run of registers of a sparse one. */
struct hll_run {
    uint16_t count; /* 1..HLL_REGISTERS */
    uint8_t value;  /* 0: a run of zeros */
    uint8_t len;    /* bytes that describe it: 1, or 2 for a long run of zeros */
};

/* The run at byte `offset` of `text`, which lies behind the header and before the end. False when
 * it is cut off. */
bool hll_run_at(struct bytes text, size_t offset, struct hll_run *out);
