/* SPDX-License-Identifier: MIT */
/* The simulated machine of an experiment. */
#include "internal.h"

static struct sirq_sched sched_of(const struct sirq_spec_sched *sched)
{
    static const int class[] = {
        [SIRQ_SPEC_SCHED_OTHER] = SCHED_OTHER, [SIRQ_SPEC_SCHED_BATCH] = SCHED_BATCH,
        [SIRQ_SPEC_SCHED_IDLE] = SCHED_IDLE,   [SIRQ_SPEC_SCHED_FIFO] = SCHED_FIFO,
        [SIRQ_SPEC_SCHED_RR] = SCHED_RR,
    };

    return (struct sirq_sched){
        .policy = class[sched->class],
        .priority = (int)sched->priority,
        .nice = sched->nice,
    };
}

void sirq_spec_sim_config(const struct sirq_spec *spec, struct sirq_sim_config *out)
{
    const struct sirq_spec_machine *machine = &spec->machine;

    *out = (struct sirq_sim_config){
        .ncpus = machine->cpus,
        .hz = machine->hz,
        .smt = machine->smt,
        .smt_permille = machine->smt_permille,
        .scheduler = (enum sirq_sim_scheduler)machine->scheduler,
        .irq_time_accounting = machine->irq_time_accounting,
        .ipi_ns = machine->ipi_ns,
        .rt_period_ns = machine->rt_period_ns,
        .rt_runtime_ns = machine->rt_runtime_ns,
    };
    if (machine->fair != NULL)
        out->fair = (struct sirq_sim_fair){
            .latency_ns = machine->fair->latency_ns,
            .min_granularity_ns = machine->fair->min_granularity_ns,
            .wakeup_granularity_ns = machine->fair->wakeup_granularity_ns,
            .slice_ns = machine->fair->slice_ns,
        };
    if (machine->ksoftirqd != NULL)
        out->ksoftirqd = sched_of(machine->ksoftirqd);
#define TAKE(sym, name, meaning) out->cost_ns[SIRQ_COST_##sym] = spec->costs_ns.sym;
    SIRQ_COSTS(TAKE)
#undef TAKE
}
