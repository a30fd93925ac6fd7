/* A tree of the items, in the order of their times, and of their addresses among equal times: so
 * every item can be found again by what it says itself. */
#include "core/ds/agenda.h"

#include "core/base/check.h"

static bool is_earlier(const void *item, const void *context)
{
    const struct agenda_item *one = item, *other = context;
    if (one->at_ms != other->at_ms)
        return one->at_ms < other->at_ms;
    return (uintptr_t)one < (uintptr_t)other;
}

void agenda_put(struct agenda *agenda, struct heap *heap, struct agenda_item *item, int64_t at_ms)
{
    ASSERT(at_ms != AGENDA_NOWHERE);
    if (item->at_ms == at_ms)
        return;
    agenda_strike(agenda, heap, item);
    item->at_ms = at_ms;
    tree_insert(&agenda->tree, heap, tree_rank(&agenda->tree, is_earlier, item), item);
}

void agenda_strike(struct agenda *agenda, struct heap *heap, struct agenda_item *item)
{
    if (item->at_ms == AGENDA_NOWHERE)
        return;
    void *taken = tree_take(&agenda->tree, heap, tree_rank(&agenda->tree, is_earlier, item));
    ASSERT(taken == item);
    item->at_ms = AGENDA_NOWHERE;
}

struct agenda_item *agenda_first(const struct agenda *agenda)
{
    return agenda->tree.count ? tree_get(&agenda->tree, 0) : NULL;
}

bool agenda_drain(struct agenda *agenda, struct heap *heap, uint64_t item_count)
{
    return tree_drain(&agenda->tree, heap, item_count);
}

void agenda_validate(const struct agenda *agenda)
{
    tree_validate(&agenda->tree);
    struct tree_cursor cursor = tree_seek(&agenda->tree, 0);
    const struct agenda_item *before = NULL, *item;
    for (; (item = tree_item(&cursor)); tree_next(&cursor)) {
        ASSERT(item->at_ms != AGENDA_NOWHERE);
        ASSERT(!before || is_earlier(before, item));
        before = item;
    }
}
