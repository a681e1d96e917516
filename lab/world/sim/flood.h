/* SPDX-License-Identifier: MIT */
/* One world of udp-flood: one policy, one seed. */
#ifndef SIRQ_LAB_SIM_FLOOD_H
#define SIRQ_LAB_SIM_FLOOD_H

#include "experiment.h"
#include "machine.h"

struct sirq_sim_flood {
    const struct sirq_machine *machine;
    const struct sirq_lab_options *options;
    const struct sirq_flood *flood;
    uint64_t seed;
    uint64_t ns; /* measured */
};

/* Per second or percent of the time measured, but the drops, which are packets per second
 * too, so that seeds and lengths compare. */
struct sirq_sim_figures {
    double offered, received, nic_drops, socket_drops, ksoftirqd_cpu, irq_cpu, idle_cpu;
    double each[SIRQ_LAB_RECEIVERS], cpu[SIRQ_LAB_RECEIVERS], own_cpu[SIRQ_LAB_RECEIVERS];
    double latency_p50_us, latency_p99_us, longest_run_ms;
    bool stalled; /* the watchdog had to take the policy away */
};

/* 0, -EINTR or -errno with err filled; nothing is left behind. */
int sirq_sim_flood_run(const struct sirq_sim_flood *run, struct sirq_sim_figures *out,
                       struct sirq_error *err);

#endif
