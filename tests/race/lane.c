/*
 * lane: two threads, one lane there and one back, messages that are written before they are sent.
 *
 * Checks   every message arrives once, in order, with its content; a sender that was refused and
 *          then sleeps is told when there is room again, however the two interleave.
 * Usage    race_lane [--all]; prints what passed, exits with 0 if all did.
 */
#include "core/os/lane.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POOL 64      /* messages in circulation */
#define STUCK_S 30   /* a sleep this long means that the poke was lost */
#define BATCH_MAX 11 /* messages sent between two flushes; no divisor of the capacity */

struct message {
    uint64_t number; /* plain memory: only the lane orders it */
    uint64_t square;
};

struct road {
    struct lane *there, *back;
    uint64_t total;
    bool is_slow; /* the receiver lets the lane fill up */
    atomic_bool sender_sleeps;
    sem_t room;
    uint64_t sleeps;
    struct message pool[POOL];
};

static void die(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* As a shard that has overflow goes to sleep: announce, look, sleep. */
static void sleep_until_room(struct road *road)
{
    atomic_store(&road->sender_sleeps, true);
    if (lane_has_room(road->there)) {
        if (!atomic_exchange(&road->sender_sleeps, false))
            sem_wait(&road->room); /* the receiver was faster: take its poke */
        return;
    }
    road->sleeps++;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STUCK_S;
    while (sem_timedwait(&road->room, &until) != 0)
        if (errno != EINTR)
            die("the lane had room and nobody told the sender");
}

static void *send_all(void *context)
{
    struct road *road = context;
    void *spare[POOL];
    size_t spare_count = 0;
    for (; spare_count < POOL; spare_count++)
        spare[spare_count] = &road->pool[spare_count];
    uint64_t sent = 0;
    for (uint64_t turn = 0; sent < road->total; turn++) {
        bool was_full, refused = false;
        spare_count += lane_receive(road->back, spare + spare_count, POOL - spare_count, &was_full);
        for (uint64_t i = 0; i < 1 + turn % BATCH_MAX && spare_count > 0 && sent < road->total;
             i++) {
            struct message *message = spare[spare_count - 1];
            message->number = sent;
            message->square = sent * sent;
            refused = !lane_send(road->there, message);
            if (refused)
                break;
            spare_count--;
            sent++;
        }
        lane_flush(road->there);
        if (refused)
            sleep_until_room(road);
        else if (spare_count == 0)
            sched_yield();
    }
    return NULL;
}

static void receive_all(struct road *road)
{
    uint64_t received = 0;
    for (uint64_t turn = 0; received < road->total; turn++) {
        void *messages[POOL];
        bool was_full;
        size_t count = lane_receive(road->there, messages, 1 + turn % 7, &was_full);
        if (was_full && atomic_exchange(&road->sender_sleeps, false))
            sem_post(&road->room);
        for (size_t i = 0; i < count; i++) {
            struct message *message = messages[i];
            if (message->number != received || message->square != received * received)
                die("a message is out of order or half written");
            received++;
            while (!lane_send(road->back, message)) /* cannot be: it holds the whole pool */
                die("the lane back is full");
        }
        lane_flush(road->back);
        if (count == 0 || (road->is_slow && turn % 16 == 0))
            sched_yield();
    }
}

static void run(const char *name, uint32_t capacity, bool is_slow, uint64_t total)
{
    struct road *road = calloc(1, sizeof(*road));
    road->there = lane_create(capacity, -1);
    road->back = lane_create(POOL, -1);
    road->total = total;
    road->is_slow = is_slow;
    sem_init(&road->room, 0, 0);
    pthread_t sender;
    pthread_create(&sender, NULL, send_all, road);
    receive_all(road);
    pthread_join(sender, NULL);
    printf("lane: %s: %llu messages, %llu sleeps\n", name, (unsigned long long)total,
           (unsigned long long)road->sleeps);
    lane_destroy(road->there);
    lane_destroy(road->back);
    free(road);
}

int main(int argc, char **argv)
{
    uint64_t total = argc > 1 && strcmp(argv[1], "--all") == 0 ? 20000000 : 2000000;
    run("wide", 256, false, total);
    run("narrow", 4, false, total / 4);
    run("narrow and slow", 2, true, total / 8);
    printf("3 passed, 0 failed\n");
    return 0;
}
