/*
 * Keyspaces and large values wait in line; the first is drained a few records or elements at a
 * time, looking at the clock in between. Slabs that become empty go back to the system on the way
 * (heap.c), so memory falls while the line is worked off, not at its end.
 */
#include "shards/local/lazyfree.h"

#include "core/base/check.h"
#include "core/base/mem.h"
#include "core/os/clock.h"
#include "core/store/keyspace.h"
#include "core/type/record.h"
#include "shards/local/shard.h"

#define STEP_CELLS 64u /* freed between two looks at the clock: some 5 us */

struct dead {
    struct dead *next;
    struct keyspace *keyspace; /* or NULL */
    struct value *record;      /* or NULL */
    uint64_t count;            /* keys */
};

struct lazyfree {
    struct task task; /* first: task_fn gets its address */
    struct shard *shard;
    struct dead *first, *last;
};

static void free_cell(void *context, uint64_t *cell)
{
    record_destroy(table_item(*cell), context);
}

static bool run_task(struct task *task, uint64_t deadline_ns)
{
    return lazyfree_run((struct lazyfree *)task, deadline_ns);
}

struct lazyfree *lazyfree_create(struct shard *shard)
{
    struct lazyfree *lazyfree = mem_zalloc(sizeof *lazyfree);
    lazyfree->shard = shard;
    lazyfree->task.run = run_task;
    return lazyfree;
}

static void add(struct lazyfree *lazyfree, struct dead what)
{
    struct dead *dead = mem_alloc(sizeof *dead);
    *dead = what;
    if (lazyfree->last)
        lazyfree->last->next = dead;
    else
        lazyfree->first = dead;
    lazyfree->last = dead;
    lazyfree->shard->stats.lazyfree_pending_objects += dead->count;
    task_start(&lazyfree->shard->tasks, &lazyfree->task);
}

void lazyfree_add(struct lazyfree *lazyfree, struct keyspace *keyspace)
{
    add(lazyfree, (struct dead){.keyspace = keyspace, .count = keyspace->count});
}

void lazyfree_add_record(struct lazyfree *lazyfree, struct value *record)
{
    add(lazyfree, (struct dead){.record = record, .count = 1});
}

/* Some more of it; true when nothing is left. */
static bool drain(struct shard *shard, struct dead *dead)
{
    if (dead->keyspace) {
        if (!keyspace_drain(dead->keyspace, shard->heap, STEP_CELLS, free_cell, shard->heap))
            return false;
        keyspace_destroy(dead->keyspace, shard->heap);
        return true;
    }
    return record_free_some(dead->record, shard->heap, STEP_CELLS);
}

bool lazyfree_run(struct lazyfree *lazyfree, uint64_t deadline_ns)
{
    struct shard *shard = lazyfree->shard;
    struct dead *dead;
    while ((dead = lazyfree->first)) {
        while (!drain(shard, dead)) {
            if (clock_mono_ns() >= deadline_ns)
                return true;
        }
        shard->stats.lazyfree_pending_objects -= dead->count;
        shard->stats.lazyfreed_objects += dead->count;
        lazyfree->first = dead->next;
        if (!dead->next)
            lazyfree->last = NULL;
        mem_free(dead);
    }
    return false;
}

void lazyfree_now(struct shard *shard, struct keyspace *keyspace)
{
    bool done = keyspace_drain(keyspace, shard->heap, UINT64_MAX, free_cell, shard->heap);
    ASSERT(done);
    keyspace_destroy(keyspace, shard->heap);
}

void lazyfree_destroy(struct lazyfree *lazyfree)
{
    if (!lazyfree)
        return;
    task_stop(&lazyfree->shard->tasks, &lazyfree->task);
    while (lazyfree_run(lazyfree, UINT64_MAX))
        continue;
    mem_free(lazyfree);
}
