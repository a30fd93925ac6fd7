/* How: words are looked up anew at each step, since a handler may have to do with several keys. */
#include "shards/cmd/zset_key.h"

#include <stdint.h>

#include "net/reply.h"
#include "shards/local/db.h"

enum status zset_key_find(struct call *call, uint32_t index, const struct zset **out)
{
    const struct value *value;
    TRY(db_find(call_db(call, index), call_key(call, index), TYPE_ZSET, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

enum status zset_key_find_to_write(struct call *call, uint32_t index, const struct zset **out)
{
    const struct value *value;
    TRY(db_find_to_write(call_db(call, index), call_key(call, index), TYPE_ZSET, &value));
    *out = value ? value_root(value) : NULL;
    return OK;
}

struct zset *zset_key_edit(struct call *call, uint32_t index, const struct zset *found)
{
    struct db *db = call_db(call, index);
    const struct key *key = call_key(call, index);
    if (found)
        return value_edit_root(db_edit(db, key));
    struct zset *zset = zset_create(db_heap(db));
    (void)db_put_root(db, key, TYPE_ZSET, zset, DB_NO_EXPIRE);
    return zset;
}

void zset_key_trim(struct call *call, uint32_t index, const struct zset *zset)
{
    if (zset_count(zset) == 0)
        (void)db_delete(call_db(call, index), call_key(call, index));
}

void zset_key_replace(struct call *call, uint32_t index, struct zset *zset)
{
    struct db *db = call_db(call, index);
    const struct key *key = call_key(call, index);
    if (zset_count(zset) > 0) {
        (void)db_put_root(db, key, TYPE_ZSET, zset, DB_NO_EXPIRE);
        return;
    }
    (void)zset_ops.free_some(zset, db_heap(db), SIZE_MAX);
    (void)db_delete(db, key);
}

struct heap *zset_key_heap(struct call *call, uint32_t index)
{
    return db_heap(call_db(call, index));
}

void zset_reply_begin(struct call *call, uint64_t count, bool with_scores)
{
    reply_array(call->reply, with_scores && call->resp == 2 ? 2 * count : count);
}

void zset_reply_entry(struct call *call, struct zset_entry entry, bool with_scores)
{
    if (with_scores && call->resp > 2)
        reply_array(call->reply, 2);
    reply_bulk(call->reply, entry.member);
    if (with_scores)
        reply_double(call->reply, entry.score);
}
