/*
 * How: counting trees of pointers (core/ds/tree.h). A pending entry is one block of 40 bytes that
 * stands in two trees, its group's and its consumer's, some 10 bytes each. Entries are mostly given
 * away in the order of their ids, so an id behind the last one is added without a search.
 *
 * A group that is being loaded holds pending entries without a consumer; stream_group_is_whole()
 * tells by counting, since an entry stands in at most one consumer's list.
 *
 * Freeing takes what hangs last first: a consumer's list (places only), then the consumer, and when
 * all are gone the group's pending entries with their list.
 */
#include "core/type/stream_group.h"

#include "core/base/heap.h"

/* A consumer with at least one in so many of its group's pending entries is taken out of the
 * group's list by one walk over it, others entry by entry. */
#define MANY_OF 8u

/* ---- Names ---------------------------------------------------------------------------------- */

struct bytes stream_group_name(const struct stream_group *group)
{
    return bytes_of(group->name, group->name_len);
}

struct bytes stream_group_consumer_name(const struct stream_group_consumer *consumer)
{
    return bytes_of(consumer->name, consumer->name_len);
}

static bool group_is_before(const void *item, const void *context)
{
    return bytes_compare(stream_group_name(item), *(const struct bytes *)context) < 0;
}

static bool consumer_is_before(const void *item, const void *context)
{
    return bytes_compare(stream_group_consumer_name(item), *(const struct bytes *)context) < 0;
}

static size_t group_bytes(size_t name_len)
{
    return sizeof(struct stream_group) + name_len;
}

static size_t consumer_bytes(size_t name_len)
{
    return sizeof(struct stream_group_consumer) + name_len;
}

/* ---- Groups --------------------------------------------------------------------------------- */

uint64_t stream_group_count(const struct stream *stream)
{
    return stream->groups ? stream->groups->groups.count : 0;
}

/* The group of this name, or NULL and the rank it would have. */
static struct stream_group *look_up_group(const struct stream_group_list *list, struct bytes name,
                                          uint64_t *out_rank)
{
    *out_rank = tree_rank(&list->groups, group_is_before, &name);
    struct tree_cursor place = tree_seek(&list->groups, *out_rank);
    struct stream_group *group = tree_item(&place);
    return group && bytes_equal(stream_group_name(group), name) ? group : NULL;
}

const struct stream_group *stream_group_find(const struct stream *stream, struct bytes name)
{
    uint64_t rank;
    return stream->groups ? look_up_group(stream->groups, name, &rank) : NULL;
}

struct stream_group *stream_group_edit(struct stream *stream, struct bytes name)
{
    uint64_t rank;
    return stream->groups ? look_up_group(stream->groups, name, &rank) : NULL;
}

const struct stream_group *stream_group_at(const struct stream *stream, uint64_t index)
{
    return tree_get(&stream->groups->groups, index);
}

static struct stream_group_list *create_list(struct heap *heap)
{
    struct stream_group_list *list = heap_alloc(heap, sizeof *list);
    *list = (struct stream_group_list){0};
    return list;
}

static struct stream_group *add_group(struct stream_group_list *list, struct heap *heap,
                                      uint64_t rank, struct bytes name)
{
    struct stream_group *group = heap_alloc(heap, group_bytes(name.len));
    *group = (struct stream_group){.entries_read = STREAM_GROUP_READ_UNKNOWN, .name_len = name.len};
    if (name.len)
        memcpy(group->name, name.ptr, name.len);
    tree_insert(&list->groups, heap, rank, group);
    return group;
}

struct stream_group *stream_group_create(struct stream *stream, struct heap *heap,
                                         struct bytes name, struct stream_id last_id,
                                         int64_t entries_read)
{
    if (!stream->groups)
        stream->groups = create_list(heap);
    uint64_t rank;
    if (look_up_group(stream->groups, name, &rank))
        return NULL;
    struct stream_group *group = add_group(stream->groups, heap, rank, name);
    group->last_id = last_id;
    group->entries_read = entries_read;
    return group;
}

struct stream_group_list *stream_group_detach(struct stream *stream, struct heap *heap,
                                              struct stream_group *group)
{
    uint64_t rank;
    ASSERT(look_up_group(stream->groups, stream_group_name(group), &rank) == group);
    (void)tree_take(&stream->groups->groups, heap, rank);
    struct stream_group_list *list = create_list(heap);
    tree_insert(&list->groups, heap, 0, group);
    return list;
}

/* ---- Consumers ------------------------------------------------------------------------------ */

static struct stream_group_consumer *look_up_consumer(const struct stream_group *group,
                                                      struct bytes name, uint64_t *out_rank)
{
    *out_rank = tree_rank(&group->consumers, consumer_is_before, &name);
    struct tree_cursor place = tree_seek(&group->consumers, *out_rank);
    struct stream_group_consumer *consumer = tree_item(&place);
    return consumer && bytes_equal(stream_group_consumer_name(consumer), name) ? consumer : NULL;
}

const struct stream_group_consumer *stream_group_find_consumer(const struct stream_group *group,
                                                               struct bytes name)
{
    uint64_t rank;
    return look_up_consumer(group, name, &rank);
}

struct stream_group_consumer *stream_group_edit_consumer(struct stream_group *group,
                                                         struct bytes name)
{
    uint64_t rank;
    return look_up_consumer(group, name, &rank);
}

const struct stream_group_consumer *stream_group_consumer_at(const struct stream_group *group,
                                                             uint64_t index)
{
    return tree_get(&group->consumers, index);
}

static struct stream_group_consumer *add_consumer(struct stream_group *group, struct heap *heap,
                                                  uint64_t rank, struct bytes name)
{
    struct stream_group_consumer *consumer = heap_alloc(heap, consumer_bytes(name.len));
    *consumer = (struct stream_group_consumer){.active_at_ms = STREAM_GROUP_NEVER_MS,
                                               .name_len = name.len};
    if (name.len)
        memcpy(consumer->name, name.ptr, name.len);
    tree_insert(&group->consumers, heap, rank, consumer);
    return consumer;
}

struct stream_group_consumer *stream_group_create_consumer(struct stream_group *group,
                                                           struct heap *heap, struct bytes name,
                                                           int64_t now_ms)
{
    uint64_t rank;
    if (look_up_consumer(group, name, &rank))
        return NULL;
    struct stream_group_consumer *consumer = add_consumer(group, heap, rank, name);
    consumer->seen_at_ms = now_ms;
    return consumer;
}

/* ---- Lists of pending entries --------------------------------------------------------------- */

static bool pending_is_before(const void *item, const void *context)
{
    return stream_id_compare(((const struct stream_group_pending *)item)->id,
                             *(const struct stream_id *)context) < 0;
}

static uint64_t pending_rank(const struct tree *list, struct stream_id id)
{
    return tree_rank(list, pending_is_before, &id);
}

struct tree_cursor stream_group_seek_pending(const struct tree *list, struct stream_id id)
{
    return tree_seek(list, pending_rank(list, id));
}

/* The entry with this id, or NULL and the rank it would have. */
static struct stream_group_pending *look_up_pending(const struct tree *list, struct stream_id id,
                                                    uint64_t *out_rank)
{
    uint64_t count = list->count;
    if (count == 0 ||
        stream_id_compare(((struct stream_group_pending *)tree_get(list, count - 1))->id, id) < 0) {
        *out_rank = count;
        return NULL;
    }
    *out_rank = pending_rank(list, id); /* below `count`: the last one is not before */
    struct stream_group_pending *pending = tree_get(list, *out_rank);
    return stream_id_compare(pending->id, id) == 0 ? pending : NULL;
}

const struct stream_group_pending *stream_group_find_pending(const struct stream_group *group,
                                                             struct stream_id id)
{
    uint64_t rank;
    return look_up_pending(&group->pending, id, &rank);
}

struct stream_group_pending *stream_group_edit_pending(struct stream_group *group,
                                                       struct stream_id id)
{
    uint64_t rank;
    return look_up_pending(&group->pending, id, &rank);
}

static struct stream_group_pending *add_pending(struct stream_group *group, struct heap *heap,
                                                uint64_t rank, struct stream_id id)
{
    struct stream_group_pending *pending = heap_alloc(heap, sizeof *pending);
    *pending = (struct stream_group_pending){.id = id};
    tree_insert(&group->pending, heap, rank, pending);
    return pending;
}

static void put_in_list(struct tree *list, struct heap *heap, struct stream_group_pending *pending)
{
    uint64_t rank;
    ASSERT(!look_up_pending(list, pending->id, &rank));
    tree_insert(list, heap, rank, pending);
}

static void take_from_list(struct tree *list, struct heap *heap,
                           const struct stream_group_pending *pending)
{
    uint64_t rank;
    ASSERT(look_up_pending(list, pending->id, &rank) == pending);
    (void)tree_take(list, heap, rank);
}

/* ---- Giving away and taking back ------------------------------------------------------------ */

struct stream_group_pending *stream_group_add_pending(struct stream_group *group, struct heap *heap,
                                                      struct stream_group_consumer *consumer,
                                                      struct stream_id id)
{
    uint64_t rank;
    ASSERT(!look_up_pending(&group->pending, id, &rank));
    struct stream_group_pending *pending = add_pending(group, heap, rank, id);
    pending->consumer = consumer;
    put_in_list(&consumer->pending, heap, pending);
    return pending;
}

void stream_group_reassign(struct heap *heap, struct stream_group_pending *pending,
                           struct stream_group_consumer *consumer)
{
    if (pending->consumer == consumer)
        return;
    take_from_list(&pending->consumer->pending, heap, pending);
    put_in_list(&consumer->pending, heap, pending);
    pending->consumer = consumer;
}

void stream_group_deliver(struct stream_group *group, struct heap *heap,
                          struct stream_group_consumer *consumer, struct stream_id id,
                          int64_t now_ms)
{
    uint64_t rank;
    struct stream_group_pending *pending = look_up_pending(&group->pending, id, &rank);
    if (pending) {
        stream_group_reassign(heap, pending, consumer);
    } else {
        pending = add_pending(group, heap, rank, id);
        pending->consumer = consumer;
        put_in_list(&consumer->pending, heap, pending);
    }
    pending->delivered_at_ms = now_ms;
    pending->delivery_count = 1;
}

bool stream_group_acknowledge(struct stream_group *group, struct heap *heap, struct stream_id id)
{
    uint64_t rank;
    struct stream_group_pending *pending = look_up_pending(&group->pending, id, &rank);
    if (!pending)
        return false;
    (void)tree_take(&group->pending, heap, rank);
    take_from_list(&pending->consumer->pending, heap, pending);
    heap_free(heap, pending, sizeof *pending);
    return true;
}

/* Takes all of a consumer's entries out of its group's list, by building the list anew. */
static void sift_out(struct stream_group *group, struct heap *heap,
                     const struct stream_group_consumer *consumer)
{
    struct tree rest = {0};
    struct tree_cursor place = tree_seek(&group->pending, 0);
    for (struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place)) {
        if (each->consumer != consumer)
            tree_insert(&rest, heap, rest.count, each);
    }
    (void)tree_drain(&group->pending, heap, UINT64_MAX);
    group->pending = rest;
}

void stream_group_destroy_consumer(struct stream_group *group, struct heap *heap,
                                   struct stream_group_consumer *consumer)
{
    bool has_many = consumer->pending.count >= group->pending.count / MANY_OF;
    if (has_many)
        sift_out(group, heap, consumer);
    struct tree_cursor place = tree_seek(&consumer->pending, 0);
    for (struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place)) {
        if (!has_many)
            take_from_list(&group->pending, heap, each);
        heap_free(heap, each, sizeof *each);
    }
    (void)tree_drain(&consumer->pending, heap, UINT64_MAX);

    uint64_t rank;
    ASSERT(look_up_consumer(group, stream_group_consumer_name(consumer), &rank) == consumer);
    (void)tree_take(&group->consumers, heap, rank);
    heap_free(heap, consumer, consumer_bytes(consumer->name_len));
}

/* ---- What a group has read ------------------------------------------------------------------ */

/* Was an entry deleted from `id` on, among those that are there? */
static bool has_gaps_from(const struct stream *stream, struct stream_id id)
{
    return stream->length > 0 && !stream_id_is_zero(stream->max_deleted_id) &&
           stream_id_compare(stream->first_id, stream->max_deleted_id) <= 0 &&
           stream_id_compare(id, stream->max_deleted_id) <= 0;
}

/* How many entries the stream ever had up to `id`, if that follows from what it knows of itself.
 * Clients and dumps may set its counters and those of groups to anything: sums wrap around. */
static int64_t count_up_to(const struct stream *stream, struct stream_id id)
{
    uint64_t added = stream->entries_added, length = stream->length;
    if (added == 0)
        return 0;
    int to_last = stream_id_compare(id, stream->last_id);
    if (to_last == 0 || (to_last < 0 && length == 0))
        return (int64_t)added;
    bool has_no_gaps = stream_id_is_zero(stream->max_deleted_id) ||
                       stream_id_compare(stream->max_deleted_id, stream->first_id) < 0;
    if (to_last > 0 || !has_no_gaps)
        return STREAM_GROUP_READ_UNKNOWN;
    int to_first = stream_id_compare(id, stream->first_id);
    if (to_first < 0)
        return (int64_t)(added - length);
    return to_first == 0 ? (int64_t)(added - length + 1) : STREAM_GROUP_READ_UNKNOWN;
}

void stream_group_advance(struct stream_group *group, const struct stream *stream,
                          struct stream_id id)
{
    if (stream_id_compare(id, group->last_id) <= 0)
        return;
    if (group->entries_read != STREAM_GROUP_READ_UNKNOWN && !has_gaps_from(stream, id))
        group->entries_read = (int64_t)((uint64_t)group->entries_read + 1);
    else if (stream->entries_added > 0)
        group->entries_read = count_up_to(stream, id);
    group->last_id = id;
}

bool stream_group_lag(const struct stream_group *group, const struct stream *stream,
                      int64_t *out_count)
{
    int64_t read = 0;
    if (stream->entries_added > 0) {
        read = group->entries_read;
        if (read == STREAM_GROUP_READ_UNKNOWN || has_gaps_from(stream, group->last_id))
            read = count_up_to(stream, group->last_id);
        if (read == STREAM_GROUP_READ_UNKNOWN)
            return false;
    }
    *out_count = (int64_t)(stream->entries_added - (uint64_t)read);
    return true;
}

/* ---- What groups hold of a stream's entry --------------------------------------------------- */

bool stream_group_needs(const struct stream *stream, struct stream_id id)
{
    if (!stream->groups)
        return false;
    struct tree_cursor place = tree_seek(&stream->groups->groups, 0);
    for (const struct stream_group *each; (each = tree_item(&place)); tree_next(&place)) {
        if (stream_id_compare(each->last_id, id) < 0 || stream_group_find_pending(each, id))
            return true;
    }
    return false;
}

void stream_group_forget(struct stream *stream, struct heap *heap, struct stream_id id)
{
    if (!stream->groups)
        return;
    struct tree_cursor place = tree_seek(&stream->groups->groups, 0);
    for (struct stream_group *each; (each = tree_item(&place)); tree_next(&place))
        (void)stream_group_acknowledge(each, heap, id);
}

static bool release_with_references(void *context, struct stream *stream, struct stream_id id)
{
    stream_group_forget(stream, context, id);
    return true;
}

static bool release_what_none_needs(void *context, struct stream *stream, struct stream_id id)
{
    (void)context;
    return !stream_group_needs(stream, id);
}

void stream_group_guard_trim(struct stream_trim *trim, enum stream_refs refs, struct heap *heap)
{
    trim->release = refs == STREAM_REFS_DELETE  ? release_with_references
                    : refs == STREAM_REFS_ACKED ? release_what_none_needs
                                                : NULL;
    trim->release_context = heap;
}

/* ---- Building from a dump ------------------------------------------------------------------- */

bool stream_group_load_pending(struct stream_group *group, struct heap *heap, struct stream_id id,
                               int64_t delivered_at_ms, uint64_t delivery_count)
{
    uint64_t rank;
    if (look_up_pending(&group->pending, id, &rank))
        return false;
    struct stream_group_pending *pending = add_pending(group, heap, rank, id);
    pending->delivered_at_ms = delivered_at_ms;
    pending->delivery_count = delivery_count;
    return true;
}

bool stream_group_load_owner(struct stream_group *group, struct heap *heap,
                             struct stream_group_consumer *consumer, struct stream_id id)
{
    struct stream_group_pending *pending = stream_group_edit_pending(group, id);
    if (!pending || pending->consumer)
        return false;
    pending->consumer = consumer;
    put_in_list(&consumer->pending, heap, pending);
    return true;
}

static uint64_t owned_count(const struct stream_group *group)
{
    uint64_t count = 0;
    struct tree_cursor place = tree_seek(&group->consumers, 0);
    for (const struct stream_group_consumer *each; (each = tree_item(&place)); tree_next(&place))
        count += each->pending.count;
    return count;
}

bool stream_group_is_whole(const struct stream_group *group)
{
    return owned_count(group) == group->pending.count;
}

/* ---- As a part of a stream ----------------------------------------------------------------- */

size_t stream_group_list_bytes(const struct stream_group_list *list)
{
    if (!list)
        return 0;
    size_t bytes = heap_usable(sizeof *list) + list->groups.node_bytes;
    struct tree_cursor place = tree_seek(&list->groups, 0);
    for (const struct stream_group *group; (group = tree_item(&place)); tree_next(&place)) {
        bytes += heap_usable(group_bytes(group->name_len)) + group->consumers.node_bytes;
        bytes += group->pending.node_bytes;
        bytes += group->pending.count * heap_usable(sizeof(struct stream_group_pending));
        struct tree_cursor inner = tree_seek(&group->consumers, 0);
        for (const struct stream_group_consumer *each; (each = tree_item(&inner));
             tree_next(&inner))
            bytes += heap_usable(consumer_bytes(each->name_len)) + each->pending.node_bytes;
    }
    return bytes;
}

static void copy_pending(const struct stream_group *group, struct heap *heap,
                         struct stream_group *to)
{
    const struct stream_group_consumer *owner =
        NULL; /* the last one looked up, mostly the next too */
    struct stream_group_consumer *new_owner = NULL;
    struct tree_cursor place = tree_seek(&group->pending, 0);
    for (const struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place)) {
        if (each->consumer != owner) {
            owner = each->consumer;
            new_owner = stream_group_edit_consumer(to, stream_group_consumer_name(owner));
        }
        struct stream_group_pending *pending = stream_group_add_pending(to, heap, new_owner,
                                                                        each->id);
        pending->delivered_at_ms = each->delivered_at_ms;
        pending->delivery_count = each->delivery_count;
    }
}

struct stream_group_list *stream_group_list_copy(const struct stream_group_list *list,
                                                 struct heap *heap)
{
    if (!list)
        return NULL;
    struct stream_group_list *to = create_list(heap);
    struct tree_cursor place = tree_seek(&list->groups, 0);
    for (const struct stream_group *group; (group = tree_item(&place)); tree_next(&place)) {
        struct stream_group *copy = add_group(to, heap, to->groups.count, stream_group_name(group));
        copy->last_id = group->last_id;
        copy->entries_read = group->entries_read;
        struct tree_cursor inner = tree_seek(&group->consumers, 0);
        for (const struct stream_group_consumer *each; (each = tree_item(&inner));
             tree_next(&inner)) {
            struct stream_group_consumer *consumer = add_consumer(copy, heap, copy->consumers.count,
                                                                  stream_group_consumer_name(each));
            consumer->seen_at_ms = each->seen_at_ms;
            consumer->active_at_ms = each->active_at_ms;
        }
        copy_pending(group, heap, copy);
    }
    return to;
}

static uint64_t spend(uint64_t budget, uint64_t cost)
{
    return budget > cost ? budget - cost : 0;
}

/* True when all consumers are gone. */
static bool free_consumers(struct stream_group *group, struct heap *heap, uint64_t *io_budget)
{
    while (group->consumers.count > 0) {
        uint64_t last = group->consumers.count - 1;
        struct stream_group_consumer *consumer = tree_get(&group->consumers, last);
        uint64_t count = consumer->pending.count;
        bool is_empty = tree_drain(&consumer->pending, heap, *io_budget);
        *io_budget = spend(*io_budget, count - consumer->pending.count + 1);
        if (!is_empty || *io_budget == 0)
            return false;
        (void)tree_take(&group->consumers, heap, last);
        heap_free(heap, consumer, consumer_bytes(consumer->name_len));
    }
    return true;
}

/* The same for pending entries; a list is drained from its end. */
static bool free_pending(struct stream_group *group, struct heap *heap, uint64_t *io_budget)
{
    while (group->pending.count > 0) {
        if (*io_budget == 0)
            return false;
        uint64_t last = group->pending.count - 1;
        heap_free(heap, tree_take(&group->pending, heap, last),
                  sizeof(struct stream_group_pending));
        *io_budget = spend(*io_budget, 1);
    }
    return true;
}

bool stream_group_list_free_some(struct stream_group_list *list, struct heap *heap,
                                 uint64_t *io_budget)
{
    if (!list)
        return true;
    while (list->groups.count > 0) {
        uint64_t last = list->groups.count - 1;
        struct stream_group *group = tree_get(&list->groups, last);
        if (!free_consumers(group, heap, io_budget) || !free_pending(group, heap, io_budget))
            return false;
        (void)tree_take(&list->groups, heap, last);
        heap_free(heap, group, group_bytes(group->name_len));
        *io_budget = spend(*io_budget, 1);
    }
    heap_free(heap, list, sizeof *list);
    return true;
}

/* ---- For tests ------------------------------------------------------------------------------ */

/* Entries in order, each with an owner who has it too. */
static void validate_pending(const struct stream_group *group)
{
    struct stream_id last = {0};
    uint64_t count = 0;
    struct tree_cursor place = tree_seek(&group->pending, 0);
    for (const struct stream_group_pending *each; (each = tree_item(&place)); tree_next(&place)) {
        ASSERT(count == 0 || stream_id_compare(last, each->id) < 0);
        uint64_t rank;
        ASSERT(each->consumer);
        ASSERT(look_up_pending(&each->consumer->pending, each->id, &rank) == each);
        last = each->id;
        count++;
    }
    tree_validate(&group->pending);
    ASSERT(count == group->pending.count && stream_group_is_whole(group));
}

void stream_group_validate(const struct stream *stream)
{
    for (uint64_t i = 0; i < stream_group_count(stream); i++) {
        const struct stream_group *group = stream_group_at(stream, i);
        ASSERT(i == 0 || bytes_compare(stream_group_name(stream_group_at(stream, i - 1)),
                                       stream_group_name(group)) < 0);
        validate_pending(group);
        tree_validate(&group->consumers);
        for (uint64_t j = 0; j < group->consumers.count; j++) {
            const struct stream_group_consumer *consumer = stream_group_consumer_at(group, j);
            ASSERT(stream_group_find_consumer(group, stream_group_consumer_name(consumer)) ==
                   consumer);
            tree_validate(&consumer->pending);
        }
    }
}
