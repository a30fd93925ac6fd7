/*
 * How: an observer of the shard's databases marks keys as ready just before they change; they are
 * served after the command, when it shows whether there is anything for those who wait. The
 * observer is on duty only while anybody waits.
 */
#include "shards/local/wait.h"

#include <string.h>

#include "core/base/heap.h"
#include "core/base/mem.h"
#include "core/store/key.h"
#include "shards/local/db.h"
#include "shards/local/shard.h"

struct waits {
    struct shard *shard;
    struct interest interest;
    struct ilist ready;
    struct db_observer observer;
    uint64_t any_change_count;
    bool is_on_duty;
};

static struct wait *wait_of(struct interest_party *party)
{
    return (struct wait *)(void *)party; /* its first member */
}

static void make_ready(void *context, struct interest_key *key)
{
    struct waits *waits = context;
    if (ilist_is_linked(&key->ready))
        return;
    ilist_add_last(&waits->ready, &key->ready);
    waits->shard->has_ready = true;
}

static void on_change(void *context, struct db *db, const struct bytes *name)
{
    struct waits *waits = context;
    if (!name) {
        interest_each(&waits->interest, db_index(db), make_ready, waits);
        return;
    }
    struct interest_key *key = interest_find(&waits->interest, db_index(db), *name);
    if (key)
        make_ready(waits, key);
}

static void on_exchange(void *context, struct db *db)
{
    on_change(context, db, NULL);
}

struct waits *waits_create(struct shard *shard)
{
    struct waits *waits = mem_zalloc(sizeof(*waits));
    waits->shard = shard;
    waits->observer = (struct db_observer){
        .observe = on_change, .exchanged = on_exchange, .context = waits};
    interest_init(&waits->interest, shard->heap);
    ilist_init(&waits->ready);
    return waits;
}

static void attend(struct waits *waits)
{
    bool is_needed = !interest_is_empty(&waits->interest);
    if (is_needed == waits->is_on_duty)
        return;
    waits->is_on_duty = is_needed;
    if (is_needed)
        db_observe(waits->shard, &waits->observer);
    else
        db_unobserve(waits->shard, &waits->observer);
}

static void free_cell(void *context, uint64_t *cell)
{
    struct waits *waits = context;
    struct wait *wait = wait_of(table_item(*cell));
    while (interest_give_up(&waits->interest, &wait->party))
        continue;
    mem_free(wait);
}

void waits_destroy(struct waits *waits)
{
    if (!waits)
        return;
    if (waits->is_on_duty)
        db_unobserve(waits->shard, &waits->observer);
    uint64_t budget = UINT64_MAX;
    table_drain(&waits->interest.parties, waits->shard->heap, &budget, free_cell, waits);
    mem_free(waits);
}

/* One block: the wait, its places, the vector of its words, the words. */
static struct wait *create(const struct wait_request *request, uint32_t place_count)
{
    size_t vector_at = sizeof(struct wait) + place_count * sizeof(struct interest_place);
    size_t words_at = vector_at + request->arg_count * sizeof(struct bytes);
    size_t bytes = words_at;
    for (uint32_t i = 0; i < request->arg_count; i++)
        bytes += request->args[i].len;
    struct wait *wait = mem_alloc(bytes);
    *wait = (struct wait){.request = *request, .place_count = place_count, .bytes = bytes};
    struct bytes *args = (struct bytes *)(void *)((char *)wait + vector_at);
    char *word = (char *)wait + words_at;
    for (uint32_t i = 0; i < request->arg_count; i++) {
        args[i] = bytes_of(word, request->args[i].len);
        memcpy(word, request->args[i].ptr, args[i].len);
        word += args[i].len;
    }
    wait->request.args = args;
    return wait;
}

void wait_add(struct waits *waits, const struct wait_request *request, const uint16_t *slot_map)
{
    uint32_t mine = 0;
    for (uint32_t i = 0; i < request->key_count; i++)
        mine += slot_map[key_slot(request->args[request->first_key + i])] == waits->shard->id;
    struct wait *wait = create(request, mine);
    interest_party_add(&waits->interest, &wait->party, request->client_id);
    uint32_t place = 0;
    for (uint32_t i = 0; i < request->key_count; i++) {
        struct bytes name = wait->request.args[request->first_key + i];
        if (slot_map[key_slot(name)] == waits->shard->id)
            interest_take(&waits->interest, &wait->party, &wait->places[place++], request->db_index,
                          name);
    }
    waits->any_change_count += request->on_any_change;
    attend(waits);
}

struct wait *wait_find(const struct waits *waits, uint64_t client_id)
{
    return wait_of(interest_party(&waits->interest, client_id));
}

void wait_drop(struct waits *waits, struct wait *wait)
{
    for (uint32_t i = 0; i < wait->place_count; i++)
        make_ready(waits, wait->places[i].key);
    while (interest_give_up(&waits->interest, &wait->party)) /* the last at a key takes it along */
        continue;
    interest_party_remove(&waits->interest, &wait->party);
    waits->any_change_count -= wait->request.on_any_change;
    mem_free(wait);
    waits->shard->has_ready = !ilist_is_empty(&waits->ready);
    attend(waits);
}

struct interest_key *wait_take_ready(struct waits *waits)
{
    struct ilist_link *link = ilist_take_first(&waits->ready);
    waits->shard->has_ready = !ilist_is_empty(&waits->ready);
    return link ? ILIST_ITEM(struct interest_key, link, ready) : NULL;
}

static struct wait *at_link(const struct interest_key *key, const struct ilist_link *link)
{
    if (link == &key->places.head)
        return NULL;
    return wait_of(ILIST_ITEM(struct interest_place, link, link)->party);
}

struct wait *wait_first(const struct interest_key *key)
{
    return at_link(key, key->places.head.next);
}

struct wait *wait_next(const struct interest_key *key, const struct wait *wait)
{
    /* A wait may have several places at a key that was named several times. */
    const struct interest_place *last = NULL;
    for (uint32_t i = 0; i < wait->place_count; i++)
        if (wait->places[i].key == key)
            last = &wait->places[i];
    return at_link(key, last->link.next);
}

bool wait_suits(const struct wait *wait, const struct value *value)
{
    return wait->request.on_any_change || (value && value_type(value) == wait->request.type);
}

bool wait_all_need_values(const struct waits *waits)
{
    return waits->any_change_count == 0;
}

uint64_t wait_key_count(const struct waits *waits)
{
    return waits->interest.keys.count;
}

static bool has_any_change(const struct interest_key *key)
{
    for (const struct wait *wait = wait_first(key); wait; wait = wait_next(key, wait))
        if (wait->request.on_any_change)
            return true;
    return false;
}

static void count_any_change(void *count, uint64_t *cell)
{
    *(uint64_t *)count += has_any_change(table_item(*cell));
}

uint64_t wait_any_change_key_count(const struct waits *waits)
{
    uint64_t count = 0;
    if (waits->any_change_count)
        table_each(&waits->interest.keys, count_any_change, &count);
    return count;
}
