/* SPDX-License-Identifier: MIT */
/* Private to src/core. */
#ifndef SIRQ_CORE_PRIVATE
#error "core.h is private to src/core"
#endif
#ifndef SIRQ_CORE_H
#define SIRQ_CORE_H

#include <sirq/host.h>
#include <sirq/policy.h>

/* errno values of every host we know; <errno.h> is not freestanding */
#define EINVAL 22
#define EBUSY 16
#define ENOSPC 28

#define SIRQ_BUG_ON(cpu, expr)                                 \
    do {                                                       \
        if (__builtin_expect(!!(expr), 0))                     \
            (cpu)->core->host->bug(#expr, __FILE__, __LINE__); \
    } while (0)

/*
 * Counters have one writer at a time and readers anywhere: plain arithmetic, stored so that
 * a reader never sees half of it.
 */
#define SIRQ_STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define SIRQ_COUNT(field, n) \
    SIRQ_STORE(field, __atomic_load_n(&(field), __ATOMIC_RELAXED) + (uint64_t)(n))

/* The two halves of sirq_cpu.word. */
static inline uint32_t sirq_word_pending(uint64_t word)
{
    return (uint32_t)word;
}

static inline uint32_t sirq_word_owner(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* Become owner of the CPU's bottom halves, waiting for a preempted owner; and let go,
 * leaving what is pending to somebody else.  softirq.c. */
void sirq_own_local(struct sirq_cpu *cpu, struct sirq_ctx *ctx);
void sirq_disown_local(struct sirq_cpu *cpu, struct sirq_ctx *ctx);

#endif
