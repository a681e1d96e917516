/* SPDX-License-Identifier: MIT */
/* The `packet` driver's ring, between the file that opens it and the one that walks it. */
#ifndef SIRQ_SRC_PACKET_OPEN_H
#define SIRQ_SRC_PACKET_OPEN_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>

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
};

/* Socket, ring and binding.  0, or -errno with err filled and nothing left open. */
int sirq_packet_nic_open(struct sirq_packet_nic *nic, const struct sirq_netdev_config *config,
                         struct sirq_error *err);
void sirq_packet_nic_close(struct sirq_packet_nic *nic);

#endif
