/*
 * How: an observer of the shard's databases, on duty only while anything is watched.
 */
#include "shards/local/watch.h"

#include "core/base/heap.h"
#include "core/base/mem.h"
#include "shards/local/db.h"
#include "shards/local/interest.h"
#include "shards/local/shard.h"

struct watcher {
    struct interest_party party;
    uint32_t epoch;
    bool is_dirty;
};

struct watches {
    struct shard *shard;
    struct interest interest;
    struct db_observer observer;
    uint64_t place_count;
    bool is_on_duty;
    bool is_looking; /* what expires meanwhile was not what is watched */
};

static struct watcher *watcher_of(struct interest_party *party)
{
    return (struct watcher *)(void *)party; /* its first member */
}

static void spoil(struct interest_key *key)
{
    ILIST_EACH(struct interest_place, place, &key->places, link)
    {
        watcher_of(place->party)->is_dirty = true;
    }
}

static void spoil_if_present(void *context, struct interest_key *watched)
{
    struct db *db = context;
    struct key key = key_make(interest_name(watched));
    if (db_peek(db, &key))
        spoil(watched);
}

/* Of a whole database: those keys that it has. */
static void on_change(void *context, struct db *db, const struct bytes *name)
{
    struct watches *watches = context;
    if (watches->is_looking)
        return;
    if (!name) {
        interest_each(&watches->interest, db_index(db), spoil_if_present, db);
        return;
    }
    struct interest_key *key = interest_find(&watches->interest, db_index(db), *name);
    if (key)
        spoil(key);
}

/* And those that it has got by an exchange. */
static void on_exchange(void *context, struct db *db)
{
    struct watches *watches = context;
    watches->is_looking = true;
    interest_each(&watches->interest, db_index(db), spoil_if_present, db);
    watches->is_looking = false;
}

struct watches *watches_create(struct shard *shard)
{
    struct watches *watches = mem_zalloc(sizeof(*watches));
    watches->shard = shard;
    watches->observer = (struct db_observer){
        .observe = on_change, .exchanged = on_exchange, .context = watches, .values_only = true};
    interest_init(&watches->interest, shard->heap);
    return watches;
}

static void attend(struct watches *watches)
{
    bool is_needed = !interest_is_empty(&watches->interest);
    if (is_needed == watches->is_on_duty)
        return;
    watches->is_on_duty = is_needed;
    if (is_needed)
        db_observe(watches->shard, &watches->observer);
    else
        db_unobserve(watches->shard, &watches->observer);
}

static void drop(struct watches *watches, struct watcher *watcher)
{
    struct heap *heap = watches->shard->heap;
    struct interest_place *place;
    while ((place = interest_give_up(&watches->interest, &watcher->party)) != NULL) {
        heap_free(heap, place, sizeof(*place));
        watches->place_count--;
    }
    interest_party_remove(&watches->interest, &watcher->party);
    heap_free(heap, watcher, sizeof(*watcher));
    attend(watches);
}

static void drop_cell(void *context, uint64_t *cell)
{
    struct watches *watches = context;
    struct watcher *watcher = watcher_of(table_item(*cell));
    struct interest_place *place;
    while ((place = interest_give_up(&watches->interest, &watcher->party)) != NULL)
        heap_free(watches->shard->heap, place, sizeof(*place));
    heap_free(watches->shard->heap, watcher, sizeof(*watcher));
}

void watches_destroy(struct watches *watches)
{
    if (!watches)
        return;
    if (watches->is_on_duty)
        db_unobserve(watches->shard, &watches->observer);
    uint64_t budget = UINT64_MAX;
    table_drain(&watches->interest.parties, watches->shard->heap, &budget, drop_cell, watches);
    mem_free(watches);
}

static struct watcher *find(const struct watches *watches, uint64_t client_id)
{
    return watcher_of(interest_party(&watches->interest, client_id));
}

static bool is_watched(const struct watches *watches, const struct watcher *watcher, uint16_t db,
                       struct bytes name)
{
    struct interest_key *key = interest_find(&watches->interest, db, name);
    if (!key)
        return false;
    ILIST_EACH(struct interest_place, place, &key->places, link)
    {
        if (place->party == &watcher->party)
            return true;
    }
    return false;
}

void watch_add(struct watches *watches, uint64_t client_id, uint32_t epoch, struct db *db,
               const struct key *key)
{
    struct heap *heap = watches->shard->heap;
    struct watcher *watcher = find(watches, client_id);
    if (watcher && watcher->epoch != epoch) {
        drop(watches, watcher);
        watcher = NULL;
    }
    (void)db_peek(db, key); /* one whose time has come is gone, and its going changes nothing */
    if (!watcher) {
        watcher = heap_alloc(heap, sizeof(*watcher));
        *watcher = (struct watcher){.epoch = epoch};
        interest_party_add(&watches->interest, &watcher->party, client_id);
    }
    if (!is_watched(watches, watcher, db_index(db), key->name)) {
        struct interest_place *place = heap_alloc(heap, sizeof(*place));
        interest_take(&watches->interest, &watcher->party, place, db_index(db), key->name);
        watches->place_count++;
    }
    attend(watches);
}

bool watch_is_dirty(struct watches *watches, uint64_t client_id, uint32_t epoch)
{
    struct watcher *watcher = find(watches, client_id);
    if (!watcher || watcher->epoch != epoch)
        return false;
    /* A key whose time has come, and that nobody has met yet, goes now. */
    for (struct interest_place *place = watcher->party.first; place && !watcher->is_dirty;
         place = place->next) {
        struct key key = key_make(interest_name(place->key));
        (void)db_peek(watches->shard->dbs[place->key->db_index], &key);
    }
    return watcher->is_dirty;
}

void watch_drop(struct watches *watches, uint64_t client_id, uint32_t epoch)
{
    struct watcher *watcher = find(watches, client_id);
    if (watcher && watcher->epoch <= epoch)
        drop(watches, watcher);
}

uint64_t watch_count(const struct watches *watches)
{
    return watches->place_count;
}
