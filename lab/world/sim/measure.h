/* SPDX-License-Identifier: MIT */
/* One world from its beginning to its end, and the figures that it gave. */
#ifndef SIRQ_LAB_SIM_MEASURE_H
#define SIRQ_LAB_SIM_MEASURE_H

#include "dist.h"
#include "plan.h"

struct sirq_sim_job {
    const struct sirq_spec *spec;
    const struct sirq_sim_plan *plan;
    const struct sirq_policy *policy;
    uint64_t seed;
    const bool *stop; /* __atomic: somebody wants to stop; may be null */
};

/* In the order of the plan; the caller's memory, dists zeroed. */
struct sirq_sim_outcome {
    double *values; /* NAN: there is no such figure, nothing was seen */
    struct sirq_dist *dists;
    bool stalled; /* the watchdog had to take the policy away */
    bool cut;     /* stopped while it was measured: the figures are of what there was */
};

/* 0, -EINTR (stopped before anything was measured) or -errno with err filled; nothing is left behind. */
int sirq_sim_job_run(const struct sirq_sim_job *job, struct sirq_sim_outcome *out,
                     struct sirq_error *err);

/* What a figure says of its distribution, in its unit; NAN of an empty one. */
double sirq_sim_dist_figure(const struct sirq_sim_figure *figure, const struct sirq_dist *dist);

#endif
