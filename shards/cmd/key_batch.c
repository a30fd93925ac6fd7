/*
 * How: hash all keys of the batch first, then ask for their buckets, then for their records: each
 * pass finds what the one before it asked for. A single key is not worth the passes.
 */
#include "shards/cmd/key_batch.h"

#include "shards/call/call.h"
#include "shards/local/db.h"

bool key_batch_before(struct key_batch *batch, struct call *call, uint32_t *at, uint32_t end,
                      uint32_t step)
{
    uint32_t count = 0, index = *at;
    batch->first = index;
    for (; count < KEY_BATCH_MAX && index < end; index += step, count++) {
        batch->keys[count] = call_key(call, index);
        batch->dbs[count] = call_db(call, index);
    }
    batch->count = count;
    *at = index;
    if (count > 1) {
        for (int pass = 0; pass < DB_PREFETCH_STEPS; pass++) {
            for (uint32_t i = 0; i < count; i++)
                db_prefetch(batch->dbs[i], batch->keys[i], pass);
        }
    }
    return count > 0;
}

bool key_batch_next(struct key_batch *batch, struct call *call, uint32_t *at, uint32_t step)
{
    return key_batch_before(batch, call, at, call->arg_count, step);
}
