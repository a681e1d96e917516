/* SPDX-License-Identifier: MIT */
/*
 * The far end of a NIC's line: hosts, and frames that cross the machine.
 *
 * A router changes addresses, ports, TTL and checksums, so what tells a frame is in its payload:
 * the source that it came from, its number there, and that number's complement, which also keeps
 * the frame's checksum the same for every number.  A frame that comes out of the machine is
 * looked up by these and given to its source's `out`; what has none, or comes out at another
 * port than its host is at, is counted as strange.  One that comes out behind a later one of its
 * source broke the flow's order: it is counted, and to its flow it is lost.
 *
 * A host answers ARP requests for its address.  Its frames are numbered in the order in which
 * they want the line; one that does not come out was lost on the way.
 */
#ifndef SIRQ_SIM_PRIVATE
#error "far.h belongs to the simulator"
#endif
#ifndef SIRQ_SIM_FAR_H
#define SIRQ_SIM_FAR_H

#include "nic.h"

#define SIM_CROSSING 4096u /* most sources of a world whose frames cross the machine */
#define SIM_FRAME_MIN 60u

struct sirq_sim_host {
    struct sirq_source arp; /* its answer; one at a time */
    struct sirq_sim_nic *nic;
    struct sirq_sim_host *next;
    uint8_t mac[6], router[6]; /* the machine's, on this port */
    uint32_t addr;             /* network order */
    unsigned port;
    bool answering;
};

/* Connects it, too; the NIC owns it.  Null: out of memory. */
struct sirq_sim_host *sirq_far_host(struct sirq_sim_nic *nic, const struct sirq_sim_host *like);

/* From where to where, as the machine sees it; ports in host order. */
struct sirq_far_way {
    struct sirq_sim_host *from, *to;
    uint16_t sport, dport;
    bool icmp;                  /* an echo request from sport to 0, or the answer to dport from 0 */
    struct sirq_nic_ring *ring; /* where the hash of all this leads, at the NIC of `from` */
};

/*
 * A source of frames of `len` bytes along this way: fills in its frame, and connects it.  `out`, and `sent`, are set.  0, -ENOSPC or -ENOMEM.
 */
int sirq_far_connect(struct sirq_source *source, const struct sirq_far_way *way, uint32_t len);

/* Frames of `source` go back to whom this frame came from, wherever that was; ARP apart. */
void sirq_far_answers(struct sirq_source *source, const uint8_t *frame);

/* The driver takes a frame off its ring: its number goes where it can be read again. */
void sirq_far_number(struct sirq_source *source, uint32_t number);

void sirq_far_arrives(struct sirq_sim_nic *nic, unsigned port, const uint8_t *frame, uint32_t len,
                      uint64_t time);

/* A 32-bit number that is near `base`, in full. */
static inline uint64_t sirq_far_full(uint64_t base, uint32_t number)
{
    return base + (uint64_t)(int64_t)(int32_t)(number - (uint32_t)base);
}

#endif
