#include "core/store/key.h"

#include <criterion/criterion.h>
#include <stdio.h>

static uint16_t slot(const char *name)
{
    return key_slot(bytes_from_text(name));
}

/* The checksum a bit at a time, as it is defined. */
static uint16_t plain_crc16(const char *ptr, size_t len)
{
    uint16_t crc = 0;
    for (size_t i = 0; i < len; i++) {
        crc ^= (uint16_t)((unsigned char)ptr[i] << 8);
        for (int bit = 0; bit < 8; bit++)
            crc = (uint16_t)(crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1);
    }
    return crc;
}

Test(key, has_the_slot_that_redis_cluster_gives)
{
    cr_assert_eq(slot("123456789"), 0x31c3 % SLOT_COUNT);
    cr_assert_eq(slot("foo"), 12182);
    cr_assert_eq(slot("bar"), 5061);
    cr_assert_eq(slot("hello"), 866);
    cr_assert_eq(slot(""), 0);
}

Test(key, hashes_only_the_first_tag_that_is_not_empty)
{
    cr_assert_eq(slot("{foo}bar"), slot("foo"));
    cr_assert_eq(slot("x{foo}y{bar}z"), slot("foo"));
    cr_assert_eq(slot("{user1000}.following"), slot("{user1000}.followers"));
    cr_assert_eq(slot("foo{{bar}}zap"), slot("{bar"));
    cr_assert_neq(slot("foo{}{bar}"), slot("bar"),
                  "the first braces are empty: the whole name counts");
    cr_assert_neq(slot("{foo"), slot("foo"));
    cr_assert_neq(slot("foo}"), slot("foo"));
}

Test(key, has_the_same_slot_as_the_definition_at_any_length)
{
    char name[100];
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (char)(i * 37 + 11);
    for (size_t len = 0; len <= sizeof name; len++) {
        if (memchr(name, '{', len))
            break;
        cr_assert_eq(key_slot(bytes_of(name, len)), plain_crc16(name, len) % SLOT_COUNT, "%zu",
                     len);
    }
}

Test(key, spreads_names_evenly_over_slots)
{
    static uint32_t counts[SLOT_COUNT];
    char name[32];
    for (uint32_t i = 0; i < 64 * SLOT_COUNT; i++)
        counts[key_slot(bytes_of(name, (size_t)snprintf(name, sizeof(name), "key:%010u", i)))]++;
    for (uint32_t i = 0; i < SLOT_COUNT; i++)
        cr_assert(counts[i] > 16 && counts[i] < 192, "slot %u got %u", i, counts[i]);
}

Test(key, hashes_by_its_secret)
{
    key_seed(1);
    uint64_t first = key_hash(BYTES("name"));
    cr_assert_neq(first, key_hash(BYTES("namf")));
    key_seed(2);
    cr_assert_neq(first, key_hash(BYTES("name")));
    key_seed(1);
    cr_assert_eq(first, key_hash(BYTES("name")), "an option fixes it");
    key_seed(0);
    cr_assert_neq(first, key_hash(BYTES("name")), "else chance decides");
}

Test(key, takes_any_bytes_and_none)
{
    key_seed(1);
    struct key empty = key_make(bytes_of(NULL, 0));
    cr_assert_eq(empty.slot, 0);
    struct key binary = key_make(BYTES("a\0b"));
    cr_assert_neq(binary.hash, key_hash(BYTES("a")));
    cr_assert_neq(binary.slot, slot("a"));
}
