/* SPDX-License-Identifier: MIT */
/*
 * A small machine under a UDP flood, for tests: one NIC, receivers on the CPU that it
 * interrupts, each with a socket and a stream of its own.
 */
#ifndef SIRQ_TESTS_SIM_FLOOD_WORLD_H
#define SIRQ_TESTS_SIM_FLOOD_WORLD_H

#include <sirq/sim.h>

#define FLOOD_RECEIVERS 4u

struct flood_config {
    const char *policy;
    uint64_t rate;      /* packets/s in all */
    unsigned receivers; /* 1..FLOOD_RECEIVERS */
    struct sirq_sched sched;
    unsigned hz, ncpus;
    bool elsewhere; /* receivers on CPU 1: CPU 0 is dedicated to softirqs */
    uint64_t seed;
    uint64_t ns; /* virtual time */
    bool poisson;
    uint64_t rcu_stall_ns; /* 0: the default */
    void (*trace)(void *arg, const struct sirq_sim_trace *trace);
    void *trace_arg;
};

struct flood_result {
    uint64_t received, socket_drops, nic_drops, arrived;
    uint64_t each[FLOOD_RECEIVERS];
    double receiver_cpu[FLOOD_RECEIVERS], ksoftirqd_cpu; /* percent, as the scheduler has it */
    uint64_t digest, events, charges;
    uint64_t longest_run_ns, long_runs;                                 /* on the CPU of the NIC */
    uint64_t rcu_stalls, rcu_stall_longest_ns, rcu_first_stall_jiffies; /* there too */
};

/* Costs of a made-up machine: 450 ns a packet into the socket, 600 ns out of it. */
extern const uint32_t flood_costs[SIRQ_NR_COSTS];

/* Build, run, check that sums are exact, take apart. */
void flood_run(const struct flood_config *config, struct flood_result *result);

#endif
