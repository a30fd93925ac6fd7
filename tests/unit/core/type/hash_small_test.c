#include "core/type/hash_small.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "core/base/heap.h"

static struct heap *heap;
static struct pack *pack;

static void set_up(void)
{
    heap = heap_create(-1);
    pack = pack_create(heap);
}

static void tear_down(void)
{
    pack_destroy(pack, heap);
    heap_destroy(heap);
}

TestSuite(hash_small, .init = set_up, .fini = tear_down);

static void put(uint32_t width, const char *field, const char *value, int64_t expire_at_ms)
{
    struct hash_pair pair = {bytes_from_text(field), bytes_from_text(value), expire_at_ms};
    (void)hash_small_put(&pack, heap, width, pair);
}

/* All entries, separated by spaces. */
static void expect(const char *wanted)
{
    static char text[1000];
    size_t len = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, at)) {
        char scratch[PACK_SCRATCH];
        struct bytes entry = pack_view(pack, at, scratch);
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", len ? " " : "",
                                (int)entry.len, entry.ptr);
    }
    text[len] = 0;
    cr_assert_str_eq(text, wanted);
}

static void set_ttl(const char *field, int64_t expire_at_ms)
{
    uint32_t at = hash_small_find(pack, HASH_TRIPLES, bytes_from_text(field));
    cr_assert_neq(at, PACK_NONE);
    hash_small_set_ttl(&pack, heap, at, bytes_from_text(field), expire_at_ms);
}

Test(hash_small, keeps_pairs_as_they_came)
{
    put(HASH_PAIRS, "b", "1", HASH_NO_TTL);
    put(HASH_PAIRS, "a", "2", HASH_NO_TTL);
    put(HASH_PAIRS, "b", "3", HASH_NO_TTL);
    expect("b 3 a 2");
}

Test(hash_small, finds_fields_and_nothing_else)
{
    put(HASH_TRIPLES, "a", "b", 77);
    put(HASH_TRIPLES, "c", "d", HASH_NO_TTL);
    cr_assert_neq(hash_small_find(pack, HASH_TRIPLES, BYTES("a")), PACK_NONE);
    cr_assert_neq(hash_small_find(pack, HASH_TRIPLES, BYTES("c")), PACK_NONE);
    cr_assert_eq(hash_small_find(pack, HASH_TRIPLES, BYTES("b")), PACK_NONE, "that is a value");
    cr_assert_eq(hash_small_find(pack, HASH_TRIPLES, BYTES("77")), PACK_NONE, "that is a time");
}

Test(hash_small, keeps_triples_by_time_and_those_that_last_at_the_end)
{
    put(HASH_TRIPLES, "a", "x", HASH_NO_TTL);
    put(HASH_TRIPLES, "b", "x", 50);
    put(HASH_TRIPLES, "c", "x", 30);
    put(HASH_TRIPLES, "d", "x", HASH_NO_TTL);
    put(HASH_TRIPLES, "e", "x", 40);
    expect("c x 30 e x 40 b x 50 a x 0 d x 0");
    cr_assert_eq(hash_small_ttl_count(pack), 3);
    cr_assert_eq(hash_small_due_count(pack, 30), 0);
    cr_assert_eq(hash_small_due_count(pack, 41), 2);
    cr_assert(hash_triples_are_valid(pack));
}

Test(hash_small, moves_a_triple_when_its_time_changes)
{
    put(HASH_TRIPLES, "a", "1", 10);
    put(HASH_TRIPLES, "b", "2", 20);
    put(HASH_TRIPLES, "c", "3", 30);
    set_ttl("b", 25);
    expect("a 1 10 b 2 25 c 3 30");
    set_ttl("a", 40);
    expect("b 2 25 c 3 30 a 1 40");
    set_ttl("b", HASH_NO_TTL);
    expect("c 3 30 a 1 40 b 2 0");
    set_ttl("b", 5);
    expect("b 2 5 c 3 30 a 1 40");
    set_ttl("a", HASH_NO_TTL);
    expect("b 2 5 c 3 30 a 1 0");
}

Test(hash_small, moves_long_values_too)
{
    static char value[5001];
    memset(value, 'v', sizeof value - 1);
    put(HASH_TRIPLES, "a", value, 10);
    put(HASH_TRIPLES, "b", "2", 20);
    set_ttl("a", 30);
    struct hash_scratch scratch;
    uint32_t next;
    uint32_t at = hash_small_find(pack, HASH_TRIPLES, BYTES("a"));
    struct hash_pair pair = hash_small_pair(pack, HASH_TRIPLES, at, &next, &scratch);
    cr_assert(bytes_equal(pair.value, bytes_from_text(value)));
    cr_assert_eq(pair.expire_at_ms, 30);
    cr_assert_eq(next, PACK_NONE);
}

Test(hash_small, keeps_or_forgets_the_time_of_a_value_that_is_replaced)
{
    put(HASH_TRIPLES, "a", "1", 10);
    put(HASH_TRIPLES, "b", "2", 20);
    put(HASH_TRIPLES, "a", "longer", HASH_KEEP_TTL);
    put(HASH_TRIPLES, "new", "3", HASH_KEEP_TTL);
    expect("a longer 10 b 2 20 new 3 0");
    put(HASH_TRIPLES, "a", "1", HASH_NO_TTL);
    expect("b 2 20 new 3 0 a 1 0");
}

Test(hash_small, makes_pairs_triples)
{
    put(HASH_PAIRS, "a", "1", HASH_NO_TTL);
    put(HASH_PAIRS, "b", "text", HASH_NO_TTL);
    hash_small_widen(&pack, heap);
    expect("a 1 0 b text 0");
    cr_assert(pack_is_valid(bytes_of(pack, pack_bytes(pack))));
}

Test(hash_small, deletes_a_run_of_fields)
{
    for (int i = 0; i < 5; i++) {
        char field[8];
        snprintf(field, sizeof field, "f%d", i);
        put(HASH_TRIPLES, field, "v", 10 + i);
    }
    hash_small_delete(&pack, heap, HASH_TRIPLES, pack_first(pack), 3);
    expect("f3 v 13 f4 v 14");
}
