#include "shards/route/announce.h"

#include "shards/route/home.h"
#include "shards/route/packer.h"
#include "shards/route/together.h"
#include "shards/route/tx.h"
#include "shards/route/server.h"

#define RETRY_NS 100000u /* how soon a full log is tried again: nobody tells when it has room */

void announce(struct home *home, void (*apply)(struct shard *shard, void *object), void *object,
              void (*done)(struct home *home, void *object))
{
    struct tx *tx = tx_take(home, TX_ANNOUNCE);
    shard_set_fill(&tx->set, home->server->shard_count);
    tx->apply = apply;
    tx->object = object;
    tx->done = done;
    packer_entry(home, tx);
    packer_send(home);
    /* The log may be full. To answer before the entry is there would let others act on the old
     * state after the answer. The others make room without us, as long as we keep up ourselves. */
    while (packer_is_waiting(home)) {
        together_catch_up(home, home->now_ms);
        home_io_only(home, RETRY_NS);
        packer_send(home);
    }
    if (together_is_behind(home))
        together_catch_up(home, home->now_ms);
}
