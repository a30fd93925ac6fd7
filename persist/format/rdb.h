/*
 * rdb: the small parts that Redis's dump format is made of: lengths, strings, numbers.
 *
 *     length    00xxxxxx              6 bits
 *               01xxxxxx + 1 byte     14 bits
 *               10000000 + 4 bytes    32 bits, the highest byte first
 *               10000001 + 8 bytes    64 bits, the same
 *     string    length, bytes         or
 *               11000000 + 1 byte, 11000001 + 2, 11000010 + 4: an integer, the lowest byte first
 *               11000011, length packed, length unpacked, bytes: compressed by LZF
 *
 * The writer appends to a buf. The reader takes from a run of bytes that may be anything: what does
 * not make sense sets `failed`, after which all that is read is empty; no length is believed that
 * the bytes do not bear out.
 * Thread: the owner's. Source: the format of Redis 7 (rdb.h, rdb.c), facts only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/bytes.h"

#define RDB_VERSION 10u             /* that is written, and loads from Redis 7.0 on */
#define RDB_VERSION_FIELD_TIMES 12u /* if a field of a hash has a time to live */
#define RDB_VERSION_MAX 12u         /* that can be read */
#define RDB_VERSION_VALKEY 80u      /* the same, of Valkey 9 */

/* What a value is kept as. */
enum rdb_type {
    RDB_STRING = 0,
    RDB_LIST = 1,
    RDB_SET = 2,
    RDB_ZSET_TEXT = 3, /* scores as text */
    RDB_HASH = 4,
    RDB_ZSET = 5,
    RDB_HASH_ZIPMAP = 9,
    RDB_LIST_ZIPLIST = 10,
    RDB_SET_INTSET = 11,
    RDB_ZSET_ZIPLIST = 12,
    RDB_HASH_ZIPLIST = 13,
    RDB_LIST_QUICKLIST = 14, /* of ziplists */
    RDB_STREAM_1 = 15,
    RDB_HASH_PACK = 16,
    RDB_ZSET_PACK = 17,
    RDB_LIST_PACKS = 18,
    RDB_STREAM_2 = 19,
    RDB_SET_PACK = 20,
    RDB_STREAM_3 = 21,
    RDB_HASH_VALKEY_TIMES = 22, /* of Valkey 9, and RDB_VERSION_VALKEY */
    RDB_HASH_TIMES = 24,        /* of Redis 7.4 */
    RDB_HASH_PACK_TIMES = 25,   /* of Redis 7.4 */
};

/* How a node of RDB_LIST_PACKS is kept. */
#define RDB_NODE_PLAIN 1u
#define RDB_NODE_PACK 2u

/* ---- Writing ---- */

void rdb_write_len(struct buf *out, uint64_t len);
/* As an integer if it spells one of up to 32 bits; compressed if that is asked for and pays. */
void rdb_write_string(struct buf *out, struct bytes text, bool compress);
void rdb_write_u64(struct buf *out, uint64_t number); /* the lowest byte first, as the next */
void rdb_write_double(struct buf *out, double number);

/* ---- Reading ---- */

struct rdb_reader {
    const char *at, *end;
    struct arena *arena; /* for strings that are not simply there */
    size_t unpacked_max; /* bytes of a compressed string, at most; 0: any number */
    bool failed;
};

/* How many bytes are left. */
static inline size_t rdb_left(const struct rdb_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

uint8_t rdb_read_byte(struct rdb_reader *reader);
/* Of 1 to 8 bytes, the lowest first. */
uint64_t rdb_read_number(struct rdb_reader *reader, int bytes);
/* `len` bytes as they are; borrowed from what is read. */
struct bytes rdb_read_text(struct rdb_reader *reader, uint64_t len);
uint64_t rdb_read_len(struct rdb_reader *reader);
/* A length that counts things of at least `least` bytes each: more than can follow is a failure. */
uint64_t rdb_read_count(struct rdb_reader *reader, size_t least);
/* Borrowed from what is read, or from the arena. */
struct bytes rdb_read_string(struct rdb_reader *reader);
uint64_t rdb_read_u64(struct rdb_reader *reader);
double rdb_read_double(struct rdb_reader *reader);
/* A number as text, with a byte for its length before it; or 253 to 255: nan, inf, -inf. */
double rdb_read_text_double(struct rdb_reader *reader);
