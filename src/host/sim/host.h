/* SPDX-License-Identifier: MIT */
/* What the files of the sim host share. */
#ifndef SIRQ_SIM_HOST_PRIVATE
#error "host.h is private to src/host/sim"
#endif
#ifndef SIRQ_HOST_SIM_HOST_H
#define SIRQ_HOST_SIM_HOST_H

#define SIRQ_SIM_PRIVATE
#include "../../sim/nic.h"
#include <sirq/sim.h>

extern const struct sirq_host sirq_sim_host;

/* The world that this thread runs now; null outside of sirq_sim_run(). */
struct sirq_sim *sirq_sim_current(void);

/* trace.c: the world's own host table, and what tracing needs.  0 or -ENOMEM. */
int sirq_sim_trace_init(struct sirq_sim *sim, const struct sirq_sim_config *config);
size_t sirq_sim_trace_memory(const struct sirq_sim *sim);

/* napi.c: the world ends, and its NAPI tasks with it. */
void sirq_sim_napi_free(struct sirq_sim *sim);

/* Start ksoftirqd of every CPU.  0 or -ENOMEM. */
int sirq_sim_ksoftirqds(struct sirq_sim *sim, const struct sirq_sched *sched);

#endif
