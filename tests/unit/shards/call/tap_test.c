#include "shards/call/tap.h"

#include <criterion/criterion.h>

static void count_event(void *context, const struct tap_event *event)
{
    (void)event;
    ++*(int *)context;
}

static void count_other(void *context, const struct tap_event *event)
{
    (void)event;
    *(int *)context += 100;
}

static void count_session(void *context, struct session *session)
{
    (void)session;
    ++*(int *)context;
}

Test(tap, tells_every_listener_of_its_own_kind)
{
    struct tap tap = {0};
    struct tap_event event = {0};
    int before = 0, after = 0, closed = 0;
    tap_add_before(&tap, count_event, &before);
    tap_add_after(&tap, count_event, &after);
    tap_add_after(&tap, count_other, &after);
    tap_add_closed(&tap, count_session, &closed);
    tap_fire_before(&tap, &event);
    cr_assert_eq(before, 1);
    cr_assert_eq(after, 0);
    tap_fire_after(&tap, &event);
    cr_assert_eq(after, 101);
    tap_fire_closed(&tap, NULL);
    cr_assert_eq(closed, 1);
    cr_assert_eq(before, 1);
}

Test(tap, leaves_those_in_peace_who_have_gone)
{
    struct tap tap = {0};
    struct tap_event event = {0};
    int first = 0, second = 0;
    tap_add_before(&tap, count_event, &first);
    tap_add_before(&tap, count_other, &second);
    tap_add_after(&tap, count_event, &first);
    tap_remove_before(&tap, count_event);
    tap_fire_before(&tap, &event);
    cr_assert_eq(first, 0);
    cr_assert_eq(second, 100);
    tap_remove_after(&tap, count_event);
    tap_fire_after(&tap, &event);
    cr_assert_eq(first, 0);
    cr_assert_eq(tap.after_count, 0);
}

Test(tap, has_room_for_a_named_number_of_listeners)
{
    struct tap tap = {0};
    int count = 0;
    for (int i = 0; i < TAP_LISTENERS_MAX; i++)
        tap_add_before(&tap, count_event, &count);
    tap_fire_before(&tap, &(struct tap_event){0});
    cr_assert_eq(count, TAP_LISTENERS_MAX);
}
