/* SPDX-License-Identifier: MIT */
/*
 * Simulated storage: requests that are served, some at once, and whose completions are
 * interrupts that leave the rest to the BLOCK vector.
 *
 * A task hands in a request and sleeps.  Served, it is put on the disk's list of served ones by
 * the device, in no CPU's time; the interrupt raises BLOCK; the action completes each request,
 * which costs CPU time, and wakes its task.  All disks of a world share the vector.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "disk.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_DISK_H
#define SIRQ_SIM_DISK_H

#include "sim.h"

#define SIM_DISK_DEPTH 64u

/* On the stack of the task that waits for it. */
struct sirq_disk_request {
    struct sirq_disk_request *next;
    struct sirq_wq wq;
    uint64_t begin_ns;
    bool admitted, done;
};

struct sirq_disk_fifo {
    struct sirq_disk_request *first, *last;
};

/* A request being served. */
struct sirq_disk_slot {
    struct sirq_event event; /* it is served */
    struct sirq_sim_disk *disk;
    struct sirq_disk_request *request; /* null: free */
};

struct sirq_sim_disk {
    struct sirq_sim *sim;
    struct sirq_sim_disk *next;
    struct sirq_vcpu *vcpu;  /* interrupted */
    struct sirq_cpu *raised; /* where BLOCK was raised last */
    struct sirq_vline line;
    struct sirq_rng rng;
    uint64_t service_ns, jitter_ns;
    unsigned depth;       /* served at once */
    unsigned queue, held; /* requests at most, and now: waiting, served, not yet completed */
    struct sirq_disk_fifo outside, waiting, served; /* for room; for a slot; for BLOCK */
    struct sirq_disk_slot slot[SIM_DISK_DEPTH];
    uint64_t requests, completed, full, latency_ns, latency_ns_max;
};

/* The parameters are filled in by the caller.  Null: no memory. */
struct sirq_sim_disk *sirq_disk_new(struct sirq_sim *sim, unsigned depth);
void sirq_disks_free(struct sirq_sim *sim);

/* The current task reads, and sleeps until it has been done. */
void sirq_disk_read(struct sirq_sim_task *task, struct sirq_sim_disk *disk);

/* The action of BLOCK; data: the world. */
void sirq_disk_action(struct sirq_cpu *cpu, void *data);

#endif
