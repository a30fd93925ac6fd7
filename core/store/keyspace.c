/*
 * The tables' heads (16 bytes a slot) stand in 256 groups of 64, each made when the first key of
 * its slots comes and freed with the last: 2 KiB for an empty database, 256 KiB for a full one.
 */
#include "core/store/keyspace.h"

#include <assert.h>

#include "core/base/check.h"

#define GROUP_BYTES (KEYSPACE_GROUP_SLOTS * sizeof(struct table))
#define RANDOM_TRIES 256

static uint64_t hash_of_record(const void *item)
{
    return key_hash(record_name(item));
}

static const struct table_ops record_ops = {.hash = hash_of_record};

struct keyspace *keyspace_create(struct heap *heap)
{
    struct keyspace *keyspace = heap_alloc(heap, sizeof *keyspace);
    memset(keyspace, 0, sizeof *keyspace);
    return keyspace;
}

void keyspace_destroy(struct keyspace *keyspace, struct heap *heap)
{
    if (!keyspace)
        return;
    ASSERT(keyspace->count == 0);
    for (uint32_t i = 0; i < KEYSPACE_GROUPS; i++)
        ASSERT(keyspace->groups[i] == NULL);
    heap_free(heap, keyspace, sizeof *keyspace);
}

/* ---- Changing ---- */

static struct table *get_table(struct keyspace *keyspace, struct heap *heap, uint32_t slot)
{
    struct table **group = &keyspace->groups[slot / KEYSPACE_GROUP_SLOTS];
    if (unlikely(!*group)) {
        *group = heap_alloc(heap, GROUP_BYTES);
        memset(*group, 0, GROUP_BYTES);
    }
    return &(*group)[slot % KEYSPACE_GROUP_SLOTS];
}

void keyspace_insert(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                     struct value *record)
{
    struct table *table = get_table(keyspace, heap, key->slot);
    bool has_ttl = record_has_ttl(record);
    table_insert(table, heap, &record_ops, key->hash, record, has_ttl);
    keyspace->group_counts[key->slot / KEYSPACE_GROUP_SLOTS]++;
    keyspace->count++;
    keyspace->ttl_count += has_ttl;
}

void keyspace_replace(struct keyspace *keyspace, uint64_t *cell, struct value *record)
{
    bool had_ttl = *cell & TABLE_MARK;
    bool has_ttl = record_has_ttl(record);
    keyspace->ttl_count += (uint64_t)has_ttl - (uint64_t)had_ttl;
    table_replace(cell, record, has_ttl);
}

void keyspace_ttl_changed(struct keyspace *keyspace, uint64_t *cell)
{
    keyspace_replace(keyspace, cell, table_item(*cell));
}

struct value *keyspace_remove(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                              uint64_t *cell)
{
    struct value *record = table_item(*cell);
    uint32_t group_index = key->slot / KEYSPACE_GROUP_SLOTS;
    keyspace->ttl_count -= *cell & TABLE_MARK;
    table_remove(keyspace_table(keyspace, key->slot), heap, &record_ops, key->hash, cell);
    keyspace->count--;
    if (unlikely(--keyspace->group_counts[group_index] == 0)) {
        heap_free(heap, keyspace->groups[group_index], GROUP_BYTES);
        keyspace->groups[group_index] = NULL;
    }
    return record;
}

/* ---- Walking ---- */

uint64_t keyspace_scan(const struct keyspace *keyspace, uint64_t from, uint64_t budget,
                       table_visit_fn visit, void *context)
{
    uint32_t slot = from >> 32 < SLOT_COUNT ? (uint32_t)(from >> 32) : SLOT_COUNT;
    uint64_t prefix = from & UINT32_MAX;
    while (slot < SLOT_COUNT) {
        if (!keyspace->groups[slot / KEYSPACE_GROUP_SLOTS]) {
            slot = (slot / KEYSPACE_GROUP_SLOTS + 1) * KEYSPACE_GROUP_SLOTS;
            prefix = 0;
            continue;
        }
        const struct table *table = keyspace_table(keyspace, slot);
        uint64_t hash = prefix << 32;
        while (table->count > 0 && budget > 0) {
            hash = table_scan(table, hash, &budget, visit, context);
            if (hash == TABLE_SCAN_END)
                break;
            /* Buckets of a table with billions of items may be finer than a position: then go on
             * until there is progress. */
            if (budget == 0 && hash >> 32 == prefix)
                budget = 1;
        }
        if (table->count > 0 && hash != TABLE_SCAN_END)
            return (uint64_t)slot << 32 | hash >> 32;
        slot++;
        prefix = 0;
        if (budget == 0)
            break;
    }
    return slot < SLOT_COUNT ? (uint64_t)slot << 32 : KEYSPACE_END;
}

void keyspace_each(const struct keyspace *keyspace, table_visit_fn visit, void *context)
{
    for (uint32_t i = 0; i < KEYSPACE_GROUPS; i++) {
        for (uint32_t k = 0; keyspace->groups[i] && k < KEYSPACE_GROUP_SLOTS; k++)
            table_each(&keyspace->groups[i][k], visit, context);
    }
}

struct table *keyspace_random_table(const struct keyspace *keyspace, struct rng *rng,
                                    uint64_t *out_hash)
{
    uint64_t index = rng_below(rng, keyspace->count);
    uint32_t group = 0;
    while (index >= keyspace->group_counts[group])
        index -= keyspace->group_counts[group++];
    struct table *table = keyspace->groups[group];
    for (; index >= table->count; table++)
        index -= table->count;
    *out_hash = rng_next(rng);
    return table;
}

uint64_t *keyspace_random(const struct keyspace *keyspace, struct rng *rng)
{
    if (keyspace->count == 0)
        return NULL;
    uint64_t *cells[2 * TABLE_STATS_LEN_MAX];
    uint32_t cap = sizeof cells / sizeof cells[0];
    for (int i = 0;; i++) {
        /* A bucket by chance, then one of 16 places in it by chance, whether it is taken or not:
         * items of full buckets would otherwise come up less often than those of sparse ones. */
        uint64_t hash;
        const struct table *table = keyspace_random_table(keyspace, rng, &hash);
        uint32_t len = table_sample(table, hash, cells, cap);
        uint32_t places = i < RANDOM_TRIES && len < TABLE_STATS_LEN_MAX ? TABLE_STATS_LEN_MAX : len;
        uint32_t place = places ? (uint32_t)rng_below(rng, places) : 0;
        if (place < len)
            return cells[place];
    }
}

bool keyspace_drain(struct keyspace *keyspace, struct heap *heap, uint64_t budget,
                    table_visit_fn visit, void *context)
{
    for (; keyspace->drained < SLOT_COUNT; keyspace->drained++) {
        uint32_t slot = keyspace->drained;
        uint32_t group_index = slot / KEYSPACE_GROUP_SLOTS;
        struct table **group = &keyspace->groups[group_index];
        if (!*group)
            continue;
        if (!table_drain(keyspace_table(keyspace, slot), heap, &budget, visit, context))
            return false;
        if (slot % KEYSPACE_GROUP_SLOTS == KEYSPACE_GROUP_SLOTS - 1) {
            heap_free(heap, *group, GROUP_BYTES);
            *group = NULL;
            keyspace->group_counts[group_index] = 0;
        }
    }
    keyspace->drained = 0;
    keyspace->count = keyspace->ttl_count = 0;
    return true;
}

/* ---- Looking at it ---- */

uint32_t keyspace_slot_count(const struct keyspace *keyspace, uint32_t slot)
{
    const struct table *table = keyspace_table(keyspace, slot);
    return table ? table->count : 0;
}

void keyspace_add_stats(const struct keyspace *keyspace, struct table_stats *stats)
{
    for (uint32_t i = 0; i < KEYSPACE_GROUPS; i++) {
        if (!keyspace->groups[i])
            continue;
        stats->bytes += heap_usable(GROUP_BYTES);
        for (uint32_t k = 0; k < KEYSPACE_GROUP_SLOTS; k++)
            table_add_stats(&keyspace->groups[i][k], stats);
    }
}

struct validation {
    uint64_t count, ttl_count;
    uint32_t slot;
};

static void validate_cell(void *context, uint64_t *cell)
{
    struct validation *seen = context;
    const struct value *record = table_item(*cell);
    ASSERT(key_slot(record_name(record)) == seen->slot);
    ASSERT(record_has_ttl(record) == (bool)(*cell & TABLE_MARK));
    seen->count++;
    seen->ttl_count += record_has_ttl(record);
}

void keyspace_validate(const struct keyspace *keyspace)
{
    struct validation seen = {0};
    for (uint32_t i = 0; i < KEYSPACE_GROUPS; i++) {
        uint64_t group_count = 0;
        for (uint32_t k = 0; keyspace->groups[i] && k < KEYSPACE_GROUP_SLOTS; k++) {
            const struct table *table = &keyspace->groups[i][k];
            seen.slot = i * KEYSPACE_GROUP_SLOTS + k;
            table_validate(table, &record_ops);
            table_each(table, validate_cell, &seen);
            group_count += table->count;
        }
        ASSERT(group_count == keyspace->group_counts[i]);
        ASSERT((keyspace->groups[i] != NULL) == (group_count > 0));
    }
    ASSERT(seen.count == keyspace->count);
    ASSERT(seen.ttl_count == keyspace->ttl_count);
}
