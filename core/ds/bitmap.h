/*
 * bitmap: runs of bytes seen as bits: count, find, combine, read and write fields.
 *
 * Bit 0 is the highest bit of byte 0, so bits stand in the order in which bytes are written down.
 * A field is a number of up to 64 bits anywhere in the run, its highest bit first. The long loops
 * use the CPU's vectors where it has them. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/bytes.h"

#define BITMAP_NONE UINT64_MAX
#define BITMAP_FIELD_MAX 64u /* bits */

enum bitmap_op { BITMAP_AND, BITMAP_OR, BITMAP_XOR, BITMAP_NOT };

/* How many of the bits `first`..`last`, both included and within `map`, are set. */
uint64_t bitmap_count(struct bytes map, uint64_t first, uint64_t last);

/* The first of the bits `first`..`last`, both included and within `map`, that is `bit`, or
 * BITMAP_NONE. */
uint64_t bitmap_find(struct bytes map, bool bit, uint64_t first, uint64_t last);

/* Writes `len` bytes to `out`: all `sources`, at least one, combined bit by bit. Shorter ones count
 * as filled up with zeros, longer ones are cut. NOT reads the first source only. A source may begin
 * where `out` does, and may not overlap it otherwise. */
void bitmap_combine(enum bitmap_op op, const struct bytes *sources, size_t source_count, size_t len,
                    char *out);

/* The field of `width` bits, 1..BITMAP_FIELD_MAX, at bit `offset`. What lies behind the end of
 * `map` is zero. */
uint64_t bitmap_read(struct bytes map, uint64_t offset, unsigned width);

/* Writes the low `width` bits of `value`. The field must lie within the bytes at `map`. */
void bitmap_write(char *map, uint64_t offset, unsigned width, uint64_t value);

/* The instruction sets the loops are written for, each with all before it. */
enum bitmap_simd { BITMAP_PLAIN, BITMAP_POPCNT, BITMAP_AVX2, BITMAP_SIMD_COUNT };

/* Uses this set from now on; false, and no change, when the CPU has not got it. The best is used
 * from the start: this is for tests. Thread: the only one. */
bool bitmap_use(enum bitmap_simd simd);
