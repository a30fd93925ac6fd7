#include "shards/route/announce.h"

#include "shards/route/home.h"
#include "shards/route/pack.h"
#include "shards/route/together.h"
#include "shards/route/tx.h"
#include "shards/route/server.h"

void announce(struct home *home, void (*apply)(struct shard *shard, void *object), void *object,
              void (*done)(struct home *home, void *object))
{
    struct tx *tx = tx_take(home, TX_ANNOUNCE);
    shard_set_fill(&tx->set, home->server->shard_count);
    tx->apply = apply;
    tx->object = object;
    tx->done = done;
    pack_entry(home, tx);
    pack_send(home);
    if (together_is_behind(home))
        together_catch_up(home, home->now_ms);
}
