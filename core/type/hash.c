/*
 * A `struct hash *` is the address of a pack, or of a `struct hash_large` with IS_TABLE set. A
 * small hash so takes nothing beside its pack. With IS_TIMED set it is the address of a `struct
 * lease`, whose `body` is then such a word. A lease stays where it is while what it holds becomes
 * something else, since an agenda has its address.
 */
#include "core/type/hash.h"

#include "core/base/check.h"
#include "core/base/heap.h"
#include "core/base/rng.h"
#include "core/type/hash_large.h"
#include "core/type/hash_small.h"

#define IS_TABLE ((uintptr_t)1)
#define IS_TIMED ((uintptr_t)2)
#define TAGS (IS_TABLE | IS_TIMED)

/* A sample of less than one in so many is drawn field by field, others in one pass over all. */
#define SAMPLE_FEW 4u
/* So often a field is drawn anew that has passed; then all are looked at. */
#define RANDOM_TRIES 64u

struct lease {
    struct agenda_item item; /* first: hash_of_agenda_item() */
    uintptr_t body;          /* a pack of triples, or a timed table | IS_TABLE */
};

/* ---- What it is ---------------------------------------------------------------------------- */

bool hash_is_timed(const struct hash *hash)
{
    return (uintptr_t)hash & IS_TIMED;
}

static struct lease *lease_of(const struct hash *hash)
{
    return (struct lease *)((uintptr_t)hash & ~TAGS);
}

static struct hash *of_lease(struct lease *lease)
{
    return (struct hash *)((uintptr_t)lease | IS_TIMED);
}

static uintptr_t body_of(const struct hash *hash)
{
    return unlikely(hash_is_timed(hash)) ? lease_of(hash)->body : (uintptr_t)hash;
}

static void set_body(struct hash **hash, uintptr_t body)
{
    if (hash_is_timed(*hash))
        lease_of(*hash)->body = body;
    else
        *hash = (struct hash *)body;
}

static bool is_table(const struct hash *hash)
{
    return body_of(hash) & IS_TABLE;
}

static struct hash_large *large_of(const struct hash *hash)
{
    return (struct hash_large *)(body_of(hash) & ~TAGS);
}

static struct hash_timed *timed_of(const struct hash *hash)
{
    return (struct hash_timed *)large_of(hash);
}

static struct pack *pack_of(const struct hash *hash)
{
    return (struct pack *)body_of(hash);
}

static uintptr_t body_of_large(struct hash_large *large)
{
    return (uintptr_t)large | IS_TABLE;
}

static uint32_t width_of(const struct hash *hash)
{
    return unlikely(hash_is_timed(hash)) ? HASH_TRIPLES : HASH_PAIRS;
}

/* ---- Becoming something else --------------------------------------------------------------- */

struct hash *hash_create(struct heap *heap)
{
    return (struct hash *)pack_create(heap);
}

/* Where pairs go that are being copied. */
struct target {
    struct hash_large *large;
    struct heap *heap;
};

static void add_visited(void *context, struct hash_pair pair)
{
    struct target *target = context;
    hash_large_add(target->large, target->heap, pair);
}

static void become_table(struct hash **hash, struct heap *heap)
{
    struct pack *pack = pack_of(*hash);
    struct target target = {.large = hash_large_create(heap, hash_is_timed(*hash)), .heap = heap};
    hash_small_each(pack, width_of(*hash), add_visited, &target);
    pack_destroy(pack, heap);
    set_body(hash, body_of_large(target.large));
}

static struct hash *lease_body(uintptr_t body, struct heap *heap)
{
    struct lease *lease = heap_alloc(heap, sizeof *lease);
    *lease = (struct lease){.item.at_ms = AGENDA_NOWHERE, .body = body};
    return of_lease(lease);
}

static void become_timed(struct hash **hash, struct heap *heap)
{
    if (hash_is_timed(*hash))
        return;
    if (!is_table(*hash) &&
        !pack_has_room(pack_of(*hash), hash_count(*hash) * HASH_SMALL_EXTRA_MAX))
        become_table(hash, heap);
    if (is_table(*hash)) {
        struct hash_timed *timed = hash_large_widen(large_of(*hash), heap);
        *hash = lease_body(body_of_large(&timed->large), heap);
    } else {
        struct pack *pack = pack_of(*hash);
        hash_small_widen(&pack, heap);
        *hash = lease_body((uintptr_t)pack, heap);
    }
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
        total_len += words[i].len + HASH_SMALL_EXTRA_MAX / 2;
    }
    if (!fits || !pack_has_room(pack_of(*hash), total_len))
        become_table(hash, heap);
}

/* ---- Reading ------------------------------------------------------------------------------- */

size_t hash_count(const struct hash *hash)
{
    if (likely(!hash_is_timed(hash) && !is_table(hash)))
        return pack_count(pack_of(hash)) / HASH_PAIRS; /* by a constant */
    return is_table(hash) ? large_of(hash)->table.count
                          : pack_count(pack_of(hash)) / width_of(hash);
}

static bool may_have_passed(const struct hash *hash, int64_t now_ms)
{
    return unlikely(hash_is_timed(hash)) && hash_is_past(hash_first_expiry_ms(hash), now_ms);
}

static void count_live(void *context, struct hash_pair pair)
{
    (void)pair;
    (*(size_t *)context)++;
}

size_t hash_live_count(const struct hash *hash, int64_t now_ms)
{
    if (!may_have_passed(hash, now_ms))
        return hash_count(hash);
    if (!is_table(hash))
        return hash_count(hash) - hash_small_due_count(pack_of(hash), now_ms);
    size_t count = 0;
    hash_each_live(hash, now_ms, count_live, &count);
    return count;
}

bool hash_find(const struct hash *hash, int64_t now_ms, struct bytes field,
               char scratch[PACK_SCRATCH], struct bytes *out_value)
{
    if (is_table(hash)) {
        uint64_t *cell = hash_large_find(large_of(hash), field);
        if (!cell)
            return false;
        struct hash_pair pair = hash_large_pair(*cell);
        if (hash_is_past(pair.expire_at_ms, now_ms))
            return false;
        *out_value = pair.value;
        return true;
    }
    const struct pack *pack = pack_of(hash);
    uint32_t width = width_of(hash);
    uint32_t at = hash_small_find(pack, width, field);
    if (at == PACK_NONE || hash_is_past(hash_small_expire_at(pack, width, at), now_ms))
        return false;
    *out_value = pack_view(pack, pack_next(pack, at), scratch);
    return true;
}

bool hash_find_ttl(const struct hash *hash, struct bytes field, int64_t *out_expire_at_ms)
{
    if (is_table(hash)) {
        uint64_t *cell = hash_large_find(large_of(hash), field);
        if (cell)
            *out_expire_at_ms = hash_large_pair(*cell).expire_at_ms;
        return cell != NULL;
    }
    uint32_t at = hash_small_find(pack_of(hash), width_of(hash), field);
    if (at != PACK_NONE)
        *out_expire_at_ms = hash_small_expire_at(pack_of(hash), width_of(hash), at);
    return at != PACK_NONE;
}

bool hash_has(const struct hash *hash, int64_t now_ms, struct bytes field)
{
    int64_t expire_at_ms;
    return hash_find_ttl(hash, field, &expire_at_ms) && !hash_is_past(expire_at_ms, now_ms);
}

void hash_each(const struct hash *hash, hash_visit_fn visit, void *context)
{
    if (is_table(hash))
        hash_large_each(large_of(hash), visit, context);
    else
        hash_small_each(pack_of(hash), width_of(hash), visit, context);
}

/* Passes on only what has not passed. */
struct filter {
    int64_t now_ms;
    hash_visit_fn visit;
    void *context;
};

static void visit_live(void *context, struct hash_pair pair)
{
    struct filter *filter = context;
    if (!hash_is_past(pair.expire_at_ms, filter->now_ms))
        filter->visit(filter->context, pair);
}

void hash_each_live(const struct hash *hash, int64_t now_ms, hash_visit_fn visit, void *context)
{
    struct filter filter = {now_ms, visit, context};
    if (may_have_passed(hash, now_ms))
        hash_each(hash, visit_live, &filter);
    else
        hash_each(hash, visit, context);
}

uint64_t hash_scan(const struct hash *hash, int64_t now_ms, uint64_t cursor, uint64_t count,
                   hash_visit_fn visit, void *context)
{
    struct filter filter = {now_ms, visit, context};
    if (is_table(hash))
        return hash_large_scan(large_of(hash), cursor, count, visit_live, &filter);
    hash_each_live(hash, now_ms, visit, context);
    return 0;
}

/* ---- By chance ----------------------------------------------------------------------------- */

/* Of the fields that pass by, each is taken with the chance that makes `wanted` of all. */
struct lottery {
    hash_visit_fn visit;
    void *context;
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
    lottery->visit(lottery->context, pair);
}

void hash_sample(const struct hash *hash, int64_t now_ms, struct rng *rng, uint64_t count,
                 struct arena *arena, hash_visit_fn visit, void *context)
{
    uint64_t total = hash_live_count(hash, now_ms);
    ASSERT(count <= total);
    if (is_table(hash) && count < total / SAMPLE_FEW && !may_have_passed(hash, now_ms)) {
        hash_large_sample(large_of(hash), rng, count, arena, visit, context);
        return;
    }
    struct lottery lottery = {visit, context, rng, .wanted = count, .left = total};
    hash_each_live(hash, now_ms, draw_visited, &lottery);
}

static void keep_pair(void *context, struct hash_pair pair)
{
    *(struct hash_pair *)context = pair;
}

/* What has passed stands in front of a pack. */
static bool random_of_pack(const struct hash *hash, int64_t now_ms, struct rng *rng,
                           struct hash_scratch *scratch, struct hash_pair *out)
{
    const struct pack *pack = pack_of(hash);
    uint32_t width = width_of(hash);
    uint64_t total = hash_count(hash);
    uint64_t passed = total - hash_live_count(hash, now_ms);
    if (passed == total)
        return false;
    uint64_t index = passed + rng_below(rng, total - passed);
    uint32_t next;
    *out = hash_small_pair(pack, width, pack_seek(pack, (int64_t)(width * index)), &next, scratch);
    return true;
}

bool hash_random(const struct hash *hash, int64_t now_ms, struct rng *rng,
                 struct hash_scratch *scratch, struct hash_pair *out)
{
    if (!is_table(hash))
        return random_of_pack(hash, now_ms, rng, scratch, out);
    if (hash_count(hash) == 0)
        return false;
    for (uint32_t tries = 0; tries < RANDOM_TRIES; tries++) {
        struct hash_pair pair = hash_large_pair(hash_large_random(large_of(hash), rng));
        if (hash_is_past(pair.expire_at_ms, now_ms))
            continue;
        *out = pair;
        return true;
    }
    uint64_t live_count = hash_live_count(hash, now_ms);
    if (live_count == 0)
        return false;
    hash_sample(hash, now_ms, rng, 1, NULL, keep_pair, out);
    return true;
}

/* ---- Changing ------------------------------------------------------------------------------ */

bool hash_put_pair(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
                   struct hash_pair pair)
{
    const struct bytes words[2] = {pair.field, pair.value};
    hash_expect(hash, heap, limits, words, 2);
    if (pair.expire_at_ms >= 0)
        become_timed(hash, heap);
    if (is_table(*hash))
        return hash_large_put(large_of(*hash), heap, pair);
    struct pack *pack = pack_of(*hash);
    bool is_new = hash_small_put(&pack, heap, width_of(*hash), pair);
    set_body(hash, (uintptr_t)pack);
    if (hash_count(*hash) > limits->field_count)
        become_table(hash, heap);
    return is_new;
}

bool hash_put(struct hash **hash, struct heap *heap, const struct hash_limits *limits,
              struct bytes field, struct bytes value)
{
    struct hash_pair pair = {.field = field, .value = value, .expire_at_ms = HASH_NO_TTL};
    return hash_put_pair(hash, heap, limits, pair);
}

bool hash_delete(struct hash **hash, struct heap *heap, struct bytes field)
{
    if (is_table(*hash))
        return hash_large_delete(large_of(*hash), heap, field);
    struct pack *pack = pack_of(*hash);
    uint32_t at = hash_small_find(pack, width_of(*hash), field);
    if (at == PACK_NONE)
        return false;
    hash_small_delete(&pack, heap, width_of(*hash), at, 1);
    set_body(hash, (uintptr_t)pack);
    return true;
}

/* ---- Times to live ------------------------------------------------------------------------- */

void hash_set_ttl(struct hash **hash, struct heap *heap, struct bytes field, int64_t expire_at_ms)
{
    if (expire_at_ms == HASH_NO_TTL && !hash_is_timed(*hash))
        return;
    become_timed(hash, heap);
    if (!is_table(*hash) && !pack_has_room(pack_of(*hash), PACK_ENTRY_EXTRA_MAX))
        become_table(hash, heap);
    if (is_table(*hash)) {
        uint64_t *cell = hash_large_find(large_of(*hash), field);
        ASSERT(cell);
        hash_large_set_ttl(timed_of(*hash), heap, cell, expire_at_ms);
        return;
    }
    struct pack *pack = pack_of(*hash);
    uint32_t at = hash_small_find(pack, HASH_TRIPLES, field);
    ASSERT(at != PACK_NONE);
    hash_small_set_ttl(&pack, heap, at, field, expire_at_ms);
    set_body(hash, (uintptr_t)pack);
}

uint64_t hash_ttl_count(const struct hash *hash)
{
    if (!hash_is_timed(hash))
        return 0;
    return is_table(hash) ? timed_of(hash)->ttl_count : hash_small_ttl_count(pack_of(hash));
}

int64_t hash_first_expiry_ms(const struct hash *hash)
{
    if (!hash_is_timed(hash))
        return HASH_NO_TTL;
    if (is_table(hash))
        return timed_of(hash)->ttl_count ? timed_of(hash)->first_at_ms : HASH_NO_TTL;
    const struct pack *pack = pack_of(hash);
    uint32_t first = pack_first(pack);
    return first == PACK_NONE ? HASH_NO_TTL : hash_small_expire_at(pack, HASH_TRIPLES, first);
}

bool hash_expire_some(struct hash **hash, struct heap *heap, int64_t now_ms, uint64_t budget,
                      struct hash_notice notice, uint64_t *out_count)
{
    *out_count = 0;
    if (!hash_is_timed(*hash))
        return true;
    if (is_table(*hash))
        return hash_large_expire_some(timed_of(*hash), heap, now_ms, budget, notice, out_count);
    struct pack *pack = pack_of(*hash);
    uint64_t due_count = hash_small_due_count(pack, now_ms);
    uint64_t count = due_count < budget ? due_count : budget;
    if (count > 0 && notice.before_change)
        notice.before_change(notice.context);
    if (count > 0)
        hash_small_delete(&pack, heap, HASH_TRIPLES, pack_first(pack), count);
    set_body(hash, (uintptr_t)pack);
    *out_count = count;
    return count == due_count;
}

struct agenda_item *hash_agenda_item(const struct hash *hash)
{
    return hash_is_timed(hash) ? &lease_of(hash)->item : NULL;
}

struct hash *hash_of_agenda_item(struct agenda_item *item)
{
    return of_lease((struct lease *)item);
}

/* ---- For dumps ----------------------------------------------------------------------------- */

const struct pack *hash_pack(const struct hash *hash)
{
    return is_table(hash) ? NULL : pack_of(hash);
}

struct hash *hash_of_pack(struct pack *pack, struct heap *heap, bool is_timed)
{
    return is_timed ? lease_body((uintptr_t)pack, heap) : (struct hash *)pack;
}

bool hash_triples_are_valid(const struct pack *pack)
{
    uint32_t count = pack_count(pack);
    if (count % HASH_TRIPLES != 0)
        return false;
    int64_t before_ms = 0;
    uint32_t at = pack_first(pack);
    for (uint32_t i = 1; i <= count; i++, at = pack_next(pack, at)) {
        if (i % HASH_TRIPLES != 0)
            continue;
        struct pack_item item = pack_get(pack, at);
        if (item.text || item.number < 0 || item.number > HASH_TTL_MAX)
            return false;
        int64_t time_ms = item.number == HASH_SMALL_LASTS ? INT64_MAX : item.number;
        if (time_ms < before_ms)
            return false;
        before_ms = time_ms;
    }
    return true;
}

/* ---- As a compound value ------------------------------------------------------------------- */

static const char *root_encoding(const void *root)
{
    if (is_table(root))
        return "hashtable";
    return hash_is_timed(root) ? "listpackex" : "listpack";
}

static size_t root_count(const void *root)
{
    return hash_count(root);
}

static size_t root_bytes(const void *root)
{
    const struct hash *hash = root;
    size_t bytes = hash_is_timed(hash) ? heap_usable(sizeof(struct lease)) : 0;
    if (is_table(hash))
        return bytes + hash_large_bytes(large_of(hash), hash_is_timed(hash));
    return bytes + heap_usable(pack_bytes(pack_of(hash)));
}

static void *root_copy(const void *root, struct heap *heap)
{
    const struct hash *hash = root;
    uintptr_t body = is_table(hash)
                         ? body_of_large(hash_large_copy(large_of(hash), heap, hash_is_timed(hash)))
                         : (uintptr_t)pack_copy(pack_of(hash), heap);
    return hash_is_timed(hash) ? lease_body(body, heap) : (struct hash *)body;
}

static bool root_free_some(void *root, struct heap *heap, size_t element_count)
{
    struct hash *hash = root;
    uint64_t budget = element_count;
    if (!is_table(hash))
        pack_destroy(pack_of(hash), heap);
    else if (!hash_large_free_some(large_of(hash), heap, hash_is_timed(hash), &budget))
        return false;
    if (hash_is_timed(hash))
        heap_free(heap, lease_of(hash), sizeof(struct lease));
    return true;
}

static const struct table *root_table(const void *root)
{
    return is_table(root) ? &large_of(root)->table : NULL;
}

const struct compound_ops hash_ops = {
    .encoding = root_encoding,
    .count = root_count,
    .bytes = root_bytes,
    .copy = root_copy,
    .free_some = root_free_some,
    .table = root_table,
};

/* ---- For tests ----------------------------------------------------------------------------- */

struct audit {
    const struct hash *hash;
    uint64_t count, ttl_count;
};

static void audit_pair(void *context, struct hash_pair pair)
{
    struct audit *audit = context;
    char scratch[PACK_SCRATCH];
    struct bytes value;
    int64_t expire_at_ms;
    bool found = hash_find(audit->hash, HASH_SEE_ALL, pair.field, scratch, &value) &&
                 hash_find_ttl(audit->hash, pair.field, &expire_at_ms);
    ASSERT(found && bytes_equal(value, pair.value) && expire_at_ms == pair.expire_at_ms);
    audit->count++;
    audit->ttl_count += expire_at_ms != HASH_NO_TTL;
}

void hash_validate(const struct hash *hash)
{
    struct audit audit = {.hash = hash};
    hash_each(hash, audit_pair, &audit);
    ASSERT(audit.count == hash_count(hash));
    ASSERT(audit.ttl_count == hash_ttl_count(hash));
    if (is_table(hash)) {
        hash_large_validate(large_of(hash), hash_is_timed(hash));
    } else {
        const struct pack *pack = pack_of(hash);
        ASSERT(pack_is_valid(bytes_of(pack, pack_bytes(pack))));
        ASSERT(pack_count(pack) % width_of(hash) == 0);
        ASSERT(!hash_is_timed(hash) || hash_triples_are_valid(pack));
    }
}
