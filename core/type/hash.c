/*
 * A `struct hash *` is the address of a pack, or of a `struct fields` with IS_TABLE set. A small
 * hash so takes nothing beside its pack.
 *
 * An item of a table is one block:
 *
 *     u8 length of the field   u8 length of the value   field   value
 *     0xff                     0      u64 length of the field   u64 of the value   field   value
 *
 * A value that is replaced by one of the same size class stays in its block.
 */
#include "core/type/hash.h"

#include "core/base/arena.h"
#include "core/base/bits.h"
#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/ds/table.h"

#define IS_TABLE ((uintptr_t)1)
#define SHORT_MAX 254u /* bytes of a field and of a value whose lengths are a byte each */
#define LONG_ITEM 0xff
#define SHORT_HEADER_LEN 2u
#define LONG_HEADER_LEN 18u
#define CURSOR_SHIFT 32 /* the bits of a hash that order a table, as a cursor */

/* A sample of less than one in so many is drawn field by field, others in one pass over all. */
#define SAMPLE_FEW 4u

#define BUCKET_PLACES 16u /* hardly a bucket has more items */

struct fields {
    struct table table;
    uint64_t item_bytes; /* of all items, as the heap counts them */
};

struct item {
    uint8_t field_len; /* or LONG_ITEM */
    uint8_t value_len;
    char body[];
};

static bool is_table(const struct hash *hash)
{
    return (uintptr_t)hash & IS_TABLE;
}

static struct fields *fields_of(const struct hash *hash)
{
    return (struct fields *)((uintptr_t)hash & ~IS_TABLE);
}

static struct pack *pack_of(const struct hash *hash)
{
    return (struct pack *)(uintptr_t)hash;
}

static struct hash *of_pack(struct pack *pack)
{
    return (struct hash *)pack;
}

static struct hash *of_fields(struct fields *fields)
{
    return (struct hash *)((uintptr_t)fields | IS_TABLE);
}

/* ---- Items --------------------------------------------------------------------------------- */

static struct hash_pair item_pair(const struct item *item)
{
    if (likely(item->field_len != LONG_ITEM))
        return (struct hash_pair){.field = bytes_of(item->body, item->field_len),
                                  .value = bytes_of(item->body + item->field_len, item->value_len)};
    uint64_t lens[2];
    memcpy(lens, item->body, sizeof lens);
    const char *field = item->body + sizeof lens;
    return (struct hash_pair){.field = bytes_of(field, lens[0]),
                              .value = bytes_of(field + lens[0], lens[1])};
}

static bool pair_is_short(struct hash_pair pair)
{
    return pair.field.len <= SHORT_MAX && pair.value.len <= SHORT_MAX;
}

static size_t pair_bytes(struct hash_pair pair)
{
    size_t header_len = pair_is_short(pair) ? SHORT_HEADER_LEN : LONG_HEADER_LEN;
    return header_len + pair.field.len + pair.value.len;
}

static size_t item_bytes(const struct item *item)
{
    return pair_bytes(item_pair(item));
}

static void copy_bytes(char *to, struct bytes from)
{
    if (from.len)
        memcpy(to, from.ptr, from.len);
}

/* The field may already be where it goes. */
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
    if (to != pair.field.ptr)
        copy_bytes(to, pair.field);
    copy_bytes(to + pair.field.len, pair.value);
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

static uint64_t *find_item(const struct fields *fields, uint64_t field_hash, struct bytes field)
{
    return table_find(&fields->table, field_hash, item_has_field, &field);
}

/* Adds a pair whose field is not there yet. */
static void add_item(struct fields *fields, struct heap *heap, uint64_t field_hash,
                     struct hash_pair pair)
{
    size_t bytes = pair_bytes(pair);
    struct item *item = heap_alloc(heap, bytes);
    write_item(item, pair);
    fields->item_bytes += heap_usable(bytes);
    table_insert(&fields->table, heap, &item_ops, field_hash, item, false);
}

static void free_item(struct fields *fields, struct heap *heap, struct item *item)
{
    size_t bytes = item_bytes(item);
    fields->item_bytes -= heap_usable(bytes);
    heap_free(heap, item, bytes);
}

static void replace_value(struct fields *fields, struct heap *heap, uint64_t *cell,
                          struct bytes value)
{
    struct item *item = table_item(*cell);
    struct hash_pair pair = item_pair(item);
    bool was_short = pair_is_short(pair);
    size_t old_bytes = pair_bytes(pair);
    pair.value = value;
    size_t new_bytes = pair_bytes(pair);
    if (was_short == pair_is_short(pair) && heap_usable(old_bytes) == heap_usable(new_bytes)) {
        write_item(item, pair);
        return;
    }
    struct item *moved = heap_alloc(heap, new_bytes);
    write_item(moved, pair);
    fields->item_bytes += heap_usable(new_bytes);
    table_replace(cell, moved, false);
    free_item(fields, heap, item);
}

/* ---- From pack to table -------------------------------------------------------------------- */

/* The pair whose field is at `at`; its value is at `*out_value_at`. */
static struct hash_pair pack_pair(const struct pack *pack, uint32_t at, uint32_t *out_value_at,
                                  struct hash_scratch *scratch)
{
    *out_value_at = pack_next(pack, at);
    return (struct hash_pair){.field = pack_view(pack, at, scratch->field),
                              .value = pack_view(pack, *out_value_at, scratch->value)};
}

static void pack_each(const struct pack *pack, hash_visit_fn visit, void *context)
{
    struct hash_scratch scratch;
    uint32_t value_at;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, value_at))
        visit(context, pack_pair(pack, at, &value_at, &scratch));
}

static struct fields *create_fields(struct heap *heap)
{
    struct fields *fields = heap_alloc(heap, sizeof *fields);
    *fields = (struct fields){0};
    return fields;
}

/* Where pairs go that are being copied. */
struct target {
    struct fields *fields;
    struct heap *heap;
};

static void add_visited(void *context, struct hash_pair pair)
{
    struct target *target = context;
    add_item(target->fields, target->heap, fingerprint(pair.field), pair);
}

static void become_table(struct hash **hash, struct heap *heap)
{
    struct pack *pack = pack_of(*hash);
    struct target target = {.fields = create_fields(heap), .heap = heap};
    pack_each(pack, add_visited, &target);
    pack_destroy(pack, heap);
    *hash = of_fields(target.fields);
}

void hash_expect(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
                 const struct bytes *words, size_t word_count)
{
    if (is_table(*hash))
        return;
    bool fits = word_count / 2 <= limits->field_count;
    size_t total_len = 0;
    for (size_t i = 0; fits && i < word_count; i++) {
        fits = words[i].len <= limits->text_len;
        total_len += words[i].len + PACK_ENTRY_EXTRA_MAX;
    }
    if (!fits || !pack_has_room(pack_of(*hash), total_len))
        become_table(hash, heap);
}

/* ---- Reading ------------------------------------------------------------------------------- */

size_t hash_count(const struct hash *hash)
{
    return is_table(hash) ? fields_of(hash)->table.count : pack_count(pack_of(hash)) / 2;
}

static uint32_t find_in_pack(const struct pack *pack, struct bytes field)
{
    return pack_find(pack, pack_first(pack), field, 1);
}

bool hash_find(const struct hash *hash, struct bytes field, char scratch[PACK_SCRATCH],
               struct bytes *out_value)
{
    if (is_table(hash)) {
        uint64_t *cell = find_item(fields_of(hash), fingerprint(field), field);
        if (!cell)
            return false;
        *out_value = item_pair(table_item(*cell)).value;
        return true;
    }
    const struct pack *pack = pack_of(hash);
    uint32_t at = find_in_pack(pack, field);
    if (at == PACK_NONE)
        return false;
    *out_value = pack_view(pack, pack_next(pack, at), scratch);
    return true;
}

bool hash_has(const struct hash *hash, struct bytes field)
{
    if (is_table(hash))
        return find_item(fields_of(hash), fingerprint(field), field) != NULL;
    return find_in_pack(pack_of(hash), field) != PACK_NONE;
}

struct visitor {
    hash_visit_fn visit;
    void *context;
};

static void visit_cell(void *context, uint64_t *cell)
{
    struct visitor *visitor = context;
    visitor->visit(visitor->context, item_pair(table_item(*cell)));
}

void hash_each(const struct hash *hash, hash_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    if (is_table(hash))
        table_each(&fields_of(hash)->table, visit_cell, &visitor);
    else
        pack_each(pack_of(hash), visit, context);
}

uint64_t hash_scan(const struct hash *hash, uint64_t cursor, uint64_t count, hash_visit_fn visit,
                   void *context)
{
    struct visitor visitor = {visit, context};
    if (!is_table(hash)) {
        pack_each(pack_of(hash), visit, context);
        return 0;
    }
    uint64_t next = table_scan(&fields_of(hash)->table, cursor << CURSOR_SHIFT, &count, visit_cell,
                               &visitor);
    return next >> CURSOR_SHIFT;
}

/* ---- By chance ----------------------------------------------------------------------------- */

/* A bucket by chance, then one of BUCKET_PLACES in it, whether it is taken or not: items of full
 * buckets would otherwise come up less often than those of sparse ones. */
static struct item *random_item(const struct fields *fields, struct rng *rng)
{
    uint64_t *cells[2 * BUCKET_PLACES];
    for (;;) {
        uint32_t len = table_sample(&fields->table, rng_next(rng), cells, 2 * BUCKET_PLACES);
        uint64_t place = rng_below(rng, len > BUCKET_PLACES ? len : BUCKET_PLACES);
        if (place < len)
            return table_item(*cells[place]);
    }
}

struct hash_pair hash_random(const struct hash *hash, struct rng *rng, struct hash_scratch *scratch)
{
    if (is_table(hash))
        return item_pair(random_item(fields_of(hash), rng));
    const struct pack *pack = pack_of(hash);
    uint64_t index = rng_below(rng, hash_count(hash));
    uint32_t value_at;
    return pack_pair(pack, pack_seek(pack, 2 * (int64_t)index), &value_at, scratch);
}

/* Of the fields that pass by, each is taken with the chance that makes `wanted` of all. */
struct lottery {
    struct visitor visitor;
    struct rng *rng;
    uint64_t wanted, left; /* still to be taken, still to pass by */
};

static void draw_visited(void *context, struct hash_pair pair)
{
    struct lottery *lottery = context;
    bool is_taken = rng_below(lottery->rng, lottery->left--) < lottery->wanted;
    if (!is_taken)
        return;
    lottery->wanted--;
    lottery->visitor.visit(lottery->visitor.context, pair);
}

/* The items that were drawn before, by open addressing; at most half full. */
struct drawn {
    const struct item **slots;
    uint64_t mask;
};

static bool drawn_add(struct drawn *drawn, const struct item *item)
{
    uint64_t index = ((uintptr_t)item * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    for (;; index++) {
        const struct item **slot = &drawn->slots[index & drawn->mask];
        if (*slot == item)
            return false;
        if (!*slot) {
            *slot = item;
            return true;
        }
    }
}

static void sample_few(const struct fields *fields, struct rng *rng, uint64_t count,
                       struct arena *arena, struct visitor visitor)
{
    uint64_t slot_count = bits_power_of_two_from(2 * count);
    struct drawn drawn = {.slots = arena_zalloc(arena, slot_count * sizeof(struct item *)),
                          .mask = slot_count - 1};
    while (count > 0) {
        const struct item *item = random_item(fields, rng);
        if (!drawn_add(&drawn, item))
            continue;
        visitor.visit(visitor.context, item_pair(item));
        count--;
    }
}

void hash_sample(const struct hash *hash, struct rng *rng, uint64_t count, struct arena *arena,
                 hash_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    uint64_t total = hash_count(hash);
    ASSERT(count <= total);
    if (is_table(hash) && count < total / SAMPLE_FEW) {
        sample_few(fields_of(hash), rng, count, arena, visitor);
        return;
    }
    struct lottery lottery = {.visitor = visitor, .rng = rng, .wanted = count, .left = total};
    hash_each(hash, draw_visited, &lottery);
}

/* ---- Changing ------------------------------------------------------------------------------ */

struct hash *hash_create(struct heap *heap)
{
    return of_pack(pack_create(heap));
}

static bool put_in_table(struct fields *fields, struct heap *heap, struct hash_pair pair)
{
    uint64_t field_hash = fingerprint(pair.field);
    uint64_t *cell = find_item(fields, field_hash, pair.field);
    if (cell)
        replace_value(fields, heap, cell, pair.value);
    else
        add_item(fields, heap, field_hash, pair);
    return !cell;
}

static bool put_in_pack(struct pack **pack, struct heap *heap, struct hash_pair pair)
{
    uint32_t at = find_in_pack(*pack, pair.field);
    if (at == PACK_NONE)
        (void)pack_insert_pair(pack, heap, PACK_NONE, pair.field, pair.value);
    else
        pack_replace(pack, heap, pack_next(*pack, at), pair.value);
    return at == PACK_NONE;
}

bool hash_put(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
              struct bytes field, struct bytes value)
{
    const struct bytes words[2] = {field, value};
    hash_expect(hash, heap, limits, words, 2);
    struct hash_pair pair = {.field = field, .value = value};
    if (is_table(*hash))
        return put_in_table(fields_of(*hash), heap, pair);
    struct pack *pack = pack_of(*hash);
    bool is_new = put_in_pack(&pack, heap, pair);
    *hash = of_pack(pack);
    if (hash_count(*hash) > limits->field_count)
        become_table(hash, heap);
    return is_new;
}

static bool delete_from_table(struct fields *fields, struct heap *heap, struct bytes field)
{
    uint64_t field_hash = fingerprint(field);
    uint64_t *cell = find_item(fields, field_hash, field);
    if (!cell)
        return false;
    struct item *item = table_item(*cell);
    table_remove(&fields->table, heap, &item_ops, field_hash, cell);
    free_item(fields, heap, item);
    return true;
}

bool hash_delete(struct hash **hash, struct heap *heap, struct bytes field)
{
    if (is_table(*hash))
        return delete_from_table(fields_of(*hash), heap, field);
    struct pack *pack = pack_of(*hash);
    uint32_t at = find_in_pack(pack, field);
    if (at == PACK_NONE)
        return false;
    (void)pack_delete(&pack, heap, at, 2);
    *hash = of_pack(pack);
    return true;
}

/* ---- As a compound value ------------------------------------------------------------------- */

static const char *root_encoding(const void *root)
{
    return is_table(root) ? "hashtable" : "listpack";
}

static size_t root_count(const void *root)
{
    return hash_count(root);
}

static size_t root_bytes(const void *root)
{
    const struct hash *hash = root;
    if (!is_table(hash))
        return heap_usable(pack_bytes(pack_of(hash)));
    const struct fields *fields = fields_of(hash);
    struct table_stats stats = {0};
    table_add_stats(&fields->table, &stats);
    return heap_usable(sizeof *fields) + stats.bytes + fields->item_bytes;
}

static void *root_copy(const void *root, struct heap *heap)
{
    const struct hash *hash = root;
    if (!is_table(hash))
        return of_pack(pack_copy(pack_of(hash), heap));
    struct target target = {.fields = create_fields(heap), .heap = heap};
    hash_each(hash, add_visited, &target);
    return of_fields(target.fields);
}

static void free_visited(void *context, uint64_t *cell)
{
    struct target *target = context;
    free_item(target->fields, target->heap, table_item(*cell));
}

static bool root_free_some(void *root, struct heap *heap, size_t element_count)
{
    struct hash *hash = root;
    if (is_table(hash)) {
        struct fields *fields = fields_of(hash);
        struct target target = {.fields = fields, .heap = heap};
        uint64_t budget = element_count;
        if (!table_drain(&fields->table, heap, &budget, free_visited, &target))
            return false;
        heap_free(heap, fields, sizeof *fields);
    } else {
        pack_destroy(pack_of(hash), heap);
    }
    return true;
}

const struct compound_ops hash_ops = {
    .encoding = root_encoding,
    .count = root_count,
    .bytes = root_bytes,
    .copy = root_copy,
    .free_some = root_free_some,
};

/* ---- For tests ----------------------------------------------------------------------------- */

struct audit {
    const struct hash *hash;
    uint64_t count, item_bytes;
};

static void audit_pair(void *context, struct hash_pair pair)
{
    struct audit *audit = context;
    char scratch[PACK_SCRATCH];
    struct bytes value;
    bool found = hash_find(audit->hash, pair.field, scratch, &value);
    ASSERT(found && bytes_equal(value, pair.value));
    audit->count++;
    audit->item_bytes += heap_usable(pair_bytes(pair));
}

void hash_validate(const struct hash *hash)
{
    struct audit audit = {.hash = hash};
    hash_each(hash, audit_pair, &audit);
    ASSERT(audit.count == hash_count(hash));
    if (is_table(hash)) {
        table_validate(&fields_of(hash)->table, &item_ops);
        ASSERT(audit.item_bytes == fields_of(hash)->item_bytes);
    } else {
        const struct pack *pack = pack_of(hash);
        ASSERT(pack_is_valid(bytes_of(pack, pack_bytes(pack))) && pack_count(pack) % 2 == 0);
    }
}
