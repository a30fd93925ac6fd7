#include "shards/local/shard.h"

#include <stddef.h>

#include "core/base/mem.h"
#include "core/os/clock.h"
#include "shards/local/compact.h"
#include "shards/local/db_data.h"
#include "shards/local/evict.h"
#include "shards/local/expire.h"
#include "shards/local/lazyfree.h"
#include "shards/local/wait.h"
#include "shards/local/watch.h"

static bool give_memory_back(struct task *task, uint64_t deadline_ns)
{
    struct shard *shard = (struct shard *)((char *)task - offsetof(struct shard, giving_back));
    while (heap_give_back(shard->heap)) {
        if (clock_mono_ns() >= deadline_ns)
            return true;
    }
    if (shard->gives_all_back)
        heap_release_unused(shard->heap); /* the few that are left */
    shard->gives_all_back = false;
    return false;
}

void shard_give_back(struct shard *shard, bool all)
{
    shard->gives_all_back |= all;
    task_start(&shard->tasks, &shard->giving_back);
}

struct shard *shard_create(uint16_t id, int node, const struct config *config)
{
    struct shard *shard = mem_alloc_aligned(sizeof *shard, 64);
    *shard = (struct shard){.id = id, .config = config, .active_expire = true};
    shard->heap = heap_create(node);
    shard->giving_back.run = give_memory_back;
    rng_init(&shard->rng, config->hash_seed ? config->hash_seed + id : rng_fresh_seed());
    shard->lazyfree = lazyfree_create(shard);
    shard->dbs = mem_alloc(config->databases * sizeof(struct db *));
    for (uint32_t i = 0; i < config->databases; i++)
        shard->dbs[i] = db_create(shard, (uint16_t)i);
    shard->expire = expire_create(shard);
    shard->evict = evict_create(shard);
    shard->compact = compact_create(shard);
    shard->watches = watches_create(shard);
    shard->waits = waits_create(shard);
    return shard;
}

void shard_destroy(struct shard *shard)
{
    if (!shard)
        return;
    waits_destroy(shard->waits);
    watches_destroy(shard->watches);
    compact_destroy(shard->compact);
    evict_destroy(shard->evict);
    expire_destroy(shard->expire);
    for (uint32_t i = 0; i < shard->config->databases; i++)
        db_destroy(shard->dbs[i]);
    mem_free(shard->dbs);
    lazyfree_destroy(shard->lazyfree);
    heap_destroy(shard->heap);
    mem_free(shard);
}

void shard_tick(struct shard *shard, int64_t now_ms)
{
    if (now_ms > shard->now_ms)
        shard->now_ms = now_ms;
}

void shard_cron(struct shard *shard, int64_t now_ms)
{
    shard_tick(shard, now_ms);
    if (shard->is_cron_paused)
        return;
    heap_tend(shard->heap);
    if (heap_give_back(shard->heap))
        shard_give_back(shard, false);
    expire_tick(shard->expire);
    evict_tick(shard->evict);
    compact_tick(shard->compact);
}
