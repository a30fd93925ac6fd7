/*
 * How: a group's words are copied behind its calls in the hops, except large words that lie in the
 * connection's own buffer: that buffer is detached and stays with the group. Parts of a dealt
 * command get only their own keys, with the words that belong to each.
 */
#include "shards/route/packer.h"

#include "core/base/mem.h"
#include "shards/call/call.h"
#include "shards/call/command_table.h"
#include "shards/call/session.h"
#include "shards/local/evict.h"
#include "shards/route/exec.h"
#include "shards/route/home.h"
#include "shards/route/mailbox.h"
#include "shards/route/multi.h"
#include "shards/route/together.h"
#include "shards/route/server.h"

#define PINNED_WORD_MIN 4096u /* bytes of a word that is pinned rather than copied */

struct packer {
    struct hop **outgoing; /* [shard_count] this turn's hop to each shard */
    struct shard_set outgoing_set;
    struct tx *scatter;      /* this turn's entry of mixed groups */
    struct tx *first, *last; /* entries that wait to be published, oldest first */
};

struct packer *packer_create(struct home *home)
{
    struct packer *packer = mem_zalloc(sizeof(*packer));
    packer->outgoing = mem_zalloc(home->server->shard_count * sizeof(*packer->outgoing));
    return packer;
}

void packer_destroy(struct packer *packer)
{
    if (!packer)
        return;
    mem_free(packer->outgoing);
    mem_free(packer);
}

void packer_entry(struct home *home, struct tx *tx)
{
    struct packer *packer = home->packer;
    tx->next = NULL;
    if (packer->last)
        packer->last->next = tx;
    else
        packer->first = tx;
    packer->last = tx;
}

/* The hop of this turn for `shard`: by lane, or as a part of the entry of mixed groups. */
static struct hop *hop_for(struct home *home, uint16_t shard, bool mixed)
{
    struct packer *packer = home->packer;
    struct hop **place = &packer->outgoing[shard];
    if (mixed) {
        if (!packer->scatter) {
            packer->scatter = tx_take(home, TX_SCATTER);
            packer_entry(home, packer->scatter);
        }
        place = &packer->scatter->parts[shard];
    }
    if (!*place) {
        *place = hop_take(home, HOP_CALLS, shard);
        shard_set_add(mixed ? &packer->scatter->set : &packer->outgoing_set, shard);
    }
    return *place;
}

/* A command's words for one hop: copied, or pinned where they are. */
static struct hop_call *add_words(struct hop *hop, const struct bytes *words, uint32_t count,
                                  bool pinned)
{
    if (!pinned)
        return hop_add_call(hop, words, count);
    struct hop_call *call = hop_add_call_vector(hop, count);
    memcpy(call->args, words, count * sizeof(*words));
    return call;
}

static void fill(struct hop_call *call, const struct planned *plan, const struct session *session)
{
    call->command = plan->command;
    call->db_index = plan->db_index;
    call->resp = plan->resp;
    call->flags = plan->call_flags;
    call->client_id = session->id;
    call->watch_epoch = session->watch_epoch;
}

static void add_whole(struct group *group, struct group_call *remembered,
                      const struct planned *plan, struct hop *hop, bool pinned)
{
    struct hop_call *call = add_words(hop, plan->args.words, plan->args.count, pinned);
    fill(call, plan, group->session);
    call->key_index = plan->key_index;
    call->key_hash = plan->key.hash;
    call->key_slot = plan->key.slot;
    remembered->args = call->args;
    group_add_part(group, remembered, call);
}

/* Deals the keys of a command, each with the words up to the next, to the shards that hold them. */
static void add_dealt(struct home *home, struct group *group, struct group_call *remembered,
                      const struct planned *plan, bool pinned)
{
    const uint16_t *slot_map = home->server->slot_map;
    const struct bytes *words = remembered->args;
    uint32_t step = (uint32_t)plan->command->keys[0].step, word_count = plan->args.count;
    uint32_t key_count = (word_count - 1) / step;
    uint16_t *shard_of = arena_alloc(&group->arena, key_count * sizeof(*shard_of));
    uint32_t *counts = arena_zalloc(&group->arena, home->server->shard_count * sizeof(*counts));
    struct bytes *mine = arena_alloc(&group->arena, word_count * sizeof(*mine));
    for (uint32_t i = 0; i < key_count; i++) {
        shard_of[i] = slot_map[key_slot(words[1 + i * step])];
        counts[shard_of[i]]++;
    }
    SHARD_SET_EACH(shard, &plan->set)
    {
        uint32_t mine_count = 1;
        mine[0] = words[0];
        for (uint32_t i = 0; i < key_count; i++)
            if (shard_of[i] == shard)
                for (uint32_t word = 0; word < step; word++)
                    mine[mine_count++] = words[1 + i * step + word];
        struct hop_call *call = add_words(hop_for(home, (uint16_t)shard, true), mine, mine_count,
                                          pinned);
        fill(call, plan, group->session);
        struct key key = key_make(call->args[1]);
        call->key_index = 1;
        call->key_hash = key.hash;
        call->key_slot = key.slot;
        call->flags |= CALL_PART | CALL_ROOM_MADE;
        group_add_part(group, remembered, call);
    }
}

/* A part with all words for every shard. */
static void add_everywhere(struct home *home, struct group *group, struct group_call *remembered,
                           const struct planned *plan)
{
    for (uint16_t shard = 0; shard < home->server->shard_count; shard++) {
        struct hop_call *call = add_words(hop_for(home, shard, true), remembered->args,
                                          remembered->arg_count, true);
        fill(call, plan, group->session);
        call->flags |= CALL_PART | CALL_ROOM_MADE;
        group_add_part(group, remembered, call);
    }
}

/* What home must remember of a command's words when no hop holds them all. */
static void keep_words(struct group *group, struct group_call *call, const struct args *args,
                       bool pinned)
{
    call->args = arena_alloc(&group->arena, args->count * sizeof(*call->args));
    for (uint32_t i = 0; i < args->count; i++)
        call->args[i] = pinned ? args->words[i] : arena_copy(&group->arena, args->words[i]);
}

static struct group_call *remember(struct group *group, const struct planned *plan)
{
    struct group_call *call = group_add(group, plan->command);
    call->arg_count = plan->args.count;
    call->db_index = plan->db_index;
    call->resp = plan->resp;
    call->flags = plan->call_flags;
    call->silent = plan->silent;
    return call;
}

struct group *packer_begin(struct home *home, struct session *session)
{
    struct group *group = group_take(home, session);
    ASSERT(!session->group);
    session->group = group;
    session->conn->held = true;
    conn_pin(session->conn);
    return group;
}

/* Words that are large stay where they are if that is possible. */
static bool pin_words(struct group *group, const struct planned *plans, uint32_t count)
{
    bool large = false;
    for (uint32_t i = 0; i < count && !large; i++)
        for (uint32_t word = 0; word < plans[i].args.count && !large; word++)
            large = plans[i].args.words[word].len >= PINNED_WORD_MIN;
    return large && conn_detach_input(group->session->conn, &group->pinned);
}

void packer_group(struct home *home, struct session *session, struct planned *plans, uint32_t count)
{
    struct group *group = packer_begin(home, session);
    bool pinned = pin_words(group, plans, count);
    bool mixed = false;
    for (uint32_t i = 0; i < count; i++)
        if (plans[i].where != WHERE_ONE || plans[i].shard != plans[0].shard)
            mixed = true;
    for (uint32_t i = 0; i < count; i++) {
        struct planned *plan = &plans[i];
        struct group_call *call = remember(group, plan);
        if (plan->where == WHERE_ONE) {
            add_whole(group, call, plan, hop_for(home, plan->shard, mixed), pinned);
            continue;
        }
        call->merges = true;
        keep_words(group, call, &plan->args, pinned);
        if (plan->where == WHERE_DEALT)
            add_dealt(home, group, call, plan, true);
        else
            add_everywhere(home, group, call, plan);
    }
}

void packer_looks(struct home *home, struct group *group, const struct planned *plan)
{
    struct group_call *call = remember(group, plan);
    call->merges = true;
    keep_words(group, call, &plan->args, false);
    for (uint16_t to = 0; to < home->server->shard_count; to++) {
        struct hop *hop = hop_take(home, HOP_LOOKS, to);
        struct hop_call *part = add_words(hop, call->args, call->arg_count, true);
        fill(part, plan, group->session);
        part->flags |= CALL_PART;
        group_add_part(group, call, part);
        mailbox_send(home->mailbox, to, hop);
    }
}

/* The hop of something that travels alone, to one shard or to several together. */
static struct hop *hop_alone(struct home *home, const struct shard_set *set)
{
    if (shard_set_count(set) == 1) /* no entry is needed */
        return hop_for(home, (uint16_t)shard_set_next(set, 0), false);
    struct tx *tx = tx_take(home, TX_TOGETHER);
    tx->set = *set;
    tx->hop = hop_take(home, HOP_CALLS, home->id);
    tx->hop->is_together = true;
    packer_entry(home, tx);
    return tx->hop;
}

void packer_alone(struct home *home, struct session *session, struct planned *plan)
{
    struct group *group = packer_begin(home, session);
    if (plan->where == WHERE_EXEC)
        exec_hand_over(session, group);
    if (plan->where == WHERE_LOOKS) {
        packer_looks(home, group, plan);
        return;
    }
    group->shards = plan->set;
    packer_whole(group, plan, hop_alone(home, &plan->set));
}

void packer_message(struct home *home, struct group *group, const struct command *row)
{
    struct bytes words[] = {bytes_from_text(row->name),
                            bytes_of((const char *)&group->shards, sizeof(group->shards))};
    struct hop_call *part = hop_add_call(hop_alone(home, &group->shards), words, 2);
    part->command = row;
    part->db_index = group->first->db_index;
    part->resp = group->first->resp;
    part->flags = CALL_PART | CALL_ROOM_MADE;
    part->client_id = group->session->id;
    group_add_part(group, group_add(group, row), part);
}

void packer_whole(struct group *group, const struct planned *plan, struct hop *hop)
{
    add_whole(group, remember(group, plan), plan, hop, false);
    hop->last->flags |= CALL_ROOM_MADE;
    hop->last->multi = group->multi;
}

struct group *packer_walk(struct home *home, struct session *session, struct group *group,
                          const struct planned *plan, uint16_t shard)
{
    if (!group) {
        group = packer_begin(home, session);
        struct group_call *call = remember(group, plan);
        call->merges = true;
        keep_words(group, call, &plan->args, false);
    }
    struct group_call *call = group->first;
    struct hop *hop = shard == home->id ? hop_take(home, HOP_CALLS, shard)
                                        : hop_for(home, shard, false);
    struct hop_call *part = add_words(hop, call->args, call->arg_count, true);
    part->command = call->command;
    part->db_index = call->db_index;
    part->resp = call->resp;
    part->flags = (uint8_t)(call->flags | CALL_PART);
    part->client_id = session->id;
    group_add_part(group, call, part);
    return group;
}

void packer_send(struct home *home)
{
    struct packer *packer = home->packer;
    packer->scatter = NULL; /* complete: later groups begin another */
    while (packer->first) {
        struct tx *tx = packer->first, *next = tx->next;
        tx->part_count = shard_set_count(&tx->set);
        tx->now_ms = home->now_ms;
        if (!together_publish(home, tx))
            break;
        packer->first = next;
        if (!next)
            packer->last = NULL;
    }
    struct shard_set set = packer->outgoing_set;
    packer->outgoing_set = (struct shard_set){0};
    SHARD_SET_EACH(shard, &set)
    {
        struct hop *hop = packer->outgoing[shard];
        packer->outgoing[shard] = NULL;
        home->stats.hops_sent++;
        if (!together_lend(home, hop))
            mailbox_send(home->mailbox, (uint16_t)shard, hop);
    }
}

bool packer_has_hops(const struct home *home)
{
    return shard_set_next(&home->packer->outgoing_set, 0) < SHARD_MAX;
}

bool packer_is_waiting(const struct home *home)
{
    return home->packer->first != NULL;
}
