/* SPDX-License-Identifier: MIT */
/* One world of tcp-rr: one policy, one HZ, one seed. */
#ifndef SIRQ_LAB_SIM_RR_H
#define SIRQ_LAB_SIM_RR_H

#include "machine.h"

struct sirq_sim_rr {
    const struct sirq_machine *machine;
    const struct sirq_policy *policy;
    unsigned hz;
    uint64_t seed;
    uint64_t ns; /* measured */
};

/* Of the client that is bound to the interrupt's CPU, in us, but where named otherwise. */
struct sirq_sim_rr_figures {
    double rt_latency, mean, stddev, min, p50, p90, p99, max;
    double transactions;   /* its own */
    double throughput;     /* per second, all clients */
    double longest_run_ms; /* of softirq on that CPU */
};

/* 0, -EINTR or -errno with err filled; nothing is left behind. */
int sirq_sim_rr_run(const struct sirq_sim_rr *run, struct sirq_sim_rr_figures *out,
                    struct sirq_error *err);

#endif
