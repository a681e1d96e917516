/* SPDX-License-Identifier: MIT */
/* The `xdp` driver of a build without libxdp: it says so. */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"

#include <errno.h>

static int no_xdp_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                       struct sirq_error *err)
{
    (void)dev, (void)config;
    return sirq_fail(err, ENOTSUP,
                     "xdp: built without libxdp: install libxdp-dev and libbpf-dev, build again");
}

const struct sirq_driver sirq_xdp_driver = {.name = "xdp", .open = no_xdp_open};
