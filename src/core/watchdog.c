/* SPDX-License-Identifier: MIT */
/*
 * The stall watchdog: no policy may hang a CPU.
 *
 * Two things are watched from outside the CPU, with plain reads of what its owner writes:
 *  - pending work that stands still: a vector is pending, nobody owns the bottom halves, and
 *    it was not run for stall_ns, whatever else was.  A policy that holds it back at every
 *    entry does this.  The default policy takes over.  Work that waits for the end of a
 *    bottom-half section is not held by the policy, and that time does not count.
 *  - a run that does not end.  It is counted and reported once, not cut: policies that can
 *    stall are here to be seen stalling.
 * A reader may see values of different moments; being wrong by one check is harmless.
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

static void report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    if (cpu->core->host->report != NULL)
        cpu->core->host->report(cpu, what, value);
}

static void check_long_run(struct sirq_cpu *cpu, uint64_t start_ns, uint64_t now_ns)
{
    if (now_ns < start_ns || now_ns - start_ns < cpu->core->stall_ns ||
        cpu->watch_long_start == start_ns)
        return;
    cpu->watch_long_start = start_ns;
    __atomic_fetch_add(&cpu->stats.long_runs, 1, __ATOMIC_RELAXED);
    report(cpu, "a softirq run does not end", now_ns - start_ns);
}

static void fall_back(struct sirq_cpu *cpu, uint64_t stood_ns)
{
    __atomic_fetch_add(&cpu->stats.stalls, 1, __ATOMIC_RELAXED);
    sirq_set_policy(cpu->core, sirq_policy_default());
    report(cpu, "pending softirqs stood still; default policy restored", stood_ns);
    sirq_ksoftirqd_wake(cpu);
    cpu->core->host->kick(cpu);
}

/*
 * Has every vector moved since cpu->watch_moved was cleared: run, or seen not pending?  One
 * that has not may have become pending just after the look before: as wrong as that.
 */
static bool all_moved(struct sirq_cpu *cpu, uint32_t pending)
{
    cpu->watch_moved |= ~pending;
    for (uint32_t mask = pending; mask != 0; mask &= mask - 1) {
        unsigned vec = (unsigned)__builtin_ctz(mask);
        uint64_t run = __atomic_load_n(&cpu->stats.vec[vec].run, __ATOMIC_RELAXED);

        if (run != cpu->watch_run[vec])
            cpu->watch_moved |= SIRQ_BIT(vec);
        cpu->watch_run[vec] = run;
    }
    return cpu->watch_moved == UINT32_MAX;
}

void sirq_watchdog(struct sirq_cpu *cpu, uint64_t now_ns)
{
    uint64_t start_ns = __atomic_load_n(&cpu->run_start_ns, __ATOMIC_RELAXED);
    uint64_t word = __atomic_load_n(&cpu->word, __ATOMIC_SEQ_CST);
    uint64_t last_ns = cpu->watch_look_ns;

    cpu->watch_look_ns = now_ns;
    if (start_ns != 0)
        check_long_run(cpu, start_ns, now_ns);
    if (all_moved(cpu, sirq_word_pending(word))) {
        cpu->watch_moved = 0;
        cpu->watch_stood_ns = 0;
        return;
    }
    /* Time in a run or section is its owner's, not the policy's; before the first look
     * nothing is known. */
    if (sirq_word_owner(word) != 0 || last_ns == 0 || now_ns < last_ns)
        return;
    cpu->watch_stood_ns += now_ns - last_ns;
    if (cpu->watch_stood_ns < cpu->core->stall_ns)
        return;
    fall_back(cpu, cpu->watch_stood_ns);
    cpu->watch_moved = 0;
    cpu->watch_stood_ns = 0;
}
