/* SPDX-License-Identifier: MIT */
/*
 * A simulated NIC: receive rings, each with an interrupt of its own, moderation and mask, and
 * the line that they share (wire.h).
 *
 * No event is made per frame.  When somebody looks (a poll, an interrupt about to be made)
 * the frames that have arrived since the last look are put on their rings, or lost at a full
 * one, each at its own time.  Frames are taken at the time of a look, so that a ring is as full
 * at a frame's arrival as if each had been an event.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "nic.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_NIC_H
#define SIRQ_SIM_NIC_H

#include "wire.h"

#define SIM_SOURCES 64u    /* most streams of a NIC */
#define SIM_RSS_TABLE 128u /* entries that a hash is spread over, as usual on real ones */
#define SIM_PORTS 8u       /* of a switch behind a NIC, as a VLAN tag would tell them apart */

struct sirq_slot {
    uint64_t time;
    struct sirq_source *source;
    uint32_t number; /* source->number then */
};

struct sirq_nic_ring {
    struct sirq_sim_nic *nic;
    unsigned index;
    struct sirq_netdev *port[SIM_PORTS]; /* open ones; the first has the interrupt and the poll */
    struct sirq_vcpu *vcpu;              /* interrupted; null: not attached */
    struct sirq_irq *irq;
    struct sirq_vline line;
    struct sirq_event event; /* the next interrupt */
    bool masked;
    uint64_t irq_last;
    bool irq_ever;

    struct sirq_slot *slots;
    uint64_t prod, cons;
    struct sirq_source_heap sources;
    struct sirq_source *unsettled;
    uint64_t arrived, dropped;
    uint64_t tx_packets[SIM_PORTS];
};

struct sirq_sim_nic {
    struct sirq_sim *sim;
    struct sirq_sim_nic *next;
    uint64_t irq_interval_ns;
    uint64_t looked_ns; /* up to when the rings are as they should be */
    uint32_t size;      /* slots of a ring */
    unsigned nrings, nstreams;
    uint32_t nsources;
    struct sirq_source *sources;
    struct sirq_line rx, tx;
    /* The transmit ring: when each frame on it has gone. */
    uint64_t *gone_ns;
    uint32_t tx_size;
    uint64_t tx_prod, tx_cons;
    uint64_t tx_arrived, tx_strange; /* what came of them at the far end, see far.h */
    struct sirq_sim_host *hosts;
    struct sirq_nic_ring ring[];
};

/* Lines and moderation are filled in by the caller. */
struct sirq_sim_nic *sirq_nic_new(struct sirq_sim *sim, unsigned nrings, uint32_t ring_size,
                                  uint32_t tx_size);
void sirq_nics_free(struct sirq_sim *sim);
size_t sirq_nic_memory(const struct sirq_sim_nic *nic);

/*
 * Connect a source, whose frame and `next` are filled in, to a ring; the NIC owns it then.
 * 0 or -ENOMEM.
 */
int sirq_nic_connect(struct sirq_nic_ring *ring, struct sirq_source *source);

/*
 * A source's frame wants the line at `next`, which is not in the past, and no longer when it
 * said before.  The NIC has been advanced.
 */
void sirq_nic_source_at(struct sirq_source *source, uint64_t next);

/* The ring that a hash leads to. */
struct sirq_nic_ring *sirq_nic_rss(struct sirq_sim_nic *nic, uint32_t hash);

/* Bring all rings up to date. */
void sirq_nic_advance(struct sirq_sim_nic *nic);
/* The same, and how many frames are on this one. */
uint32_t sirq_ring_look(struct sirq_nic_ring *ring);

/* The i-th frame on the ring, oldest first. */
static inline const struct sirq_slot *sirq_ring_slot(const struct sirq_nic_ring *ring, uint32_t i)
{
    return &ring->slots[(ring->cons + i) & (ring->nic->size - 1)];
}

/* The oldest n frames, off the ring at the time of the look. */
void sirq_slots_take(struct sirq_nic_ring *ring, struct sirq_slot *slots, uint32_t n);

/*
 * A frame for the line: on the transmit ring until it has passed, then at the far end (far.h).
 * 0, or -ENOBUFS: the ring is full.  Softirq, or a task.
 */
int sirq_nic_tx(struct sirq_sim_nic *nic, unsigned port, const uint8_t *frame, uint32_t len);
/* Frames that have gone give their places back; how many are on the ring still. */
uint32_t sirq_nic_tx_clean(struct sirq_sim_nic *nic);

/* From `taken`: the source wants to be settled; and do it.  Softirq. */
void sirq_ring_unsettled(struct sirq_source *source);
void sirq_ring_settle(struct sirq_nic_ring *ring, struct sirq_cpu *cpu);

void sirq_ring_mask(struct sirq_nic_ring *ring);
void sirq_ring_unmask(struct sirq_nic_ring *ring);
/* Make the next interrupt an event, when there is to be one. */
void sirq_ring_arm(struct sirq_nic_ring *ring);

#endif
