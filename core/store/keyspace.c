/*
 * The tables' heads (16 bytes a slot) stand in 256 groups of 64 slots. A group holds the heads of
 * the slots that have keys, close together: a bitmap says which, and counting its bits where. So a
 * few keys cost a few heads, while a full database pays one bit more than an array would; a head is
 * put in or taken out when a slot gets its first key or loses its last.
 */
#include "core/store/keyspace.h"

#include <assert.h>

#include "core/base/check.h"
#include "core/type/hash.h"

#define COMPACT_BATCH 64u
#define PLACES 16u /* in a bucket, for keyspace_random(); hardly any has more items */

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
    ASSERT(keyspace->count == 0 && agenda_count(&keyspace->agenda) == 0);
    if (keyspace->groups)
        heap_free(heap, keyspace->groups, sizeof *keyspace->groups);
    heap_free(heap, keyspace, sizeof *keyspace);
}

/* ---- Groups ---- */

static uint32_t group_len(const struct keyspace_group *group)
{
    return (uint32_t)__builtin_popcountll(group->present);
}

static uint64_t slot_bit(uint32_t slot)
{
    return UINT64_C(1) << slot % KEYSPACE_GROUP_SLOTS;
}

/* Gives the heads a block for `new_len` of them, with a gap before the one at `index` or without
 * it, depending on which way the length changes by one. */
static void group_resize(struct keyspace_group *group, struct heap *heap, uint32_t index,
                         uint32_t old_len, uint32_t new_len)
{
    size_t old_bytes = old_len * sizeof(struct table), new_bytes = new_len * sizeof(struct table);
    struct table *old = group->tables;
    bool grows = new_len > old_len;
    if (new_len && old_len && heap_usable(old_bytes) == heap_usable(new_bytes)) {
        memmove(&old[index + grows], &old[index + !grows],
                (old_len - index - !grows) * sizeof *old);
        return;
    }
    struct table *tables = new_len ? heap_alloc(heap, new_bytes) : NULL;
    if (tables && old) {
        memcpy(tables, old, index * sizeof *old);
        memcpy(&tables[index + grows], &old[index + !grows],
               (old_len - index - !grows) * sizeof *old);
    }
    if (old)
        heap_free(heap, old, old_bytes);
    group->tables = tables;
}

static struct table *add_table(struct keyspace *keyspace, struct heap *heap, uint32_t slot)
{
    if (!keyspace->groups) {
        keyspace->groups = heap_alloc(heap, sizeof *keyspace->groups);
        memset(keyspace->groups, 0, sizeof *keyspace->groups);
    }
    struct keyspace_group *group = &keyspace->groups->groups[slot / KEYSPACE_GROUP_SLOTS];
    uint64_t bit = slot_bit(slot);
    uint32_t index = (uint32_t)__builtin_popcountll(group->present & (bit - 1));
    uint32_t len = group_len(group);
    group_resize(group, heap, index, len, len + 1);
    group->present |= bit;
    group->tables[index] = (struct table){0};
    return &group->tables[index];
}

static void remove_table(struct keyspace *keyspace, struct heap *heap, uint32_t slot)
{
    struct keyspace_group *group = &keyspace->groups->groups[slot / KEYSPACE_GROUP_SLOTS];
    uint64_t bit = slot_bit(slot);
    uint32_t len = group_len(group);
    group_resize(group, heap, (uint32_t)__builtin_popcountll(group->present & (bit - 1)), len,
                 len - 1);
    group->present &= ~bit;
}

/* ---- What is due inside of records ---- */

/* NULL of what is no hash, and of a hash whose fields never had a time. */
static inline struct agenda_item *agenda_item_of(const struct value *record)
{
    if (likely(record_type(record) != TYPE_HASH))
        return NULL;
    return hash_agenda_item(record_pointer(record));
}

void keyspace_schedule(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                       struct value *record)
{
    struct agenda_item *item = agenda_item_of(record);
    if (likely(!item))
        return;
    int64_t first_at_ms = hash_first_expiry_ms(record_pointer(record));
    item->place = (uint64_t)key->slot << 32 | key->hash >> 32;
    if (first_at_ms == HASH_NO_TTL)
        agenda_strike(&keyspace->agenda, heap, item);
    else
        agenda_put(&keyspace->agenda, heap, item, first_at_ms);
}

void keyspace_unschedule(struct keyspace *keyspace, struct heap *heap, struct value *record)
{
    struct agenda_item *item = agenda_item_of(record);
    if (unlikely(item != NULL))
        agenda_strike(&keyspace->agenda, heap, item);
}

static inline bool has_root(const void *item, const void *wanted)
{
    const struct value *record = item;
    return record_type(record) == TYPE_HASH && record_pointer(record) == wanted;
}

struct value *keyspace_first_due(const struct keyspace *keyspace, int64_t now_ms)
{
    struct agenda_item *item = agenda_first(&keyspace->agenda);
    if (!item || item->at_ms >= now_ms)
        return NULL;
    const struct table *table = keyspace_table(keyspace, (uint32_t)(item->place >> 32));
    ASSERT(table);
    uint64_t *cell = table_find(table, item->place << 32, has_root, hash_of_agenda_item(item));
    ASSERT(cell);
    return table_item(*cell);
}

/* ---- Changing ---- */

void keyspace_insert(struct keyspace *keyspace, struct heap *heap, const struct key *key,
                     struct value *record)
{
    struct table *table = keyspace_table(keyspace, key->slot);
    size_t before = heap_live(heap);
    if (unlikely(!table))
        table = add_table(keyspace, heap, key->slot);
    bool has_ttl = record_has_ttl(record);
    table_insert(table, heap, &record_ops, key->hash, record, has_ttl);
    keyspace->table_bytes += heap_live(heap) - before;
    keyspace->groups->counts[key->slot / KEYSPACE_GROUP_SLOTS]++;
    keyspace->count++;
    keyspace->ttl_count += has_ttl;
    keyspace_schedule(keyspace, heap, key, record);
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
    struct table *table = keyspace_table(keyspace, key->slot);
    keyspace_unschedule(keyspace, heap, record);
    keyspace->ttl_count -= (bool)(*cell & TABLE_MARK);
    size_t before = heap_live(heap);
    table_remove(table, heap, &record_ops, key->hash, cell);
    keyspace->count--;
    keyspace->groups->counts[key->slot / KEYSPACE_GROUP_SLOTS]--;
    if (unlikely(table->count == 0))
        remove_table(keyspace, heap, key->slot);
    keyspace->table_bytes += heap_live(heap) - before;
    return record;
}

/* ---- Walking ---- */

/* Scans; with a `heap` compacts the tables on the way. */
static uint64_t scan(const struct keyspace *keyspace, struct heap *heap, uint64_t from,
                     uint64_t budget, table_visit_fn visit, void *context)
{
    uint32_t slot = from >> 32 < SLOT_COUNT ? (uint32_t)(from >> 32) : SLOT_COUNT;
    uint64_t prefix = from & UINT32_MAX;
    if (!keyspace->groups)
        return KEYSPACE_END;
    budget = budget ? budget : 1; /* every step gets on */
    while (slot < SLOT_COUNT && budget > 0) {
        /* On to the next slot of this group that has a table, or to the next group. */
        uint64_t rest = keyspace->groups->groups[slot / KEYSPACE_GROUP_SLOTS].present &
                        ~(slot_bit(slot) - 1);
        uint32_t group_start = slot - slot % KEYSPACE_GROUP_SLOTS;
        uint32_t next = group_start +
                        (rest ? (uint32_t)__builtin_ctzll(rest) : KEYSPACE_GROUP_SLOTS);
        if (next != slot) {
            slot = next;
            prefix = 0;
            continue;
        }
        struct table *table = keyspace_table(keyspace, slot);
        uint64_t hash = heap ? table_compact(table, heap, prefix << 32, &budget, visit, context)
                             : table_scan(table, prefix << 32, &budget, visit, context);
        if (hash != TABLE_SCAN_END)
            return (uint64_t)slot << 32 | hash >> 32;
        slot++;
        prefix = 0;
    }
    return slot < SLOT_COUNT ? (uint64_t)slot << 32 : KEYSPACE_END;
}

uint64_t keyspace_scan(const struct keyspace *keyspace, uint64_t from, uint64_t budget,
                       table_visit_fn visit, void *context)
{
    return scan(keyspace, NULL, from, budget, visit, context);
}

/* Cells whose records have been asked for and are looked at together. */
struct compaction {
    struct heap *heap;
    uint64_t *cells[COMPACT_BATCH];
    uint32_t count;
};

static void compact_batch(struct compaction *compaction)
{
    for (uint32_t i = 0; i < compaction->count; i++) {
        uint64_t *cell = compaction->cells[i];
        struct value *record = table_item(*cell);
        struct value *moved = record_compact(record, compaction->heap);
        if (moved != record)
            table_replace(cell, moved, *cell & TABLE_MARK);
    }
    compaction->count = 0;
}

static void compact_cell(void *context, uint64_t *cell)
{
    struct compaction *compaction = context;
    __builtin_prefetch(table_item(*cell));
    compaction->cells[compaction->count++] = cell;
    if (compaction->count == COMPACT_BATCH)
        compact_batch(compaction);
}

uint64_t keyspace_compact(struct keyspace *keyspace, struct heap *heap, uint64_t from,
                          uint64_t budget)
{
    struct compaction compaction = {.heap = heap};
    uint64_t position = scan(keyspace, heap, from, budget, compact_cell, &compaction);
    compact_batch(&compaction);
    return position;
}

void keyspace_each(const struct keyspace *keyspace, table_visit_fn visit, void *context)
{
    for (uint32_t i = 0; keyspace->groups && i < KEYSPACE_GROUPS; i++) {
        const struct keyspace_group *group = &keyspace->groups->groups[i];
        for (uint32_t k = 0; k < group_len(group); k++)
            table_each(&group->tables[k], visit, context);
    }
}

struct table *keyspace_random_table(const struct keyspace *keyspace, struct rng *rng,
                                    uint64_t *out_hash)
{
    uint64_t index = rng_below(rng, keyspace->count);
    uint32_t group = 0;
    while (index >= keyspace->groups->counts[group])
        index -= keyspace->groups->counts[group++];
    struct table *table = keyspace->groups->groups[group].tables;
    for (; index >= table->count; table++)
        index -= table->count;
    *out_hash = rng_next(rng);
    return table;
}

uint64_t *keyspace_random(const struct keyspace *keyspace, struct rng *rng)
{
    if (keyspace->count == 0)
        return NULL;
    uint64_t hash, *cells[2 * PLACES];
    const struct table *table = keyspace_random_table(keyspace, rng, &hash);
    for (;; hash = rng_next(rng)) {
        /* A bucket by chance, then one of 16 places in it by chance, whether it is taken or not:
         * items of full buckets would otherwise come up less often than those of sparse ones. */
        uint32_t len = table_sample(table, hash, cells, 2 * PLACES);
        uint64_t place = rng_below(rng, len > PLACES ? len : PLACES);
        if (place < len)
            return cells[place];
    }
}

bool keyspace_drain(struct keyspace *keyspace, struct heap *heap, uint64_t budget,
                    table_visit_fn visit, void *context)
{
    /* First, since its items are parts of the values. */
    if (!agenda_drain(&keyspace->agenda, heap, budget))
        return false;
    while (keyspace->groups && keyspace->drained < KEYSPACE_GROUPS) {
        struct keyspace_group *group = &keyspace->groups->groups[keyspace->drained];
        uint32_t len = group_len(group);
        if (len == 0) {
            keyspace->groups->counts[keyspace->drained++] = 0;
            continue;
        }
        if (budget == 0 || !table_drain(&group->tables[len - 1], heap, &budget, visit, context))
            return false;
        /* The last slot's head goes with its table. */
        group_resize(group, heap, len - 1, len, len - 1);
        group->present &= ~(UINT64_C(1) << (63 - __builtin_clzll(group->present)));
    }
    keyspace->drained = 0;
    keyspace->count = keyspace->ttl_count = 0;
    keyspace->table_bytes = keyspace->groups ? heap_usable(sizeof *keyspace->groups) : 0;
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
    if (!keyspace->groups)
        return;
    stats->bytes += heap_usable(sizeof *keyspace->groups);
    for (uint32_t i = 0; i < KEYSPACE_GROUPS; i++) {
        const struct keyspace_group *group = &keyspace->groups->groups[i];
        uint32_t len = group_len(group);
        stats->bytes += len ? heap_usable(len * sizeof(struct table)) : 0;
        for (uint32_t k = 0; k < len; k++)
            table_add_stats(&group->tables[k], stats);
    }
}

struct validation {
    uint64_t count, ttl_count, scheduled_count;
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
    const struct agenda_item *item = agenda_item_of(record);
    bool is_scheduled = item && item->at_ms != AGENDA_NOWHERE;
    seen->scheduled_count += is_scheduled;
    if (is_scheduled)
        ASSERT(item->at_ms == hash_first_expiry_ms(record_pointer(record)));
    else
        ASSERT(!item || hash_ttl_count(record_pointer(record)) == 0);
}

void keyspace_validate(const struct keyspace *keyspace)
{
    struct validation seen = {0};
    for (uint32_t slot = 0; keyspace->groups && slot < SLOT_COUNT; slot++) {
        const struct table *table = keyspace_table(keyspace, slot);
        if (!table)
            continue;
        ASSERT(table->count > 0);
        seen.slot = slot;
        table_validate(table, &record_ops);
        table_each(table, validate_cell, &seen);
    }
    for (uint32_t i = 0; keyspace->groups && i < KEYSPACE_GROUPS; i++) {
        const struct keyspace_group *group = &keyspace->groups->groups[i];
        uint64_t group_count = 0;
        for (uint32_t k = 0; k < group_len(group); k++)
            group_count += group->tables[k].count;
        ASSERT(group_count == keyspace->groups->counts[i]);
        ASSERT((group->tables != NULL) == (group->present != 0));
    }
    struct table_stats stats = {0};
    keyspace_add_stats(keyspace, &stats);
    ASSERT(stats.bytes == keyspace->table_bytes);
    ASSERT(seen.count == keyspace->count);
    ASSERT(seen.ttl_count == keyspace->ttl_count);
    ASSERT(seen.scheduled_count == agenda_count(&keyspace->agenda));
    agenda_validate(&keyspace->agenda);
}
