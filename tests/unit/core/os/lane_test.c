#include "core/os/lane.h"

#include <criterion/criterion.h>

static int messages[8]; /* only their addresses matter */

Test(lane, an_empty_lane_gives_nothing)
{
    struct lane *lane = lane_create(2, -1);
    void *received[2];
    bool was_full = true;
    cr_assert(lane_is_empty(lane));
    cr_assert_eq(lane_receive(lane, received, 2, &was_full), 0);
    cr_assert_not(was_full);
    cr_assert_not(lane_flush(lane), "nothing was sent");
    lane_destroy(lane);
}

Test(lane, hides_messages_until_they_are_flushed)
{
    struct lane *lane = lane_create(4, -1);
    void *received[4];
    bool was_full;
    cr_assert(lane_send(lane, &messages[0]));
    cr_assert(lane_is_empty(lane));
    cr_assert_eq(lane_receive(lane, received, 4, &was_full), 0);
    cr_assert(lane_flush(lane));
    cr_assert_not(lane_flush(lane), "flushed already");
    cr_assert_not(lane_is_empty(lane));
    cr_assert_eq(lane_receive(lane, received, 4, &was_full), 1);
    cr_assert_eq(received[0], &messages[0]);
    lane_destroy(lane);
}

Test(lane, refuses_when_full_and_recovers_when_drained)
{
    struct lane *lane = lane_create(2, -1);
    void *received[4];
    bool was_full;
    cr_assert(lane_send(lane, &messages[0]));
    cr_assert(lane_has_room(lane));
    cr_assert(lane_send(lane, &messages[1]));
    cr_assert_not(lane_has_room(lane));
    cr_assert_not(lane_send(lane, &messages[2]), "a lane of two took a third message");
    lane_flush(lane);
    cr_assert_eq(lane_receive(lane, received, 1, &was_full), 1);
    cr_assert(lane_has_room(lane));
    cr_assert(lane_send(lane, &messages[2]), "a drained lane still refuses");
    lane_flush(lane);
    cr_assert_eq(lane_receive(lane, received, 4, &was_full), 2);
    cr_assert_eq(received[0], &messages[1]);
    cr_assert_eq(received[1], &messages[2]);
    lane_destroy(lane);
}

Test(lane, says_when_the_sender_may_have_been_refused)
{
    struct lane *lane = lane_create(4, -1);
    void *received[4];
    bool was_full;
    for (int i = 0; i < 3; i++)
        lane_send(lane, &messages[i]);
    lane_flush(lane);
    cr_assert_eq(lane_receive(lane, received, 2, &was_full), 2);
    cr_assert_not(was_full, "three of four");
    for (int i = 3; i < 6; i++)
        lane_send(lane, &messages[i]);
    lane_flush(lane);
    cr_assert_eq(lane_receive(lane, received, 1, &was_full), 1);
    cr_assert(was_full, "four of four");
    cr_assert_eq(lane_receive(lane, received, 4, &was_full), 3);
    cr_assert_not(was_full, "there was room already");
    lane_destroy(lane);
}

Test(lane, keeps_order_over_many_laps)
{
    enum { LAPS = 1000, CAPACITY = 8 };
    struct lane *lane = lane_create(CAPACITY, -1);
    uintptr_t sent = 0, expected = 1;
    for (int lap = 0; lap < LAPS; lap++) {
        for (int i = 0; i < 1 + lap % CAPACITY; i++) {
            cr_assert(lane_send(lane, (void *)(sent + 1)));
            sent++;
        }
        lane_flush(lane);
        void *received[CAPACITY];
        bool was_full;
        size_t count = lane_receive(lane, received, CAPACITY, &was_full);
        cr_assert_eq(count, (size_t)(1 + lap % CAPACITY));
        cr_assert_eq(was_full, count == CAPACITY);
        for (size_t i = 0; i < count; i++)
            cr_assert_eq((uintptr_t)received[i], expected++);
    }
    cr_assert_eq(sent + 1, expected);
    lane_destroy(lane);
}

Test(lane, holds_its_capacity_at_both_ends_of_the_range)
{
    const uint32_t capacities[] = {2, LANE_CAPACITY_MAX};
    for (int i = 0; i < 2; i++) {
        struct lane *lane = lane_create(capacities[i], 0);
        for (uint32_t n = 0; n < capacities[i]; n++)
            cr_assert(lane_send(lane, &messages[0]));
        cr_assert_not(lane_send(lane, &messages[0]));
        lane_destroy(lane);
    }
}

Test(lane, destroying_nothing_is_allowed)
{
    lane_destroy(NULL);
}
