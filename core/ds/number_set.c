#include "core/ds/number_set.h"

#include "core/base/arena.h"
#include "core/base/bits.h"

struct number_set number_set_create(struct arena *arena, uint64_t count_max)
{
    uint64_t slot_count = bits_power_of_two_from(2 * count_max);
    return (struct number_set){.slots = arena_zalloc(arena, slot_count * sizeof(uint64_t)),
                               .mask = slot_count - 1};
}

bool number_set_add(struct number_set *set, uint64_t number)
{
    /* Fibonacci hashing: pointers and ranks differ in their low bits only. */
    uint64_t at = (number * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    for (;; at++) {
        uint64_t *slot = &set->slots[at & set->mask];
        if (*slot == number)
            return false;
        if (*slot == 0) {
            *slot = number;
            return true;
        }
    }
}
