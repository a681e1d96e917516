/* SPDX-License-Identifier: MIT */
/*
 * The frames of the flood: Ethernet/IPv4/UDP, checksums right, one flow per receiver.  The
 * payload begins with a sequence number of its flow and the time of sending, both 64 bits
 * in host order; the rest is zero.
 */
#ifndef SIRQ_LAB_COMMON_FRAME_H
#define SIRQ_LAB_COMMON_FRAME_H

#include <stdint.h>

#define SIRQ_FRAME_HEADERS 42u /* Ethernet 14, IPv4 20, UDP 8 */
#define SIRQ_FRAME_MAX 1514u
#define SIRQ_FLOOD_PORT 9000u /* of the first receiver; the next ones follow */

struct sirq_stamp {
    uint64_t seq; /* of the flow, from 1; 0: the device's timestamp stands for both */
    uint64_t sent_ns;
};

struct sirq_frame {
    uint32_t len;
    uint32_t sum; /* of everything the UDP checksum covers, but for the stamp */
    uint8_t bytes[SIRQ_FRAME_MAX];
};

/* The frame of flow `flow`, `len` bytes (64..1514); seed decides the source port. */
void sirq_frame_build(struct sirq_frame *frame, unsigned flow, uint32_t len, uint64_t seed);

/* Write a complete frame with this stamp to `out`, frame->len bytes. */
void sirq_frame_write(const struct sirq_frame *frame, void *out, const struct sirq_stamp *stamp);

#endif
