#include "core/store/keyspace.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/fingerprint.h"
#include "core/type/hash.h"

static struct heap *heap;
static struct keyspace *keyspace;

static void drop(void *context, uint64_t *cell)
{
    (void)context;
    record_destroy(table_item(*cell), heap);
}

static void open_keyspace(void)
{
    key_seed(3);
    heap = heap_create(-1);
    keyspace = keyspace_create(heap);
}

static void close_keyspace(void)
{
    keyspace_validate(keyspace);
    cr_assert(keyspace_drain(keyspace, heap, UINT64_MAX, drop, NULL));
    keyspace_destroy(keyspace, heap);
    heap_validate(heap);
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "all memory came back");
    heap_destroy(heap);
}

TestSuite(keyspace, .init = open_keyspace, .fini = close_keyspace);

static struct key named(char name[40], const char *format, uint32_t number)
{
    return key_make(bytes_of(name, (size_t)snprintf(name, 40, format, number)));
}

static void insert(const char *format, uint32_t number, bool has_ttl)
{
    char name[40];
    struct key key = named(name, format, number);
    struct value *record = record_create(heap, key.name, has_ttl ? 1000 : RECORD_NO_TTL,
                                         TYPE_STRING, ENCODING_INT, 8);
    int64_t value = number;
    memcpy(record_value(record), &value, sizeof value);
    keyspace_insert(keyspace, heap, &key, record);
}

static void take(const char *format, uint32_t number)
{
    char name[40];
    struct key key = named(name, format, number);
    uint64_t *cell = keyspace_find(keyspace, &key);
    cr_assert_not_null(cell);
    record_destroy(keyspace_remove(keyspace, heap, &key, cell), heap);
}

static bool has(const char *format, uint32_t number)
{
    char name[40];
    struct key key = named(name, format, number);
    for (int step = 0; step < KEYSPACE_PREFETCH_STEPS; step++)
        keyspace_prefetch(keyspace, &key, step);
    uint64_t *cell = keyspace_find(keyspace, &key);
    return cell && record_int(table_item(*cell)) == number;
}

Test(keyspace, finds_records_by_name_over_all_slots_and_in_one)
{
    for (uint32_t i = 0; i < 20000; i++)
        insert(i % 2 ? "key:%u" : "{one}%u", i, i % 5 == 0);
    keyspace_validate(keyspace);
    cr_assert_eq(keyspace->count, 20000);
    cr_assert_eq(keyspace->ttl_count, 4000);
    cr_assert_eq(keyspace_slot_count(keyspace, key_slot(BYTES("one"))), 10000);
    for (uint32_t i = 0; i < 20000; i++) {
        cr_assert(has(i % 2 ? "key:%u" : "{one}%u", i));
        cr_assert_not(has(i % 2 ? "{one}%u" : "key:%u", i));
    }
    for (uint32_t i = 0; i < 20000; i++)
        take(i % 2 ? "key:%u" : "{one}%u", i);
    cr_assert_eq(keyspace->count, 0);
}

Test(keyspace, keeps_count_of_times_to_live)
{
    insert("a%u", 1, false);
    char name[40];
    struct key key = named(name, "a%u", 1);
    uint64_t *cell = keyspace_find(keyspace, &key);
    keyspace_replace(keyspace, cell, record_set_ttl(table_item(*cell), heap, 5000));
    cr_assert_eq(keyspace->ttl_count, 1);
    keyspace_validate(keyspace);
    keyspace_replace(keyspace, cell, record_set_ttl(table_item(*cell), heap, RECORD_NO_TTL));
    cr_assert_eq(keyspace->ttl_count, 0);
}

static void see(void *context, uint64_t *cell)
{
    uint8_t *times = context;
    times[record_int(table_item(*cell))]++;
}

Test(keyspace, scans_in_the_order_of_slots_each_record_once)
{
    enum { COUNT = 30000 };
    uint8_t *times = calloc(COUNT, 1);
    for (uint32_t i = 0; i < COUNT; i++)
        insert(i % 3 ? "key:%u" : "{one}%u", i, false);
    uint64_t position = 0, steps = 0;
    while (position != KEYSPACE_END) {
        uint64_t next = keyspace_scan(keyspace, position, 10, see, times);
        cr_assert_gt(next, position);
        position = next;
        steps++;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert_eq(times[i], 1);
    cr_assert_gt(steps, COUNT / 20, "a step visits about as much as it was told");
    memset(times, 0, COUNT);
    keyspace_each(keyspace, see, times);
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert_eq(times[i], 1);
    free(times);
}

Test(keyspace, scans_what_stays_while_tables_grow_and_shrink)
{
    enum { STAYING = 2000, COUNT = 40000 };
    uint8_t *times = calloc(COUNT, 1);
    bool *present = calloc(COUNT, sizeof *present);
    struct rng rng;
    rng_init(&rng, 9);
    for (uint32_t i = 0; i < STAYING; i++)
        insert(i % 2 ? "key:%u" : "{one}%u", i, false);
    uint64_t position = 0;
    bool growing = true;
    while (position != KEYSPACE_END) {
        position = keyspace_scan(keyspace, position, 1 + rng_below(&rng, 30), see, times);
        if (rng_below(&rng, 10) == 0)
            growing = !growing;
        for (int i = 0; i < 500; i++) {
            uint32_t number = STAYING + (uint32_t)rng_below(&rng, COUNT - STAYING);
            const char *format = number % 4 ? "{one}%u" : "key:%u";
            if (growing && !present[number])
                insert(format, number, false);
            else if (!growing && present[number])
                take(format, number);
            else
                continue;
            present[number] = growing;
        }
    }
    for (uint32_t i = 0; i < STAYING; i++)
        cr_assert(times[i] > 0, "record %u was missed", i);
    free(times);
    free(present);
}

Test(keyspace, ends_a_scan_from_any_position)
{
    uint8_t times[1] = {0};
    cr_assert_eq(keyspace_scan(keyspace, 0, 10, see, times), KEYSPACE_END);
    insert("a%u", 0, false);
    cr_assert_eq(keyspace_scan(keyspace, UINT64_MAX, 10, see, times), KEYSPACE_END);
    cr_assert_eq(keyspace_scan(keyspace, (uint64_t)SLOT_COUNT << 32, 10, see, times), KEYSPACE_END);
    cr_assert_eq(times[0], 0);
}

Test(keyspace, chooses_at_random_with_the_same_chance_for_all)
{
    enum { COUNT = 1000, DRAWS = 200 };
    struct rng rng;
    rng_init(&rng, 4);
    cr_assert_null(keyspace_random(keyspace, &rng));
    static uint32_t times[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        insert(i < 500 ? "{one}%u" : "key:%u", i, false);
    for (uint32_t i = 0; i < COUNT * DRAWS; i++)
        times[record_int(table_item(*keyspace_random(keyspace, &rng)))]++;
    uint64_t in_one_slot = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        cr_assert(times[i] > DRAWS / 3 && times[i] < DRAWS * 3, "record %u came %u times", i,
                  times[i]);
        in_one_slot += i < 500 ? times[i] : 0;
    }
    cr_assert(in_one_slot > COUNT * DRAWS * 45 / 100 && in_one_slot < COUNT * DRAWS * 55 / 100);
}

Test(keyspace, drains_in_steps)
{
    for (uint32_t i = 0; i < 5000; i++)
        insert("key:%u", i, i % 2);
    uint32_t steps = 1;
    while (!keyspace_drain(keyspace, heap, 100, drop, NULL))
        steps++;
    cr_assert_gt(steps, 25);
    cr_assert_eq(keyspace->count, 0);
    cr_assert_eq(keyspace->ttl_count, 0);
    insert("again%u", 1, false);
    cr_assert(has("again%u", 1), "a drained keyspace is an empty one");
}

Test(keyspace, adds_up_its_tables)
{
    for (uint32_t i = 0; i < 3000; i++)
        insert("{one}%u", i, false);
    struct table_stats stats = {0};
    keyspace_add_stats(keyspace, &stats);
    cr_assert_eq(stats.items, 3000);
    cr_assert_eq(stats.leaves, 16);
    uint64_t buckets = 0;
    for (uint32_t i = 0; i <= TABLE_STATS_LEN_MAX; i++)
        buckets += stats.bucket_lens[i];
    cr_assert_eq(buckets, stats.buckets);
    cr_assert_geq(stats.bytes, stats.buckets * 64);
}

/* ---- What is due inside of records ---- */

/* A hash of one field, which lives until `expire_at_ms`. */
static struct value *insert_hash(const char *format, uint32_t number, int64_t expire_at_ms)
{
    fingerprint_seed(3);
    char name[40];
    struct key key = named(name, format, number);
    struct hash_limits limits = {.field_count = 128, .text_len = 64};
    struct hash *hash = hash_create(heap);
    struct hash_pair pair = {BYTES("field"), BYTES("value"), expire_at_ms};
    (void)hash_put_pair(&hash, heap, &limits, pair);
    struct value *record = record_create(heap, key.name, RECORD_NO_TTL, TYPE_HASH, ENCODING_ROOT,
                                         sizeof hash);
    record_set_pointer(record, hash);
    keyspace_insert(keyspace, heap, &key, record);
    return record;
}

Test(keyspace, knows_the_hash_whose_field_is_the_first_to_be_due)
{
    insert("%u", 0, true);
    (void)insert_hash("%u", 1, HASH_NO_TTL);
    cr_assert_null(keyspace_first_due(keyspace, INT64_MAX));
    struct value *late = insert_hash("%u", 2, 2000);
    struct value *early = insert_hash("%u", 3, 1000);
    cr_assert_null(keyspace_first_due(keyspace, 1000));
    cr_assert_eq(keyspace_first_due(keyspace, 1001), early);
    take("%u", 3);
    cr_assert_null(keyspace_first_due(keyspace, 2000));
    cr_assert_eq(keyspace_first_due(keyspace, 2001), late);
}

Test(keyspace, is_told_when_times_have_changed)
{
    struct value *record = insert_hash("%u", 2, 2000);
    char name[40];
    struct key key = named(name, "%u", 2);
    struct hash *hash = record_pointer(record);
    hash_set_ttl(&hash, heap, BYTES("field"), 500);
    keyspace_schedule(keyspace, heap, &key, record);
    keyspace_validate(keyspace);
    cr_assert_eq(keyspace_first_due(keyspace, 501), record);
    hash_set_ttl(&hash, heap, BYTES("field"), HASH_NO_TTL);
    keyspace_schedule(keyspace, heap, &key, record);
    cr_assert_null(keyspace_first_due(keyspace, INT64_MAX));
}

Test(keyspace, finds_the_hash_though_its_record_has_moved)
{
    for (uint32_t i = 0; i < 300; i++)
        (void)insert_hash("{one}%u", i, 1000 + i);
    for (uint32_t i = 0; i < 300; i++) {
        char name[40];
        struct key key = named(name, "{one}%u", i);
        uint64_t *cell = keyspace_find(keyspace, &key);
        keyspace_replace(keyspace, cell, record_set_ttl(table_item(*cell), heap, 5000));
    }
    for (uint32_t i = 0; i < 300; i++) {
        char name[40];
        struct key key = named(name, "{one}%u", i);
        struct value *first = keyspace_first_due(keyspace, INT64_MAX);
        cr_assert_not_null(first);
        cr_assert(bytes_equal(record_name(first), key.name));
        take("{one}%u", i);
    }
}

Test(keyspace, drains_what_is_due_in_steps_too)
{
    for (uint32_t i = 0; i < 2000; i++)
        (void)insert_hash("%u", i, 1000 + i);
    int steps = 1;
    while (!keyspace_drain(keyspace, heap, 100, drop, NULL))
        steps++;
    cr_assert_gt(steps, 2 * 2000 / 200);
    cr_assert_null(keyspace_first_due(keyspace, INT64_MAX));
}
