/*
 * stats: what a shard counts. Plain numbers of the shard's owner; INFO collects them by lane.
 */
#pragma once

#include <stdint.h>

struct shard_stats {
    uint64_t keyspace_hits, keyspace_misses;
    uint64_t expired_keys, evicted_keys;
    uint64_t expired_subkeys; /* fields of hashes */
    uint64_t expired_stale_perc_x100;
    uint64_t lazyfreed_objects, lazyfree_pending_objects;
    uint64_t commands;    /* run on this shard, whoever's client it was */
    uint64_t remote_in;   /* of those, from another home */
    uint64_t log_entries; /* of the order log that involved it */
    uint64_t park_us;     /* time it stood together */
    uint64_t active_expire_us, eviction_us;
};
