/* SPDX-License-Identifier: MIT */
/*
 * What is to be measured in one setup: each entry of `measure` becomes one figure, or one for
 * each thread, and figures that ask for the same distribution share it.
 */
#ifndef SIRQ_LAB_SIM_PLAN_H
#define SIRQ_LAB_SIM_PLAN_H

#include "spec/spec.h"

enum sirq_sim_of { SIRQ_SIM_THREADS, SIRQ_SIM_NIC, SIRQ_SIM_DISK, SIRQ_SIM_FLOWS, SIRQ_SIM_CPU };

#define SIRQ_SIM_ALL UINT32_MAX /* threads of a group */

/* Of what: group, NIC or disk number `first`; CPUs or flows first..first + n - 1. */
struct sirq_sim_target {
    enum sirq_sim_of of;
    enum sirq_spec_what what;
    uint32_t first, n, thread;
};

struct sirq_sim_figure {
    const struct sirq_spec_measure *measure;
    struct sirq_sim_target target;
    char *name; /* owned */
    const char *unit;
    double scale;  /* a distribution's values of one unit: 1000 for us */
    double per_ns; /* a rate that is wanted as a time: ns of one unit, else 0 */
    uint32_t dist; /* number in the plan, UINT32_MAX: a scalar */
};

struct sirq_sim_plan {
    struct sirq_sim_figure *figures;
    struct sirq_sim_target *dists;
    uint32_t n_figures, n_dists;
};

/* ns of a unit of time, 0: it is none. */
double sirq_sim_unit_ns(const char *unit);

/* `spec` is as the loader made it, checked, and outlives the plan.  0, or -ENOMEM with err
 * filled and nothing left behind. */
int sirq_sim_plan_make(struct sirq_sim_plan *plan, const struct sirq_spec *spec,
                       struct sirq_error *err);
void sirq_sim_plan_free(struct sirq_sim_plan *plan);

#endif
