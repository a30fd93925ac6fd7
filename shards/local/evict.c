/*
 * Counting. The sum over all threads and heaps costs a cache line for each, so it is taken only
 * when this shard's own use has grown by a share of the room that was left, or at a tick.
 *
 * Choosing. For LRU, LFU and TTL a pool keeps the 16 best candidates met so far, in the order of
 * their score, the best last. A round adds `maxmemory-samples` keys or more: whole buckets at
 * random places, since a line of memory that was fetched holds 7 keys. The pool remembers a key by
 * its hash: no copies of names, and a candidate that has gone meanwhile is simply not found.
 * Policies on volatile keys see in a cell whether its key is one; when chance does not find any, a
 * sweep through the keyspace does, a step at a time.
 */
#include "shards/local/evict.h"

#include <stdatomic.h>

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/clock.h"
#include "core/store/access.h"
#include "shards/local/compact.h"
#include "shards/local/db_data.h"
#include "shards/local/lazyfree.h"

#define POOL_CAP 16u
#define SAMPLE_CAP 32u    /* cells of one bucket that are looked at */
#define BUCKET_TRIES 16u  /* random buckets, before the sweep */
#define SWEEP_CELLS 1024u /* of one step */
#define ROOM_CHECK_BYTES                                                                           \
    ((size_t)64 << 10)                /* growth of this shard after which all are summed up        \
                                       */
#define SLACK_BYTES ((size_t)1 << 20) /* over the limit by this or 1/64: every writer evicts */
#define SLACK_PART 64u
#define MARGIN_PART 128u /* of maxmemory: so much below it evicting begins, */
#define HURRY_PART 64u   /* and so much above it writers help to move blocks together */
#define TENACITY_UNLIMITED 100u

/* What a shard tells the others; a cache line. */
struct evict_share {
    const struct heap *heap;
    _Atomic size_t leaves;      /* spare bytes that count: compact_leaves() */
    _Atomic uint64_t evictable; /* keys that the policy may evict */
    _Atomic bool asked;         /* by another shard, to evict */
} __attribute__((aligned(64)));

struct candidate {
    uint64_t score; /* the higher, the sooner it goes */
    uint64_t hash;
    uint16_t slot;
    uint16_t db_index;
};

struct evict {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    const struct config *config; /* that room_until was reckoned with */
    size_t room_until;           /* own_counted() may grow up to here without a look at the sum */
    struct evict_share *shares;  /* [share_count] */
    uint32_t share_count;
    bool owns_shares;
    uint32_t share_index;
    int asked_shard;
    uint32_t pool_len;
    struct candidate pool[POOL_CAP];
    uint32_t next_db;
    uint32_t sweep_db;
    uint64_t sweep_position;
};

/* ---- Policies ---- */

static bool is_volatile_only(enum maxmemory_policy policy)
{
    return policy == MAXMEMORY_VOLATILE_LRU || policy == MAXMEMORY_VOLATILE_LFU ||
           policy == MAXMEMORY_VOLATILE_RANDOM || policy == MAXMEMORY_VOLATILE_TTL;
}

static bool is_random(enum maxmemory_policy policy)
{
    return policy == MAXMEMORY_ALLKEYS_RANDOM || policy == MAXMEMORY_VOLATILE_RANDOM;
}

static uint64_t score(const struct shard *shard, const struct value *record)
{
    const struct config *config = shard->config;
    switch (config->maxmemory_policy) {
    case MAXMEMORY_ALLKEYS_LRU:
    case MAXMEMORY_VOLATILE_LRU:
        return access_idle_s(record_access(record), shard->now_ms);
    case MAXMEMORY_ALLKEYS_LFU:
    case MAXMEMORY_VOLATILE_LFU: {
        struct access_lfu_options options = {config->lfu_log_factor, config->lfu_decay_time};
        return 255u - access_lfu_counter(record_access(record), shard->now_ms, options);
    }
    case MAXMEMORY_VOLATILE_TTL:
        return UINT64_MAX - (uint64_t)record_expire_at(record);
    default:
        return 0;
    }
}

static uint64_t db_evictable(const struct shard *shard, const struct db *db)
{
    return is_volatile_only(shard->config->maxmemory_policy) ? db->keyspace->ttl_count
                                                             : db->keyspace->count;
}

static uint64_t own_evictable(const struct shard *shard)
{
    if (shard->config->maxmemory_policy == MAXMEMORY_NOEVICTION)
        return 0;
    uint64_t count = 0;
    for (uint32_t i = 0; i < shard->config->databases; i++)
        count += db_evictable(shard, shard->dbs[i]);
    return count;
}

/* ---- The pool ---- */

static void pool_add(struct evict *evict, struct candidate candidate)
{
    struct candidate *pool = evict->pool;
    if (evict->pool_len == POOL_CAP && candidate.score <= pool[0].score)
        return;
    for (uint32_t i = 0; i < evict->pool_len; i++) {
        if (pool[i].hash == candidate.hash && pool[i].db_index == candidate.db_index)
            return;
    }
    uint32_t at = 0;
    while (at < evict->pool_len && pool[at].score < candidate.score)
        at++;
    if (evict->pool_len < POOL_CAP) {
        memmove(&pool[at + 1], &pool[at], (evict->pool_len - at) * sizeof *pool);
        evict->pool_len++;
    } else {
        at--; /* the worst falls out at the front */
        memmove(&pool[0], &pool[1], at * sizeof *pool);
    }
    pool[at] = candidate;
}

static void consider(struct evict *evict, const struct db *db, const struct value *record)
{
    struct key key = key_make(record_name(record));
    struct candidate candidate = {score(evict->shard, record), key.hash, key.slot, db->index};
    pool_add(evict, candidate);
}

static bool has_hash(const void *item, const void *wanted)
{
    return key_hash(record_name(item)) == *(const uint64_t *)wanted;
}

/* The record of a candidate, if it is still there and may still go. */
static struct value *find_candidate(const struct evict *evict, const struct candidate *candidate)
{
    const struct shard *shard = evict->shard;
    if (candidate->db_index >= shard->config->databases)
        return NULL;
    const struct keyspace *keyspace = shard->dbs[candidate->db_index]->keyspace;
    const struct table *table = keyspace_table(keyspace, candidate->slot);
    uint64_t *cell = table ? table_find(table, candidate->hash, has_hash, &candidate->hash) : NULL;
    if (!cell || (is_volatile_only(shard->config->maxmemory_policy) && !(*cell & TABLE_MARK)))
        return NULL;
    return table_item(*cell);
}

/* ---- Choosing ---- */

/* Up to SAMPLE_CAP records of one random bucket that may go. */
static uint32_t sample_bucket(struct shard *shard, const struct db *db,
                              struct value *out_records[SAMPLE_CAP])
{
    uint64_t *cells[SAMPLE_CAP];
    uint64_t hash;
    const struct table *table = keyspace_random_table(db->keyspace, &shard->rng, &hash);
    uint32_t len = table_sample(table, hash, cells, SAMPLE_CAP);
    bool only_marked = is_volatile_only(shard->config->maxmemory_policy);
    uint32_t count = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (only_marked && !(*cells[i] & TABLE_MARK))
            continue;
        out_records[count] = table_item(*cells[i]);
        __builtin_prefetch(out_records[count++]);
    }
    return count;
}

static void sweep_cell(void *context, uint64_t *cell)
{
    struct evict *evict = context;
    if (*cell & TABLE_MARK)
        consider(evict, evict->shard->dbs[evict->sweep_db], table_item(*cell));
}

/* Looks for volatile keys where chance has found none. */
static void sweep(struct evict *evict)
{
    struct shard *shard = evict->shard;
    struct db *db = shard->dbs[evict->sweep_db];
    if (db->keyspace->ttl_count) {
        evict->sweep_position = keyspace_scan(db->keyspace, evict->sweep_position, SWEEP_CELLS,
                                              sweep_cell, evict);
        if (evict->sweep_position != KEYSPACE_END)
            return;
    }
    evict->sweep_position = 0;
    evict->sweep_db = (evict->sweep_db + 1) % shard->config->databases;
}

static void fill_pool(struct evict *evict)
{
    struct shard *shard = evict->shard;
    struct value *records[SAMPLE_CAP];
    for (uint32_t i = 0; i < shard->config->databases; i++) {
        struct db *db = shard->dbs[i];
        if (db_evictable(shard, db) == 0)
            continue;
        uint32_t seen = 0;
        for (uint32_t tries = 0; tries < BUCKET_TRIES && seen < shard->config->maxmemory_samples;
             tries++) {
            uint32_t count = sample_bucket(shard, db, records);
            for (uint32_t k = 0; k < count; k++)
                consider(evict, db, records[k]);
            seen += count;
        }
    }
    if (evict->pool_len == 0)
        sweep(evict);
}

static struct value *choose_random(struct evict *evict, struct db **out_db)
{
    struct shard *shard = evict->shard;
    struct value *records[SAMPLE_CAP];
    for (uint32_t i = 0; i < shard->config->databases; i++) {
        struct db *db = shard->dbs[evict->next_db++ % shard->config->databases];
        if (db_evictable(shard, db) == 0)
            continue;
        for (uint32_t tries = 0; tries < BUCKET_TRIES; tries++) {
            uint32_t count = sample_bucket(shard, db, records);
            if (count) {
                *out_db = db;
                return records[rng_below(&shard->rng, count)];
            }
        }
    }
    return NULL;
}

static struct value *choose_from_pool(struct evict *evict, struct db **out_db)
{
    while (evict->pool_len > 0) {
        const struct candidate *best = &evict->pool[--evict->pool_len];
        struct value *record = find_candidate(evict, best);
        if (record) {
            *out_db = evict->shard->dbs[best->db_index];
            return record;
        }
    }
    return NULL;
}

/* Evicts one key, or makes a step towards finding one. */
static void evict_step(struct evict *evict)
{
    struct shard *shard = evict->shard;
    struct value *record = NULL;
    struct db *db = NULL;
    if (is_random(shard->config->maxmemory_policy)) {
        record = choose_random(evict, &db);
        if (!record)
            sweep(evict);
    } else {
        fill_pool(evict);
    }
    if (!record)
        record = choose_from_pool(evict, &db);
    if (!record)
        return;
    shard->stats.evicted_keys++;
    uint64_t from = clock_ticks();
    db_remove_record(db, record);
    slow_note(&shard->slow, SLOW_EVICTION_DEL, clock_ticks_to_ns(clock_ticks() - from));
}

/* ---- Counting ---- */

/* Spare bytes of a heap that are too many. */
static size_t excess_bytes(const struct evict_share *share)
{
    size_t spare = heap_spare(share->heap), part = heap_used(share->heap) / COMPACT_SPARE_PART;
    size_t leaves = atomic_load_explicit(&share->leaves, memory_order_relaxed);
    if (leaves < part) /* the heap has grown since */
        leaves = part;
    return spare > leaves ? spare - leaves : 0;
}

static size_t own_counted(const struct evict *evict)
{
    const struct evict_share *share = &evict->shares[evict->share_index];
    return heap_used(share->heap) - excess_bytes(share);
}

size_t evict_not_counted(const struct shard *shard)
{
    const struct evict *evict = shard->evict;
    size_t bytes = 0;
    for (uint32_t i = 0; i < evict->share_count; i++)
        bytes += excess_bytes(&evict->shares[i]);
    return bytes;
}

/* Bytes over maxmemory, negative: room. */
static int64_t over_limit(const struct shard *shard)
{
    return (int64_t)mem_used() - (int64_t)evict_not_counted(shard) -
           (int64_t)shard->config->maxmemory;
}

static int64_t margin(const struct shard *shard)
{
    bool evicts = shard->config->maxmemory_policy != MAXMEMORY_NOEVICTION;
    return evicts ? (int64_t)(shard->config->maxmemory / MARGIN_PART) : 0;
}

/* More is used than should be, and some of that lies spare here. */
static bool must_compact(const struct evict *evict)
{
    return mem_used() > evict->shard->config->maxmemory &&
           excess_bytes(&evict->shares[evict->share_index]) > 0;
}

static bool is_urgent(const struct config *config)
{
    return mem_used() > config->maxmemory + config->maxmemory / HURRY_PART;
}

static void publish(struct evict *evict)
{
    struct evict_share *share = &evict->shares[evict->share_index];
    /* Relaxed: numbers for others to go by, which order nothing. */
    atomic_store_explicit(&share->evictable, own_evictable(evict->shard), memory_order_relaxed);
    atomic_store_explicit(&share->leaves, compact_leaves(evict->shard), memory_order_relaxed);
}

static bool anyone_can_evict(const struct evict *evict)
{
    for (uint32_t i = 0; i < evict->share_count; i++) {
        if (atomic_load_explicit(&evict->shares[i].evictable, memory_order_relaxed) > 0)
            return true;
    }
    return false;
}

/* The fullest shard that has something to evict, or this one. */
static uint32_t fullest_share(const struct evict *evict)
{
    uint32_t fullest = evict->share_index;
    size_t most = 0;
    for (uint32_t i = 0; i < evict->share_count; i++) {
        const struct evict_share *share = &evict->shares[i];
        size_t used = heap_used(share->heap);
        if (used > most && atomic_load_explicit(&share->evictable, memory_order_relaxed) > 0) {
            most = used;
            fullest = i;
        }
    }
    return fullest;
}

static bool has_fair_share(const struct evict *evict)
{
    size_t sum = 0;
    for (uint32_t i = 0; i < evict->share_count; i++)
        sum += heap_used(evict->shares[i].heap);
    return heap_used(evict->shard->heap) >= sum / evict->share_count;
}

/* ---- Making room ---- */

/* Frees and evicts here until `over` bytes are gone or the time is up. True: it is done. */
static bool evict_own(struct evict *evict, int64_t over, uint64_t deadline_ns)
{
    struct shard *shard = evict->shard;
    uint64_t start_ns = clock_mono_ns(), now_ns = start_ns;
    int64_t goal = (int64_t)heap_live(shard->heap) - over;
    bool more_to_free = true;
    while ((int64_t)heap_live(shard->heap) > goal && now_ns < deadline_ns) {
        if (more_to_free)
            more_to_free = lazyfree_run(shard->lazyfree, now_ns);
        else if (own_evictable(shard) > 0)
            evict_step(evict);
        else
            break;
        now_ns = clock_mono_ns();
    }
    publish(evict);
    slow_note(&shard->slow, SLOW_EVICTION_CYCLE, now_ns - start_ns);
    shard->stats.eviction_us += (now_ns - start_ns + 500) / 1000;
    return (int64_t)heap_live(shard->heap) <= goal;
}

/* How long a writer may be kept busy: SLICE_US at the default tenacity of 10, no limit at 100. */
static uint64_t slice_ns(const struct config *config)
{
    uint32_t tenacity = config->maxmemory_eviction_tenacity;
    if (tenacity >= TENACITY_UNLIMITED)
        return UINT64_MAX / 2;
    double us = tenacity <= 10 ? SLICE_US / 10.0 * tenacity : SLICE_US;
    for (uint32_t i = 10; i < tenacity; i++)
        us *= 1.15;
    return (uint64_t)(us * 1000);
}

static enum status make_room_slowly(struct evict *evict)
{
    struct shard *shard = evict->shard;
    const struct config *config = shard->config;
    evict->config = config;
    if (unlikely(must_compact(evict))) {
        if (is_urgent(config))
            compact_now(shard->compact, clock_mono_ns() + slice_ns(config));
        task_start(&shard->tasks, &evict->task);
    }
    int64_t over = over_limit(shard) + margin(shard);
    if (over <= 0) {
        /* All shards may grow by a part of the room at the same time before they look again. */
        size_t room = (size_t)-over / (2 * evict->share_count);
        evict->room_until = own_counted(evict) +
                            (room < ROOM_CHECK_BYTES ? room : ROOM_CHECK_BYTES);
        return OK;
    }
    evict->room_until = 0;
    if (config->maxmemory_policy == MAXMEMORY_NOEVICTION) {
        /* What was flushed and is still being freed will be room enough, or will not. */
        if (lazyfree_run(shard->lazyfree, clock_mono_ns() + slice_ns(config)))
            return OK;
        return over_limit(shard) > 0 ? ERR_OOM : OK;
    }

    publish(evict);
    uint64_t slack = config->maxmemory / SLACK_PART;
    if (slack < SLACK_BYTES)
        slack = SLACK_BYTES;
    if (evict->share_count > 1 && (!has_fair_share(evict) || own_evictable(shard) == 0)) {
        uint32_t fullest = fullest_share(evict);
        if (fullest != evict->share_index) {
            atomic_store_explicit(&evict->shares[fullest].asked, true, memory_order_relaxed);
            evict->asked_shard = (int)fullest;
            if ((uint64_t)over <= slack)
                return OK;
        }
    }
    if (evict_own(evict, over, clock_mono_ns() + slice_ns(config))) {
        /* What is spare now can be used up without growing. */
        evict->room_until = own_counted(evict);
        return OK;
    }
    if (!anyone_can_evict(evict))
        return over_limit(shard) > 0 ? ERR_OOM : OK;
    if (own_evictable(shard) > 0)
        task_start(&shard->tasks, &evict->task);
    return OK;
}

enum status evict_make_room(struct shard *shard)
{
    struct evict *evict = shard->evict;
    if (likely(shard->config->maxmemory == 0))
        return OK;
    if (likely(own_counted(evict) <= evict->room_until && evict->config == shard->config))
        return OK;
    return make_room_slowly(evict);
}

int evict_asked_shard(struct shard *shard)
{
    int asked = shard->evict->asked_shard;
    shard->evict->asked_shard = -1;
    return asked;
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    struct evict *evict = (struct evict *)task;
    struct shard *shard = evict->shard;
    const struct config *config = shard->config;
    if (config->maxmemory == 0)
        return false;
    bool compacts = must_compact(evict) && compact_now(shard->compact, deadline_ns);
    int64_t over = over_limit(shard) + margin(shard);
    if (over <= 0 || config->maxmemory_policy == MAXMEMORY_NOEVICTION)
        return compacts;
    evict_own(evict, over, deadline_ns);
    return compacts || (own_evictable(shard) > 0 && over_limit(shard) + margin(shard) > 0);
}

void evict_tick(struct evict *evict)
{
    struct shard *shard = evict->shard;
    evict->room_until = 0; /* memory besides this heap's may have grown */
    publish(evict);
    if (shard->config->maxmemory == 0)
        return;
    bool asked = atomic_exchange_explicit(&evict->shares[evict->share_index].asked, false,
                                          memory_order_relaxed);
    bool evicts = over_limit(shard) + margin(shard) > 0 && (asked || has_fair_share(evict));
    if (evicts || must_compact(evict))
        task_start(&shard->tasks, &evict->task);
}

/* ---- Making and introducing ---- */

struct evict *evict_create(struct shard *shard)
{
    struct evict *evict = mem_zalloc(sizeof *evict);
    evict->shard = shard;
    evict->task.run = run_task;
    evict->asked_shard = -1;
    evict->share_count = 1;
    evict->owns_shares = true;
    evict->shares = mem_alloc_aligned(sizeof *evict->shares, 64);
    evict->shares[0] = (struct evict_share){.heap = shard->heap, .leaves = COMPACT_SPARE_MIN};
    return evict;
}

void evict_introduce(struct shard *const *shards, uint32_t count)
{
    struct evict_share *shares = mem_alloc_aligned(count * sizeof *shares, 64);
    for (uint32_t i = 0; i < count; i++) {
        struct evict *evict = shards[i]->evict;
        if (evict->owns_shares)
            mem_free(evict->shares);
        shares[i] = (struct evict_share){.heap = shards[i]->heap, .leaves = COMPACT_SPARE_MIN};
        evict->shares = shares;
        evict->share_count = count;
        evict->share_index = i;
        evict->owns_shares = i == 0;
    }
}

void evict_destroy(struct evict *evict)
{
    if (!evict)
        return;
    task_stop(&evict->shard->tasks, &evict->task);
    if (evict->owns_shares)
        mem_free(evict->shares);
    mem_free(evict);
}
