/* SPDX-License-Identifier: MIT */
/*
 * Coroutines: what a simulated task's code runs on.
 *
 * A coroutine belongs to the thread that runs its world.  Stacks come from a pool of the
 * world and go back when the coroutine is over; each has a guard page below it.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "coro.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_CORO_H
#define SIRQ_SIM_CORO_H

#include <stddef.h>

struct sirq_stack {
    struct sirq_stack *next; /* in the pool */
};

struct sirq_stacks {
    struct sirq_stack *free;
    size_t mapped; /* bytes, stacks in use included */
};

struct sirq_coro {
    void *context;      /* where it goes on, while it does not run */
    void *fake_stack;   /* AddressSanitizer's, while it does not run */
    const void *bottom; /* of its stack; of the thread's for the one that runs the world */
    size_t size;
    struct sirq_stack *stack; /* null: the thread's own */
    void (*fn)(void *arg);
    void *arg;
};

/* A coroutine that will run fn(arg), which never returns.  0 or -ENOMEM. */
int sirq_coro_init(struct sirq_coro *coro, struct sirq_stacks *stacks, void (*fn)(void *arg),
                   void *arg);

/* Leave `from`, the one that runs now, and go on with `to`. */
void sirq_coro_switch(struct sirq_coro *from, struct sirq_coro *to);

/* It will be switched to soon: of a thousand stacks this one is probably not in the caches. */
static inline void sirq_coro_prefetch(const struct sirq_coro *coro)
{
    __builtin_prefetch(coro->context);
    __builtin_prefetch((const char *)coro->context + 64);
}

/* Give its stack back; it does not run and will not again. */
void sirq_coro_fini(struct sirq_coro *coro, struct sirq_stacks *stacks);

void sirq_stacks_fini(struct sirq_stacks *stacks);

#endif
