/*
 * tx: one entry of the order log.
 *
 * Built at home, published once, read by the shards it names until their cursors have passed. Home
 * keeps its entries in a FIFO and reuses them when every cursor has passed (tx_reap).
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "shards/route/shard_set.h"

struct home;
struct hop;
struct shard;

enum tx_kind {
    TX_SCATTER,  /* each shard runs its part and goes on (plans EACH and ALL, mixed pipelines) */
    TX_TOGETHER, /* all shards stop; the last to arrive runs the one hop over all their databases */
    TX_ANNOUNCE, /* each shard applies something; nobody is woken, nothing comes home */
};

struct tx {
    struct tx *next; /* home's FIFO or pool */
    enum tx_kind kind;
    uint16_t home;
    uint32_t part_count; /* shards in `set` */
    struct shard_set set;
    int64_t now_ms;           /* every part's clock is at least this */
    uint64_t position;        /* set by home after publishing; for home only */
    _Atomic uint32_t arrived; /* TX_TOGETHER: shards that have stopped */
    struct hop *hop;          /* TX_TOGETHER */
    void (*apply)(struct shard *shard, void *object); /* TX_ANNOUNCE */
    void (*done)(struct home *home, void *object);
    void *object;
    struct hop *parts[]; /* TX_SCATTER: [shard_count], NULL for shards not in `set` */
};

/* An empty entry. Thread: home. */
struct tx *tx_take(struct home *home, enum tx_kind kind);
/* Takes back an entry that was not published. */
void tx_give(struct home *home, struct tx *tx);
/* Puts a published entry on the FIFO. */
void tx_sent(struct home *home, struct tx *tx);
/* Reuses what every cursor has passed; `oldest` is a lower bound of all cursors. */
void tx_reap(struct home *home, uint64_t oldest);
