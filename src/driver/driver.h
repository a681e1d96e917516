/* SPDX-License-Identifier: MIT */
/* The drivers that src/driver builds, for its table.  Private to src/driver. */
#ifndef SIRQ_SRC_DRIVER_H
#define SIRQ_SRC_DRIVER_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver: users take drivers from sirq_drivers[] in sirq/driver.h"
#endif

#include <sirq/driver.h>

/* Bounds of struct sirq_netdev_config, the same for every driver. */
#define SIRQ_RING_SIZE_DEFAULT 1024u
#define SIRQ_RING_SIZE_MAX (1u << 20)
#define SIRQ_FRAME_SIZE_DEFAULT 2048u
#define SIRQ_FRAME_SIZE_MIN 64u
#define SIRQ_FRAME_SIZE_MAX 65536u
#define SIRQ_RING_BYTES_MAX ((size_t)1 << 30)

extern const struct sirq_driver sirq_packet_driver;
extern const struct sirq_driver sirq_pcap_driver;
extern const struct sirq_driver sirq_shm_driver;
extern const struct sirq_driver sirq_tap_driver;
extern const struct sirq_driver sirq_xdp_driver;

/*
 * The ring that `config` asks for, defaults filled in; the driver has `queues`.  0, or -EINVAL with err naming the
 * field, or -E2BIG when the two together make more than SIRQ_RING_BYTES_MAX.
 */
int sirq_ring_config(const struct sirq_netdev_config *config, const char *driver, unsigned queues,
                     unsigned *ring_size, unsigned *frame_size, struct sirq_error *err);

#endif
