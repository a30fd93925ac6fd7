/*
 * How: published entries wait in a FIFO in order of position; the front is reused when the slowest
 * cursor has passed it. A home's entries all have room for a part per shard, so any serves any
 * purpose.
 */
#include "shards/route/tx.h"

#include <string.h>

#include "core/base/mem.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

struct tx *tx_take(struct home *home, enum tx_kind kind)
{
    size_t parts_size = home->server->shard_count * sizeof(struct hop *);
    struct tx *tx = home->tx_pool;
    if (tx)
        home->tx_pool = tx->next;
    else
        tx = mem_alloc(sizeof(*tx) + parts_size);
    memset(tx, 0, sizeof(*tx) + parts_size);
    tx->kind = kind;
    tx->home = home->id;
    tx->now_ms = home->now_ms;
    return tx;
}

void tx_give(struct home *home, struct tx *tx)
{
    tx->next = home->tx_pool;
    home->tx_pool = tx;
}

void tx_sent(struct home *home, struct tx *tx)
{
    tx->next = NULL;
    if (home->tx_last)
        home->tx_last->next = tx;
    else
        home->tx_first = tx;
    home->tx_last = tx;
}

void tx_reap(struct home *home, uint64_t oldest)
{
    while (home->tx_first && home->tx_first->position < oldest) {
        struct tx *tx = home->tx_first;
        home->tx_first = tx->next;
        if (!home->tx_first)
            home->tx_last = NULL;
        if (tx->done)
            tx->done(home, tx->object);
        tx_give(home, tx);
    }
}
