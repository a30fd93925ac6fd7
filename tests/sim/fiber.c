/*
 * How: on x86-64 a switch pushes the six registers that a function call must keep, exchanges stack
 * pointers, and pops. A new fiber's stack is laid out as if it had just been left that way. Other
 * machines use ucontext, which is some fifty times slower (it enters the kernel for the signal
 * mask) and gives the same schedules.
 */
#include "tests/sim/fiber.h"

#include <stdint.h>
#include <ucontext.h>

#include "core/base/check.h"
#include "core/base/mem.h"

#ifdef __x86_64__

void fiber_swap_stacks(void **out_left, void *entered);

__asm__(".text\n"
        ".globl fiber_swap_stacks\n"
        ".type fiber_swap_stacks, @function\n"
        "fiber_swap_stacks:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size fiber_swap_stacks, . - fiber_swap_stacks\n"
        /* A fiber's first instructions; prepare() put the fiber into %rbx. */
        ".globl fiber_first\n"
        ".type fiber_first, @function\n"
        "fiber_first:\n"
        "    movq %rbx, %rdi\n"
        "    call fiber_begin\n"
        ".size fiber_first, . - fiber_first\n");

void fiber_first(void);
_Noreturn void fiber_begin(struct fiber *self);

_Noreturn void fiber_begin(struct fiber *self)
{
    self->run(self->arg);
    ASSERT(!"a fiber's function returned");
    __builtin_unreachable();
}

static void prepare(struct fiber *fiber)
{
    uintptr_t top = ((uintptr_t)fiber->stack + FIBER_STACK_BYTES) & ~(uintptr_t)15;
    uint64_t *slot = (uint64_t *)top;
    *--slot = 0; /* keeps the stack aligned for fiber_first()'s call */
    *--slot = 0;
    *--slot = (uint64_t)(uintptr_t)fiber_first; /* popped by `ret` */
    *--slot = 0;                                /* rbp: the end of the chain of frames */
    *--slot = (uint64_t)(uintptr_t)fiber;       /* rbx */
    for (int i = 0; i < 4; i++)
        *--slot = 0; /* r12 to r15 */
    fiber->stack_pointer = slot;
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    fiber_swap_stacks(&from->stack_pointer, to->stack_pointer);
}

#else

static void begin(unsigned low, unsigned high)
{
    struct fiber *self = (struct fiber *)((uintptr_t)low | (uintptr_t)high << 16 << 16);
    self->run(self->arg);
}

static void prepare(struct fiber *fiber)
{
    if (!fiber->context)
        fiber->context = mem_zalloc(sizeof(ucontext_t));
    ucontext_t *context = fiber->context;
    ASSERT(getcontext(context) == 0);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = FIBER_STACK_BYTES;
    uintptr_t self = (uintptr_t)fiber;
    makecontext(context, (void (*)(void))begin, 2, (unsigned)self, (unsigned)(self >> 16 >> 16));
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    if (!from->context)
        from->context = mem_zalloc(sizeof(ucontext_t));
    ASSERT(swapcontext(from->context, to->context) == 0);
}

#endif

void fiber_init(struct fiber *fiber, void (*run)(void *arg), void *arg)
{
    if (!fiber->stack)
        fiber->stack = mem_alloc(FIBER_STACK_BYTES);
    fiber->run = run;
    fiber->arg = arg;
    prepare(fiber);
}

void fiber_fini(struct fiber *fiber)
{
    mem_free(fiber->stack);
    mem_free(fiber->context);
    *fiber = (struct fiber){0};
}
