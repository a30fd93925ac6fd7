/*
 * The root is one word: a pointer to a pack, or to a `struct sorted` with IS_TREE set.
 *
 * An element is one block that both table and tree point to, so a member of 17 bytes takes a block
 * of 32, a cell of the table (10) and a place in the tree (12):
 *
 *     double score   u8 length of the member    member
 *     double score   0xff   u64 length          member
 *
 * An element keeps its block for life: a new score is written into it while it is out of the tree.
 */
#include "core/type/zset.h"

#include <math.h>
#include <stddef.h>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/heap.h"
#include "core/base/num.h"
#include "core/base/rng.h"
#include "core/ds/number_set.h"
#include "core/ds/table.h"

#define IS_TREE UINT64_C(1)
#define LONG_MEMBER 0xff
#define HEADER_LEN offsetof(struct element, body)
#define CURSOR_SHIFT 32 /* the bits of a hash that order a table, as a cursor */

/* A sample of less than one in so many is drawn rank by rank, others in one pass over all. */
#define SAMPLE_FEW 4u

struct zset {
    uint64_t content;
};

struct sorted {
    struct table table;
    struct tree tree;
    uint64_t element_bytes; /* of all elements, as the heap counts them */
};

struct element {
    double score;
    uint8_t member_len; /* or LONG_MEMBER */
    char body[];
};

static bool is_tree(const struct zset *zset)
{
    return zset->content & IS_TREE;
}

static struct sorted *sorted_of(const struct zset *zset)
{
    return (struct sorted *)(uintptr_t)(zset->content & ~IS_TREE);
}

static struct pack *pack_of(const struct zset *zset)
{
    return (struct pack *)(uintptr_t)zset->content;
}

const struct pack *zset_pack(const struct zset *zset)
{
    return zset->content & IS_TREE ? NULL : pack_of(zset);
}

static void set_pack(struct zset *zset, struct pack *pack)
{
    zset->content = (uintptr_t)pack;
}

/* The order of all elements. */
static bool comes_before(struct zset_entry a, struct zset_entry b)
{
    if (a.score != b.score)
        return a.score < b.score;
    return bytes_compare(a.member, b.member) < 0;
}

/* ---- Elements ------------------------------------------------------------------------------ */

static struct bytes element_member(const struct element *element)
{
    if (likely(element->member_len != LONG_MEMBER))
        return bytes_of(element->body, element->member_len);
    uint64_t len;
    memcpy(&len, element->body, sizeof len);
    return bytes_of(element->body + sizeof len, len);
}

static struct zset_entry element_entry(const struct element *element)
{
    return (struct zset_entry){.member = element_member(element), .score = element->score};
}

static size_t element_bytes(size_t member_len)
{
    return HEADER_LEN + (member_len >= LONG_MEMBER ? sizeof(uint64_t) : 0) + member_len;
}

static struct element *create_element(struct sorted *sorted, struct heap *heap,
                                      struct zset_entry entry)
{
    uint64_t len = entry.member.len;
    size_t bytes = element_bytes(len);
    struct element *element = heap_alloc(heap, bytes);
    element->score = entry.score;
    char *to = element->body;
    if (len < LONG_MEMBER) {
        element->member_len = (uint8_t)len;
    } else {
        element->member_len = LONG_MEMBER;
        memcpy(to, &len, sizeof len);
        to += sizeof len;
    }
    if (len)
        memcpy(to, entry.member.ptr, len);
    sorted->element_bytes += heap_usable(bytes);
    return element;
}

static void free_element(struct sorted *sorted, struct heap *heap, struct element *element)
{
    size_t bytes = element_bytes(element_member(element).len);
    sorted->element_bytes -= heap_usable(bytes);
    heap_free(heap, element, bytes);
}

static uint64_t hash_of_element(const void *item)
{
    return fingerprint(element_member(item));
}

static const struct table_ops element_ops = {.hash = hash_of_element};

static inline bool element_is(const void *item, const void *wanted)
{
    return bytes_equal(element_member(item), *(const struct bytes *)wanted);
}

static uint64_t *find_cell(const struct sorted *sorted, uint64_t hash, struct bytes member)
{
    return table_find(&sorted->table, hash, element_is, &member);
}

static struct element *find_element(const struct sorted *sorted, struct bytes member)
{
    uint64_t *cell = find_cell(sorted, fingerprint(member), member);
    return cell ? table_item(*cell) : NULL;
}

static bool element_is_before(const void *item, const void *context)
{
    return comes_before(element_entry(item), *(const struct zset_entry *)context);
}

static uint64_t rank_in_tree(const struct sorted *sorted, struct zset_entry entry)
{
    return tree_rank(&sorted->tree, element_is_before, &entry);
}

/* Adds a member that is not there yet. */
static void add_element(struct sorted *sorted, struct heap *heap, struct zset_entry entry,
                        uint64_t rank)
{
    struct element *element = create_element(sorted, heap, entry);
    table_insert(&sorted->table, heap, &element_ops, fingerprint(entry.member), element, false);
    tree_insert(&sorted->tree, heap, rank, element);
}

static struct sorted *create_sorted(struct heap *heap)
{
    struct sorted *sorted = heap_alloc(heap, sizeof *sorted);
    *sorted = (struct sorted){0};
    return sorted;
}

/* ---- Packs --------------------------------------------------------------------------------- */

static double pack_score(const struct pack *pack, uint32_t at)
{
    struct pack_item item = pack_get(pack, at);
    if (!item.text)
        return (double)item.number;
    double score = 0;
    bool is_number = num_to_double(bytes_of(item.text, item.len), &score);
    ASSERT(is_number);
    return score;
}

/* The entry whose member is at `at`. */
static struct zset_entry pack_entry(const struct pack *pack, uint32_t at,
                                    char scratch[PACK_SCRATCH])
{
    return (struct zset_entry){.member = pack_view(pack, at, scratch),
                               .score = pack_score(pack, pack_next(pack, at))};
}

static uint32_t pack_next_entry(const struct pack *pack, uint32_t at)
{
    return pack_next(pack, pack_next(pack, at));
}

static uint32_t find_in_pack(const struct pack *pack, struct bytes member)
{
    return pack_find(pack, pack_first(pack), member, 1);
}

static void put_in_pack(struct zset *zset, struct heap *heap, struct zset_entry entry)
{
    struct pack *pack = pack_of(zset);
    char scratch[PACK_SCRATCH], digits[NUM_DOUBLE_CAP];
    uint32_t at = pack_first(pack);
    while (at != PACK_NONE && comes_before(pack_entry(pack, at, scratch), entry))
        at = pack_next_entry(pack, at);
    /* A pack, like Redis's, does not tell -0 from 0: the sum is 0 for both. */
    struct bytes score = bytes_of(digits, num_from_double(digits, entry.score + 0.0));
    (void)pack_insert_pair(&pack, heap, at, entry.member, score);
    set_pack(zset, pack);
}

static void delete_from_pack(struct zset *zset, struct heap *heap, uint32_t at, uint32_t count)
{
    struct pack *pack = pack_of(zset);
    (void)pack_delete(&pack, heap, at, 2 * count);
    set_pack(zset, pack);
}

static void become_tree(struct zset *zset, struct heap *heap)
{
    struct pack *pack = pack_of(zset);
    struct sorted *sorted = create_sorted(heap);
    char scratch[PACK_SCRATCH];
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next_entry(pack, at))
        add_element(sorted, heap, pack_entry(pack, at, scratch), sorted->tree.count);
    pack_destroy(pack, heap);
    zset->content = (uintptr_t)sorted | IS_TREE;
}

/* ---- Reading ------------------------------------------------------------------------------- */

uint64_t zset_count(const struct zset *zset)
{
    return is_tree(zset) ? sorted_of(zset)->tree.count : pack_count(pack_of(zset)) / 2;
}

bool zset_find(const struct zset *zset, struct bytes member, double *out_score)
{
    if (is_tree(zset)) {
        const struct element *element = find_element(sorted_of(zset), member);
        if (element)
            *out_score = element->score;
        return element != NULL;
    }
    const struct pack *pack = pack_of(zset);
    uint32_t at = find_in_pack(pack, member);
    if (at != PACK_NONE)
        *out_score = pack_score(pack, pack_next(pack, at));
    return at != PACK_NONE;
}

bool zset_find_rank(const struct zset *zset, struct bytes member, uint64_t *out_rank,
                    double *out_score)
{
    if (is_tree(zset)) {
        const struct element *element = find_element(sorted_of(zset), member);
        if (!element)
            return false;
        *out_rank = rank_in_tree(sorted_of(zset), element_entry(element));
        *out_score = element->score;
        return true;
    }
    const struct pack *pack = pack_of(zset);
    uint64_t rank = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next_entry(pack, at), rank++) {
        if (!pack_equals(pack, at, member))
            continue;
        *out_rank = rank;
        *out_score = pack_score(pack, pack_next(pack, at));
        return true;
    }
    return false;
}

/* A place between elements. */
struct border {
    double score;
    struct bytes member;
    bool after;
};

static bool score_is_before(const void *item, const void *context)
{
    const struct element *element = item;
    const struct border *border = context;
    return element->score < border->score || (border->after && element->score == border->score);
}

uint64_t zset_rank_of_score(const struct zset *zset, double score, bool after)
{
    struct border border = {.score = score, .after = after};
    if (is_tree(zset))
        return tree_rank(&sorted_of(zset)->tree, score_is_before, &border);
    const struct pack *pack = pack_of(zset);
    uint64_t rank = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next_entry(pack, at), rank++) {
        double found = pack_score(pack, pack_next(pack, at));
        if (after ? found > score : found >= score)
            break;
    }
    return rank;
}

static bool is_before_member(struct bytes member, const struct border *border)
{
    return bytes_compare(member, border->member) < (border->after ? 1 : 0);
}

static bool member_is_before(const void *item, const void *context)
{
    return is_before_member(element_member(item), context);
}

uint64_t zset_rank_of_member(const struct zset *zset, struct bytes member, bool after)
{
    struct border border = {.member = member, .after = after};
    if (is_tree(zset))
        return tree_rank(&sorted_of(zset)->tree, member_is_before, &border);
    const struct pack *pack = pack_of(zset);
    char scratch[PACK_SCRATCH];
    uint64_t rank = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = pack_next_entry(pack, at), rank++) {
        if (!is_before_member(pack_view(pack, at, scratch), &border))
            break;
    }
    return rank;
}

void zset_seek(const struct zset *zset, uint64_t rank, bool is_reverse,
               struct zset_cursor *out_cursor)
{
    out_cursor->is_reverse = is_reverse;
    if (is_tree(zset)) {
        out_cursor->pack = NULL;
        out_cursor->place = tree_seek(&sorted_of(zset)->tree, rank);
        return;
    }
    out_cursor->pack = pack_of(zset);
    out_cursor->at = rank < zset_count(zset) ? pack_seek(out_cursor->pack, 2 * (int64_t)rank)
                                             : PACK_NONE;
}

static bool step_in_pack(struct zset_cursor *cursor, struct zset_entry *out)
{
    uint32_t at = cursor->at;
    if (at == PACK_NONE)
        return false;
    *out = pack_entry(cursor->pack, at, cursor->scratch);
    if (!cursor->is_reverse) {
        cursor->at = pack_next_entry(cursor->pack, at);
        return true;
    }
    uint32_t score_at = pack_prev(cursor->pack, at);
    cursor->at = score_at == PACK_NONE ? PACK_NONE : pack_prev(cursor->pack, score_at);
    return true;
}

bool zset_step(struct zset_cursor *cursor, struct zset_entry *out)
{
    if (cursor->pack)
        return step_in_pack(cursor, out);
    const struct element *element = tree_item(&cursor->place);
    if (!element)
        return false;
    *out = element_entry(element);
    if (cursor->is_reverse)
        tree_prev(&cursor->place);
    else
        tree_next(&cursor->place);
    return true;
}

struct visitor {
    zset_visit_fn visit;
    void *context;
};

static void visit_cell(void *context, uint64_t *cell)
{
    struct visitor *visitor = context;
    visitor->visit(visitor->context, element_entry(table_item(*cell)));
}

uint64_t zset_scan(const struct zset *zset, uint64_t cursor, uint64_t count, zset_visit_fn visit,
                   void *context)
{
    if (is_tree(zset)) {
        struct visitor visitor = {visit, context};
        uint64_t next = table_scan(&sorted_of(zset)->table, cursor << CURSOR_SHIFT, &count,
                                   visit_cell, &visitor);
        return next >> CURSOR_SHIFT;
    }
    struct zset_cursor place;
    struct zset_entry entry;
    zset_seek(zset, 0, false, &place);
    while (zset_step(&place, &entry))
        visit(context, entry);
    return 0;
}

/* ---- By chance ----------------------------------------------------------------------------- */

static void draw_ranks(const struct zset *zset, struct rng *rng, uint64_t count,
                       struct arena *arena, struct visitor visitor)
{
    struct number_set drawn = number_set_create(arena, count); /* of ranks, each plus one */
    struct zset_cursor cursor;
    struct zset_entry entry;
    while (count > 0) {
        uint64_t rank = rng_below(rng, zset_count(zset));
        if (!number_set_add(&drawn, rank + 1))
            continue;
        zset_seek(zset, rank, false, &cursor);
        if (zset_step(&cursor, &entry))
            visitor.visit(visitor.context, entry);
        count--;
    }
}

void zset_sample(const struct zset *zset, struct rng *rng, uint64_t count, struct arena *arena,
                 zset_visit_fn visit, void *context)
{
    uint64_t left = zset_count(zset); /* elements still to pass by */
    ASSERT(count <= left);
    if (is_tree(zset) && count < left / SAMPLE_FEW) {
        draw_ranks(zset, rng, count, arena, (struct visitor){visit, context});
        return;
    }
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, 0, false, &cursor);
    for (; count > 0 && zset_step(&cursor, &entry); left--) {
        if (rng_below(rng, left) >= count)
            continue;
        count--;
        visit(context, entry);
    }
}

/* ---- Changing ------------------------------------------------------------------------------ */

struct zset *zset_create(struct heap *heap)
{
    return zset_of_pack(pack_create(heap), heap);
}

struct zset *zset_of_pack(struct pack *pack, struct heap *heap)
{
    struct zset *zset = heap_alloc(heap, sizeof *zset);
    set_pack(zset, pack);
    return zset;
}

bool zset_pairs_are_valid(const struct pack *pack)
{
    if (pack_count(pack) % 2 != 0)
        return false;
    char scratches[2][PACK_SCRATCH]; /* this member's and the last one's */
    struct zset_entry last = {0};
    uint32_t at = pack_first(pack);
    for (uint32_t i = 0; at != PACK_NONE; i++, at = pack_next_entry(pack, at)) {
        struct pack_item item = pack_get(pack, pack_next(pack, at));
        double score = (double)item.number;
        if (item.text && !num_to_double(bytes_of(item.text, item.len), &score))
            return false;
        struct zset_entry entry = {pack_view(pack, at, scratches[i % 2]), score};
        if (i > 0 && !comes_before(last, entry))
            return false;
        last = entry;
    }
    return true;
}

void zset_expect(struct zset *zset, struct heap *heap, const struct zset_limits *limits,
                 uint64_t count)
{
    if (!is_tree(zset) && count > limits->member_count)
        become_tree(zset, heap);
}

static bool put_in_tree(struct sorted *sorted, struct heap *heap, struct zset_entry entry)
{
    struct element *element = find_element(sorted, entry.member);
    if (!element) {
        add_element(sorted, heap, entry, rank_in_tree(sorted, entry));
        return true;
    }
    if (element->score == entry.score) {
        element->score = entry.score; /* 0 and -0 are equal, and print differently */
        return false;
    }
    (void)tree_take(&sorted->tree, heap, rank_in_tree(sorted, element_entry(element)));
    element->score = entry.score;
    tree_insert(&sorted->tree, heap, rank_in_tree(sorted, entry), element);
    return false;
}

static bool fits_pack(const struct zset *zset, const struct zset_limits *limits,
                      struct bytes member)
{
    size_t extra_len = member.len + NUM_DOUBLE_CAP + 2 * PACK_ENTRY_EXTRA_MAX;
    return zset_count(zset) < limits->member_count && member.len <= limits->text_len &&
           pack_has_room(pack_of(zset), extra_len);
}

bool zset_put(struct zset *zset, struct heap *heap, const struct zset_limits *limits,
              struct bytes member, double score)
{
    ASSERT(!isnan(score));
    struct zset_entry entry = {member, score};
    if (is_tree(zset))
        return put_in_tree(sorted_of(zset), heap, entry);
    uint32_t at = find_in_pack(pack_of(zset), member);
    if (at != PACK_NONE) {
        if (pack_score(pack_of(zset), pack_next(pack_of(zset), at)) == score)
            return false;
        delete_from_pack(zset, heap, at, 1);
        put_in_pack(zset, heap, entry);
        return false;
    }
    if (fits_pack(zset, limits, member)) {
        put_in_pack(zset, heap, entry);
        return true;
    }
    become_tree(zset, heap);
    return put_in_tree(sorted_of(zset), heap, entry);
}

/* Frees an element that is out of the tree. */
static void drop_element(struct sorted *sorted, struct heap *heap, struct element *element)
{
    struct bytes member = element_member(element);
    uint64_t hash = fingerprint(member);
    table_remove(&sorted->table, heap, &element_ops, hash, find_cell(sorted, hash, member));
    free_element(sorted, heap, element);
}

bool zset_delete(struct zset *zset, struct heap *heap, struct bytes member)
{
    if (is_tree(zset)) {
        struct sorted *sorted = sorted_of(zset);
        struct element *element = find_element(sorted, member);
        if (!element)
            return false;
        (void)tree_take(&sorted->tree, heap, rank_in_tree(sorted, element_entry(element)));
        drop_element(sorted, heap, element);
        return true;
    }
    uint32_t at = find_in_pack(pack_of(zset), member);
    if (at == PACK_NONE)
        return false;
    delete_from_pack(zset, heap, at, 1);
    return true;
}

void zset_delete_range(struct zset *zset, struct heap *heap, uint64_t rank, uint64_t count)
{
    ASSERT(rank + count <= zset_count(zset));
    if (count == 0)
        return;
    if (!is_tree(zset)) {
        delete_from_pack(zset, heap, pack_seek(pack_of(zset), 2 * (int64_t)rank), (uint32_t)count);
        return;
    }
    struct sorted *sorted = sorted_of(zset);
    for (; count > 0; count--)
        drop_element(sorted, heap, tree_take(&sorted->tree, heap, rank));
}

/* ---- As a compound value ------------------------------------------------------------------- */

static const char *root_encoding(const void *root)
{
    return is_tree(root) ? "skiplist" : "listpack"; /* as Redis calls what a tree is to us */
}

static size_t root_count(const void *root)
{
    return zset_count(root);
}

static size_t root_bytes(const void *root)
{
    const struct zset *zset = root;
    size_t bytes = heap_usable(sizeof *zset);
    if (!is_tree(zset))
        return bytes + heap_usable(pack_bytes(pack_of(zset)));
    const struct sorted *sorted = sorted_of(zset);
    struct table_stats stats = {0};
    table_add_stats(&sorted->table, &stats);
    return bytes + heap_usable(sizeof *sorted) + stats.bytes + sorted->tree.node_bytes +
           sorted->element_bytes;
}

static void *root_copy(const void *root, struct heap *heap)
{
    const struct zset *zset = root;
    struct zset *copy = heap_alloc(heap, sizeof *copy);
    if (!is_tree(zset)) {
        set_pack(copy, pack_copy(pack_of(zset), heap));
        return copy;
    }
    struct sorted *sorted = create_sorted(heap);
    struct zset_cursor cursor;
    struct zset_entry entry;
    zset_seek(zset, 0, false, &cursor);
    while (zset_step(&cursor, &entry))
        add_element(sorted, heap, entry, sorted->tree.count);
    copy->content = (uintptr_t)sorted | IS_TREE;
    return copy;
}

/* What is being freed. */
struct target {
    struct sorted *sorted;
    struct heap *heap;
};

static void free_visited(void *context, uint64_t *cell)
{
    struct target *target = context;
    free_element(target->sorted, target->heap, table_item(*cell));
}

static bool root_free_some(void *root, struct heap *heap, size_t element_count)
{
    struct zset *zset = root;
    if (is_tree(zset)) {
        struct sorted *sorted = sorted_of(zset);
        struct target target = {.sorted = sorted, .heap = heap};
        uint64_t budget = element_count;
        /* The tree first: it says how many elements there are, and never looks at them. */
        if (!tree_drain(&sorted->tree, heap, element_count))
            return false;
        if (!table_drain(&sorted->table, heap, &budget, free_visited, &target))
            return false;
        heap_free(heap, sorted, sizeof *sorted);
    } else {
        pack_destroy(pack_of(zset), heap);
    }
    heap_free(heap, zset, sizeof *zset);
    return true;
}

static const struct table *root_table(const void *root)
{
    return is_tree(root) ? &sorted_of(root)->table : NULL;
}

const struct compound_ops zset_ops = {
    .encoding = root_encoding,
    .count = root_count,
    .bytes = root_bytes,
    .copy = root_copy,
    .free_some = root_free_some,
    .table = root_table,
};

/* ---- For tests ----------------------------------------------------------------------------- */

void zset_validate(const struct zset *zset)
{
    struct zset_cursor cursor;
    struct zset_entry entry, last = {0};
    char last_member[PACK_SCRATCH]; /* of a number, whose view the next step overwrites */
    uint64_t count = 0, bytes = 0;
    zset_seek(zset, 0, false, &cursor);
    for (; zset_step(&cursor, &entry); count++) {
        double score;
        uint64_t rank;
        ASSERT(count == 0 || comes_before(last, entry));
        ASSERT(zset_find_rank(zset, entry.member, &rank, &score));
        ASSERT(rank == count && score == entry.score);
        bytes += heap_usable(element_bytes(entry.member.len));
        last = entry;
        if (entry.member.ptr == cursor.scratch) {
            memcpy(last_member, entry.member.ptr, entry.member.len);
            last.member.ptr = last_member;
        }
    }
    ASSERT(count == zset_count(zset));
    if (is_tree(zset)) {
        const struct sorted *sorted = sorted_of(zset);
        table_validate(&sorted->table, &element_ops);
        tree_validate(&sorted->tree);
        ASSERT(sorted->table.count == count && sorted->element_bytes == bytes);
    } else {
        const struct pack *pack = pack_of(zset);
        ASSERT(pack_is_valid(bytes_of(pack, pack_bytes(pack))) && pack_count(pack) % 2 == 0);
    }
}
