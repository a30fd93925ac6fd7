/*
 * command: what a command is: a handler and a row that says everything else about it.
 *
 * Rows stand next to their handlers and are collected in shards/commands.c. COMMAND, ACL
 * categories, key extraction, dispatch and the documentation are derived from them.
 */
#pragma once

#include "core/base/status.h"

struct call;

/* How a command travels (ARCHITECTURE.md 2). A command whose keys all live on one shard is always
 * PLAN_ONE, whatever its row says. */
enum plan {
    PLAN_HERE, /* touches no key and no other thread; runs at home, when nothing of its
                  connection is out */
    PLAN_ONE,  /* to the shard of its keys */
    PLAN_EACH, /* its keys are dealt to their shards, `merge` makes one reply of the parts */
    PLAN_ALL,  /* to every shard, merged likewise (also when there is one shard only). With
                  CMD_LOOKS: by  lanes alone, to every thread, without an entry of the order log */
    PLAN_WALK, /* from shard to shard while `next_shard` names one, then merged: SCAN, RANDOMKEY */
    PLAN_TOGETHER, /* the shards of its keys stop, and one thread runs it over all their databases
                    */
};

typedef enum status (*command_fn)(struct call *call);

/* Makes one reply (written to call->reply) of the parts' replies, in order of shards. Runs at home.
 * `call` is the whole command with all its words. A part that failed is an error reply; the
 * standard merges answer with the first error. */
typedef void (*merge_fn)(struct call *call, const struct bytes *parts, uint32_t part_count);

void merge_ok(struct call *call, const struct bytes *parts, uint32_t part_count);  /* +OK */
void merge_sum(struct call *call, const struct bytes *parts, uint32_t part_count); /* integers */
void merge_by_key(struct call *call, const struct bytes *parts,
                  uint32_t part_count); /* MGET: arrays, dealt back */
void merge_concat(struct call *call, const struct bytes *parts,
                  uint32_t part_count); /* arrays, end to end */

/* PLAN_WALK: which shard comes first (`part_count` 0) or next, given the replies so far, in the
 * order of the walk; -1 ends it. Keeps nothing between its calls. Runs at home, with call->shard
 * being home's own. */
typedef int (*next_shard_fn)(struct call *call, const struct bytes *parts, uint32_t part_count);

/* Flags, with Redis's names in COMMAND INFO. */
#define CMD_WRITE (1u << 0)
#define CMD_READONLY (1u << 1)
#define CMD_GROWS (1u << 2) /* denyoom */
#define CMD_ADMIN (1u << 3)
#define CMD_PUBSUB (1u << 4)
#define CMD_NOSCRIPT (1u << 5)
#define CMD_BLOCKING (1u << 6)
#define CMD_LOADING (1u << 7)
#define CMD_STALE (1u << 8)
#define CMD_SKIP_MONITOR (1u << 9)
#define CMD_SKIP_SLOWLOG (1u << 10)
#define CMD_ASKING (1u << 11)
#define CMD_FAST (1u << 12)
#define CMD_NO_AUTH (1u << 13)
#define CMD_MAY_REPLICATE (1u << 14)
#define CMD_NO_ASYNC_LOADING (1u << 15)
#define CMD_NO_MULTI (1u << 16)
#define CMD_MOVABLE_KEYS (1u << 17)
#define CMD_ALLOW_BUSY (1u << 18)
#define CMD_SENTINEL (1u << 19)
#define CMD_NO_MANDATORY_KEYS (1u << 20)
/* Ours, not shown. */
#define CMD_LOOKS (1u << 24) /* PLAN_ALL by lanes: visits every thread and its connections */
#define CMD_SESSION                                                                                \
    (1u << 25) /* inside MULTI it is obeyed at once, not queued: EXEC DISCARD QUIT RESET ... */
#define CMD_SYSCMD (1u << 31)  /* doc_flags syscmd: for developers and servers, not for clients */
#define CMD_WATCHES (1u << 26) /* WATCH: its session remembers the shards of its keys */

/* ACL categories, with Redis's names; the standard ones that follow from flags are added by the
 * table. */
#define ACL_KEYSPACE (1u << 0)
#define ACL_READ (1u << 1)
#define ACL_WRITE (1u << 2)
#define ACL_SET (1u << 3)
#define ACL_SORTEDSET (1u << 4)
#define ACL_LIST (1u << 5)
#define ACL_HASH (1u << 6)
#define ACL_STRING (1u << 7)
#define ACL_BITMAP (1u << 8)
#define ACL_HYPERLOGLOG (1u << 9)
#define ACL_GEO (1u << 10)
#define ACL_STREAM (1u << 11)
#define ACL_PUBSUB (1u << 12)
#define ACL_ADMIN (1u << 13)
#define ACL_FAST (1u << 14)
#define ACL_SLOW (1u << 15)
#define ACL_BLOCKING (1u << 16)
#define ACL_DANGEROUS (1u << 17)
#define ACL_CONNECTION (1u << 18)
#define ACL_TRANSACTION (1u << 19)
#define ACL_SCRIPTING (1u << 20)

/* Key specifications, as COMMAND INFO shows them. */
#define KEY_RO (1u << 0)
#define KEY_RW (1u << 1)
#define KEY_OW (1u << 2)
#define KEY_RM (1u << 3)
#define KEY_ACCESS (1u << 4)
#define KEY_UPDATE (1u << 5)
#define KEY_INSERT (1u << 6)
#define KEY_DELETE (1u << 7)
#define KEY_NOT_KEY (1u << 8)
#define KEY_INCOMPLETE (1u << 9)
#define KEY_VARIABLE_FLAGS (1u << 10)

struct key_spec {
    uint16_t flags; /* 0 ends a row's list */
    /* Where keys begin: the word at `index`, or after the word `keyword`, searched from `index`
     * (negative: backwards from the end). */
    const char *keyword;
    int16_t index;
    /* Which words are keys, from there. KEY_RANGE: up to `last` (relative; negative: from the end,
     * -1 the last word), each `step`-th, at most 1/limit of the words if limit > 1. KEY_COUNT: the
     * word at `last` (relative) holds their count, the first key is at `first` (relative). */
    bool counted;
    bool is_unknown; /* where they are only find_keys can say, or nobody */
    int16_t last, step, limit, first;
};
#define KEY_SPEC_MAX 4

/* For the few commands whose keys no specification finds (SORT's STORE, MIGRATE). Writes the
 * indices of the words that are keys to `out` (room for arg_count) and their flags; returns how
 * many, -1 for a wrong command. */
typedef int (*find_keys_fn)(const struct bytes *args, uint32_t arg_count, uint32_t *out_index,
                            uint16_t *out_flags);

struct command {
    const char *name; /* lower case; of a subcommand: its own word */
    int16_t arity;    /* Redis's: counts the name (and the subcommand), negative: at least */
    enum plan plan;
    command_fn run;
    /* What Redis refuses before it looks at any key, and no part can see: MSET's odd word. Runs at
     * home on the whole command before it is planned (inside MULTI: at EXEC, not when it is
     * queued). Reads words and settings only; may be NULL. */
    command_fn check;
    merge_fn merge;
    next_shard_fn next_shard;
    uint32_t flags;
    const char *wait_word; /* CMD_BLOCKING: it may wait only if this word stands before its first
                              key; NULL: always */
    uint32_t acl;
    struct key_spec keys[KEY_SPEC_MAX];
    find_keys_fn find_keys;
    /* Do these words make it touch keys beyond those? It then runs over all shards together. May be
     * NULL. */
    bool (*needs_all)(const struct bytes *args, uint32_t arg_count);
    const struct command *subcommands; /* ended by a zero row; the container itself has no `run` */
    /* Documentation. `syntax` is Redis's notation without the name: "key [NX | XX] [EX seconds]";
     * COMMAND DOCS' arguments are derived from it. `group` is COMMAND DOCS' word, "" takes it from
     * the family. */
    const char *syntax, *since, *cost, *brief, *group;
    const char *tips; /* separated by commas: "request_policy:all_shards,response_policy:agg_sum" */
    const char *replaced_by, *deprecated_since; /* doc_flags deprecated */
    /* What later versions have added, oldest first: "6.0.0 Takes a count.; 7.0.0 ..." */
    const char *history;
    /* Set by command_table, not in rows. */
    const struct command *parent;
    uint16_t id; /* 0.. dense, for statistics and permission bitmaps; subcommands have their own */
    bool has_one_key; /* exactly one key, at word 1: what most commands have */
};

/* Usual key lists. */
#define KEYS_FIRST(key_flags)                                                                      \
    {                                                                                              \
        {                                                                                          \
            .flags = (key_flags), .index = 1, .last = 0, .step = 1                                 \
        }                                                                                          \
    }
#define KEYS_ALL(key_flags)                                                                        \
    {                                                                                              \
        {                                                                                          \
            .flags = (key_flags), .index = 1, .last = -1, .step = 1                                \
        }                                                                                          \
    }
#define KEYS_ALL_PAIRS(key_flags)                                                                  \
    {                                                                                              \
        {                                                                                          \
            .flags = (key_flags), .index = 1, .last = -1, .step = 2                                \
        }                                                                                          \
    }
