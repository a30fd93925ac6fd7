/*
 * A time is an entry of its own, so a pack of triples can be searched like one of pairs: by
 * passing over what is no field. What has the earliest time stands in front, so what is due is a
 * run at the beginning.
 */
#include "core/type/hash_small.h"

#include "core/base/check.h"
#include "core/base/heap.h"

#define COPY_LEN 256u /* values up to this length are moved by way of the stack */

uint32_t hash_small_find(const struct pack *pack, uint32_t width, struct bytes field)
{
    return pack_find(pack, pack_first(pack), field, width - 1);
}

/* Where the time of the field at `at` is. */
static uint32_t time_at(const struct pack *pack, uint32_t at)
{
    return pack_next(pack, pack_next(pack, at));
}

static int64_t read_time(const struct pack *pack, uint32_t at)
{
    int64_t time_ms;
    bool is_int = pack_get_int(pack, at, &time_ms);
    ASSERT(is_int);
    return time_ms == HASH_SMALL_LASTS ? HASH_NO_TTL : time_ms;
}

int64_t hash_small_expire_at(const struct pack *pack, uint32_t width, uint32_t at)
{
    return width == HASH_TRIPLES ? read_time(pack, time_at(pack, at)) : HASH_NO_TTL;
}

struct hash_pair hash_small_pair(const struct pack *pack, uint32_t width, uint32_t at,
                                 uint32_t *out_next, struct hash_scratch *scratch)
{
    uint32_t value_at = pack_next(pack, at);
    struct hash_pair pair = {.field = pack_view(pack, at, scratch->field),
                             .value = pack_view(pack, value_at, scratch->value),
                             .expire_at_ms = HASH_NO_TTL};
    *out_next = pack_next(pack, value_at);
    if (width == HASH_TRIPLES) {
        pair.expire_at_ms = read_time(pack, *out_next);
        *out_next = pack_next(pack, *out_next);
    }
    return pair;
}

void hash_small_each(const struct pack *pack, uint32_t width, hash_visit_fn visit, void *context)
{
    struct hash_scratch scratch;
    uint32_t next;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; at = next)
        visit(context, hash_small_pair(pack, width, at, &next, &scratch));
}

/* How many triples have a time that is below `limit_ms`. */
static uint64_t count_below(const struct pack *pack, int64_t limit_ms)
{
    uint64_t count = 0;
    for (uint32_t at = pack_first(pack); at != PACK_NONE; count++) {
        uint32_t ends_at = time_at(pack, at);
        int64_t time_ms = read_time(pack, ends_at);
        if (time_ms == HASH_NO_TTL || time_ms >= limit_ms)
            break;
        at = pack_next(pack, ends_at);
    }
    return count;
}

uint64_t hash_small_ttl_count(const struct pack *pack)
{
    return count_below(pack, INT64_MAX);
}

uint64_t hash_small_due_count(const struct pack *pack, int64_t now_ms)
{
    return count_below(pack, now_ms);
}

/* ---- Changing ------------------------------------------------------------------------------ */

/* Where a new triple with this time belongs: before the first that is not earlier. */
static uint32_t place_for(const struct pack *pack, int64_t expire_at_ms)
{
    if (expire_at_ms == HASH_NO_TTL)
        return PACK_NONE;
    for (uint32_t at = pack_first(pack); at != PACK_NONE;) {
        uint32_t ends_at = time_at(pack, at);
        int64_t time_ms = read_time(pack, ends_at);
        if (time_ms == HASH_NO_TTL || time_ms >= expire_at_ms)
            return at;
        at = pack_next(pack, ends_at);
    }
    return PACK_NONE;
}

static int64_t time_entry(int64_t expire_at_ms)
{
    return expire_at_ms == HASH_NO_TTL ? HASH_SMALL_LASTS : expire_at_ms;
}

static void insert_triple(struct pack **pack, struct heap *heap, struct hash_pair pair)
{
    uint32_t before = place_for(*pack, pair.expire_at_ms);
    uint32_t at = pack_insert_pair(pack, heap, before, pair.field, pair.value);
    /* What stood there has moved behind the pair, or there is nothing. */
    (void)pack_insert_int(pack, heap, time_at(*pack, at), time_entry(pair.expire_at_ms));
}

void hash_small_set_ttl(struct pack **pack, struct heap *heap, uint32_t at, struct bytes field,
                        int64_t expire_at_ms)
{
    uint32_t ends_at = time_at(*pack, at);
    if (read_time(*pack, ends_at) == expire_at_ms)
        return;
    uint32_t prev_at = pack_prev(*pack, at), next_at = pack_next(*pack, ends_at);
    int64_t limit_ms = expire_at_ms == HASH_NO_TTL ? INT64_MAX : expire_at_ms;
    int64_t prev_ms = prev_at == PACK_NONE ? 0 : read_time(*pack, prev_at);
    int64_t next_ms = next_at == PACK_NONE ? HASH_NO_TTL
                                           : read_time(*pack, time_at(*pack, next_at));
    bool is_after_prev = prev_ms != HASH_NO_TTL && prev_ms <= limit_ms;
    bool is_before_next = next_ms == HASH_NO_TTL || limit_ms <= next_ms;
    if (is_after_prev && is_before_next) {
        pack_replace_int(pack, heap, ends_at, time_entry(expire_at_ms));
        return;
    }

    char scratch[PACK_SCRATCH], copy[COPY_LEN];
    struct bytes value = pack_view(*pack, pack_next(*pack, at), scratch);
    char *moved = value.len <= COPY_LEN ? copy : heap_alloc(heap, value.len);
    if (value.len)
        memcpy(moved, value.ptr, value.len);
    (void)pack_delete(pack, heap, at, HASH_TRIPLES);
    insert_triple(pack, heap,
                  (struct hash_pair){.field = field,
                                     .value = bytes_of(moved, value.len),
                                     .expire_at_ms = expire_at_ms});
    if (moved != copy)
        heap_free(heap, moved, value.len);
}

bool hash_small_put(struct pack **pack, struct heap *heap, uint32_t width, struct hash_pair pair)
{
    uint32_t at = hash_small_find(*pack, width, pair.field);
    if (at != PACK_NONE) {
        pack_replace(pack, heap, pack_next(*pack, at), pair.value);
        if (width == HASH_TRIPLES && pair.expire_at_ms != HASH_KEEP_TTL)
            hash_small_set_ttl(pack, heap, at, pair.field, pair.expire_at_ms);
        return false;
    }
    if (pair.expire_at_ms == HASH_KEEP_TTL)
        pair.expire_at_ms = HASH_NO_TTL;
    if (width == HASH_TRIPLES)
        insert_triple(pack, heap, pair);
    else
        (void)pack_insert_pair(pack, heap, PACK_NONE, pair.field, pair.value);
    return true;
}

void hash_small_delete(struct pack **pack, struct heap *heap, uint32_t width, uint32_t at,
                       uint64_t count)
{
    (void)pack_delete(pack, heap, at, (uint32_t)count * width);
}

void hash_small_widen(struct pack **pack, struct heap *heap)
{
    pack_interleave_int(pack, heap, HASH_PAIRS, HASH_SMALL_LASTS);
}
