/*
 * scenario: what connections do to keys on many shards, and what must then be true.
 *
 * Each scenario has its own keys (or databases), writers and readers. A reader's request remembers
 * what had been acknowledged when it was sent: it may see something newer, never something older.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tests/stress/client.h"

enum scenario_id {
    SCENARIO_TWINS,  /* MSET of one value to several keys: readers see them all equal */
    SCENARIO_ORDER,  /* SET a i, SET b i in one pipeline: nobody sees b newer than a */
    SCENARIO_RING,   /* a token moved by RENAME: there is always exactly one */
    SCENARIO_SWAP,   /* SWAPDB: a database is seen whole */
    SCENARIO_FLUSH,  /* FLUSHDB: a database is seen full or empty */
    SCENARIO_BANK,   /* MULTI moves money between accounts: the sum stays */
    SCENARIO_LOCK,   /* MSETNX over several keys: one winner, and all or nothing */
    SCENARIO_OWN,    /* own writes are read, replies are in order */
    SCENARIO_CONFIG, /* CONFIG SET on one thread is seen on all */
    SCENARIO_HEAVY,  /* LCS, a long turn: what happens meanwhile on other shards must not be missed
                      */
    SCENARIO_BIG,    /* values of many receives: they come back whole, and are not mixed up */
    SCENARIO_COUNT,
};

struct scenario {
    const char *name;
    /* Fills in keys and makes about `share` connections. `broken`: the writer breaks the promise
     * itself, so that the check must find something. */
    void (*start)(const struct client_options *options, uint32_t share, bool broken);
};

extern const struct scenario scenarios[SCENARIO_COUNT];

/* How many replies each scenario has looked at closely. */
extern uint64_t scenario_checks[SCENARIO_COUNT];

/* ---- for the scenarios (atomic.c, ordered.c) ---- */

extern bool scenario_is_broken[SCENARIO_COUNT];

/* "COMMAND name:0 name:1 ..." from key `first` on, each followed by `value` unless that is NULL.
 * Valid until the next call. */
const char *scenario_keys(const char *command, const char *name, uint32_t group, uint32_t count,
                          uint32_t first, const int64_t *value);

/* `count` more connections, dealt to the groups of keys. */
void scenario_connect(const struct client_options *options, const struct role *role,
                      uint32_t groups, uint32_t count);

void twins_start(const struct client_options *options, uint32_t share, bool broken);
void order_start(const struct client_options *options, uint32_t share, bool broken);
void ring_start(const struct client_options *options, uint32_t share, bool broken);
void swap_start(const struct client_options *options, uint32_t share, bool broken);
void flush_start(const struct client_options *options, uint32_t share, bool broken);
void bank_start(const struct client_options *options, uint32_t share, bool broken);
void lock_start(const struct client_options *options, uint32_t share, bool broken);
void own_start(const struct client_options *options, uint32_t share, bool broken);
void config_start(const struct client_options *options, uint32_t share, bool broken);
void big_start(const struct client_options *options, uint32_t share, bool broken);
void heavy_start(const struct client_options *options, uint32_t share, bool broken);
