/* SPDX-License-Identifier: MIT */
/* One world of tcp-rr: one policy, one HZ, one seed. */
#ifndef SIRQ_LAB_SIM_RR_H
#define SIRQ_LAB_SIM_RR_H

#include "hist.h"
#include "machine.h"

/* Transactions of the client that is bound to the interrupt's CPU, of all seeds together. */
struct sirq_sim_rr_pool {
    struct sirq_hist hist; /* ns */
    double sum_ns, squares_ns;
    uint64_t min_ns, max_ns;
    double seconds; /* in which they happened */
};

struct sirq_sim_rr {
    const struct sirq_machine *machine;
    const struct sirq_policy *policy;
    unsigned hz;
    uint64_t seed;
    uint64_t ns;                   /* measured */
    struct sirq_sim_rr_pool *pool; /* added to */
};

struct sirq_sim_rr_figures {
    double throughput;     /* transactions per second, all clients */
    double longest_run_ms; /* of softirqs on that CPU */
};

/* 0, -EINTR or -errno with err filled; nothing is left behind. */
int sirq_sim_rr_run(const struct sirq_sim_rr *run, struct sirq_sim_rr_figures *out,
                    struct sirq_error *err);

#endif
