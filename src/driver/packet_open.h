/* SPDX-License-Identifier: MIT */
/* The `packet` driver's ring, between the file that opens it and the one that walks it. */
#ifndef SIRQ_SRC_PACKET_OPEN_H
#define SIRQ_SRC_PACKET_OPEN_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>

#define SIRQ_PACKET_BATCH 64u

/* Frames to be sent; under the stack's rule that one caller at a time is in tx. */
struct sirq_packet_tx {
    uint8_t *frames; /* SIRQ_PACKET_BATCH of frame_size bytes */
    unsigned frame_size;
    unsigned n; /* not yet given to the kernel */
    uint32_t len[SIRQ_PACKET_BATCH];
    uint64_t packets, errors;
};

struct sirq_packet_nic {
    int fd;
    uint8_t *map;
    unsigned block_size; /* bytes */
    unsigned nr_blocks;
    unsigned block;       /* the one to look at next; writer: rx_poll */
    unsigned left;        /* frames of it not yet handed on; rx_poll only */
    const uint8_t *frame; /* the first of these; rx_poll only */
    uint64_t taken;       /* frames handed on; writer: rx_poll */
    uint64_t offered;     /* the kernel's counts so far; writer: stats */
    uint64_t dropped;
    struct sirq_packet_tx tx;
    uint8_t mac[6]; /* of the interface */
    unsigned mtu;
};

/* Socket, ring and binding.  0, or -errno with err filled and nothing left open. */
int sirq_packet_nic_open(struct sirq_packet_nic *nic, const struct sirq_netdev_config *config,
                         struct sirq_error *err);
/* packet_tx.c: as in struct sirq_driver. */
int sirq_packet_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame,
                   uint32_t len);
void sirq_packet_tx_flush(struct sirq_cpu *cpu, struct sirq_netdev *dev);

void sirq_packet_nic_close(struct sirq_packet_nic *nic);

#endif
