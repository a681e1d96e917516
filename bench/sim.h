/* SPDX-License-Identifier: MIT */
/* What the benchmarks of the simulator share. */
#ifndef SIRQ_BENCH_SIM_H
#define SIRQ_BENCH_SIM_H

#include <sirq/sim.h>

#include "bench.h"

/* End the program with the error's text when rc is not 0. */
void bench_must(int rc, const struct sirq_error *err);

/* Events as the report counts them: see bench/sim.c. */
uint64_t bench_events(const struct sirq_sim *sim);

/* Every cost 300 ns. */
struct sirq_sim *bench_world(unsigned ncpus, const char *policy);

/* The number that `peer-ns3 WHAT N` prints; 0 when this was built without ns-3. */
double bench_ns3(const char *what, uint64_t n);

/* The parts of the part, in the order of the report. */
void bench_sim_evq(const struct bench_options *options);
void bench_sim_scale(const struct bench_options *options);
void bench_sim_memory(const struct bench_options *options);

#endif
