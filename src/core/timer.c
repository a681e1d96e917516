/* SPDX-License-Identifier: MIT */
/*
 * Timers: a hierarchical wheel per CPU, run by the TIMER vector.
 *
 * A slot of level n covers a block of 64^n jiffies; block b lies in slot b mod 64.  With
 * base->now the last jiffy that has been run,
 *   - a timer of level n lies in one of the 64 blocks after that of `now`, so a slot never
 *     mixes two rounds, and the slot of the current block belongs to the next round;
 *   - when `now` enters a block, its slot is emptied into lower levels.  A timer that is
 *     due in the first jiffy of the block lands in the slot of level 0 about to be run, so
 *     expiry is exact to the jiffy;
 *   - base->next is the earliest start of a non-empty block: nothing is due before.
 * Time moves from one non-empty block to the next, found in the bitmaps: an idle gap of any
 * length costs nothing, and a timer is moved at most once a level.
 *
 * Everything is serialized by the bottom halves of the CPU.  Jiffies are 64 bits counted
 * from zero and do not wrap within the life of a machine, hence plain comparisons, in which
 * UINT64_MAX ("never") is the largest.
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

#include <sirq/timer.h>

static void timer_assert_local(const struct sirq_cpu *cpu)
{
    /* An interrupt handler on top of a softirq must not touch the wheel either. */
    SIRQ_BUG_ON(cpu, !sirq_in_softirq(cpu) || sirq_in_hardirq(cpu));
    SIRQ_BUG_ON(cpu, cpu->timers == NULL);
}

static unsigned wheel_slot(uint64_t jiffy, unsigned level)
{
    return (unsigned)(jiffy >> (level * SIRQ_WHEEL_BITS)) & (SIRQ_WHEEL_SLOTS - 1);
}

/* The level whose blocks are just fine enough to reach `delta` jiffies. */
static unsigned wheel_level(uint64_t delta)
{
    unsigned level = 0;

    while (level < SIRQ_WHEEL_LEVELS - 1 && delta >> ((level + 1) * SIRQ_WHEEL_BITS))
        level++;
    return level;
}

/* First jiffy after base->now in which there is something to run or to cascade. */
static uint64_t wheel_next(const struct sirq_timer_base *base)
{
    uint64_t next = UINT64_MAX;

    for (unsigned level = 0; level < SIRQ_WHEEL_LEVELS; level++) {
        unsigned shift = level * SIRQ_WHEEL_BITS;
        uint64_t block = (base->now >> shift) + 1, bits = base->occupied[level], start;
        unsigned turn = block & (SIRQ_WHEEL_SLOTS - 1);

        if (bits == 0)
            continue;
        bits = bits >> turn | bits << (-turn & (SIRQ_WHEEL_SLOTS - 1));
        start = (block + (unsigned)__builtin_ctzll(bits)) << shift;
        if (start < next)
            next = start;
    }
    return next;
}

static void wheel_publish_next(struct sirq_timer_base *base)
{
    /* Relaxed: the tick only compares it; what it then raises runs on this CPU, after the
     * owner has let go.  Atomic because the tick may interrupt the owner here. */
    __atomic_store_n(&base->next, wheel_next(base), __ATOMIC_RELAXED);
}

static void list_add(struct sirq_timer **head, struct sirq_timer *timer)
{
    timer->next = *head;
    if (timer->next != NULL)
        timer->next->pprev = &timer->next;
    timer->pprev = head;
    *head = timer;
}

static void list_del(struct sirq_timer *timer)
{
    *timer->pprev = timer->next;
    if (timer->next != NULL)
        timer->next->pprev = timer->pprev;
    timer->next = NULL;
    timer->pprev = NULL;
}

/* Put `timer` where its expiry belongs.  What lies beyond the last level (base->now may
 * be far behind) goes to the end of it and is put in its place when it cascades. */
static void wheel_add(struct sirq_timer_base *base, struct sirq_timer *timer)
{
    uint64_t delta = timer->expires > base->now ? timer->expires - base->now : 0;
    unsigned level, slot;

    if (delta > SIRQ_TIMER_MAX_JIFFIES)
        delta = SIRQ_TIMER_MAX_JIFFIES;
    level = wheel_level(delta);
    slot = wheel_slot(base->now + delta, level);
    list_add(&base->slot[level][slot], timer);
    base->occupied[level] |= UINT64_C(1) << slot;
}

/* Unlink; the bitmap follows when that emptied a slot (a timer about to expire is on a
 * list of wheel_expire() instead). */
static void wheel_del(struct sirq_timer_base *base, struct sirq_timer *timer)
{
    uintptr_t first = (uintptr_t)&base->slot[0][0];
    uintptr_t at = (uintptr_t)timer->pprev - first;

    list_del(timer);
    if (at >= sizeof(base->slot))
        return;
    at /= sizeof(base->slot[0][0]);
    if (base->slot[at / SIRQ_WHEEL_SLOTS][at % SIRQ_WHEEL_SLOTS] == NULL)
        base->occupied[at / SIRQ_WHEEL_SLOTS] &= ~(UINT64_C(1) << at % SIRQ_WHEEL_SLOTS);
}

/* Empty a slot onto *list. */
static void wheel_take(struct sirq_timer_base *base, unsigned level, unsigned slot,
                       struct sirq_timer **list)
{
    *list = base->slot[level][slot];
    if (*list != NULL)
        (*list)->pprev = list;
    base->slot[level][slot] = NULL;
    base->occupied[level] &= ~(UINT64_C(1) << slot);
}

/* base->now has just reached a new jiffy: open every block that begins with it. */
static void wheel_cascade(struct sirq_timer_base *base)
{
    for (unsigned level = 1; level < SIRQ_WHEEL_LEVELS; level++) {
        struct sirq_timer *list, *timer;

        if (wheel_slot(base->now, level - 1) != 0)
            return;
        wheel_take(base, level, wheel_slot(base->now, level), &list);
        while ((timer = list) != NULL) {
            list_del(timer);
            wheel_add(base, timer);
        }
    }
}

/* Run what is due at base->now.  Handlers may delete or rearm any timer, also of the list
 * being run; what they arm is due after the current jiffy and so never joins it. */
static void wheel_expire(struct sirq_cpu *cpu, struct sirq_timer_base *base)
{
    struct sirq_timer *list, *timer;

    wheel_take(base, 0, wheel_slot(base->now, 0), &list);
    while ((timer = list) != NULL) {
        SIRQ_BUG_ON(cpu, timer->expires > base->now);
        list_del(timer);
        base->pending--;
        timer->fn(cpu, timer, timer->data); /* may free it */
    }
}

/* The TIMER vector.  The end is fixed at the beginning: timers that come due meanwhile
 * are the next tick's. */
static void timer_action(struct sirq_cpu *cpu, void *data)
{
    struct sirq_timer_base *base = cpu->timers;
    uint64_t end = sirq_jiffies(cpu), next;

    (void)data;
    while ((next = wheel_next(base)) <= end) {
        base->now = next;
        wheel_cascade(base);
        wheel_expire(cpu, base);
    }
    if (base->now < end)
        base->now = end;
    wheel_publish_next(base);
}

int sirq_timer_open(struct sirq_core *core, struct sirq_timer_base *bases)
{
    int err = sirq_open(core, SIRQ_TIMER, "TIMER", timer_action, NULL);

    for (unsigned i = 0; err == 0 && i < core->ncpus; i++) {
        bases[i] = (struct sirq_timer_base){.now = sirq_jiffies(&core->cpus[i])};
        wheel_publish_next(&bases[i]);
        core->cpus[i].timers = &bases[i];
    }
    return err;
}

void sirq_timer_init(struct sirq_timer *timer,
                     void (*fn)(struct sirq_cpu *cpu, struct sirq_timer *timer, void *data),
                     void *data)
{
    *timer = (struct sirq_timer){.fn = fn, .data = data};
}

void sirq_timer_mod_local(struct sirq_cpu *cpu, struct sirq_timer *timer, uint64_t expires)
{
    struct sirq_timer_base *base = cpu->timers;
    uint64_t now = sirq_jiffies(cpu);

    timer_assert_local(cpu);
    sirq_timer_del_local(cpu, timer);

    if (base->pending == 0 && base->now < now)
        base->now = now; /* an empty wheel need not be walked */
    /* Counted from the real jiffy, not from base->now, which lags while the wheel is being
     * run: a handler that always rearms "now" runs once a tick. */
    if (expires <= now)
        expires = now + 1;
    else if (expires - now > SIRQ_TIMER_MAX_JIFFIES)
        expires = now + SIRQ_TIMER_MAX_JIFFIES;
    timer->expires = expires;
    SIRQ_STORE(timer->cpu, cpu);
    wheel_add(base, timer);
    base->pending++;
    wheel_publish_next(base);
}

bool sirq_timer_del_local(struct sirq_cpu *cpu, struct sirq_timer *timer)
{
    timer_assert_local(cpu);
    if (timer->pprev == NULL)
        return false;
    SIRQ_BUG_ON(cpu, timer->cpu != cpu); /* a CPU that left has handed it on */
    wheel_del(cpu->timers, timer);
    cpu->timers->pending--;
    wheel_publish_next(cpu->timers);
    return true;
}

bool sirq_timer_pending(const struct sirq_timer *timer)
{
    return timer->pprev != NULL;
}

uint64_t sirq_timer_next(const struct sirq_cpu *cpu)
{
    if (cpu->timers == NULL)
        return UINT64_MAX;
    return __atomic_load_n(&cpu->timers->next, __ATOMIC_RELAXED);
}

void sirq_timer_migrate_local(struct sirq_cpu *from, struct sirq_cpu *to)
{
    struct sirq_timer_base *base = from->timers;

    timer_assert_local(from);
    timer_assert_local(to);
    SIRQ_BUG_ON(from, from == to);
    for (unsigned level = 0; level < SIRQ_WHEEL_LEVELS; level++) {
        for (unsigned slot = 0; slot < SIRQ_WHEEL_SLOTS; slot++) {
            struct sirq_timer *list, *timer;

            wheel_take(base, level, slot, &list);
            while ((timer = list) != NULL) {
                list_del(timer);
                base->pending--;
                sirq_timer_mod_local(to, timer, timer->expires);
            }
        }
    }
    wheel_publish_next(base);
}

void sirq_tick(struct sirq_cpu *cpu)
{
    SIRQ_BUG_ON(cpu, !sirq_in_hardirq(cpu));
    if (cpu->timers != NULL && sirq_timer_next(cpu) <= sirq_jiffies(cpu))
        sirq_raise(cpu, SIRQ_TIMER);
}
