/*
 * An item is one block:
 *
 *     u8 length of the field   u8 length of the value   field   value   [time]
 *     0xff                     0      u64 length of the field   u64 of the value   field  value ...
 *
 * The time of death, 6 bytes, is there when the mark of the item's cell says so. It stands at the
 * end so that field and value are found without looking at the mark. What is replaced by
 * something of the same size class stays in its block.
 *
 * There is no order of times. A round over the table deletes what is due and finds the earliest of
 * the times that remain; until one is over, the earliest is a bound from below: what is set later
 * lowers it, what is deleted does not raise it. So a time costs its 6 bytes and nothing else, and a
 * round is only begun when something may be due.
 */
#include "core/type/hash_large.h"

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/ds/number_set.h"

#define SHORT_MAX 254u /* bytes of a field and of a value whose lengths are a byte each */
#define LONG_ITEM 0xff
#define SHORT_HEADER_LEN 2u
#define LONG_HEADER_LEN 18u
#define TIME_LEN 6u
#define CURSOR_SHIFT 32 /* the bits of a hash that order a table, as a cursor */

#define BUCKET_PLACES 16u /* hardly a bucket has more items */
#define STEP_MAX 64u      /* fields that a step of a round looks at, before it deletes, */
#define DUE_MAX 128u      /* or some more: it ends with a whole bucket */

struct item {
    uint8_t field_len; /* or LONG_ITEM */
    uint8_t value_len;
    char body[];
};

/* ---- Items --------------------------------------------------------------------------------- */

static struct hash_pair item_pair(const struct item *item)
{
    if (likely(item->field_len != LONG_ITEM))
        return (struct hash_pair){.field = bytes_of(item->body, item->field_len),
                                  .value = bytes_of(item->body + item->field_len, item->value_len),
                                  .expire_at_ms = HASH_NO_TTL};
    uint64_t lens[2];
    memcpy(lens, item->body, sizeof lens);
    const char *field = item->body + sizeof lens;
    return (struct hash_pair){.field = bytes_of(field, lens[0]),
                              .value = bytes_of(field + lens[0], lens[1]),
                              .expire_at_ms = HASH_NO_TTL};
}

struct hash_pair hash_large_pair(uint64_t cell)
{
    struct hash_pair pair = item_pair(table_item(cell));
    if (unlikely(cell & TABLE_MARK)) {
        pair.expire_at_ms = 0; /* little-endian, as all that this program runs on */
        memcpy(&pair.expire_at_ms, pair.value.ptr + pair.value.len, TIME_LEN);
    }
    return pair;
}

static bool pair_is_short(struct hash_pair pair)
{
    return pair.field.len <= SHORT_MAX && pair.value.len <= SHORT_MAX;
}

static size_t pair_bytes(struct hash_pair pair)
{
    size_t header_len = pair_is_short(pair) ? SHORT_HEADER_LEN : LONG_HEADER_LEN;
    size_t time_len = pair.expire_at_ms == HASH_NO_TTL ? 0 : TIME_LEN;
    return header_len + pair.field.len + pair.value.len + time_len;
}

static void copy_bytes(char *to, struct bytes from)
{
    if (from.len && to != from.ptr)
        memcpy(to, from.ptr, from.len);
}

/* Field and value may already be where they go. */
static void write_item(struct item *item, struct hash_pair pair)
{
    char *to = item->body;
    if (pair_is_short(pair)) {
        item->field_len = (uint8_t)pair.field.len;
        item->value_len = (uint8_t)pair.value.len;
    } else {
        uint64_t lens[2] = {pair.field.len, pair.value.len};
        item->field_len = LONG_ITEM;
        item->value_len = 0;
        memcpy(to, lens, sizeof lens);
        to += sizeof lens;
    }
    copy_bytes(to, pair.field);
    to += pair.field.len;
    copy_bytes(to, pair.value);
    if (pair.expire_at_ms != HASH_NO_TTL)
        memcpy(to + pair.value.len, &pair.expire_at_ms, TIME_LEN);
}

static uint64_t hash_of_item(const void *item)
{
    return fingerprint(item_pair(item).field);
}

static const struct table_ops item_ops = {.hash = hash_of_item};

static inline bool item_has_field(const void *item, const void *wanted)
{
    return bytes_equal(item_pair(item).field, *(const struct bytes *)wanted);
}

static uint64_t *find_item(const struct hash_large *large, uint64_t field_hash, struct bytes field)
{
    return table_find(&large->table, field_hash, item_has_field, &field);
}

uint64_t *hash_large_find(const struct hash_large *large, struct bytes field)
{
    return find_item(large, fingerprint(field), field);
}

/* ---- Times --------------------------------------------------------------------------------- */

/* A time is only ever given to a field of a timed table. */
static struct hash_timed *timed_of(struct hash_large *large)
{
    return (struct hash_timed *)large;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Keeps account of a field's time that has become another. */
static void time_changed(struct hash_large *large, int64_t old_at_ms, int64_t at_ms)
{
    if (likely(old_at_ms == HASH_NO_TTL && at_ms == HASH_NO_TTL))
        return;
    struct hash_timed *timed = timed_of(large);
    timed->ttl_count += (uint64_t)(at_ms != HASH_NO_TTL) - (uint64_t)(old_at_ms != HASH_NO_TTL);
    if (at_ms != HASH_NO_TTL) {
        timed->first_at_ms = earlier(timed->first_at_ms, at_ms);
        timed->round_first_at_ms = earlier(timed->round_first_at_ms, at_ms);
    } else if (timed->ttl_count == 0) {
        timed->first_at_ms = INT64_MAX;
        timed->position = 0;
    }
}

/* ---- Changing ------------------------------------------------------------------------------ */

struct hash_large *hash_large_create(struct heap *heap, bool is_timed)
{
    size_t bytes = is_timed ? sizeof(struct hash_timed) : sizeof(struct hash_large);
    struct hash_large *large = heap_alloc(heap, bytes);
    *large = (struct hash_large){0};
    if (is_timed)
        *timed_of(large) = (struct hash_timed){.first_at_ms = INT64_MAX};
    return large;
}

struct hash_timed *hash_large_widen(struct hash_large *large, struct heap *heap)
{
    struct hash_large *wide = hash_large_create(heap, true);
    *wide = *large;
    heap_free(heap, large, sizeof *large);
    return timed_of(wide);
}

static void add_item(struct hash_large *large, struct heap *heap, uint64_t field_hash,
                     struct hash_pair pair)
{
    size_t bytes = pair_bytes(pair);
    struct item *item = heap_alloc(heap, bytes);
    write_item(item, pair);
    large->item_bytes += heap_usable(bytes);
    table_insert(&large->table, heap, &item_ops, field_hash, item,
                 pair.expire_at_ms != HASH_NO_TTL);
    time_changed(large, HASH_NO_TTL, pair.expire_at_ms);
}

void hash_large_add(struct hash_large *large, struct heap *heap, struct hash_pair pair)
{
    add_item(large, heap, fingerprint(pair.field), pair);
}

/* Frees an item that has been, or is, out of the table. */
static void free_item(struct hash_large *large, struct heap *heap, struct item *item, size_t bytes)
{
    large->item_bytes -= heap_usable(bytes);
    heap_free(heap, item, bytes);
}

/* Makes the item in `cell` one with this pair, of the same field; field and value may be its own.
 */
static void replace_item(struct hash_large *large, struct heap *heap, uint64_t *cell,
                         struct hash_pair pair)
{
    struct item *item = table_item(*cell);
    struct hash_pair old = hash_large_pair(*cell);
    size_t old_bytes = pair_bytes(old), new_bytes = pair_bytes(pair);
    bool has_time = pair.expire_at_ms != HASH_NO_TTL;
    if (pair_is_short(old) == pair_is_short(pair) &&
        heap_usable(old_bytes) == heap_usable(new_bytes)) {
        write_item(item, pair);
        table_set_mark(cell, has_time);
    } else {
        struct item *moved = heap_alloc(heap, new_bytes);
        write_item(moved, pair);
        large->item_bytes += heap_usable(new_bytes);
        table_replace(cell, moved, has_time);
        free_item(large, heap, item, old_bytes);
    }
    time_changed(large, old.expire_at_ms, pair.expire_at_ms);
}

bool hash_large_put(struct hash_large *large, struct heap *heap, struct hash_pair pair)
{
    uint64_t field_hash = fingerprint(pair.field);
    uint64_t *cell = find_item(large, field_hash, pair.field);
    if (!cell) {
        if (pair.expire_at_ms == HASH_KEEP_TTL)
            pair.expire_at_ms = HASH_NO_TTL;
        add_item(large, heap, field_hash, pair);
        return true;
    }
    struct hash_pair old = hash_large_pair(*cell);
    pair.field = old.field;
    if (pair.expire_at_ms == HASH_KEEP_TTL)
        pair.expire_at_ms = old.expire_at_ms;
    replace_item(large, heap, cell, pair);
    return false;
}

void hash_large_set_ttl(struct hash_timed *timed, struct heap *heap, uint64_t *cell,
                        int64_t expire_at_ms)
{
    struct hash_pair pair = hash_large_pair(*cell);
    pair.expire_at_ms = expire_at_ms;
    replace_item(&timed->large, heap, cell, pair);
}

static void delete_cell(struct hash_large *large, struct heap *heap, uint64_t field_hash,
                        uint64_t *cell)
{
    struct item *item = table_item(*cell);
    struct hash_pair pair = hash_large_pair(*cell);
    size_t bytes = pair_bytes(pair);
    table_remove(&large->table, heap, &item_ops, field_hash, cell);
    time_changed(large, pair.expire_at_ms, HASH_NO_TTL);
    free_item(large, heap, item, bytes);
}

bool hash_large_delete(struct hash_large *large, struct heap *heap, struct bytes field)
{
    uint64_t field_hash = fingerprint(field);
    uint64_t *cell = find_item(large, field_hash, field);
    if (cell)
        delete_cell(large, heap, field_hash, cell);
    return cell != NULL;
}

/* ---- The round ----------------------------------------------------------------------------- */

struct due {
    int64_t now_ms, first_at_ms; /* the earliest time of what stays */
    uint32_t count;
    struct item *items[DUE_MAX];
};

static void collect_due(void *context, uint64_t *cell)
{
    struct due *due = context;
    if (!(*cell & TABLE_MARK))
        return;
    int64_t at_ms = hash_large_pair(*cell).expire_at_ms;
    if (at_ms < due->now_ms && due->count < DUE_MAX)
        due->items[due->count++] = table_item(*cell);
    else
        due->first_at_ms = earlier(due->first_at_ms, at_ms);
}

/* Goes on for `budget` fields, at most STEP_MAX. True when the round is over. */
static bool step(struct hash_timed *timed, struct heap *heap, int64_t now_ms, uint64_t budget,
                 struct hash_notice *io_notice, uint64_t *io_count)
{
    struct due due = {.now_ms = now_ms, .first_at_ms = INT64_MAX};
    uint64_t next = table_scan(&timed->large.table, timed->position, &budget, collect_due, &due);
    if (due.count > 0 && io_notice->before_change) {
        io_notice->before_change(io_notice->context);
        io_notice->before_change = NULL; /* once is enough */
    }
    if (timed->position == 0)
        timed->round_first_at_ms = INT64_MAX;
    timed->round_first_at_ms = earlier(timed->round_first_at_ms, due.first_at_ms);
    for (uint32_t i = 0; i < due.count; i++)
        (void)hash_large_delete(&timed->large, heap, item_pair(due.items[i]).field);
    *io_count += due.count;
    timed->position = timed->ttl_count ? next : TABLE_SCAN_END;
    if (timed->position != TABLE_SCAN_END)
        return false;
    timed->first_at_ms = timed->ttl_count ? timed->round_first_at_ms : INT64_MAX;
    return true;
}

bool hash_large_expire_some(struct hash_timed *timed, struct heap *heap, int64_t now_ms,
                            uint64_t budget, struct hash_notice notice, uint64_t *out_count)
{
    *out_count = 0;
    if (timed->ttl_count == 0 || (timed->position == 0 && timed->first_at_ms >= now_ms))
        return true;
    for (;;) {
        uint64_t share = budget < STEP_MAX ? budget : STEP_MAX;
        if (step(timed, heap, now_ms, share, &notice, out_count))
            return true;
        budget -= share;
        if (budget == 0)
            return false;
    }
}

/* ---- Walks --------------------------------------------------------------------------------- */

struct visitor {
    hash_visit_fn visit;
    void *context;
};

static void visit_cell(void *context, uint64_t *cell)
{
    struct visitor *visitor = context;
    visitor->visit(visitor->context, hash_large_pair(*cell));
}

void hash_large_each(const struct hash_large *large, hash_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    table_each(&large->table, visit_cell, &visitor);
}

uint64_t hash_large_scan(const struct hash_large *large, uint64_t cursor, uint64_t count,
                         hash_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    uint64_t next = table_scan(&large->table, cursor << CURSOR_SHIFT, &count, visit_cell, &visitor);
    return next >> CURSOR_SHIFT;
}

/* ---- By chance ----------------------------------------------------------------------------- */

/* A bucket by chance, then one of BUCKET_PLACES in it, whether it is taken or not: items of full
 * buckets would otherwise come up less often than those of sparse ones. */
uint64_t hash_large_random(const struct hash_large *large, struct rng *rng)
{
    uint64_t *cells[2 * BUCKET_PLACES];
    for (;;) {
        uint32_t len = table_sample(&large->table, rng_next(rng), cells, 2 * BUCKET_PLACES);
        uint64_t place = rng_below(rng, len > BUCKET_PLACES ? len : BUCKET_PLACES);
        if (place < len)
            return *cells[place];
    }
}

void hash_large_sample(const struct hash_large *large, struct rng *rng, uint64_t count,
                       struct arena *arena, hash_visit_fn visit, void *context)
{
    struct number_set drawn = number_set_create(arena, count);
    while (count > 0) {
        uint64_t cell = hash_large_random(large, rng);
        if (!number_set_add(&drawn, (uintptr_t)table_item(cell)))
            continue;
        visit(context, hash_large_pair(cell));
        count--;
    }
}

/* ---- As a whole ---------------------------------------------------------------------------- */

/* What a walk over all items works on. */
struct work {
    struct hash_large *large;
    struct heap *heap;
};

static void add_visited(void *context, struct hash_pair pair)
{
    struct work *work = context;
    hash_large_add(work->large, work->heap, pair);
}

struct hash_large *hash_large_copy(const struct hash_large *large, struct heap *heap, bool is_timed)
{
    struct work work = {.large = hash_large_create(heap, is_timed), .heap = heap};
    hash_large_each(large, add_visited, &work);
    return work.large;
}

static void free_visited(void *context, uint64_t *cell)
{
    struct work *work = context;
    free_item(work->large, work->heap, table_item(*cell), pair_bytes(hash_large_pair(*cell)));
}

bool hash_large_free_some(struct hash_large *large, struct heap *heap, bool is_timed,
                          uint64_t *io_budget)
{
    struct work work = {.large = large, .heap = heap};
    if (!table_drain(&large->table, heap, io_budget, free_visited, &work))
        return false;
    heap_free(heap, large, is_timed ? sizeof(struct hash_timed) : sizeof(struct hash_large));
    return true;
}

size_t hash_large_bytes(const struct hash_large *large, bool is_timed)
{
    struct table_stats stats = {0};
    table_add_stats(&large->table, &stats);
    size_t own = is_timed ? sizeof(struct hash_timed) : sizeof(struct hash_large);
    return heap_usable(own) + stats.bytes + large->item_bytes;
}

/* ---- For tests ----------------------------------------------------------------------------- */

struct audit {
    uint64_t item_bytes, ttl_count;
    int64_t first_at_ms;
};

static void audit_pair(void *context, struct hash_pair pair)
{
    struct audit *audit = context;
    audit->item_bytes += heap_usable(pair_bytes(pair));
    if (pair.expire_at_ms == HASH_NO_TTL)
        return;
    audit->ttl_count++;
    audit->first_at_ms = earlier(audit->first_at_ms, pair.expire_at_ms);
}

void hash_large_validate(const struct hash_large *large, bool is_timed)
{
    struct audit audit = {.first_at_ms = INT64_MAX};
    hash_large_each(large, audit_pair, &audit);
    table_validate(&large->table, &item_ops);
    ASSERT(audit.item_bytes == large->item_bytes);
    ASSERT(is_timed || audit.ttl_count == 0);
    if (is_timed) {
        const struct hash_timed *timed = (const struct hash_timed *)large;
        ASSERT(audit.ttl_count == timed->ttl_count);
        ASSERT(audit.first_at_ms >= timed->first_at_ms);
        ASSERT(timed->ttl_count > 0 || timed->position == 0);
    }
}
