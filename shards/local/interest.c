#include "shards/local/interest.h"

#include <string.h>

#include "core/base/check.h"
#include "core/base/heap.h"
#include "core/store/key.h"

/* Spreads small numbers over all bits. */
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

static uint64_t hash_of(uint16_t db_index, struct bytes name)
{
    return key_hash(name) ^ db_index * HASH_FACTOR;
}

static uint64_t key_item_hash(const void *item)
{
    return ((const struct interest_key *)item)->hash;
}

static const struct table_ops key_ops = {.hash = key_item_hash};

struct wanted {
    struct bytes name;
    uint16_t db_index;
};

static bool is_wanted(const void *item, const void *wanted_at)
{
    const struct interest_key *key = item;
    const struct wanted *wanted = wanted_at;
    return key->db_index == wanted->db_index && bytes_equal(interest_name(key), wanted->name);
}

void interest_init(struct interest *interest, struct heap *heap)
{
    *interest = (struct interest){.heap = heap};
}

struct interest_key *interest_find(const struct interest *interest, uint16_t db_index,
                                   struct bytes name)
{
    struct wanted wanted = {.name = name, .db_index = db_index};
    uint64_t *cell = table_find(&interest->keys, hash_of(db_index, name), is_wanted, &wanted);
    return cell ? table_item(*cell) : NULL;
}

static size_t bytes_for(size_t name_len)
{
    return sizeof(struct interest_key) + name_len;
}

static struct interest_key *find_or_make(struct interest *interest, uint16_t db_index,
                                         struct bytes name)
{
    struct interest_key *key = interest_find(interest, db_index, name);
    if (key)
        return key;
    key = heap_alloc(interest->heap, bytes_for(name.len));
    *key = (struct interest_key){
        .hash = hash_of(db_index, name), .name_len = (uint32_t)name.len, .db_index = db_index};
    memcpy(key->name, name.ptr, name.len);
    ilist_init(&key->places);
    table_insert(&interest->keys, interest->heap, &key_ops, key->hash, key, false);
    return key;
}

static void forget_key(struct interest *interest, struct interest_key *key)
{
    struct wanted wanted = {.name = interest_name(key), .db_index = key->db_index};
    ilist_remove(&key->ready);
    table_remove(&interest->keys, interest->heap, &key_ops, key->hash,
                 table_find(&interest->keys, key->hash, is_wanted, &wanted));
    heap_free(interest->heap, key, bytes_for(key->name_len));
}

void interest_take(struct interest *interest, struct interest_party *party,
                   struct interest_place *place, uint16_t db_index, struct bytes name)
{
    *place = (struct interest_place){.key = find_or_make(interest, db_index, name), .party = party};
    ilist_add_last(&place->key->places, &place->link);
    if (party->last)
        party->last->next = place;
    else
        party->first = place;
    party->last = place;
}

struct interest_place *interest_give_up(struct interest *interest, struct interest_party *party)
{
    struct interest_place *place = party->first;
    if (!place)
        return NULL;
    party->first = place->next;
    if (!party->first)
        party->last = NULL;
    ilist_remove(&place->link);
    if (ilist_is_empty(&place->key->places))
        forget_key(interest, place->key);
    return place;
}

static uint64_t id_hash(uint64_t client_id)
{
    return client_id * HASH_FACTOR;
}

static uint64_t party_hash(const void *item)
{
    return id_hash(((const struct interest_party *)item)->client_id);
}

static const struct table_ops party_ops = {.hash = party_hash};

static bool is_of_client(const void *item, const void *client_id)
{
    return ((const struct interest_party *)item)->client_id == *(const uint64_t *)client_id;
}

struct interest_party *interest_party(const struct interest *interest, uint64_t client_id)
{
    uint64_t *cell = table_find(&interest->parties, id_hash(client_id), is_of_client, &client_id);
    return cell ? table_item(*cell) : NULL;
}

void interest_party_add(struct interest *interest, struct interest_party *party, uint64_t client_id)
{
    *party = (struct interest_party){.client_id = client_id};
    table_insert(&interest->parties, interest->heap, &party_ops, id_hash(client_id), party, false);
}

void interest_party_remove(struct interest *interest, struct interest_party *party)
{
    DEBUG_ASSERT(!party->first);
    uint64_t hash = id_hash(party->client_id);
    table_remove(&interest->parties, interest->heap, &party_ops, hash,
                 table_find(&interest->parties, hash, is_of_client, &party->client_id));
}

struct visit {
    interest_visit_fn fn;
    void *context;
    uint16_t db_index;
};

static void visit_cell(void *context, uint64_t *cell)
{
    struct visit *visit = context;
    struct interest_key *key = table_item(*cell);
    if (key->db_index == visit->db_index)
        visit->fn(visit->context, key);
}

void interest_each(const struct interest *interest, uint16_t db_index, interest_visit_fn visit,
                   void *context)
{
    table_each(&interest->keys, visit_cell,
               &(struct visit){.fn = visit, .context = context, .db_index = db_index});
}
