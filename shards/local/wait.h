/*
 * wait: clients that wait for something at keys of this shard.
 *
 * A blocking command that finds nothing leaves a wait behind: its own words, and a place at each of
 * the keys it waits for. A change of such a key makes the key ready; whoever runs the shard then
 * runs the words of those who wait there again, in the order in which they came (route/blocked.h).
 * A client that waits on several shards has a wait on each of them: such a wait is `is_far`. It can
 * only be served where all its shards stand together, unless one key is enough: then the shard that
 * claims it first serves it from its own keys.
 * Thread: the shard's current owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/bytes.h"
#include "core/type/value.h"
#include "shards/local/interest.h"

struct command;
struct shard;
struct waits;

/* What a wait is for. Copied by wait_add(). */
struct wait_request {
    uint64_t client_id;
    void *waiter;  /* home's own, handed back to it */
    uint16_t home; /* the thread of the client */
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags;      /* CALL_* */
    bool is_far;        /* it needs other shards too */
    bool takes_one;     /* though it is far: what one key has to give is enough */
    bool on_any_change; /* whatever happens to the keys matters, not only a value of `type` */
    enum type type;
    const struct command *command;
    const struct bytes *args;
    uint32_t arg_count;
    uint32_t first_key, key_count; /* the words that are keys to wait for, on whatever shards */
};

struct wait {
    struct interest_party party;
    struct wait_request request; /* `args` are the wait's own */
    bool has_asked;              /* is_far: home has been asked to try again */
    uint32_t place_count;
    size_t bytes; /* of the block that this is the beginning of */
    struct interest_place places[];
};

struct waits *waits_create(struct shard *shard);
void waits_destroy(struct waits *waits); /* accepts NULL */

/* Waits at those of the request's keys that are of this shard by `slot_map`. The client must not
 * wait here yet. */
void wait_add(struct waits *waits, const struct wait_request *request, const uint16_t *slot_map);

/* The client's wait here, or NULL. */
struct wait *wait_find(const struct waits *waits, uint64_t client_id);

/* Ends a wait. Those who stand behind it at its keys get their turn. */
void wait_drop(struct waits *waits, struct wait *wait);

/* Keys that have become ready, in that order: takes one out, NULL when there are none
 * (shard->has_ready is false then). */
struct interest_key *wait_take_ready(struct waits *waits);

/* Those who wait at a key, in order. The next is to be asked for before a wait is dropped. */
struct wait *wait_first(const struct interest_key *key);
struct wait *wait_next(const struct interest_key *key, const struct wait *wait);

/* Could `wait` be served by what is at `key` now? `value` may be NULL. */
bool wait_suits(const struct wait *wait, const struct value *value);

/* Do all who wait on this shard need a value? Then nobody is served at a key without one. */
bool wait_all_need_values(const struct waits *waits);

/* For INFO: keys that are waited for, and of those, by waits on any change. O(places) if there are
 * any of the latter. */
uint64_t wait_key_count(const struct waits *waits);
uint64_t wait_any_change_key_count(const struct waits *waits);
