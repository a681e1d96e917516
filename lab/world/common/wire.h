/* SPDX-License-Identifier: MIT */
/* The sender's end of the wire, one table per NIC. */
#ifndef SIRQ_LAB_COMMON_WIRE_H
#define SIRQ_LAB_COMMON_WIRE_H

#include <sirq/driver.h>

#include "frame.h"
#include "netns.h"

#define SIRQ_WIRE_BURST 256u
#define SIRQ_WIRE_FLOWS 64u

struct sirq_wire_config {
    const struct sirq_wire_ops *ops;
    const struct sirq_netdev *dev;    /* shm: the device to feed */
    const struct sirq_netns_use *use; /* packet: for messages */
    unsigned flows, size;
    uint64_t seed;
};

struct sirq_wire {
    const struct sirq_wire_ops *ops;
    unsigned flows, next; /* frames go to the flows in turn */
    void *priv;
    uint64_t seq[SIRQ_WIRE_FLOWS];
    struct sirq_frame frame[SIRQ_WIRE_FLOWS];
};

struct sirq_wire_ops {
    const char *name;
    int (*open)(struct sirq_wire *wire, const struct sirq_wire_config *config,
                struct sirq_error *err);

    /* Offer up to `due` frames: how many were, lost ones included. */
    uint64_t (*burst)(struct sirq_wire *wire, uint64_t due);

    /*
     * The pace of "as fast as it can".  True: the device says how fast that is, offer as
     * many as it takes.  False: a full ring costs nothing, any pace can be offered.
     */
    bool blocks;
};

extern const struct sirq_wire_ops sirq_wire_shm, sirq_wire_packet;

/* The next flow's frame, stamped, written to `out`: its length. */
uint32_t sirq_wire_next(struct sirq_wire *wire, void *out, uint64_t now_ns);

#endif
