/*
 * fiber: a stack and a place in a program, to be left and entered again.
 *
 * The simulator runs each simulated thread on a fiber, all on one real thread; a switch costs a few
 * nanoseconds, so that millions of schedules can be tried. A fiber is simply forgotten in the
 * middle when its schedule ends.
 */
#pragma once

#include <stddef.h>

#define FIBER_STACK_BYTES 65536u

struct fiber {
    void *stack_pointer; /* while switched away */
    void *stack;         /* FIBER_STACK_BYTES, kept from one use to the next */
    void (*run)(void *arg);
    void *arg;
    void *context; /* a ucontext_t, where there is no switch of our own */
};

/* Prepares `fiber` to begin with run(arg) when first switched to; `run` never returns. May be
 * called again to begin afresh. The zero value is a fiber that has not been used. */
void fiber_init(struct fiber *fiber, void (*run)(void *arg), void *arg);
void fiber_fini(struct fiber *fiber);

/* Leaves `from`, which is the one running, and goes on in `to`. A zeroed `from` stands for the
 * program's own stack. */
void fiber_switch(struct fiber *from, struct fiber *to);
