/*
 * wake: two threads that sleep in their rings and wake each other, while a third wakes both at
 * any moment.
 *
 * Checks   no wake is lost, between rings and from a thread without one, on both backends.
 * Usage    race_wake [--all]; prints what passed, exits with 0 if all did.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/os/clock.h"
#include "core/os/ring.h"

#define STUCK_NS 30000000000u /* a wait this long means that a wake was lost */

struct player {
    enum ring_backend backend;
    bool with_own_ring; /* wakes through its ring, not at once */
    struct ring *_Atomic ring;
    struct player *peer;
    _Atomic uint64_t hits;
    uint64_t rounds;
    atomic_bool *over;
    pthread_barrier_t *leaving;
};

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static struct ring *ring_of(struct player *player)
{
    struct ring *ring;
    while (!(ring = atomic_load(&player->ring)))
        sched_yield();
    return ring;
}

/* Hits after the other has, `rounds` times; the one that is behind sleeps. */
static void *play(void *context)
{
    struct player *player = context;
    struct ring *ring;
    struct ring_options options = {.backend = player->backend, .buffer_count = 64};
    if (ring_create(&options, &ring) != 0)
        fail("no ring");
    atomic_store(&player->ring, ring);
    struct ring *peer_ring = ring_of(player->peer);
    for (uint64_t hit = 1; hit <= player->rounds; hit++) {
        /* Release, and acquire below: what was written before the hit is seen after it. */
        atomic_store_explicit(&player->hits, hit, memory_order_release);
        ring_wake(player->with_own_ring ? ring : NULL, peer_ring);
        uint64_t started_ns = clock_mono_ns();
        while (atomic_load_explicit(&player->peer->hits, memory_order_acquire) < hit) {
            ring_wait(ring, STUCK_NS);
            if (clock_mono_ns() - started_ns >= STUCK_NS)
                fail("a wake was lost");
        }
    }
    ring_submit(ring); /* the last wake may still be queued */
    while (!atomic_load(player->over))
        ring_wait(ring, 1000000);
    pthread_barrier_wait(player->leaving); /* the other may be about to wake us */
    ring_destroy(ring);
    return NULL;
}

static void run(const char *name, enum ring_backend backend, bool with_own_ring, uint64_t rounds)
{
    atomic_bool over = false;
    pthread_barrier_t leaving;
    pthread_barrier_init(&leaving, NULL, 2);
    struct player players[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        memset(&players[i], 0, sizeof(players[i]));
        players[i].backend = backend;
        players[i].with_own_ring = with_own_ring;
        players[i].peer = &players[1 - i];
        players[i].rounds = rounds;
        players[i].over = &over;
        players[i].leaving = &leaving;
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, play, &players[i]);
    uint64_t strays = 0;
    while (atomic_load(&players[0].hits) < rounds || atomic_load(&players[1].hits) < rounds) {
        ring_wake(NULL, ring_of(&players[strays++ % 2]));
        sched_yield();
        for (int i = 0; i < 100; i++)
            (void)clock_mono_ns(); /* most waits must end by the other player's wake */
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&leaving);
    printf("wake: %s: %llu rounds, %llu strays\n", name, (unsigned long long)rounds,
           (unsigned long long)strays);
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 && strcmp(argv[1], "--all") == 0 ? 500000 : 20000;
    int passed = 0;
    char reason[256];
    if (ring_probe(reason, sizeof(reason)) == 0) {
        run("io_uring to io_uring", RING_BACKEND_IO_URING, true, rounds);
        run("io_uring from outside", RING_BACKEND_IO_URING, false, rounds);
        passed += 2;
    } else {
        printf("wake: io_uring left out: %s\n", reason);
    }
    run("epoll to epoll", RING_BACKEND_EPOLL, true, rounds);
    run("epoll from outside", RING_BACKEND_EPOLL, false, rounds);
    passed += 2;
    printf("%d passed, 0 failed\n", passed);
    return 0;
}
