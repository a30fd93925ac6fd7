/*
 * How: `wanted` is the checked copy. What travels are its values as text, since text is the one
 * form that every kind of option reads and writes. Old settings may be in use, beyond their shard,
 * by a thread for the rest of a turn (home->config); so after the last shard has gone over, a
 * message visits all threads one after the other, waits at each until that has let go of them, and
 * frees them behind the last.
 */
#include "shards/admin/config_change.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/os/limits.h"
#include "core/os/log.h"
#include "net/listener.h"
#include "shards/admin/config_copy.h"
#include "shards/admin/config_process.h"
#include "shards/local/shard.h"
#include "shards/route/announce.h"
#include "shards/route/home.h"
#include "shards/route/server.h"

struct change_value {
    const struct option *option;
    struct bytes text; /* in the arena */
};

struct config_change {
    const struct config *base; /* as the announcing home saw it */
    struct config *wanted;
    struct change_value *values;
    uint32_t value_count, value_cap;
    bool is_applied;
    struct arena arena;

    /* Once published. Written by the first shard to come by, read by the others. */
    _Atomic(struct config *) made;
    const struct config *replaced;
    uint32_t visit_count; /* threads that do not use it any more */
};

struct config_change *config_change_begin(const struct config *base)
{
    struct config_change *change = mem_zalloc(sizeof *change);
    change->base = base;
    change->wanted = config_copy(base);
    return change;
}

static void destroy(struct config_change *change)
{
    config_free(change->wanted);
    mem_free(change->values);
    arena_fini(&change->arena);
    mem_free(change);
}

void config_change_cancel(struct config_change *change)
{
    struct option_error error;
    if (change->is_applied && !config_process_change(change->wanted, change->base, &error))
        log_warn("config.restore_failed", "error=\"%s\"", error.text);
    /* `dir` has moved us the moment it was set. */
    if (strcmp(change->wanted->dir, change->base->dir) != 0 && chdir(change->base->dir) < 0)
        log_warn("config.restore_failed", "options=\"dir\" error=\"%s\"", strerror(errno));
    destroy(change);
}

bool config_change_add(struct config_change *change, const struct option *option,
                       struct bytes value, struct option_error *error)
{
    if (!option_set_value(option, change->wanted, value, error))
        return false;
    if (change->value_count == change->value_cap) {
        change->value_cap = change->value_cap ? change->value_cap * 2 : 8;
        change->values = mem_realloc(change->values, change->value_cap * sizeof *change->values);
    }
    struct buf text = {0};
    option_get(option, change->wanted, &text);
    change->values[change->value_count++] = (struct change_value){
        option, arena_copy(&change->arena, buf_bytes(&text))};
    buf_fini(&text);
    return true;
}

/* ---- Effects
 * ------------------------------------------------------------------------------------- */

static bool has_same_bind(const struct config *a, const struct config *b)
{
    if (a->bind_count != b->bind_count)
        return false;
    for (uint32_t i = 0; i < a->bind_count; i++)
        if (strcmp(a->bind[i], b->bind[i]) != 0)
            return false;
    return true;
}

/* Under the port that we have already, an address in use may be in use by ourselves. */
static bool check_addresses(const struct config *before, const struct config *after,
                            struct option_error *error)
{
    if (before->port == after->port && has_same_bind(before, after))
        return true;
    struct listener_options options = {
        .bind = after->bind, .bind_count = after->bind_count, .port = after->port};
    char reason[256];
    int result = listener_check(&options, 0, reason, sizeof reason);
    if (result == 0 || (result == -EADDRINUSE && before->port == after->port))
        return true;
    log_warn("config.bind_failed", "error=\"%s\"", reason);
    return option_fail(error, "%s",
                       before->port == after->port
                           ? "Failed to bind to specified addresses."
                           : "Unable to listen on this port. Check server logs.");
}

static bool check_clients(const struct config *before, const struct config *after,
                          uint32_t shard_count, struct option_error *error)
{
    if (after->maxclients <= before->maxclients)
        return true;
    uint64_t reserved = CONFIG_FILES_RESERVED + CONFIG_FILES_PER_SHARD * (uint64_t)shard_count;
    uint64_t granted = limits_raise_files(after->maxclients + reserved);
    if (granted >= after->maxclients + reserved)
        return true;
    return option_fail(error,
                       "The operating system is not able to handle the specified number of "
                       "clients, try with %" PRIu64,
                       granted > reserved ? granted - reserved : 1);
}

static const struct option *first_given(const struct config_change *change, struct bytes a,
                                        struct bytes b)
{
    for (uint32_t i = 0; i < change->value_count; i++)
        if (bytes_is(a, change->values[i].option->name) ||
            bytes_is(b, change->values[i].option->name))
            return change->values[i].option;
    return option_find(a);
}

static bool has_new_value(const struct config_change *change, const struct change_value *value)
{
    struct buf text = {0};
    option_get(value->option, change->base, &text);
    bool is_new = !bytes_equal(buf_bytes(&text), value->text);
    buf_fini(&text);
    return is_new;
}

bool config_change_apply(struct config_change *change, uint32_t shard_count,
                         const struct option **out_option, struct option_error *error)
{
    const struct config *before = change->base, *after = change->wanted;
    if (!check_addresses(before, after, error)) {
        *out_option = first_given(change, BYTES("port"), BYTES("bind"));
        return false;
    }
    if (!check_clients(before, after, shard_count, error)) {
        *out_option = option_find(BYTES("maxclients"));
        return false;
    }
    if (!config_process_change(before, after, error)) {
        *out_option = first_given(change, BYTES("oom-score-adj"), BYTES("oom-score-adj-values"));
        return false;
    }
    change->is_applied = true;
    if (after->maxmemory != before->maxmemory)
        config_process_warn_of_memory(after);
    for (uint32_t i = 0; i < change->value_count; i++)
        if (has_new_value(change, &change->values[i]))
            config_process_log_idle(change->values[i].option);
    return true;
}

/* ---- Going round
 * --------------------------------------------------------------------------------- */

static struct config *make_config(const struct config_change *change, const struct config *before)
{
    struct config *config = config_copy(before);
    struct option_error error;
    config->generation++;
    for (uint32_t i = 0; i < change->value_count; i++)
        if (!option_set_value(change->values[i].option, config, change->values[i].text, &error))
            log_warn("config.change_lost", "option=%s error=\"%s\"", change->values[i].option->name,
                     error.text);
    return config;
}

/* Every shard has the same settings at one place of the log, so whoever is first makes what any
 * would. */
static void take_config(struct shard *shard, void *object)
{
    struct config_change *change = object;
    struct config *config = atomic_load_explicit(&change->made, memory_order_acquire);
    if (!config) {
        struct config *mine = make_config(change, shard->config);
        /* Release: the others must see what it points to. */
        if (atomic_compare_exchange_strong_explicit(&change->made, &config, mine,
                                                    memory_order_acq_rel, memory_order_acquire)) {
            change->replaced = shard->config;
            config = mine;
        } else {
            config_free(mine);
        }
    }
    shard->config = config;
}

static void visit_thread(struct home *home, void *message)
{
    struct config_change *change = message;
    uint16_t next = home->id;
    if (home->config != change->replaced) {
        if (++change->visit_count == home->server->shard_count) {
            config_free((struct config *)(uintptr_t)change->replaced);
            destroy(change);
            return;
        }
        next = (uint16_t)((home->id + 1u) % home->server->shard_count);
    }
    home_post(home, next, visit_thread, change);
}

static void all_shards_have_it(struct home *home, void *object)
{
    home_post(home, home->id, visit_thread, object);
}

/* A sleeping thread may have to open or close listeners: no message, only a turn. */
static void begin_turn(struct home *home, void *message)
{
}

void config_change_publish(struct config_change *change, struct home *home)
{
    announce(home, take_config, change, all_shards_have_it);
    for (uint32_t i = 0; i < home->server->shard_count; i++)
        home_post(home, (uint16_t)i, begin_turn, NULL);
}
