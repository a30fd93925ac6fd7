/*
 * agenda: things to be done, in the order of their times.
 *
 * An item is part of what it reminds of, and stands in one agenda at most. It must stay where it is
 * while it stands in one.
 *
 * Cost       O(log n) for each function unless said otherwise; some 10 bytes an item besides.
 * Memory     comes from the heap that each changing function is given, always the same. The zero
 *            value is an empty agenda.
 * Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/ds/tree.h"

struct heap;

struct agenda_item {
    int64_t at_ms;  /* AGENDA_NOWHERE while it stands in no agenda; for others to read only */
    uint64_t place; /* the caller's: where to find what it is part of */
};

#define AGENDA_NOWHERE INT64_MIN

struct agenda {
    struct tree tree;
};

/* How many items. O(1). */
static inline uint64_t agenda_count(const struct agenda *agenda)
{
    return agenda->tree.count;
}

/* Enters the item for `at_ms`, which is later than AGENDA_NOWHERE; one that stands in this agenda
 * moves there. */
void agenda_put(struct agenda *agenda, struct heap *heap, struct agenda_item *item, int64_t at_ms);

/* Strikes the item out, which may stand in this agenda or in none. */
void agenda_strike(struct agenda *agenda, struct heap *heap, struct agenda_item *item);

/* The earliest, NULL when there is none. O(1). */
struct agenda_item *agenda_first(const struct agenda *agenda);

/* Forgets at least `item_count` items, as far as there are, without looking at them; true when the
 * agenda is empty. An agenda that is being drained may only be drained on. */
bool agenda_drain(struct agenda *agenda, struct heap *heap, uint64_t item_count);

/* Ends the process if items are not in order. For tests. */
void agenda_validate(const struct agenda *agenda);
