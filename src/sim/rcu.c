/* SPDX-License-Identifier: MIT */
/*
 * Quiescent states of CPUs, and who passes none: the RCU-stall detector.
 *
 * A CPU is quiescent when it switches context, idles, has made a round of ksoftirqd, or takes a
 * tick on top of a task outside of softirqs and bottom-half sections.  Whichever CPU ticks
 * looks at all of them once the earliest could have stalled: that is once a bound or so in a
 * healthy world, and a CPU whose own tick is stopped (it idled, and a softirq on top of that
 * does not end) is seen by others, or by the world's watchdog.  A stall is reported once per
 * bound for as long as it lasts.  (Source: Linux Documentation/RCU/stallwarn.rst.)
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

static void stall(struct sirq_vcpu *vcpu)
{
    struct sirq_sim *sim = vcpu->sim;
    struct sirq_rcu *rcu = &vcpu->rcu;
    uint64_t jiffies = (sim->now - rcu->quiet_ns) / sim->core.tick_ns;

    if (rcu->stalls++ == 0)
        rcu->first_stall_jiffies = jiffies;
    rcu->told_ns = sim->now;
    if (sim->report != NULL)
        sim->report(sim->report_arg, vcpu->id, "RCU stall: no quiescent state for so many jiffies",
                    jiffies);
}

void sirq_rcu_check(struct sirq_sim *sim)
{
    uint64_t next = UINT64_MAX;

    if (sim->now < sim->rcu_next_ns)
        return;
    for (unsigned i = 0; i < sim->ncpus; i++) {
        struct sirq_vcpu *vcpu = &sim->vcpus[i];
        struct sirq_rcu *rcu = &vcpu->rcu;
        uint64_t since;

        if (vcpu->idling)
            sirq_rcu_quiet(vcpu);
        since = rcu->told_ns != 0 ? rcu->told_ns : rcu->quiet_ns;
        if (sim->now - since >= sim->rcu_stall_ns) {
            stall(vcpu);
            since = sim->now;
        }
        if (since + sim->rcu_stall_ns < next)
            next = since + sim->rcu_stall_ns;
    }
    sim->rcu_next_ns = next;
}

void sirq_rcu_tick(struct sirq_vcpu *vcpu)
{
    uint32_t owner = (uint32_t)(vcpu->cpu->word >> 32);

    if (vcpu->curr->ctx.hardirq_depth == 1 && owner != vcpu->curr->ctx.token)
        sirq_rcu_quiet(vcpu);
    sirq_rcu_check(vcpu->sim);
}

uint64_t sirq_rcu_longest_ns(const struct sirq_vcpu *vcpu)
{
    const struct sirq_rcu *rcu = &vcpu->rcu;
    uint64_t present = rcu->told_ns != 0 ? vcpu->sim->now - rcu->quiet_ns : 0;

    return present > rcu->longest_ns ? present : rcu->longest_ns;
}
