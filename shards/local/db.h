/*
 * db: one database of one shard, as handlers see it: find, edit, put, delete.
 *
 * Expired keys are absent to every function here (and are deleted on the way by those that may
 * write). A value cannot be changed in silence: the only ways to change one are the functions of
 * the second group, which tell the observers.
 * Thread: the shard's current owner.
 */
#pragma once

#include "core/base/status.h"
#include "core/store/key.h"
#include "core/type/value.h"

struct heap;
struct shard;
struct db;

#define DB_NO_EXPIRE ((int64_t)-1)
#define DB_KEEP_TTL ((int64_t)-2)

uint16_t db_index(const struct db *db);
struct shard *db_shard(const struct db *db);
uint64_t db_size(const struct db *db);       /* keys, expired ones that nobody met included */
uint64_t db_expires(const struct db *db);    /* of those, with a time to live */
uint64_t db_subexpires(const struct db *db); /* of those, hashes with fields that have one */
int64_t db_avg_ttl_ms(const struct db *db);

/* ---- Reading. Pointers stay valid until the next change of this database. ---- */

/* The value at `key`, which must be of `type` if it exists; NULL and OK when absent. Counts a hit
 * or miss and moves the access time. */
MUST_CHECK enum status db_find(struct db *db, const struct key *key, enum type type,
                               const struct value **out_value);
/* The same for any type. */
const struct value *db_lookup(struct db *db, const struct key *key);
/* For those who are about to write: both move the access time, neither counts, since hits and
 * misses are a matter of reading. */
MUST_CHECK enum status db_find_to_write(struct db *db, const struct key *key, enum type type,
                                        const struct value **out_value);
const struct value *db_lookup_to_write(struct db *db, const struct key *key);
/* For those who look at a key without using it (TTL, EXISTS, OBJECT): counts, and leaves the access
 * time alone. */
const struct value *db_examine(struct db *db, const struct key *key);
/* Leaves all alone (MEMORY USAGE, DEBUG). */
const struct value *db_peek(struct db *db, const struct key *key);

/* Brings what a lookup of `key` will touch nearer: call for each of a batch first with step 0, then
 * with 1, and so on. */
#define DB_PREFETCH_STEPS 3
void db_prefetch(struct db *db, const struct key *key, int step);

/* A random key that is not expired, or NULL. */
const struct value *db_random(struct db *db);

/* Seconds since the last access, and the LFU counter (decayed). */
uint32_t db_idle_s(const struct db *db, const struct value *value);
uint8_t db_frequency(const struct db *db, const struct value *value);
/* No effect on an absent key. */
void db_set_idle_s(struct db *db, const struct key *key, uint32_t idle_s);
void db_set_frequency(struct db *db, const struct key *key, uint8_t frequency);

/* Walks keys of this shard from `cursor` on, in order of (slot, hash): calls `visit` for at least
 * `count` keys or until the shard's end; every key present throughout a full walk is visited,
 * across any resize. Returns the next cursor, DB_SCAN_END at the shard's end. Cursors are `slot <<
 * 32 | high hash bits`, so they are independent of the number of shards. Expired keys are passed
 * over, and deleted. */
#define DB_SCAN_END UINT64_MAX
typedef void (*db_visit_fn)(void *context, const struct value *value);
uint64_t db_scan(struct db *db, uint64_t cursor, uint64_t count, db_visit_fn visit, void *context);
/* All keys. `visit` must not change the database. */
void db_each(struct db *db, db_visit_fn visit, void *context);

/* ---- Changing. ---- */

/* Sets `key` to a string, whatever it held; makes it if absent. `expire_at_ms`: a time,
 * DB_NO_EXPIRE, or DB_KEEP_TTL. Encodes as an integer where the text is one. */
void db_put_string(struct db *db, const struct key *key, struct bytes text, int64_t expire_at_ms);
void db_put_int(struct db *db, const struct key *key, int64_t value, int64_t expire_at_ms);

/* Makes the string at `key` (absent: an empty one) exactly `len` bytes long, keeping its beginning,
 * its expiry and filling with zero; returns its bytes to write to, valid until the next change.
 * NULL, and nothing changed, when memory is short. The key must not hold another type. */
char *db_resize_string(struct db *db, const struct key *key, size_t len);

/* For compound values (core/type/compound.h): the root to write to; the key must exist and be one.
 */
struct value *db_edit(struct db *db, const struct key *key);
/* The same for what Redis does not call a change of the key: what a stream's consumer groups
 * remember. Observers that ask for values only do not hear of it. */
struct value *db_edit_aside(struct db *db, const struct key *key);
/* Makes `key` a compound value of `type` with this root, whose memory comes from db_heap();
 * replaces. Returns what db_edit() would. The last element gone, the handler deletes the key. */
struct value *db_put_root(struct db *db, const struct key *key, enum type type, void *root,
                          int64_t expire_at_ms);
/* Where a database's values take their memory from. */
struct heap *db_heap(const struct db *db);

/* True when there was one. Big values are freed in slices. */
bool db_delete(struct db *db, const struct key *key);

/* The key must exist. DB_NO_EXPIRE clears. */
void db_set_expire(struct db *db, const struct key *key, int64_t at_ms);

/* Takes the value away (its time to live with it), or NULL; it belongs to the caller until db_put()
 * or db_drop_value(). May have been taken from another shard: memory is then moved or accounted
 * over. */
struct value *db_take(struct db *db, const struct key *key);
void db_put(struct db *db, const struct key *key, struct value *value); /* replaces */
void db_drop_value(struct db *db, struct value *value);
/* Frees a root of db_heap() that no key has, in slices if it is large. */
void db_drop_root(struct db *db, enum type type, void *root);
/* A copy of `value` (of any shard) under `key`, time to live included; replaces. */
void db_put_copy(struct db *db, const struct key *key, const struct value *value);

/* Empties the database in O(1); the content is freed in slices, or before return if `at_once`. */
void db_flush(struct db *db, bool at_once);
/* Exchanges the contents of two databases of one shard. */
void db_swap(struct db *a, struct db *b);

/* ---- Knowing of changes: WATCH, snapshot, tracking, waits. ---- */

/* Called with each key just before it changes; `name` NULL: the whole database. It may read the
 * database and must not change it. */
typedef void (*db_observe_fn)(void *context, struct db *db, const struct bytes *name);

struct db_observer {
    db_observe_fn observe;
    void (*exchanged)(void *context, struct db *db); /* may be NULL: other keys exist now */
    void *context;
    bool values_only;         /* does not hear of db_edit_aside() */
    struct db_observer *next; /* the shard's list */
};

/* The observer is the caller's, and hears of all databases of the shard until it is taken off. */
void db_observe(struct shard *shard, struct db_observer *observer);
void db_unobserve(struct shard *shard, struct db_observer *observer);

/* ---- Looking at the tables: DEBUG HTSTATS, MEMORY STATS, CLUSTER COUNTKEYSINSLOT. ---- */

#define DB_TABLE_LEN_MAX 16u
struct db_table_stats {
    uint64_t keys, tables, buckets, overflows;
    uint64_t bytes;                             /* of the tables, records not included */
    uint64_t bucket_lens[DB_TABLE_LEN_MAX + 1]; /* buckets that hold so many keys; the last: more */
};

/* O(buckets). */
struct db_table_stats db_table_stats(const struct db *db);

/* Bytes that the tables take, without a look at them. */
size_t db_table_bytes(const struct db *db);

/* Keys of one hash slot. */
uint32_t db_slot_size(const struct db *db, uint16_t slot);
