/* SPDX-License-Identifier: MIT */
/* The `pcap` driver of a build without libpcap: it says so. */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"

#include <errno.h>

static int no_pcap_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                        struct sirq_error *err)
{
    (void)dev, (void)config;
    return sirq_fail(err, ENOTSUP, "pcap: built without libpcap: install libpcap-dev, build again");
}

const struct sirq_driver sirq_pcap_driver = {.name = "pcap", .open = no_pcap_open};
