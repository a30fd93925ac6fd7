#include "core/ds/table.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"

/* Items are numbers, each hashed by a mixer; `coarse` hashes differ in their low bits only. */
struct item {
    uint64_t number;
    uint64_t hash;
};

static uint64_t hash_of_item(const void *item)
{
    return ((const struct item *)item)->hash;
}

static const struct table_ops ops = {.hash = hash_of_item};

static struct heap *heap;
static struct table table;

static void open_table(void)
{
    heap = heap_create(-1);
    table = (struct table){0};
}

static void close_table(void)
{
    heap_destroy(heap);
}

TestSuite(table, .init = open_table, .fini = close_table);

static uint64_t mix(uint64_t number)
{
    struct rng rng;
    rng_init(&rng, number + 1);
    return rng_next(&rng);
}

static struct item *make_items(uint32_t count)
{
    struct item *items = malloc(count * sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct item){i, mix(i)};
    return items;
}

static inline bool is_number(const void *item, const void *wanted)
{
    return ((const struct item *)item)->number == *(const uint64_t *)wanted;
}

static uint64_t *find(const struct item *item)
{
    return table_find(&table, item->hash, is_number, &item->number);
}

static void insert(struct item *item)
{
    table_insert(&table, heap, &ops, item->hash, item, (item->number & 1) != 0);
}

static void remove_item(struct item *item)
{
    table_remove(&table, heap, &ops, item->hash, find(item));
}

static void count_cell(void *context, uint64_t *cell)
{
    (void)cell;
    ++*(uint32_t *)context;
}

static void drain_all(void)
{
    uint64_t budget = UINT64_MAX;
    uint32_t count = 0;
    cr_assert(table_drain(&table, heap, &budget, count_cell, &count));
    heap_validate(heap);
}

Test(table, is_empty_when_zero_and_takes_no_memory)
{
    struct item item = {1, 1};
    cr_assert_null(find(&item));
    cr_assert_eq(table_sample_len(&table, 12345), 0);
    table_validate(&table, &ops);
    table_prefetch_bucket(&table, 5);
    table_prefetch_item(&table, 5);
    insert(&item);
    cr_assert_eq(table_item(*find(&item)), &item);
    cr_assert_eq(heap_used(heap), 0, "one item takes no memory either");
    remove_item(&item);
    cr_assert_eq(heap_used(heap), 0);
    cr_assert_eq(table.count, 0);
    cr_assert_eq(table.root, 0);
}

Test(table, finds_all_that_was_put_in_and_nothing_else)
{
    enum { COUNT = 30000 };
    struct item *items = make_items(2 * COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        insert(&items[i]);
        if (i % 997 == 0)
            table_validate(&table, &ops);
    }
    cr_assert_eq(table.count, COUNT);
    for (uint32_t i = 0; i < 2 * COUNT; i++) {
        uint64_t *cell = find(&items[i]);
        cr_assert_eq(cell != NULL, i < COUNT);
        cr_assert(!cell ||
                  (table_item(*cell) == &items[i] && (bool)(*cell & TABLE_MARK) == (bool)(i & 1)));
    }
    drain_all();
    free(items);
}

Test(table, stays_right_through_random_growing_and_shrinking)
{
    enum { COUNT = 6000, STEPS = 120000 };
    struct item *items = make_items(COUNT);
    bool *present = calloc(COUNT, sizeof *present);
    struct rng rng;
    rng_init(&rng, 42);
    uint32_t count = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        /* Long waves: mostly in, then mostly out. */
        bool wants = rng_below(&rng, 10) < (i / 20000 % 2 ? 2u : 8u);
        uint32_t number = (uint32_t)rng_below(&rng, COUNT);
        if (wants && !present[number])
            insert(&items[number]);
        else if (!wants && present[number])
            remove_item(&items[number]);
        else
            continue;
        present[number] = wants;
        count += wants ? 1 : -1;
        cr_assert_eq(table.count, count);
        if (i % 50 == 0)
            table_validate(&table, &ops);
        if (i % 1000 == 0) {
            for (uint32_t k = 0; k < COUNT; k++)
                cr_assert_eq(find(&items[k]) != NULL, present[k]);
            heap_validate(heap);
        }
    }
    drain_all();
    free(items);
    free(present);
}

Test(table, bears_hashes_that_are_all_but_equal)
{
    enum { COUNT = 5000 };
    struct item *items = make_items(COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        items[i].hash = UINT64_C(0x123456789abcd000) + i % 7;
        insert(&items[i]);
    }
    table_validate(&table, &ops);
    for (uint32_t i = 0; i < COUNT; i += 100)
        cr_assert_eq(table_item(*find(&items[i])), &items[i]);
    for (uint32_t i = 0; i < COUNT; i++)
        remove_item(&items[i]);
    cr_assert_eq(table.count, 0);
    table_validate(&table, &ops);
    free(items);
}

Test(table, fills_its_buckets_well)
{
    enum { COUNT = 600 };
    struct item *items = make_items(COUNT);
    double sum = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        insert(&items[i]);
        struct table_stats stats = {0};
        table_add_stats(&table, &stats);
        cr_assert_eq(stats.items, i + 1);
        if (i >= 200)
            sum += (double)stats.bytes / (i + 1);
    }
    cr_assert_lt(sum / (COUNT - 200), 11.5, "bytes an item over one growing by three");
    drain_all();
    free(items);
}

/* ---- Scanning ---- */

struct seen {
    uint8_t *times;
    uint64_t last_hash;
};

static void see(void *context, uint64_t *cell)
{
    struct seen *seen = context;
    seen->times[((struct item *)table_item(*cell))->number]++;
}

Test(table, scans_each_item_once_when_nothing_changes)
{
    for (uint32_t count = 1; count < 20000; count = count * 5 / 2 + 3) {
        struct item *items = make_items(count);
        struct seen seen = {.times = calloc(count, 1)};
        for (uint32_t i = 0; i < count; i++)
            insert(&items[i]);
        uint64_t from = 0;
        do {
            uint64_t budget = 10;
            uint64_t next = table_scan(&table, from, &budget, see, &seen);
            cr_assert(next == TABLE_SCAN_END || next > from, "a scan must get on");
            from = next;
        } while (from != TABLE_SCAN_END);
        for (uint32_t i = 0; i < count; i++)
            cr_assert_eq(seen.times[i], 1, "item %u of %u", i, count);
        drain_all();
        free(seen.times);
        free(items);
    }
}

Test(table, scans_all_that_stays_while_it_grows_and_shrinks)
{
    enum { STAYING = 500, COUNT = 20000 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct item *items = make_items(COUNT);
        struct seen seen = {.times = calloc(COUNT, 1)};
        bool *present = calloc(COUNT, sizeof *present);
        struct rng rng;
        rng_init(&rng, seed);
        for (uint32_t i = 0; i < STAYING; i++)
            insert(&items[i]);
        uint64_t from = 0;
        bool growing = true;
        do {
            uint64_t budget = 1 + rng_below(&rng, 40);
            from = table_scan(&table, from, &budget, see, &seen);
            if (rng_below(&rng, 8) == 0)
                growing = !growing;
            for (int i = 0; i < 1000; i++) {
                uint32_t number = STAYING + (uint32_t)rng_below(&rng, COUNT - STAYING);
                if (growing && !present[number])
                    insert(&items[number]);
                else if (!growing && present[number])
                    remove_item(&items[number]);
                else
                    continue;
                present[number] = growing;
            }
        } while (from != TABLE_SCAN_END);
        for (uint32_t i = 0; i < STAYING; i++)
            cr_assert(seen.times[i] > 0, "item %u was missed, seed %u", i, (unsigned)seed);
        drain_all();
        free(items);
        free(seen.times);
        free(present);
    }
}

Test(table, visits_each_item_once_by_each)
{
    enum { COUNT = 5000 };
    struct item *items = make_items(COUNT);
    struct seen seen = {.times = calloc(COUNT, 1)};
    for (uint32_t i = 0; i < COUNT; i++)
        insert(&items[i]);
    table_each(&table, see, &seen);
    for (uint32_t i = 0; i < COUNT; i++)
        cr_assert_eq(seen.times[i], 1);
    drain_all();
    free(seen.times);
    free(items);
}

Test(table, drains_in_steps_and_gives_all_memory_back)
{
    enum { COUNT = 10000 };
    struct item *items = make_items(COUNT);
    size_t before = heap_used(heap);
    for (uint32_t i = 0; i < COUNT; i++)
        insert(&items[i]);
    uint32_t count = 0, steps = 0;
    uint64_t budget;
    do {
        budget = 100;
        steps++;
    } while (!table_drain(&table, heap, &budget, count_cell, &count));
    cr_assert_eq(count, COUNT);
    cr_assert_gt(steps, COUNT / 150, "each step kept to its budget");
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), before);
    cr_assert_eq(table.root, 0);
    free(items);
}

Test(table, samples_the_bucket_of_a_hash)
{
    enum { COUNT = 3000 };
    struct item *items = make_items(COUNT);
    for (uint32_t i = 0; i < COUNT; i++)
        insert(&items[i]);
    uint64_t *cells[64];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t len = table_sample(&table, items[i].hash, cells, 64);
        cr_assert_eq(len, table_sample_len(&table, items[i].hash));
        bool found = false;
        for (uint32_t k = 0; k < len; k++)
            found |= table_item(*cells[k]) == &items[i];
        cr_assert(found);
        cr_assert_eq(table_sample(&table, items[i].hash, cells, 1), 1);
    }
    drain_all();
    free(items);
}

Test(table, replaces_items_and_marks_in_place)
{
    struct item a = {2, 77}, b = {2, 77};
    insert(&a);
    uint64_t *cell = find(&a);
    table_replace(cell, &b, true);
    cr_assert_eq(table_item(*find(&a)), &b);
    cr_assert(*cell & TABLE_MARK);
    table_set_mark(cell, false);
    cr_assert_not(*cell & TABLE_MARK);
    cr_assert_eq(table_item(*find(&a)), &b);
    drain_all();
}
