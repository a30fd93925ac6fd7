/* What is due is deleted in place, without a touch of the key's access time: nobody has used it. */
#include "shards/local/fields.h"

#include "core/base/check.h"
#include "core/type/hash.h"
#include "shards/local/db_data.h"

void fields_put_back(struct db *db, const struct key *key, struct value *value, struct hash *hash)
{
    value_set_root(value, hash);
    if (hash_count(hash) == 0)
        (void)db_delete(db, key);
    else
        keyspace_schedule(db->keyspace, db->shard->heap, key, value);
}

bool fields_may_drop(const struct db *db)
{
    return db->shard->keeps_expired_until_ms <= db->shard->now_ms;
}

/* The record of a hash that was just found. */
static struct value *record_at(struct db *db, const struct key *key)
{
    uint64_t *cell = keyspace_find(db->keyspace, key);
    ASSERT(cell);
    return table_item(*cell);
}

static const struct hash *root_at(struct db *db, const struct key *key)
{
    uint64_t *cell = keyspace_find(db->keyspace, key);
    return cell ? record_pointer(table_item(*cell)) : NULL;
}

const struct hash *fields_drop_due(struct db *db, const struct key *key, const struct hash *hash,
                                   struct bytes field)
{
    int64_t expire_at_ms;
    if (!hash_is_timed(hash) || !hash_find_ttl(hash, field, &expire_at_ms) ||
        !hash_is_past(expire_at_ms, db->shard->now_ms))
        return hash;
    db_announce(db, key);
    struct value *record = record_at(db, key);
    struct hash *changed = record_pointer(record);
    (void)hash_delete(&changed, db->shard->heap, field);
    db->shard->stats.expired_subkeys++;
    fields_put_back(db, key, record, changed);
    return root_at(db, key);
}

struct notice {
    struct db *db;
    const struct key *key;
};

static void announce(void *context)
{
    struct notice *notice = context;
    db_announce(notice->db, notice->key);
}

/* Returns how many were deleted; the key may be gone then. */
static uint64_t expire_record(struct db *db, const struct key *key, struct value *record,
                              uint64_t budget)
{
    struct notice context = {db, key};
    struct hash_notice notice = {announce, &context};
    struct hash *hash = record_pointer(record);
    uint64_t count;
    (void)hash_expire_some(&hash, db->shard->heap, db->shard->now_ms, budget, notice, &count);
    db->shard->stats.expired_subkeys += count;
    fields_put_back(db, key, record, hash);
    return count;
}

const struct hash *fields_drop_some_due(struct db *db, const struct key *key,
                                        const struct hash *hash, uint64_t budget)
{
    /* A walk that was under way may leave something behind it: then there is a second one. */
    while (hash && hash_is_past(hash_first_expiry_ms(hash), db->shard->now_ms)) {
        (void)expire_record(db, key, record_at(db, key), budget);
        hash = root_at(db, key);
        if (budget != FIELDS_ALL)
            break;
    }
    return hash;
}

uint64_t fields_expire_some(struct db *db, uint64_t budget, uint64_t *out_count)
{
    *out_count = 0;
    struct value *record = keyspace_first_due(db->keyspace, db->shard->now_ms);
    if (!record)
        return 0;
    bool is_table = !hash_pack(record_pointer(record));
    struct key key = key_make(record_name(record));
    *out_count = expire_record(db, &key, record, budget);
    return is_table ? budget : *out_count + 1; /* a pack is not looked at beyond what is due */
}
