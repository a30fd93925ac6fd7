/*
 * crc64: the checksum of Redis's files and dumps: CRC-64 of Jones.
 *
 * Polynomial 0xad93d23594c935a9, reflected, begun with 0, and nothing added at the end. The check
 * value of "123456789" is e9c6d914c4b8d9ca. With a start of 0 it is linear, so that parts that were
 * written by several hands can be put together afterwards. Thread: any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` is that of (0: of nothing) and `len` more bytes. */
uint64_t crc64(uint64_t crc, const void *bytes, size_t len);

/* The checksum of what `first` is that of, followed by `second_len` bytes that have the checksum
 * `second`. O(log second_len), some microseconds. */
uint64_t crc64_join(uint64_t first, uint64_t second, uint64_t second_len);
