/* SPDX-License-Identifier: MIT */
/* What a driver has to know of a network interface before it opens it. */
#ifndef SIRQ_SRC_IFQUERY_H
#define SIRQ_SRC_IFQUERY_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>

struct sirq_ifquery {
    int index;
    unsigned mtu; /* bytes after the Ethernet header */
    uint8_t mac[6];
    unsigned queues; /* receive queues; 0: it does not say */
    bool veth;       /* frames come from a stack that may have left checksums unfilled */
};

/*
 * An interface that exists, carries Ethernet frames and is up.  Any socket `fd` of the network
 * namespace.  0, or -errno with err filled: `driver`, the interface and the remedy.
 */
int sirq_ifquery(int fd, const char *driver, const char *ifname, struct sirq_ifquery *out,
                 struct sirq_error *err);

#endif
