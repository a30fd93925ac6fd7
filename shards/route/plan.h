/*
 * plan: finds a command's row, says whether this client may run it now, and where it must travel.
 * Thread: home.
 */
#pragma once

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/store/key.h"
#include "net/args.h"
#include "shards/call/command.h"
#include "shards/route/shard_set.h"

struct home;
struct session;

enum where {
    WHERE_HERE,       /* the row says so: on this thread, with the session */
    WHERE_ONE,        /* on one shard, `shard` */
    WHERE_DEALT,      /* its keys, on the shards of `set`, each its part */
    WHERE_EVERYWHERE, /* a part on every shard */
    WHERE_LOOKS,      /* a part on every thread */
    WHERE_WALK,       /* shard after shard */
    WHERE_TOGETHER,   /* the shards of `set` stop */
    WHERE_QUEUE,      /* inside MULTI */
    WHERE_EXEC,       /* the shards of `set` for what was queued */
};

struct planned {
    struct args args;
    const struct command *command;
    enum where where;
    uint16_t shard;
    uint16_t key_index; /* of the first key, 0: none */
    uint16_t db_index;
    uint8_t resp;
    uint8_t call_flags; /* CALL_* */
    bool silent;
    bool is_refused_by_itself; /* not by the server: a transaction does not fail by that */
    struct key key;
    struct shard_set set;
};

/* Plans the command in `out->args`. On failure the text of the error without '-' is in
 * `*out_error`, made in `arena`, and `out->command` is its row or NULL. */
MUST_CHECK enum status plan_command(struct home *home, struct session *session, struct arena *arena,
                                    struct planned *out, struct bytes *out_error);
