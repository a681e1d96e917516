/* SPDX-License-Identifier: MIT */
/*
 * The one list of drivers.  A new one is a file with a struct sirq_driver and a line here.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"

#include <errno.h>
#include <string.h>

const struct sirq_driver *const sirq_drivers[] = {
    &sirq_packet_driver, &sirq_pcap_driver, &sirq_shm_driver,
    &sirq_tap_driver,    &sirq_xdp_driver,  NULL,
};

const struct sirq_driver *sirq_driver_find(const char *name)
{
    for (size_t i = 0; sirq_drivers[i]; i++) {
        if (strcmp(sirq_drivers[i]->name, name) == 0)
            return sirq_drivers[i];
    }
    return NULL;
}

int sirq_ring_config(const struct sirq_netdev_config *config, const char *driver, unsigned queues,
                     unsigned *ring_size, unsigned *frame_size, struct sirq_error *err)
{
    unsigned ring = config->ring_size ? config->ring_size : SIRQ_RING_SIZE_DEFAULT;
    unsigned frame = config->frame_size ? config->frame_size : SIRQ_FRAME_SIZE_DEFAULT;

    if (config->queue >= queues)
        return sirq_fail(err, EINVAL, "%s: queue %u: give 0 to %u", driver, config->queue,
                         queues - 1);
    if ((ring & (ring - 1)) || ring > SIRQ_RING_SIZE_MAX)
        return sirq_fail(err, EINVAL, "%s: ring_size %u: give a power of two, at most %u", driver,
                         ring, SIRQ_RING_SIZE_MAX);
    if (frame < SIRQ_FRAME_SIZE_MIN || frame > SIRQ_FRAME_SIZE_MAX)
        return sirq_fail(err, EINVAL, "%s: frame_size %u: give %u to %u bytes", driver, frame,
                         SIRQ_FRAME_SIZE_MIN, SIRQ_FRAME_SIZE_MAX);
    if ((size_t)ring * frame > SIRQ_RING_BYTES_MAX)
        return sirq_fail(err, E2BIG, "%s: ring_size %u x frame_size %u is over %zu MiB: give less",
                         driver, ring, frame, SIRQ_RING_BYTES_MAX >> 20);
    *ring_size = ring;
    *frame_size = frame;
    return 0;
}
