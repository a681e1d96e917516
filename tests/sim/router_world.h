/* SPDX-License-Identifier: MIT */
/*
 * A router for tests: one NIC with two ports, a host at each, and the packet path between them.
 * Costs are round numbers, so that what a frame takes can be added up by hand.
 */
#ifndef SIRQ_TESTS_SIM_ROUTER_WORLD_H
#define SIRQ_TESTS_SIM_ROUTER_WORLD_H

#include <sirq/inet.h>
#include <sirq/sim.h>

#define ROUTER_MS UINT64_C(1000000)
#define ROUTER_S UINT64_C(1000000000)
/* Between two looks of a world at its devices nothing takes longer, once all is quiet. */
#define ROUTER_REST (5 * ROUTER_S)

struct router {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_sim_nic *nic;
    struct sirq_netdev port[2];
    struct sirq_sim_host *lan, *wan; /* 10.0.0.2 at port 0, 10.0.1.2 at port 1 */
};

struct router_config {
    unsigned ncpus;      /* 0: 1 */
    unsigned rps;        /* CPUs 0..rps-1; 0: off */
    bool threads;        /* of all backlogs */
    unsigned ring, line; /* 0: 256 frames; no line rate */
    uint64_t line_queue_ns;
    uint32_t forward_ns, tx_ns; /* 0: 1000, 500 */
    unsigned backlog;           /* netdev_max_backlog */
    uint64_t seed;
};

void router_open(struct router *r, const struct router_config *config);
/* Everything is at rest, or lost somewhere: sums are exact, and no flow was reordered. */
void router_check(struct router *r);
void router_close(struct router *r);

#endif
