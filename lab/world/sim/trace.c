/* SPDX-License-Identifier: MIT */
/*
 * Distributions of CPUs, from the core's tracepoints.  A run counts when it ends, with all of
 * its length; one that goes on at the end of the measured time with what it has by then, since
 * a run that never ends is what such a figure is to show.
 */
#include "rig.h"

static void record(struct sirq_sim_rig_cpu *cpu, enum sirq_sim_traced what, uint64_t value)
{
    for (unsigned i = 0; i < 2; i++) {
        if (cpu->sink[what].dist[i] != NULL)
            sirq_dist_add(cpu->sink[what].dist[i], value);
    }
}

static void record_run(struct sirq_sim_rig_cpu *cpu, uint64_t ns, uint32_t frames)
{
    record(cpu, SIRQ_SIM_RUN, ns);
    record(cpu, SIRQ_SIM_RUN_PACKETS, frames);
    record(cpu, SIRQ_SIM_LAST_PASS, cpu->last_pass_ns);
}

void sirq_sim_rig_trace(void *arg, const struct sirq_sim_trace *trace)
{
    struct sirq_sim_rig *rig = arg;
    struct sirq_sim_rig_cpu *cpu = &rig->cpus[trace->cpu];

    switch (trace->what) {
    case SIRQ_TRACE_RUN_BEGIN:
        cpu->running = true;
        cpu->begin_ns = trace->time_ns;
        cpu->last_pass_ns = 0;
        cpu->frames = 0;
        break;
    case SIRQ_TRACE_RESTART:
        cpu->last_pass_ns = trace->since_ns;
        cpu->frames = trace->frames;
        break;
    case SIRQ_TRACE_ENTRY:
        if (rig->measuring)
            record(cpu, SIRQ_SIM_RAISE_TO_RUN, trace->since_ns);
        break;
    case SIRQ_TRACE_RUN_END:
        cpu->running = false;
        if (rig->measuring)
            record_run(cpu, trace->since_ns, trace->frames);
        break;
    default:
        break;
    }
}

void sirq_sim_rig_trace_end(struct sirq_sim_rig *rig)
{
    for (uint32_t i = 0; rig->cpus != NULL && i < rig->spec->machine.cpus; i++) {
        struct sirq_sim_rig_cpu *cpu = &rig->cpus[i];

        if (cpu->running)
            record_run(cpu, sirq_sim_now_ns(rig->sim) - cpu->begin_ns, cpu->frames);
    }
}
