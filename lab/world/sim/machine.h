/* SPDX-License-Identifier: MIT */
/*
 * The file that describes a simulated machine and its load (docs/experiments.md).
 *
 * What is read is checked against a schema; an unknown key, a wrong type or a value out of
 * range is one error that names file, line or key, and what would do.
 */
#ifndef SIRQ_LAB_SIM_MACHINE_H
#define SIRQ_LAB_SIM_MACHINE_H

#include <sirq/sim.h>

#define SIRQ_MACHINE_SEEDS 1000u /* most */

struct sirq_machine_fair {
    uint64_t latency_ns, min_granularity_ns, wakeup_granularity_ns;
};

struct sirq_machine_cpu {
    uint32_t cpus, hz, smt, smt_permille;
    bool irq_time_accounting;
    uint64_t ipi_ns, rt_period_ns, rt_runtime_ns;
    struct sirq_machine_fair *fair; /* null: as Linux computes it */
};

struct sirq_machine_costs {
#define SIRQ_COST_FIELD(sym, name, meaning) uint32_t sym;
    SIRQ_COSTS(SIRQ_COST_FIELD)
#undef SIRQ_COST_FIELD
};

struct sirq_machine_nic {
    uint32_t ring;
    uint64_t irq_interval_ns, gap_ns;
};

struct sirq_machine_traffic {
    enum sirq_sim_arrivals arrivals;
    uint64_t rate; /* packets/s in all, when none is asked for */
};

struct sirq_machine_socket {
    uint64_t rcvbuf; /* bytes */
};

struct sirq_machine_net {
    bool poll_until_budget;
    uint32_t netdev_budget;
};

/* Request and response: clients with one request under way each. */
struct sirq_machine_rr {
    uint32_t antagonists;           /* on all CPUs; the one measured is bound to CPU 0 */
    uint64_t rtt_ns, rtt_jitter_ns; /* from the request to the answer's arrival */
    uint64_t work_ns;               /* a client's own, per transaction */
    /* Bottom-half sections it passes, beside the receive: the lesser of two draws from here. */
    uint32_t sections_least, sections_most;
};

struct sirq_machine_run {
    uint32_t seeds, warmup_ms;
};

struct sirq_machine {
    struct sirq_machine_cpu machine;
    struct sirq_machine_costs costs_ns;
    struct sirq_machine_nic nic;
    struct sirq_machine_traffic *traffic; /* null: none given */
    struct sirq_machine_net net;
    struct sirq_machine_rr *rr; /* null: none given */
    struct sirq_machine_socket socket;
    struct sirq_machine_run run;
};

/* Read `path`, or the text of `len` bytes that is called `path`.  0, or -errno with err
 * filled.  Free with sirq_machine_free(). */
int sirq_machine_load(struct sirq_machine **out, const char *path, struct sirq_error *err);
int sirq_machine_parse(struct sirq_machine **out, const char *path, const char *text, size_t len,
                       struct sirq_error *err);
/* The one that is shipped with an experiment. */
int sirq_machine_shipped(struct sirq_machine **out, const char *experiment, struct sirq_error *err);
void sirq_machine_free(struct sirq_machine *machine);

/* The simulated machine's configuration, without policy and seed. */
void sirq_machine_config(const struct sirq_machine *machine, struct sirq_sim_config *out);

#endif
