/* SPDX-License-Identifier: MIT */
/*
 * One world of an experiment: what the file describes, under one policy, with one seed.
 *
 * Life: open -> time passes -> `closing` (what makes load stops, what consumes it goes on)
 * -> everything under way arrives -> `quit` -> close.  A thread that is told ends by itself;
 * its socket and device go when all have.
 */
#ifndef SIRQ_LAB_SIM_RIG_H
#define SIRQ_LAB_SIM_RIG_H

#include "dist.h"
#include "spec/spec.h"

struct sirq_sim_kind;
struct sirq_sim_rig;
struct sirq_sim_group;

/* Where a thread puts its times: those of its group and its own; null: nobody asked. */
struct sirq_sim_sink {
    struct sirq_dist *dist[2];
};

struct sirq_sim_thread {
    struct sirq_sim_rig *rig;
    struct sirq_sim_group *group;
    uint32_t index; /* in its group */
    struct sirq_sim_task *task;
    struct sirq_socket *sock; /* null: the kind has none */
    uint16_t port;
    void *own; /* the kind's */
    struct sirq_sim_rig_disk *disk;
    struct sirq_sim_tcp *tcp;
    bool sends; /* its flow brings frames that only acknowledge: they have no verdict */
    /* What it has done since it began. */
    uint64_t count;   /* messages, transactions, blocks or periods */
    uint64_t bytes;   /* of payload */
    uint64_t packets; /* taken off its socket */
    uint64_t stalls;
    uint64_t due_ns; /* of a watchdog: it is a stall from then on; UINT64_MAX: none is near */
    struct sirq_sim_sink latency, wakeup;
    bool done;
};

struct sirq_sim_group {
    const struct sirq_spec_threads *spec;
    const struct sirq_sim_kind *kind;
    struct sirq_sim_thread *threads;
    uint32_t n;
};

struct sirq_sim_rig_nic {
    const struct sirq_spec_nic *spec;
    struct sirq_sim_nic *sim;
    struct sirq_netdev *rings; /* of port 0, then of port 1, ... */
    uint32_t n_rings, n_ports, n_open, n_attached;
};

/* One of a ping's flow: answers of a while may be one value. */
struct sirq_sim_rig_ping {
    struct sirq_sim_rig_flow *flow;
    struct sirq_sim_ping *sim;
    uint64_t while_ns, sum_ns, n; /* since the beginning of this one; in it */
};

struct sirq_sim_rig_flow {
    const struct sirq_spec_flow *spec;
    struct sirq_sim_rig *rig;
    struct sirq_sim_tcp **tcp;       /* of a tcp flow, else null */
    struct sirq_sim_rig_ping *pings; /* of a ping */
    uint32_t n;
    struct sirq_sim_sink latency;
};

struct sirq_sim_rig_disk {
    const struct sirq_spec_disk *spec;
    struct sirq_sim_disk *sim;
    struct sirq_sim_sink latency; /* of all readers */
};

/* What is traced on a CPU. */
enum sirq_sim_traced {
    SIRQ_SIM_RUN,         /* length, ns */
    SIRQ_SIM_RUN_PACKETS, /* polled */
    SIRQ_SIM_LAST_PASS,   /* ns into the run when its last pass began; 0: it made one */
    SIRQ_SIM_RAISE_TO_RUN,
    SIRQ_SIM_NR_TRACED
};

struct sirq_sim_rig_cpu {
    struct sirq_sim_sink sink[SIRQ_SIM_NR_TRACED];
    bool running; /* a run goes on */
    uint64_t begin_ns, last_pass_ns;
    uint32_t frames;
};

struct sirq_sim_rig {
    const struct sirq_spec *spec;
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_sim_rig_nic *nics;
    struct sirq_sim_group *groups;
    struct sirq_sim_rig_cpu *cpus; /* null: nothing is traced */
    struct sirq_sim_rig_disk *disks;
    struct sirq_sim_host **hosts;
    struct sirq_sim_rig_flow *flows;
    uint32_t n_nics, n_groups, n_disks, n_flows;
    bool threaded;   /* backlogs */
    uint64_t end_ns; /* of all traffic */
    uint16_t next_port;
    bool measuring, closing, quit;
    bool stalled; /* the watchdog had to take the policy away */
};

struct sirq_sim_rig_config {
    const struct sirq_spec *spec; /* outlives the rig */
    const struct sirq_policy *policy;
    uint64_t seed;
    uint64_t end_ns; /* traffic stops then, if not before */
    bool trace;      /* fill what rig->cpus will point to */
};

/* 0, -EINVAL or -ENOMEM with err filled; close in any case. */
int sirq_sim_rig_open(struct sirq_sim_rig *rig, const struct sirq_sim_rig_config *config,
                      struct sirq_error *err);

/* No more load: what is under way arrives, and then all sums are exact, or it is -EPROTO. */
int sirq_sim_rig_settle(struct sirq_sim_rig *rig, struct sirq_error *err);
void sirq_sim_rig_close(struct sirq_sim_rig *rig);

/* Part of close: devices fall silent and all threads come to their end. */
void sirq_sim_rig_end(struct sirq_sim_rig *rig);

/* The callback of a traced world; and the end of the measured time. */
void sirq_sim_rig_trace(void *arg, const struct sirq_sim_trace *trace);
void sirq_sim_rig_trace_end(struct sirq_sim_rig *rig);

/* The NIC called `name`, for threads that `who` names in a complaint: null with err filled. */
struct sirq_sim_rig_nic *sirq_sim_rig_nic(struct sirq_sim_rig *rig, const char *name,
                                          const char *who, struct sirq_error *err);

/* router.c: how many ports of the NIC have hosts, at least one; addresses and RPS of its devices,
 * which are open; hosts and flows, when all are; what they count; their memory. */
uint32_t sirq_sim_rig_ports(const struct sirq_spec *spec, const struct sirq_spec_nic *nic);
int sirq_sim_rig_steer(struct sirq_sim_rig *rig, struct sirq_error *err);
int sirq_sim_rig_flows(struct sirq_sim_rig *rig, struct sirq_error *err);
struct sirq_sim_flow_counts {
    uint64_t packets, bytes; /* segments or answers that arrived; payload, each byte once */
};
void sirq_sim_rig_flow_counts(const struct sirq_sim_rig_flow *flow,
                              struct sirq_sim_flow_counts *out);
void sirq_sim_rig_flows_close(struct sirq_sim_rig *rig);

/* Threads of an entry: a count of 0 means one. */
static inline uint32_t sirq_sim_count(const struct sirq_spec_threads *spec)
{
    return spec->count != 0 ? spec->count : 1;
}

/* While measured, `ns` goes where somebody asked for it. */
static inline void sirq_sim_sink_add(const struct sirq_sim_rig *rig,
                                     const struct sirq_sim_sink *sink, uint64_t ns)
{
    for (unsigned i = 0; i < 2 && rig->measuring; i++) {
        if (sink->dist[i] != NULL)
            sirq_dist_add(sink->dist[i], ns);
    }
}

static inline void sirq_sim_record(const struct sirq_sim_thread *thread,
                                   const struct sirq_sim_sink *sink, uint64_t ns)
{
    sirq_sim_sink_add(thread->rig, sink, ns);
}

#endif
