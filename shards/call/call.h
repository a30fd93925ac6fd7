/*
 * call: one command in flight.
 *
 * Made at home by dispatch, run where its keys live. A handler sees its words, the databases of
 * its keys, scratch memory and a reply to write; it never asks which thread it runs on.
 */
#pragma once

#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/store/key.h"
#include "net/reply.h"
#include "shards/call/command.h"
#include "shards/local/config.h"
#include "shards/local/db.h"
#include "shards/local/shard.h"

struct session;
struct home;
struct multi;

#define CALL_NO_TOUCH (1u << 0) /* CLIENT NO-TOUCH: leave access times alone */
#define CALL_IN_EXEC (1u << 1)  /* inside EXEC: nothing blocks */
#define CALL_PART (1u << 2)     /* one part of PLAN_EACH, ALL or WALK: a merge follows */
#define CALL_ROOM_MADE                                                                             \
    (1u << 3) /* memory was made room for at home: a part never fails for memory */

#define CALL_RETRY (1u << 4) /* it has waited, and is run again: it waits already */
#define CALL_OWN_KEYS                                                                              \
    (1u << 5) /* likewise, where others of its keys are on shards that are not owned */

struct call {
    const struct command *command;
    struct bytes *args; /* args[0] is the name; of a part of PLAN_EACH: only its own keys */
    uint32_t arg_count;
    uint16_t db_index;
    uint8_t resp;
    uint8_t flags;
    struct key key; /* the first key, if it has one */

    /* Where it runs. */
    struct shard *shard;         /* whose clock, statistics and heap are used */
    struct shard *const *shards; /* all shards; those of the command's keys may be touched */
    const uint16_t *slot_map;    /* [SLOT_COUNT] which shard holds a slot */
    uint16_t shard_count;        /* how many there are */
    struct db *db; /* the database of the first key on its shard; of ALL and WALK: the part's */
    struct reply *reply;
    struct arena *arena;     /* scratch; not freed by handlers */
    struct home *home;       /* PLAN_HERE and CMD_LOOKS: the thread it runs on, else NULL */
    struct session *session; /* PLAN_HERE: the client's; else NULL */
    struct multi *multi;     /* EXEC: what was queued; for route/multi.c */
    const struct config *config;

    struct bytes error_arg; /* set by call_fail() */
    uint64_t client_id;
    uint32_t watch_epoch; /* of the client's WATCHes */
    uint16_t waiter_home; /* of a blocking command: the client's thread, */
    void *waiter;         /* and what that wants to be told of */
    int64_t wait_ms;      /* set by call_wait(); 0: for ever */
};

/* The word at `index`, which must exist. */
static inline struct bytes call_arg(const struct call *call, uint32_t index)
{
    return call->args[index];
}

/* Numbers in Redis's strict forms. ERR_NOT_AN_INTEGER, ERR_NOT_A_FLOAT otherwise. */
MUST_CHECK enum status call_arg_int(const struct call *call, uint32_t index, int64_t *out);
MUST_CHECK enum status call_arg_double(const struct call *call, uint32_t index, double *out);
/* An integer within [low, high]; beyond, an error that names the range. */
MUST_CHECK enum status call_arg_range(struct call *call, uint32_t index, int64_t low, int64_t high,
                                      int64_t *out);
bool call_arg_is(const struct call *call, uint32_t index, const char *word); /* in any case */

/* The key at word `index`, hashed once; lives in the call's arena. */
const struct key *call_key(struct call *call, uint32_t index);
/* The database (of the session's number, or of `db_index`) on the shard of that key. */
struct db *call_db(struct call *call, uint32_t index);
struct db *call_db_at(struct call *call, uint32_t index, uint16_t db_index);

static inline int64_t call_now_ms(const struct call *call)
{
    return call->shard->now_ms;
}

/* Returns `status` with what its text calls {arg}; the bytes are copied into the arena. */
enum status call_fail(struct call *call, enum status status, struct bytes arg);
/* ERR_TEXT with a text made by printf's rules: "ERR ..." */
enum status call_fail_text(struct call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a blocking command waits for. */
struct call_wait {
    enum type type;     /* a value of this type at one of its keys */
    bool on_any_change; /* or whatever happens to them */
    bool takes_one;     /* one key will do: its handler asks call_may_use() of each */
    uint32_t first_key, key_count;
    int64_t timeout_ms; /* 0: for ever */
};

/* May the command wait? Inside EXEC and scripts it answers at once. */
static inline bool call_may_wait(const struct call *call)
{
    return !(call->flags & CALL_IN_EXEC);
}

/* May the command look at the key at word `index` now? Else it is as if there were none. */
static inline bool call_may_use(const struct call *call, uint32_t index)
{
    return !(call->flags & CALL_OWN_KEYS) ||
           call->slot_map[key_slot(call->args[index])] == call->shard->id;
}

/* Leaves a wait behind: the command will be run again, with the words that call->args are now, when
 * a key that it waits for has changed. Returns WAITING, for the handler to return. */
enum status call_wait(struct call *call, const struct call_wait *what);

/* A blocking command's timeout in seconds, with a fraction, as milliseconds; Redis's errors. */
MUST_CHECK enum status call_arg_timeout(struct call *call, uint32_t index, int64_t *out_ms);

/* Writes the full error text of `status` (placeholders filled in) as an error reply. For dispatch.
 */
void call_write_error(struct call *call, enum status status);

/* Runs the handler where `call` says. A failure leaves its error text and nothing else as the
 * reply. Returns the handler's status. For the runners of route/. */
enum status call_run(struct call *call);
