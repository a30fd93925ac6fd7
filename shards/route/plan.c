/*
 * How: the usual command has its one key at word 1: hash, slot, shard, done. Others list their
 * keys; if these meet on one shard the command is WHERE_ONE whatever its row says.
 */
#include "shards/route/plan.h"

#include <stdio.h>

#include "core/base/check.h"
#include "net/reply.h"
#include "shards/call/call.h"
#include "shards/call/command_table.h"
#include "shards/call/permit.h"
#include "shards/call/session.h"
#include "shards/route/home.h"
#include "shards/route/multi.h"
#include "shards/route/server.h"

#define NAME_SHOWN_MAX                                                                             \
    128 /* bytes of an unknown name, and of its arguments, that the error repeats */

static int shown(size_t len, size_t max)
{
    return (int)(len < max ? len : max);
}

static struct bytes unknown_command(struct arena *arena, const struct args *args)
{
    char words[NAME_SHOWN_MAX * 2];
    size_t len = 0;
    words[0] = 0;
    for (uint32_t i = 1; i < args->count && len < NAME_SHOWN_MAX; i++) {
        struct bytes word = args->words[i];
        len += (size_t)snprintf(words + len, sizeof(words) - len, "'%.*s' ",
                                shown(word.len, NAME_SHOWN_MAX - len), word.ptr);
    }
    struct bytes name = args->words[0];
    return bytes_from_text(arena_format(arena,
                                        "ERR unknown command '%.*s', with args beginning with: %s",
                                        shown(name.len, NAME_SHOWN_MAX), name.ptr, words));
}

static struct bytes unknown_subcommand(struct arena *arena, const struct command *container,
                                       struct bytes word)
{
    char name[NAME_SHOWN_MAX];
    size_t len = 0;
    for (const char *from = command_full_name(container); *from && len + 1 < sizeof(name); from++)
        name[len++] = *from >= 'a' && *from <= 'z' ? (char)(*from - 32) : *from;
    name[len] = 0;
    return bytes_from_text(arena_format(arena, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                                        shown(word.len, NAME_SHOWN_MAX), word.ptr, name));
}

static struct bytes wrong_arity(struct arena *arena, const struct command *command)
{
    return bytes_from_text(arena_format(arena, "ERR wrong number of arguments for '%s' command",
                                        command_full_name(command)));
}

static enum status find_row(struct arena *arena, struct planned *plan, struct bytes *out_error)
{
    const struct args *args = &plan->args;
    const struct command *command = command_find(args->words[0]);
    if (unlikely(!command)) {
        *out_error = unknown_command(arena, args);
        return ERR_UNKNOWN_COMMAND;
    }
    if (command->subcommands && args->count > 1) {
        const struct command *sub = command_find_sub(command, args->words[1]);
        if (!sub) {
            *out_error = unknown_subcommand(arena, command, args->words[1]);
            return ERR_UNKNOWN_SUBCOMMAND;
        }
        command = sub;
    }
    plan->command = command;
    bool fits = command->arity >= 0 ? args->count == (uint32_t)command->arity
                                    : args->count >= (uint32_t)-command->arity;
    if (unlikely(!fits || !command->run)) {
        *out_error = wrong_arity(arena, command);
        return ERR_WRONG_ARITY;
    }
    return OK;
}

/* Rules of a row that concern all its words at once, e.g. that each key has a value. */
static enum status check_words(struct home *home, struct session *session, struct arena *arena,
                               struct planned *plan, struct bytes *out_error)
{
    struct buf text = {0};
    struct reply reply = {.out = &text, .resp = 2};
    struct call call = {
        .command = plan->command,
        .args = plan->args.words,
        .arg_count = plan->args.count,
        .db_index = session->db_index,
        .resp = session->resp,
        .reply = &reply,
        .arena = arena,
        .session = session,
        .shard = home->shard,
        .config = home->config,
    };
    enum status status = plan->command->check(&call);
    if (status != OK) {
        call_write_error(&call, status);
        *out_error = arena_copy(arena, bytes_of(text.ptr + 1, text.len - 3)); /* no '-', no CRLF */
    }
    buf_fini(&text);
    return status;
}

/* Alone, a shard has all slots: the map, which random keys keep out of the first cache, is not
 * asked. */
static uint16_t shard_of(const struct home *home, uint16_t slot)
{
    return home->server->shard_count == 1 ? 0 : home->server->slot_map[slot];
}

static void find_shards(struct home *home, struct arena *arena, struct planned *plan)
{
    const uint16_t *slot_map = home->server->slot_map;
    uint32_t fast[COMMAND_KEYS_FAST];
    const uint32_t *index;
    int count = command_keys(plan->command, plan->args.words, plan->args.count, fast, arena, &index,
                             NULL);
    if (count <= 0) { /* no key, or wrong words: its handler says so */
        plan->where = WHERE_ONE;
        plan->shard = home->id;
        return;
    }
    plan->key = key_make(plan->args.words[index[0]]);
    plan->key_index = (uint16_t)index[0];
    plan->shard = slot_map[plan->key.slot];
    plan->where = WHERE_ONE;
    if (home->server->shard_count == 1)
        return;
    if (plan->command->needs_all && plan->command->needs_all(plan->args.words, plan->args.count)) {
        shard_set_fill(&plan->set, home->server->shard_count);
        plan->where = WHERE_TOGETHER;
        return;
    }
    if (count == 1)
        return;
    shard_set_add(&plan->set, plan->shard);
    for (int i = 1; i < count; i++) {
        uint16_t shard = slot_map[key_slot(plan->args.words[index[i]])];
        shard_set_add(&plan->set, shard);
        if (shard != plan->shard)
            plan->where = plan->command->plan == PLAN_EACH ? WHERE_DEALT : WHERE_TOGETHER;
    }
}

static bool may_wait(const struct planned *plan)
{
    const char *word = plan->command->wait_word;
    if (!(plan->command->flags & CMD_BLOCKING))
        return false;
    for (uint32_t i = 1; word && i < plan->key_index; i++) {
        if (bytes_is(plan->args.words[i], word))
            return true;
    }
    return !word;
}

static void plan_keys(struct home *home, struct session *session, struct arena *arena,
                      struct planned *plan)
{
    find_shards(home, arena, plan);
    if (may_wait(plan)) { /* and so it goes alone */
        shard_set_add(&plan->set, plan->shard);
        plan->where = WHERE_TOGETHER;
    }
    if (plan->command->flags & CMD_WATCHES) {
        shard_set_add(&plan->set, plan->shard);
        multi_watch(session, &plan->set);
    }
}

static void plan_where(struct home *home, struct session *session, struct arena *arena,
                       struct planned *plan)
{
    const struct command *command = plan->command;
    switch (command->plan) {
    case PLAN_HERE:
        plan->where = WHERE_HERE;
        break;
    case PLAN_ALL:
        plan->where = command->flags & CMD_LOOKS ? WHERE_LOOKS : WHERE_EVERYWHERE;
        break;
    case PLAN_WALK:
        plan->where = WHERE_WALK;
        break;
    case PLAN_ONE:
    case PLAN_EACH:
    case PLAN_TOGETHER:
        if (command->has_one_key) {
            plan->where = WHERE_ONE;
            plan->key = key_make(plan->args.words[1]);
            plan->key_index = 1;
            plan->shard = shard_of(home, plan->key.slot);
        } else {
            plan_keys(home, session, arena, plan);
        }
        break;
    }
}

enum status plan_command(struct home *home, struct session *session, struct arena *arena,
                         struct planned *plan, struct bytes *out_error)
{
    plan->command = NULL;
    plan->key_index = 0;
    plan->is_refused_by_itself = false;
    plan->key.name.ptr = NULL;
    plan->set = (struct shard_set){0};
    plan->db_index = session->db_index;
    plan->resp = session->resp;
    plan->call_flags = session->flags & SESSION_NO_TOUCH ? CALL_NO_TOUCH : 0;
    plan->silent = session->flags & (SESSION_REPLY_OFF | SESSION_REPLY_SKIP);
    TRY(find_row(arena, plan, out_error));
    enum status status = permit_check(session, home->config, plan->command);
    if (unlikely(status != OK)) {
        *out_error = status_text(status);
        return status;
    }
    if (unlikely(session->flags & SESSION_IN_MULTI)) {
        if (!(plan->command->flags & CMD_SESSION)) {
            plan->where = WHERE_QUEUE;
            return OK;
        }
        if (plan->command->run == multi_exec_handler && !(session->flags & SESSION_DIRTY_EXEC)) {
            plan->where = WHERE_EXEC;
            multi_plan(home, session, &plan->set);
            return OK;
        }
    }
    if (plan->command->check) {
        status = check_words(home, session, arena, plan, out_error);
        plan->is_refused_by_itself = status != OK;
        if (status != OK)
            return status;
    }
    plan_where(home, session, arena, plan);
    return OK;
}
