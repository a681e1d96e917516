/* SPDX-License-Identifier: MIT */
/*
 * sirq/timer.h - timers in the TIMER vector: one hierarchical wheel per CPU.
 *
 * Resolution is one jiffy.  Five levels of 64 slots reach 2^30 jiffies; a longer timeout
 * is clamped to that.  Timers never fire early and at most one wheel granule of their
 * level late: a timer of level n cascades down as its time comes near, so that expiry is
 * exact to the jiffy.  All functions ending in _local need the bottom halves of that CPU
 * (softirq context or sirq_bh_disable()); that is asserted, and it is the only lock.
 */
#ifndef SIRQ_TIMER_H
#define SIRQ_TIMER_H

#include <sirq/softirq.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIRQ_WHEEL_LEVELS 5u
#define SIRQ_WHEEL_BITS 6u
#define SIRQ_WHEEL_SLOTS (1u << SIRQ_WHEEL_BITS)
#define SIRQ_TIMER_MAX_JIFFIES ((UINT64_C(1) << (SIRQ_WHEEL_LEVELS * SIRQ_WHEEL_BITS)) - 1)

struct sirq_timer {
    struct sirq_timer *next, **pprev; /* pprev null: not pending */
    uint64_t expires;                 /* absolute, jiffies of its CPU */
    void (*fn)(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data);
    void *data;
    struct sirq_cpu *cpu; /* whose wheel it is on, or was last; __atomic */
};

struct sirq_timer_base {
    uint64_t now;  /* jiffies up to which timers have been run */
    uint64_t next; /* no timer is due before; __atomic: the tick reads it from outside */
    unsigned pending;
    uint64_t occupied[SIRQ_WHEEL_LEVELS]; /* a bit per non-empty slot */
    struct sirq_timer *slot[SIRQ_WHEEL_LEVELS][SIRQ_WHEEL_SLOTS];
};

/* Open the TIMER vector over one base per CPU, memory of the caller.  0 or -EBUSY. */
int sirq_timer_open(struct sirq_core *core, struct sirq_timer_base *bases);

void sirq_timer_init(struct sirq_timer *timer,
                     void (*fn)(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data),
                     void *data);

/*
 * (Re)arm `timer` on `cpu` for the absolute jiffy `expires`; in the past: at the next
 * tick.  The handler may rearm or delete it.  The caller owns the timer while pending.
 */
void sirq_timer_mod_local(struct sirq_cpu *cpu, struct sirq_timer *timer, uint64_t expires);

/*
 * Both need the CPU whose wheel the timer is on, when it is pending: that is asserted.  It need
 * not be the one it was armed on, since a CPU that is given back hands its timers to another,
 * where they stay.  So ask sirq_timer_cpu() under the bottom halves that you hold; who may be
 * on any CPU deletes it there in a function given to sirq_synchronize_call(), and does so again
 * while it is pending: it may have moved from a CPU not yet visited to one that was.
 *
 * del: true when it was pending and now is not.
 */
bool sirq_timer_del_local(struct sirq_cpu *cpu, struct sirq_timer *timer);

bool sirq_timer_pending(const struct sirq_timer *timer);

/* The CPU on whose wheel it is, when it is pending; null before it was first armed.  Any
 * context; it stays so while the caller holds the bottom halves of that CPU. */
static inline struct sirq_cpu *sirq_timer_cpu(const struct sirq_timer *timer)
{
    return __atomic_load_n(&timer->cpu, __ATOMIC_RELAXED);
}

/* The jiffy of the earliest timer that could be due, UINT64_MAX when there is none. */
uint64_t sirq_timer_next(const struct sirq_cpu *cpu);

/* Move every timer of `from` to `to`; the caller holds the bottom halves of both. */
void sirq_timer_migrate_local(struct sirq_cpu *from, struct sirq_cpu *to);

#ifdef __cplusplus
}
#endif
#endif
