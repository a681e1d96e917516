/* SPDX-License-Identifier: MIT */
/*
 * What both fair schedulers share: weights, and virtual time.
 *
 * A task's vruntime is the time it was charged, scaled by its weight.  vruntimes are compared
 * by signed difference.  Which task is next, and for how long, is the scheduler's (cfs.c,
 * eevdf.c): a table of functions, so that neither knows of the other.
 */
#define SIRQ_SIM_PRIVATE
#include "sim.h"

#define NICE_0_WEIGHT 1024u

/* Each step of nice is worth about 10 % of a CPU: a factor of 1.25. */
static const uint32_t weights[40] = {
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906,  3121,  2501,  1991,  1586,  1277,  1024,  820,   655,   526,   423,  335,  272,  215,
    172,   137,   110,   87,    70,    56,    45,    36,    29,    23,    18,   15,
};

uint32_t sirq_fair_weight(int nice)
{
    return weights[nice + 20];
}

uint64_t sirq_fair_delta(uint64_t delta_ns, uint32_t weight)
{
    return weight == NICE_0_WEIGHT ? delta_ns : delta_ns * NICE_0_WEIGHT / weight;
}

/* The current task, when it competes and is not among those who wait. */
const struct sirq_sim_task *sirq_fair_curr(const struct sirq_vcpu *vcpu)
{
    const struct sirq_sim_task *curr = vcpu->curr;

    return curr->class == SIM_CLASS_FAIR && curr->state == SIM_RUNNABLE && !curr->queued ? curr
                                                                                         : NULL;
}
