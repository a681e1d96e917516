/* SPDX-License-Identifier: MIT */
/*
 * The stall watchdog: no policy may hang a CPU.
 *
 * Two things are watched from outside the CPU, with plain reads of what its owner writes:
 *  - pending work that stands still: a vector is pending, nobody owns the bottom halves, and
 *    it did not run for stall_ns, whatever others did.  A policy that holds it back at every
 *    entry does this.  The default policy takes over.  Work that waits for the end of a
 *    bottom-half section is not held by the policy, and that time does not count.
 *  - a run that does not end.  It is counted and reported once, not cut: policies that can
 *    stall are here to be seen stalling.
 * Time counts in steps from look to look, each up to a bound: while nobody looks the whole
 * program may have stood still (SIGSTOP, a suspended machine), which is nobody's fault.
 * A reader may see values of different moments; being wrong by one check is harmless.
 */
#define SIRQ_CORE_PRIVATE
#include "core.h"

static void report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    if (cpu->core->host->report != NULL)
        cpu->core->host->report(cpu, what, value);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Time since the last look, as far as it counts; before the first one nothing is known. */
static uint64_t step(const struct sirq_cpu *cpu, uint64_t now_ns)
{
    if (cpu->watch_look_ns == 0 || now_ns < cpu->watch_look_ns)
        return 0;
    return least(now_ns - cpu->watch_look_ns, cpu->core->stall_ns / 2 + 1);
}

static void check_long_run(struct sirq_cpu *cpu, uint64_t now_ns, uint64_t step_ns)
{
    uint64_t start_ns = __atomic_load_n(&cpu->run_start_ns, __ATOMIC_RELAXED);
    uint64_t lasted_ns;

    if (start_ns != cpu->watch_run_start_ns)
        cpu->watch_run_ns = 0;
    cpu->watch_run_start_ns = start_ns;
    if (start_ns == 0 || now_ns < start_ns)
        return;
    lasted_ns = cpu->watch_run_ns;
    cpu->watch_run_ns += least(step_ns, now_ns - start_ns);
    if (lasted_ns >= cpu->core->stall_ns || cpu->watch_run_ns < cpu->core->stall_ns)
        return;
    __atomic_fetch_add(&cpu->stats.long_runs, 1, __ATOMIC_RELAXED);
    report(cpu, "a softirq run does not end", cpu->watch_run_ns);
}

/* Vectors of watch_held that are pending still and have not run since. */
static uint32_t still_held(const struct sirq_cpu *cpu, uint32_t pending)
{
    uint32_t held = pending & cpu->watch_held;

    for (uint32_t left = held; left != 0; left &= left - 1) {
        unsigned vec = (unsigned)__builtin_ctz(left);

        if (__atomic_load_n(&cpu->stats.vec[vec].run, __ATOMIC_RELAXED) != cpu->watch_ran[vec])
            held &= ~SIRQ_BIT(vec);
    }
    return held;
}

static void watch(struct sirq_cpu *cpu, uint32_t pending)
{
    cpu->watch_held = pending;
    cpu->watch_stood_ns = 0;
    for (; pending != 0; pending &= pending - 1) {
        unsigned vec = (unsigned)__builtin_ctz(pending);

        cpu->watch_ran[vec] = __atomic_load_n(&cpu->stats.vec[vec].run, __ATOMIC_RELAXED);
    }
}

static void fall_back(struct sirq_cpu *cpu, uint64_t stood_ns)
{
    __atomic_fetch_add(&cpu->stats.stalls, 1, __ATOMIC_RELAXED);
    sirq_set_policy(cpu->core, sirq_policy_default());
    report(cpu, "pending softirqs stood still; default policy restored", stood_ns);
    sirq_ksoftirqd_wake(cpu);
    cpu->core->host->kick(cpu);
}

void sirq_watchdog(struct sirq_cpu *cpu, uint64_t now_ns)
{
    uint64_t word = __atomic_load_n(&cpu->word, __ATOMIC_SEQ_CST), step_ns = step(cpu, now_ns);
    uint32_t pending = sirq_word_pending(word), held = still_held(cpu, pending);

    cpu->watch_look_ns = now_ns;
    check_long_run(cpu, now_ns, step_ns);
    if (held == 0) {
        watch(cpu, pending);
        return;
    }
    cpu->watch_held = held;
    if (sirq_word_owner(word) != 0) /* its owner's time, not the policy's */
        return;
    cpu->watch_stood_ns += step_ns;
    if (cpu->watch_stood_ns < cpu->core->stall_ns)
        return;
    fall_back(cpu, cpu->watch_stood_ns);
    watch(cpu, 0);
}
