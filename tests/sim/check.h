/*
 * check: was this history right?
 *
 * The algorithm itself says where each operation stands in the total order (its place). The history
 * is right if each part ran once, each place lies between question and answer, places follow
 * program order, and every result is that of running all operations one by one in the order of
 * their places.
 *
 * If it is not, all other orders are tried: only when none that respects real time and program
 * order explains the results, the history is wrong, and not only the claim about it.
 */
#pragma once

#include "tests/sim/schedule.h"

/* Judges the present `world`, whose schedule has ended well. `kind` is NULL if all is right. */
struct verdict check_history(void);
void check_fini(void);

#define VERDICT_CLAIM                                                                              \
    "claimed order only" /* another order explains the results, or none was found in time */
