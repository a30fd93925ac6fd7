/*
 * The root is one word: a pointer to an intset, a pack or a `struct members`, and which of them in
 * its lowest bits. A set of a few members so takes 8 bytes more than its intset or pack.
 *
 * An item of a table is one block:
 *
 *     u8 length of the member   member
 *     0xff   u64 length         member
 *
 * A member of 16 bytes takes a block of 24 and a cell of 8, in buckets that are filled to four
 * fifths on average: 34 bytes.
 */
#include "core/type/set.h"

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/ds/intset.h"
#include "core/ds/number_set.h"
#include "core/ds/table.h"

#define KIND_MASK UINT64_C(3) /* of `content`: an enum kind */
#define LONG_ITEM 0xff        /* from this length on, it has a field of its own */
#define CURSOR_SHIFT 32       /* the bits of a hash that order a table, as a cursor */

/* A sample of less than one in so many is drawn member by member, others in one pass over all. */
#define SAMPLE_FEW 4u

/* No bucket has more items: that a hash is so far from random has no chance to be seen. */
#define BUCKET_PLACES 32u

enum kind { KIND_INTSET, KIND_PACK, KIND_TABLE };

struct set {
    uint64_t content;
};

struct members {
    struct table table;
    uint64_t item_bytes; /* of all items, as the heap counts them */
};

struct item {
    uint8_t len; /* or LONG_ITEM */
    char body[];
};

static enum kind kind_of(const struct set *set)
{
    return (enum kind)(set->content & KIND_MASK);
}

static void *content_of(const struct set *set)
{
    return (void *)(uintptr_t)(set->content & ~KIND_MASK);
}

static struct intset *intset_of(const struct set *set)
{
    return content_of(set);
}

static struct pack *pack_of(const struct set *set)
{
    return content_of(set);
}

static struct members *members_of(const struct set *set)
{
    return content_of(set);
}

const struct intset *set_intset(const struct set *set)
{
    return kind_of(set) == KIND_INTSET ? intset_of(set) : NULL;
}

const struct pack *set_pack(const struct set *set)
{
    return kind_of(set) == KIND_PACK ? pack_of(set) : NULL;
}

static void set_content(struct set *set, enum kind kind, void *content)
{
    set->content = (uintptr_t)content | kind;
}

/* ---- Items --------------------------------------------------------------------------------- */

static inline struct bytes item_member(const struct item *item)
{
    if (likely(item->len != LONG_ITEM))
        return bytes_of(item->body, item->len);
    uint64_t len;
    memcpy(&len, item->body, sizeof len);
    return bytes_of(item->body + sizeof len, len);
}

static size_t item_bytes_for(struct bytes member)
{
    return sizeof(struct item) + (member.len < LONG_ITEM ? 0 : sizeof(uint64_t)) + member.len;
}

static uint64_t hash_of_item(const void *item)
{
    return fingerprint(item_member(item));
}

static const struct table_ops item_ops = {.hash = hash_of_item};

static inline bool item_is(const void *item, const void *wanted)
{
    return bytes_equal(item_member(item), *(const struct bytes *)wanted);
}

static uint64_t *find_item(const struct members *members, uint64_t hash, struct bytes member)
{
    return table_find(&members->table, hash, item_is, &member);
}

/* Adds a member that is not there yet. */
static void add_item(struct members *members, struct heap *heap, uint64_t hash, struct bytes member)
{
    size_t bytes = item_bytes_for(member);
    struct item *item = heap_alloc(heap, bytes);
    char *to = item->body;
    uint64_t len = member.len;
    item->len = len < LONG_ITEM ? (uint8_t)len : LONG_ITEM;
    if (item->len == LONG_ITEM) {
        memcpy(to, &len, sizeof len);
        to += sizeof len;
    }
    if (len > 0)
        memcpy(to, member.ptr, len);
    members->item_bytes += heap_usable(bytes);
    table_insert(&members->table, heap, &item_ops, hash, item, false);
}

static void free_item(struct members *members, struct heap *heap, struct item *item)
{
    size_t bytes = item_bytes_for(item_member(item));
    members->item_bytes -= heap_usable(bytes);
    heap_free(heap, item, bytes);
}

static void remove_item(struct members *members, struct heap *heap, uint64_t hash, uint64_t *cell)
{
    struct item *item = table_item(*cell);
    table_remove(&members->table, heap, &item_ops, hash, cell);
    free_item(members, heap, item);
}

/* ---- Reading ------------------------------------------------------------------------------- */

size_t set_count(const struct set *set)
{
    switch (kind_of(set)) {
    case KIND_INTSET:
        return intset_count(intset_of(set));
    case KIND_PACK:
        return pack_count(pack_of(set));
    case KIND_TABLE:
        break;
    }
    return members_of(set)->table.count;
}

static bool intset_has_text(const struct intset *intset, struct bytes member)
{
    int64_t number;
    return num_to_int(member, &number) && intset_has(intset, number);
}

static uint32_t find_in_pack(const struct pack *pack, struct bytes member)
{
    return pack_find(pack, pack_first(pack), member, 0);
}

bool set_has(const struct set *set, struct bytes member)
{
    switch (kind_of(set)) {
    case KIND_INTSET:
        return intset_has_text(intset_of(set), member);
    case KIND_PACK:
        return find_in_pack(pack_of(set), member) != PACK_NONE;
    case KIND_TABLE:
        break;
    }
    return find_item(members_of(set), fingerprint(member), member) != NULL;
}

/* The member at `index` of an intset. */
static struct bytes number_text(const struct intset *intset, uint32_t index,
                                char scratch[PACK_SCRATCH])
{
    return bytes_of(scratch, num_from_int(scratch, intset_get(intset, index)));
}

struct visitor {
    set_visit_fn visit;
    void *context;
};

static void visit_cell(void *context, uint64_t *cell)
{
    struct visitor *visitor = context;
    visitor->visit(visitor->context, item_member(table_item(*cell)));
}

/* Of an intset or a pack. */
static void each_small(const struct set *set, set_visit_fn visit, void *context)
{
    char scratch[PACK_SCRATCH];
    if (kind_of(set) == KIND_INTSET) {
        const struct intset *intset = intset_of(set);
        for (uint32_t i = 0; i < intset_count(intset); i++)
            visit(context, number_text(intset, i, scratch));
        return;
    }
    const struct pack *pack = pack_of(set);
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next(pack, at))
        visit(context, pack_view(pack, at, scratch));
}

void set_each(const struct set *set, set_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    if (kind_of(set) == KIND_TABLE)
        table_each(&members_of(set)->table, visit_cell, &visitor);
    else
        each_small(set, visit, context);
}

uint64_t set_scan(const struct set *set, uint64_t cursor, uint64_t count, set_visit_fn visit,
                  void *context)
{
    struct visitor visitor = {visit, context};
    if (kind_of(set) != KIND_TABLE) {
        each_small(set, visit, context);
        return 0;
    }
    uint64_t next = table_scan(&members_of(set)->table, cursor << CURSOR_SHIFT, &count, visit_cell,
                               &visitor);
    return next >> CURSOR_SHIFT;
}

/* ---- By chance ----------------------------------------------------------------------------- */

/* The leaf that holds the item of a random rank: leaves differ in how many items they have for
 * their share of all hashes, so a random hash would not do. */
static const struct table *random_leaf(const struct table *table, struct rng *rng)
{
    uint64_t rank = rng_below(rng, table->count);
    while (table->root & TABLE_IS_NODE) {
        table = (const struct table *)(uintptr_t)(table->root - TABLE_IS_NODE);
        for (; rank >= table->count; table++)
            rank -= table->count;
    }
    return table;
}

/* Of its leaf, a bucket by chance, then one of BUCKET_PLACES in it, taken or not: the items of
 * full buckets would otherwise come up less often than those of sparse ones. */
static uint64_t *random_cell(const struct members *members, struct rng *rng)
{
    const struct table *leaf = random_leaf(&members->table, rng);
    uint64_t *cells[BUCKET_PLACES];
    for (;;) {
        uint32_t len = table_sample(leaf, rng_next(rng), cells, BUCKET_PLACES);
        uint64_t place = rng_below(rng, BUCKET_PLACES);
        if (place < len)
            return cells[place];
    }
}

struct bytes set_random(const struct set *set, struct rng *rng, char scratch[PACK_SCRATCH])
{
    if (kind_of(set) == KIND_TABLE)
        return item_member(table_item(*random_cell(members_of(set), rng)));
    uint64_t index = rng_below(rng, set_count(set));
    if (kind_of(set) == KIND_INTSET)
        return number_text(intset_of(set), (uint32_t)index, scratch);
    const struct pack *pack = pack_of(set);
    return pack_view(pack, pack_seek(pack, (int64_t)index), scratch);
}

/* Of the members that pass by, each is taken with the chance that makes `wanted` of all. */
struct lottery {
    struct visitor visitor;
    struct rng *rng;
    uint64_t wanted, left; /* still to be taken, still to pass by */
};

static bool draw(struct lottery *lottery, struct bytes member)
{
    bool is_taken = rng_below(lottery->rng, lottery->left--) < lottery->wanted;
    if (is_taken) {
        lottery->wanted--;
        lottery->visitor.visit(lottery->visitor.context, member);
    }
    return is_taken;
}

static void draw_visited(void *context, struct bytes member)
{
    (void)draw(context, member);
}

static void sample_few(const struct members *members, struct rng *rng, uint64_t count,
                       struct arena *arena, struct visitor visitor)
{
    struct number_set drawn = number_set_create(arena, count);
    while (count > 0) {
        const struct item *item = table_item(*random_cell(members, rng));
        if (!number_set_add(&drawn, (uintptr_t)item))
            continue;
        visitor.visit(visitor.context, item_member(item));
        count--;
    }
}

void set_sample(const struct set *set, struct rng *rng, uint64_t count, struct arena *arena,
                set_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    uint64_t total = set_count(set);
    ASSERT(count <= total);
    if (kind_of(set) == KIND_TABLE && count < total / SAMPLE_FEW) {
        sample_few(members_of(set), rng, count, arena, visitor);
        return;
    }
    struct lottery lottery = {.visitor = visitor, .rng = rng, .wanted = count, .left = total};
    set_each(set, draw_visited, &lottery);
}

/* ---- From one kind to another -------------------------------------------------------------- */

static struct members *create_members(struct heap *heap)
{
    struct members *members = heap_alloc(heap, sizeof *members);
    *members = (struct members){0};
    return members;
}

static struct set *create_of(struct heap *heap, enum kind kind, void *content)
{
    struct set *set = heap_alloc(heap, sizeof *set);
    set_content(set, kind, content);
    return set;
}

struct set *set_create(struct heap *heap)
{
    return set_of_intset(intset_create(heap), heap);
}

struct set *set_of_intset(struct intset *intset, struct heap *heap)
{
    return create_of(heap, KIND_INTSET, intset);
}

struct set *set_of_pack(struct pack *pack, struct heap *heap)
{
    return create_of(heap, KIND_PACK, pack);
}

struct set *set_create_for(struct heap *heap, const struct set_limits *limits, struct bytes first,
                           uint64_t count)
{
    struct set *set = heap_alloc(heap, sizeof *set);
    int64_t number;
    if (num_to_int(first, &number) && count <= limits->number_count)
        set_content(set, KIND_INTSET, intset_create(heap));
    else if (count <= limits->text_count)
        set_content(set, KIND_PACK, pack_create(heap));
    else
        set_content(set, KIND_TABLE, create_members(heap));
    return set;
}

/* Where members go that are being copied, or are freed. */
struct target {
    struct members *members;
    struct heap *heap;
};

static void free_visited(void *context, uint64_t *cell)
{
    struct target *target = context;
    free_item(target->members, target->heap, table_item(*cell));
}

/* Frees all but the root, or about `member_count` members of a table. True when nothing is left. */
static bool free_content(struct set *set, struct heap *heap, uint64_t member_count)
{
    if (kind_of(set) == KIND_INTSET) {
        intset_destroy(intset_of(set), heap);
    } else if (kind_of(set) == KIND_PACK) {
        pack_destroy(pack_of(set), heap);
    } else {
        struct members *members = members_of(set);
        struct target target = {.members = members, .heap = heap};
        if (!table_drain(&members->table, heap, &member_count, free_visited, &target))
            return false;
        heap_free(heap, members, sizeof *members);
    }
    return true;
}

static void add_visited(void *context, struct bytes member)
{
    struct target *target = context;
    add_item(target->members, target->heap, fingerprint(member), member);
}

static void become_table(struct set *set, struct heap *heap)
{
    struct target target = {.members = create_members(heap), .heap = heap};
    each_small(set, add_visited, &target);
    (void)free_content(set, heap, UINT64_MAX);
    set_content(set, KIND_TABLE, target.members);
}

static void become_pack(struct set *set, struct heap *heap)
{
    struct intset *intset = intset_of(set);
    struct pack *pack = pack_create(heap);
    for (uint32_t i = 0; i < intset_count(intset); i++)
        pack_append_int(&pack, heap, intset_get(intset, i));
    intset_destroy(intset, heap);
    set_content(set, KIND_PACK, pack);
}

void set_expect(struct set *set, struct heap *heap, const struct set_limits *limits, uint64_t count)
{
    enum kind kind = kind_of(set);
    if ((kind == KIND_INTSET && count > limits->number_count) ||
        (kind == KIND_PACK && count > limits->text_count))
        become_table(set, heap);
}

/* Would the intset's members and `member`, a text, be within the limits of a pack? */
static bool fits_pack(const struct intset *intset, const struct set_limits *limits,
                      struct bytes member)
{
    uint32_t count = intset_count(intset);
    size_t longest = member.len;
    char scratch[PACK_SCRATCH];
    for (uint32_t i = 0; i<count; i += count> 1 ? count - 1 : 1) { /* the first and the last */
        size_t len = number_text(intset, i, scratch).len;
        longest = len > longest ? len : longest;
    }
    size_t numbers_len = (size_t)count * (PACK_SCRATCH + PACK_ENTRY_EXTRA_MAX);
    return count < limits->text_count && longest <= limits->text_len &&
           numbers_len + member.len < PACK_BYTES_MAX / 2;
}

/* ---- Changing ------------------------------------------------------------------------------ */

static bool add_to_table(struct set *set, struct heap *heap, struct bytes member)
{
    struct members *members = members_of(set);
    uint64_t hash = fingerprint(member);
    bool is_new = !find_item(members, hash, member);
    if (is_new)
        add_item(members, heap, hash, member);
    return is_new;
}

static bool add_to_pack(struct set *set, struct heap *heap, const struct set_limits *limits,
                        struct bytes member)
{
    struct pack *pack = pack_of(set);
    if (find_in_pack(pack, member) != PACK_NONE)
        return false;
    if (pack_count(pack) >= limits->text_count || member.len > limits->text_len ||
        !pack_has_room(pack, member.len + PACK_ENTRY_EXTRA_MAX)) {
        become_table(set, heap);
        return add_to_table(set, heap, member);
    }
    pack_append(&pack, heap, member);
    set_content(set, KIND_PACK, pack);
    return true;
}

static bool add_to_intset(struct set *set, struct heap *heap, const struct set_limits *limits,
                          struct bytes member)
{
    struct intset *intset = intset_of(set);
    int64_t number;
    if (num_to_int(member, &number)) {
        bool is_new = intset_add(&intset, heap, number);
        set_content(set, KIND_INTSET, intset);
        uint32_t count = intset_count(intset);
        if (is_new && (count > limits->number_count || count == INTSET_COUNT_MAX))
            become_table(set, heap);
        return is_new;
    }
    if (!fits_pack(intset, limits, member)) {
        become_table(set, heap);
        return add_to_table(set, heap, member);
    }
    become_pack(set, heap);
    return add_to_pack(set, heap, limits, member);
}

bool set_add(struct set *set, struct heap *heap, const struct set_limits *limits,
             struct bytes member)
{
    switch (kind_of(set)) {
    case KIND_INTSET:
        return add_to_intset(set, heap, limits, member);
    case KIND_PACK:
        return add_to_pack(set, heap, limits, member);
    case KIND_TABLE:
        break;
    }
    return add_to_table(set, heap, member);
}

static bool remove_from_table(struct members *members, struct heap *heap, struct bytes member)
{
    uint64_t hash = fingerprint(member);
    uint64_t *cell = find_item(members, hash, member);
    if (cell)
        remove_item(members, heap, hash, cell);
    return cell;
}

static bool remove_from_pack(struct set *set, struct heap *heap, struct bytes member)
{
    struct pack *pack = pack_of(set);
    uint32_t at = find_in_pack(pack, member);
    if (at == PACK_NONE)
        return false;
    (void)pack_delete(&pack, heap, at, 1);
    set_content(set, KIND_PACK, pack);
    return true;
}

static bool remove_from_intset(struct set *set, struct heap *heap, struct bytes member)
{
    struct intset *intset = intset_of(set);
    int64_t number;
    bool is_gone = num_to_int(member, &number) && intset_remove(&intset, heap, number);
    set_content(set, KIND_INTSET, intset);
    return is_gone;
}

bool set_remove(struct set *set, struct heap *heap, struct bytes member)
{
    switch (kind_of(set)) {
    case KIND_INTSET:
        return remove_from_intset(set, heap, member);
    case KIND_PACK:
        return remove_from_pack(set, heap, member);
    case KIND_TABLE:
        break;
    }
    return remove_from_table(members_of(set), heap, member);
}

static bool is_not_drawn(void *context, int64_t number)
{
    char scratch[PACK_SCRATCH];
    return !draw(context, bytes_of(scratch, num_from_int(scratch, number)));
}

static void pop_from_pack(struct set *set, struct heap *heap, struct lottery *lottery)
{
    struct pack *pack = pack_of(set);
    char scratch[PACK_SCRATCH];
    uint32_t at = pack_first(pack);
    while (lottery->wanted > 0) {
        if (draw(lottery, pack_view(pack, at, scratch)))
            at = pack_delete(&pack, heap, at, 1);
        else
            at = pack_next(pack, at);
    }
    set_content(set, KIND_PACK, pack);
}

void set_pop(struct set *set, struct heap *heap, struct rng *rng, uint64_t count,
             set_visit_fn visit, void *context)
{
    struct visitor visitor = {visit, context};
    struct lottery lottery = {
        .visitor = visitor, .rng = rng, .wanted = count, .left = set_count(set)};
    ASSERT(count < lottery.left);
    if (kind_of(set) == KIND_INTSET) {
        struct intset *intset = intset_of(set);
        intset_filter(&intset, heap, is_not_drawn, &lottery);
        set_content(set, KIND_INTSET, intset);
        return;
    }
    if (kind_of(set) == KIND_PACK) {
        pop_from_pack(set, heap, &lottery);
        return;
    }
    struct members *members = members_of(set);
    for (; count > 0; count--) {
        uint64_t *cell = random_cell(members, rng);
        visit_cell(&visitor, cell);
        remove_item(members, heap, hash_of_item(table_item(*cell)), cell);
    }
}

/* ---- As a compound value ------------------------------------------------------------------- */

static const char *root_encoding(const void *root)
{
    static const char *const words[] = {
        [KIND_INTSET] = "intset", [KIND_PACK] = "listpack", [KIND_TABLE] = "hashtable"};
    return words[kind_of(root)];
}

static size_t root_count(const void *root)
{
    return set_count(root);
}

static size_t root_bytes(const void *root)
{
    const struct set *set = root;
    size_t bytes = heap_usable(sizeof *set);
    if (kind_of(set) == KIND_INTSET)
        return bytes + heap_usable(intset_bytes(intset_of(set)));
    if (kind_of(set) == KIND_PACK)
        return bytes + heap_usable(pack_bytes(pack_of(set)));
    const struct members *members = members_of(set);
    struct table_stats stats = {0};
    table_add_stats(&members->table, &stats);
    return bytes + heap_usable(sizeof *members) + stats.bytes + members->item_bytes;
}

static void *root_copy(const void *root, struct heap *heap)
{
    const struct set *set = root;
    struct set *copy = heap_alloc(heap, sizeof *copy);
    if (kind_of(set) == KIND_INTSET) {
        set_content(copy, KIND_INTSET, intset_copy(intset_of(set), heap));
    } else if (kind_of(set) == KIND_PACK) {
        set_content(copy, KIND_PACK, pack_copy(pack_of(set), heap));
    } else {
        struct target target = {.members = create_members(heap), .heap = heap};
        set_each(set, add_visited, &target);
        set_content(copy, KIND_TABLE, target.members);
    }
    return copy;
}

static bool root_free_some(void *root, struct heap *heap, size_t element_count)
{
    if (!free_content(root, heap, element_count))
        return false;
    heap_free(heap, root, sizeof(struct set));
    return true;
}

static const struct table *root_table(const void *root)
{
    return kind_of(root) == KIND_TABLE ? &members_of(root)->table : NULL;
}

const struct compound_ops set_ops = {
    .encoding = root_encoding,
    .count = root_count,
    .bytes = root_bytes,
    .copy = root_copy,
    .free_some = root_free_some,
    .table = root_table,
};

/* ---- For tests ----------------------------------------------------------------------------- */

struct audit {
    const struct set *set;
    uint64_t count, item_bytes;
};

static void audit_member(void *context, struct bytes member)
{
    struct audit *audit = context;
    ASSERT(set_has(audit->set, member));
    audit->count++;
    audit->item_bytes += heap_usable(item_bytes_for(member));
}

void set_validate(const struct set *set)
{
    struct audit audit = {.set = set};
    set_each(set, audit_member, &audit);
    ASSERT(audit.count == set_count(set));
    const struct intset *intset = intset_of(set);
    const struct pack *pack = pack_of(set);
    switch (kind_of(set)) {
    case KIND_INTSET:
        ASSERT(intset_is_valid(bytes_of(intset, intset_bytes(intset))));
        return;
    case KIND_PACK:
        ASSERT(pack_is_valid(bytes_of(pack, pack_bytes(pack))));
        return;
    case KIND_TABLE:
        table_validate(&members_of(set)->table, &item_ops);
        ASSERT(audit.item_bytes == members_of(set)->item_bytes);
    }
}
