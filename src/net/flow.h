/* SPDX-License-Identifier: MIT */
/*
 * flow.h - which flow a frame belongs to: the hash by which RPS and RFS steer it.
 *
 * The Toeplitz hash of hash.h over addresses and ports (TCP and UDP), or over the addresses
 * alone: other protocols, and fragments, whose ports are in the first one only.  Computed by
 * table, four bits of input at a time: the hash of a sum (xor) is the sum of the hashes.
 */
#ifndef SIRQ_NET_FLOW_H
#define SIRQ_NET_FLOW_H

#ifndef SIRQ_NET_INTERNAL
#error "src/net/flow.h is private to src/net"
#endif

#include <stdint.h>

#define SIRQ_FLOW_INPUT 36u /* bytes: two IPv6 addresses, two ports */

struct sirq_flow_table {
    uint32_t half[2 * SIRQ_FLOW_INPUT][16]; /* hash of one half byte at its place */
};

void sirq_flow_table_init(struct sirq_flow_table *table);

/* Never 0 for an IP packet; 0: belongs to no flow (not IP, or cut off).  Any frame. */
uint32_t sirq_flow_hash(const struct sirq_flow_table *table, const uint8_t *frame, uint32_t len);

#endif
