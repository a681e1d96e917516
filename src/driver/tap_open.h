/* SPDX-License-Identifier: MIT */
/* The `tap` driver between the file that opens it and the one that reads and writes. */
#ifndef SIRQ_SRC_TAP_OPEN_H
#define SIRQ_SRC_TAP_OPEN_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>

#define SIRQ_TAP_QUEUES_MAX 256u /* the kernel's */

struct sirq_tap {
    int fd;
    unsigned frame_size;
    uint64_t taken, rx_errors; /* writer: rx_poll */
    uint64_t sent;             /* writer: tx */
    uint64_t dropped_before;   /* the interface's count when it was opened */
    char ifname[16];
    uint8_t frame[]; /* frame_size + 1: a longer one shows.  rx_poll only */
};

/* Create the interface, or attach to it.  0, or -errno with err filled and nothing left. */
int sirq_tap_attach(struct sirq_tap *tap, struct sirq_netdev *dev,
                    const struct sirq_netdev_config *config, unsigned ring_size,
                    struct sirq_error *err);

/* Frames that found the kernel's queue full, of all queues of the interface. */
uint64_t sirq_tap_dropped(const struct sirq_tap *tap);

#endif
