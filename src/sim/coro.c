/* SPDX-License-Identifier: MIT */
/*
 * Coroutines over the C symbols of boost.context (Boost Software License), which save and
 * restore the callee-saved registers and nothing else: a switch costs a few ns, where
 * swapcontext(3) makes a system call.
 *
 * AddressSanitizer is told of every switch.  One thread runs a world, so there is nothing to
 * find for ThreadSanitizer, and it is not told.
 */
#define SIRQ_SIM_PRIVATE
#include "coro.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

struct transfer {
    void *context;
    void *data;
};

extern struct transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *top, size_t size, void (*fn)(struct transfer));

#if defined(__SANITIZE_ADDRESS__)
#define SIRQ_CORO_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIRQ_CORO_ASAN
#endif
#endif

#ifdef SIRQ_CORO_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES ((size_t)256 << 10)
#else
#define STACK_BYTES ((size_t)64 << 10)
#endif
#define GUARD_BYTES ((size_t)4096)

/* Told before the switch where we go, and after it where we are and came from. */
static void switch_begin(struct sirq_coro *from, const struct sirq_coro *to)
{
#ifdef SIRQ_CORO_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->size);
#else
    (void)from;
    (void)to;
#endif
}

static void switch_end(struct sirq_coro *self, struct sirq_coro *from)
{
#ifdef SIRQ_CORO_ASAN
    const void *bottom;
    size_t size;

    __sanitizer_finish_switch_fiber(self->fake_stack, &bottom, &size);
    if (from->stack == NULL) { /* the thread's own stack: only now known */
        from->bottom = bottom;
        from->size = size;
    }
#else
    (void)self;
    (void)from;
#endif
}

struct handover {
    struct sirq_coro *from, *to;
};

void sirq_coro_switch(struct sirq_coro *from, struct sirq_coro *to)
{
    struct handover out = {.from = from, .to = to};
    const struct handover *in;
    struct transfer transfer;

    switch_begin(from, to);
    transfer = jump_fcontext(to->context, &out);
    in = transfer.data;
    in->from->context = transfer.context;
    switch_end(from, in->from);
}

static void coro_main(struct transfer transfer)
{
    const struct handover *in = transfer.data;
    struct sirq_coro *self = in->to;

    in->from->context = transfer.context;
    switch_end(self, in->from);
    self->fn(self->arg);
    __builtin_trap(); /* fn does not return */
}

/* The pool's links lie in the stacks themselves, at the top. */
static struct sirq_stack *stack_take(struct sirq_stacks *stacks)
{
    struct sirq_stack *stack = stacks->free;
    uint8_t *base;

    if (stack != NULL) {
        stacks->free = stack->next;
        return stack;
    }
    base = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    if (mprotect(base, GUARD_BYTES, PROT_NONE) != 0) {
        munmap(base, GUARD_BYTES + STACK_BYTES);
        return NULL;
    }
    stacks->mapped += GUARD_BYTES + STACK_BYTES;
    return (struct sirq_stack *)(void *)(base + GUARD_BYTES + STACK_BYTES) - 1;
}

static uint8_t *stack_bottom(struct sirq_stack *stack)
{
    return (uint8_t *)(stack + 1) - STACK_BYTES;
}

int sirq_coro_init(struct sirq_coro *coro, struct sirq_stacks *stacks, void (*fn)(void *arg),
                   void *arg)
{
    struct sirq_stack *stack = stack_take(stacks);
    uintptr_t top;

    if (stack == NULL)
        return -ENOMEM;
    top = (uintptr_t)stack & ~(uintptr_t)63;
    *coro = (struct sirq_coro){
        .stack = stack,
        .bottom = stack_bottom(stack),
        .size = STACK_BYTES,
        .fn = fn,
        .arg = arg,
    };
#ifdef SIRQ_CORO_ASAN
    /* What an earlier user of the stack left poisoned. */
    __asan_unpoison_memory_region(coro->bottom, coro->size);
#endif
    coro->context = make_fcontext((void *)top, STACK_BYTES - 64, coro_main);
    return 0;
}

void sirq_coro_fini(struct sirq_coro *coro, struct sirq_stacks *stacks)
{
    assert(coro->stack != NULL);
    coro->stack->next = stacks->free;
    stacks->free = coro->stack;
    coro->stack = NULL;
}

void sirq_stacks_fini(struct sirq_stacks *stacks)
{
    struct sirq_stack *stack;

    while ((stack = stacks->free) != NULL) {
        stacks->free = stack->next;
        munmap(stack_bottom(stack) - GUARD_BYTES, GUARD_BYTES + STACK_BYTES);
    }
    stacks->mapped = 0;
}
