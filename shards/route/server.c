#include "shards/route/server.h"

#include "core/os/ring.h"
#include "shards/route/home.h"

void server_stop(struct server *server, int reason)
{
    int running = 0;
    atomic_compare_exchange_strong_explicit(&server->stop_reason, &running, reason,
                                            memory_order_acq_rel, memory_order_relaxed);
    for (uint32_t i = 0; i < server->shard_count; i++)
        if (server->homes && server->homes[i] && server->homes[i]->ring)
            ring_wake(NULL, server->homes[i]->ring);
}

uint32_t server_session_count(const struct server *server)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < server->shard_count; i++)
        count += atomic_load_explicit(&server->counts[i].sessions, memory_order_relaxed);
    return count;
}
