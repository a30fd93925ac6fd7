/*
 * interest: who wants to hear of which keys: the index behind WATCH and blocking commands.
 *
 * Maps (database, name) to the places that parties hold there, in order of arrival, and a client to
 * its party: what it watches, or what it waits for. Nothing is kept for a key without places. The
 * memory of parties and places is their owner's.
 * Thread: the shard's current owner.
 */
#pragma once

#include "core/base/bytes.h"
#include "core/base/ilist.h"
#include "core/ds/table.h"

struct heap;
struct interest_key;
struct interest_party;

struct interest {
    struct heap *heap;
    struct table keys;    /* of struct interest_key */
    struct table parties; /* of struct interest_party */
};

/* One party's place at one key. */
struct interest_place {
    struct ilist_link link; /* among those at the key */
    struct interest_key *key;
    struct interest_party *party;
    struct interest_place *next; /* of the party */
};

/* Embedded in what a client has begun here; a client has at most one in an index. */
struct interest_party {
    uint64_t client_id;
    struct interest_place *first, *last; /* in the order in which they were taken */
};

/* A key with at least one place. */
struct interest_key {
    struct ilist places;
    struct ilist_link ready; /* for wait: that it may be served */
    uint64_t hash;
    uint32_t name_len;
    uint16_t db_index;
    char name[];
};

static inline struct bytes interest_name(const struct interest_key *key)
{
    return bytes_of(key->name, key->name_len);
}

void interest_init(struct interest *interest, struct heap *heap);

static inline bool interest_is_empty(const struct interest *interest)
{
    return interest->keys.count == 0;
}

/* The key if anybody is interested in it, else NULL. */
struct interest_key *interest_find(const struct interest *interest, uint16_t db_index,
                                   struct bytes name);

/* The client's party, or NULL. */
struct interest_party *interest_party(const struct interest *interest, uint64_t client_id);
/* The client must not have one yet. */
void interest_party_add(struct interest *interest, struct interest_party *party,
                        uint64_t client_id);
/* All its places must have been given up. */
void interest_party_remove(struct interest *interest, struct interest_party *party);

/* Takes the last place at the key for `party`. The name is copied. */
void interest_take(struct interest *interest, struct interest_party *party,
                   struct interest_place *place, uint16_t db_index, struct bytes name);
/* Gives the party's first place up, and the key's entry if nobody else has one there; returns the
 * place, NULL when there is none left. */
struct interest_place *interest_give_up(struct interest *interest, struct interest_party *party);

/* Visits the keys of one database. `visit` may not add or remove places. */
typedef void (*interest_visit_fn)(void *context, struct interest_key *key);
void interest_each(const struct interest *interest, uint16_t db_index, interest_visit_fn visit,
                   void *context);
