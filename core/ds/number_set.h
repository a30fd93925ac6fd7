/*
 * number_set: distinct numbers of 64 bits, up to a count that is known beforehand: what a drawing
 * by chance has had already.
 *
 * Open addressing, at most half full; the memory is the arena's. Thread: the owner's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

struct number_set {
    uint64_t *slots; /* 0: none */
    uint64_t mask;
};

/* An empty set for up to `count_max` numbers: 16 to 32 bytes of the arena for each. */
struct number_set number_set_create(struct arena *arena, uint64_t count_max);

/* Adds a number, which is not 0. False: it was there. */
bool number_set_add(struct number_set *set, uint64_t number);
