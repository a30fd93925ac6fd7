/*
 * How: hops are pooled per home, each with its arena and reply buffer, so that a steady state
 * allocates nothing. A call's words lie behind it in the arena, so that the far core reads them in
 * one sweep.
 */
#include "shards/route/hop.h"

#include "core/base/check.h"
#include "core/base/mem.h"
#include "shards/route/home.h"

#define HOP_ARENA_KEEP 16384u   /* bytes of an idle hop's arena */
#define HOP_REPLIES_KEEP 16384u /* and of its reply buffer */
#define HOP_POOL_MAX 256u       /* idle hops that a home keeps */

struct hop *hop_take(struct home *home, enum hop_kind kind, uint16_t shard)
{
    struct hop *hop = home->hop_pool;
    if (hop) {
        home->hop_pool = hop->next;
        home->hop_pool_count--;
    } else {
        hop = mem_zalloc(sizeof(*hop));
    }
    hop->next = NULL;
    hop->kind = kind;
    hop->home = home->id;
    hop->shard = shard;
    hop->is_done = false;
    hop->is_together = false;
    hop->first = hop->last = NULL;
    hop->call_count = 0;
    hop->word_bytes = 0;
    hop->group_count = 0;
    hop->groups_left = 0;
    return hop;
}

void hop_recycle(struct home *home, struct hop *hop)
{
    if (home->hop_pool_count >= HOP_POOL_MAX) {
        hop_destroy(hop);
        return;
    }
    arena_reset(&hop->arena, HOP_ARENA_KEEP);
    buf_clear(&hop->replies, HOP_REPLIES_KEEP);
    hop->next = home->hop_pool;
    home->hop_pool = hop;
    home->hop_pool_count++;
}

void hop_destroy(struct hop *hop)
{
    arena_fini(&hop->arena);
    buf_fini(&hop->replies);
    mem_free(hop->groups);
    mem_free(hop);
}

void hop_add_group(struct hop *hop, struct group *group)
{
    if (hop->group_count && hop->groups[hop->group_count - 1] == group)
        return;
    if (hop->group_count == hop->group_cap) {
        hop->group_cap = hop->group_cap ? hop->group_cap * 2 : 16;
        hop->groups = mem_realloc(hop->groups, hop->group_cap * sizeof(struct group *));
    }
    hop->groups[hop->group_count++] = group;
    hop->groups_left++;
}

struct hop_call *hop_add_call_vector(struct hop *hop, uint32_t arg_count)
{
    struct hop_call *call = arena_alloc(&hop->arena,
                                        sizeof(*call) + arg_count * sizeof(struct bytes));
    *call = (struct hop_call){
        .args = (struct bytes *)(call + 1), .arg_count = arg_count, .hop = hop};
    if (hop->last)
        hop->last->next = call;
    else
        hop->first = call;
    hop->last = call;
    hop->call_count++;
    return call;
}

struct hop_call *hop_add_call(struct hop *hop, const struct bytes *args, uint32_t arg_count)
{
    struct hop_call *call = hop_add_call_vector(hop, arg_count);
    size_t len = 0;
    for (uint32_t i = 0; i < arg_count; i++)
        len += args[i].len;
    char *to = arena_alloc(&hop->arena, len);
    for (uint32_t i = 0; i < arg_count; i++) {
        call->args[i] = bytes_of(to, args[i].len);
        memcpy(to, args[i].ptr, args[i].len);
        to += args[i].len;
    }
    hop->word_bytes += (uint32_t)len;
    return call;
}
