/* SPDX-License-Identifier: MIT */
/*
 * Tracing: the core's tracepoints with the times that lie between them.
 *
 * A vector can be raised once more after a pass has taken it and before its action begins
 * (by an action of the same pass, or an interrupt): then two raises wait for a run each, and no
 * third, since it is pending.  The older one belongs to the run that comes first.
 */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

struct sirq_vtrace {
    uint64_t raised[SIRQ_NR_VECTORS], again[SIRQ_NR_VECTORS]; /* time + 1; 0: not raised */
    uint64_t run_ns, action_ns;
    uint32_t frames;
};

static void raised(struct sirq_vtrace *vt, unsigned vec, uint64_t now)
{
    if (vt->raised[vec] == 0)
        vt->raised[vec] = now + 1;
    else
        vt->again[vec] = now + 1;
}

static uint64_t raise_to_run(struct sirq_vtrace *vt, unsigned vec, uint64_t now)
{
    uint64_t since = vt->raised[vec];

    assert(since != 0);
    vt->raised[vec] = vt->again[vec];
    vt->again[vec] = 0;
    vt->action_ns = now;
    return now + 1 - since;
}

static void run_begin(struct sirq_vtrace *vt, uint64_t now)
{
    vt->run_ns = now;
    vt->frames = 0;
}

static void host_trace(struct sirq_cpu *cpu, enum sirq_trace what, uint32_t arg)
{
    const struct sirq_sim *sim = sirq_vcpu_of(cpu)->sim;
    struct sirq_vtrace *vt = &sim->traces[cpu->id];
    struct sirq_sim_trace trace = {.time_ns = sim->now, .cpu = cpu->id, .what = what, .arg = arg};

    if (what == SIRQ_TRACE_RAISE) {
        raised(vt, arg, sim->now);
    } else if (what == SIRQ_TRACE_ENTRY) {
        trace.since_ns = raise_to_run(vt, arg, sim->now);
    } else if (what == SIRQ_TRACE_EXIT) {
        trace.since_ns = sim->now - vt->action_ns;
    } else if (what == SIRQ_TRACE_POLL) {
        vt->frames += arg;
    } else if (what == SIRQ_TRACE_RUN_BEGIN) {
        run_begin(vt, sim->now);
    } else if (what == SIRQ_TRACE_RESTART || what == SIRQ_TRACE_RUN_END) {
        trace.since_ns = sim->now - vt->run_ns;
        trace.frames = vt->frames;
    }
    sim->trace(sim->trace_arg, &trace);
}

int sirq_sim_trace_init(struct sirq_sim *sim, const struct sirq_sim_config *config)
{
    sim->host = sirq_sim_host;
    if (config->trace == NULL)
        return 0;
    sim->traces = calloc(sim->ncpus, sizeof(*sim->traces));
    if (sim->traces == NULL)
        return -ENOMEM;
    sim->host.trace = host_trace;
    sim->trace = config->trace;
    sim->trace_arg = config->trace_arg;
    return 0;
}

size_t sirq_sim_trace_memory(const struct sirq_sim *sim)
{
    return sim->traces != NULL ? sim->ncpus * sizeof(*sim->traces) : 0;
}
