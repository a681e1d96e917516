/* SPDX-License-Identifier: MIT */
/*
 * A simulated NIC: a ring, an interrupt with moderation and mask, the wire behind it.
 *
 * No event is made per frame.  When somebody looks (a poll, an interrupt about to be made)
 * the frames that have arrived since the last look are put on the ring, or lost at a full
 * one, each at its own time.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "nic.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_NIC_H
#define SIRQ_SIM_NIC_H

#include "sim.h"

#define SIM_FRAME_MAX 1514u
#define SIM_SOURCES 64u

struct sirq_frame {
    uint32_t len;
    uint8_t data[SIM_FRAME_MAX];
};

struct sirq_source {
    struct sirq_frame frame;
    bool poisson;
    uint64_t rate, interval_ns, interval_rest; /* 1e9 / rate and the remainder */
    uint64_t mean_1024;                        /* the interval, 1/1024 ns */
    uint64_t next, rest, stop;                 /* of the next frame; stop: none from there on */
    struct sirq_rng rng;
};

/* One peer's answers: a frame that arrives when it was sent for. */
struct sirq_sim_flow {
    struct sirq_frame frame;
    struct sirq_event event;
    struct sirq_sim_nic *nic;
    struct sirq_sim_flow *next; /* of the NIC */
};

struct sirq_slot {
    uint64_t time;
    const struct sirq_frame *frame;
};

struct sirq_sim_nic {
    struct sirq_sim *sim;
    struct sirq_sim_nic *next;
    struct sirq_vcpu *vcpu; /* interrupted; null: not attached */
    struct sirq_irq *irq;
    struct sirq_vline line;
    struct sirq_event event; /* the next interrupt */
    bool masked;
    uint64_t irq_interval_ns, gap_ns;
    uint64_t irq_last, arrival_last;
    bool irq_ever, arrival_ever;

    struct sirq_slot *ring;
    uint32_t size;
    uint64_t prod, cons;
    struct sirq_source *source[SIM_SOURCES];
    unsigned nsources;
    struct sirq_sim_flow *flows;
    uint64_t arrived, dropped;
};

struct sirq_sim_nic *sirq_nic_new(struct sirq_sim *sim, uint32_t ring_size);
void sirq_nics_free(struct sirq_sim *sim);

/* 0, -ENOSPC or -ENOMEM; *out is filled in by the caller, next included, then armed. */
int sirq_nic_source_add(struct sirq_sim_nic *nic, struct sirq_source **out);

/* A flow, or null; the caller fills in its frame. */
struct sirq_sim_flow *sirq_nic_flow_add(struct sirq_sim_nic *nic);

/* Bring the ring up to date.  Returns how many frames are on it. */
uint32_t sirq_nic_advance(struct sirq_sim_nic *nic);

/* The i-th frame on the ring, oldest first. */
static inline const struct sirq_frame *sirq_nic_frame(const struct sirq_sim_nic *nic, uint32_t i,
                                                      uint64_t *time)
{
    const struct sirq_slot *slot = &nic->ring[(nic->cons + i) & (nic->size - 1)];

    *time = slot->time;
    return slot->frame;
}

void sirq_nic_consume(struct sirq_sim_nic *nic, uint32_t n);

void sirq_nic_mask(struct sirq_sim_nic *nic);
void sirq_nic_unmask(struct sirq_sim_nic *nic);
/* Make the next interrupt an event, when there is to be one. */
void sirq_nic_arm(struct sirq_sim_nic *nic);

#endif
