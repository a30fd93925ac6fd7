#include "core/ds/agenda.h"

#include <criterion/criterion.h>

#include "core/base/heap.h"
#include "core/base/rng.h"

#define ITEMS 2000

static struct heap *heap;
static struct agenda agenda;
static struct agenda_item items[ITEMS];

static void set_up(void)
{
    heap = heap_create(-1);
    agenda = (struct agenda){0};
    for (int i = 0; i < ITEMS; i++)
        items[i] = (struct agenda_item){.at_ms = AGENDA_NOWHERE, .place = (uint64_t)i};
}

static void tear_down(void)
{
    cr_assert(agenda_drain(&agenda, heap, UINT64_MAX));
    heap_release_unused(heap);
    cr_assert_eq(heap_used(heap), 0, "a node was lost");
    heap_destroy(heap);
}

TestSuite(agenda, .init = set_up, .fini = tear_down);

Test(agenda, has_no_first_item_when_empty)
{
    cr_assert_null(agenda_first(&agenda));
    cr_assert_eq(agenda_count(&agenda), 0);
    agenda_strike(&agenda, heap, &items[0]);
    cr_assert_eq(agenda_count(&agenda), 0);
}

Test(agenda, gives_items_in_the_order_of_their_times)
{
    for (int i = 0; i < ITEMS; i++)
        agenda_put(&agenda, heap, &items[i], i * 7919 % ITEMS);
    agenda_validate(&agenda);
    for (int i = 0; i < ITEMS; i++) {
        struct agenda_item *first = agenda_first(&agenda);
        cr_assert_eq(first->at_ms, i);
        agenda_strike(&agenda, heap, first);
        cr_assert_eq(first->at_ms, AGENDA_NOWHERE);
    }
    cr_assert_null(agenda_first(&agenda));
}

Test(agenda, tells_items_of_the_same_time_apart)
{
    for (int i = 0; i < ITEMS; i++)
        agenda_put(&agenda, heap, &items[i], 5);
    for (int i = 0; i < ITEMS; i += 2)
        agenda_strike(&agenda, heap, &items[i]);
    agenda_validate(&agenda);
    cr_assert_eq(agenda_count(&agenda), ITEMS / 2);
    for (int i = 0; i < ITEMS; i++)
        cr_assert_eq(items[i].at_ms == 5, i % 2 == 1);
}

Test(agenda, moves_an_item_that_is_put_again)
{
    agenda_put(&agenda, heap, &items[0], 10);
    agenda_put(&agenda, heap, &items[1], 20);
    agenda_put(&agenda, heap, &items[0], 30);
    cr_assert_eq(agenda_count(&agenda), 2);
    cr_assert_eq(agenda_first(&agenda), &items[1]);
    agenda_put(&agenda, heap, &items[0], -30);
    cr_assert_eq(agenda_first(&agenda), &items[0]);
}

Test(agenda, keeps_its_order_through_any_changes)
{
    struct rng rng;
    rng_init(&rng, 3);
    for (int step = 0; step < 50000; step++) {
        struct agenda_item *item = &items[rng_below(&rng, ITEMS)];
        if (rng_below(&rng, 3) == 0)
            agenda_strike(&agenda, heap, item);
        else
            agenda_put(&agenda, heap, item, (int64_t)rng_below(&rng, 500));
        if (step % 500 == 0)
            agenda_validate(&agenda);
    }
}

Test(agenda, is_drained_without_a_look_at_its_items)
{
    for (int i = 0; i < ITEMS; i++)
        agenda_put(&agenda, heap, &items[i], i);
    for (int i = 0; i < ITEMS; i++)
        items[i].at_ms = 0; /* as if they were gone */
    int steps = 1;
    while (!agenda_drain(&agenda, heap, 50))
        steps++;
    cr_assert_gt(steps, ITEMS / 150);
    cr_assert_eq(agenda_count(&agenda), 0);
}
