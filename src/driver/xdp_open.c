/* SPDX-License-Identifier: MIT */
/*
 * Opening a queue of the `xdp` driver: program, memory, socket, and last the map entry that
 * lets frames in.  All memory is taken and pinned here.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "ifquery.h"
#include "xdp.h"

#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* An Ethernet header with a VLAN tag, which the MTU does not count. */
#define XDP_LINK_HEADER 18u
/* A closed socket's queue is let go by a worker of the kernel's, a moment after close(). */
#define XDP_BUSY_TRIES 200u

static int xdp_chunk(struct sirq_xdp_nic *nic, const struct sirq_netdev_config *config,
                     unsigned mtu, struct sirq_error *err)
{
    unsigned need = config->frame_size, most = SIRQ_XDP_CHUNK_MAX - SIRQ_XDP_HEADROOM;

    if (need > most)
        return sirq_fail(err, EINVAL, "xdp: frame_size %u: give at most %u (a page less headroom)",
                         need, most);
    if (need == 0)
        need = mtu + XDP_LINK_HEADER;
    if (need > most || (config->frame_size && need < mtu + XDP_LINK_HEADER - 4))
        return sirq_fail(err, EMSGSIZE,
                         "xdp: frames of interface %s's MTU of %u do not fit frame_size %u: give "
                         "more (at most %u), or ip link set %s mtu %u",
                         config->ifname, mtu, config->frame_size ? config->frame_size : most, most,
                         config->ifname, most - XDP_LINK_HEADER);
    nic->chunk =
        need + SIRQ_XDP_HEADROOM > SIRQ_XDP_CHUNK_MIN ? SIRQ_XDP_CHUNK_MAX : SIRQ_XDP_CHUNK_MIN;
    return 0;
}

static int xdp_memory_fail(const struct sirq_xdp_nic *nic, int code, struct sirq_error *err)
{
    if (code == EPERM || code == EACCES)
        return sirq_fail(err, EPERM, "xdp: AF_XDP needs CAP_NET_RAW: run as root");
    if (code == EAFNOSUPPORT)
        return sirq_fail(err, code, "xdp: this kernel has no AF_XDP (CONFIG_XDP_SOCKETS)");
    return sirq_fail(err, code,
                     "xdp: no %zu KiB of packet memory (%s): give a smaller ring_size, or raise "
                     "the limit of locked memory (ulimit -l)",
                     nic->area_size >> 10, strerror(code));
}

static void xdp_memory_unmap(struct sirq_xdp_nic *nic)
{
    munmap(nic->area, nic->area_size);
    free(nic->tx.free);
}

static int xdp_memory_open(struct sirq_xdp_nic *nic, struct sirq_error *err)
{
    const struct xsk_umem_config config = {
        .fill_size = nic->ring_size, .comp_size = nic->ring_size, .frame_size = nic->chunk};
    int rc;

    nic->area_size = (size_t)nic->ring_size * 2 * nic->chunk;
    nic->tx.free = calloc(nic->ring_size, sizeof(*nic->tx.free));
    if (nic->tx.free == NULL)
        return sirq_fail(err, ENOMEM, "xdp: out of memory");
    nic->area = mmap(NULL, nic->area_size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (nic->area == MAP_FAILED) {
        rc = errno;
        free(nic->tx.free);
        return xdp_memory_fail(nic, rc, err);
    }
    rc =
        xsk_umem__create(&nic->umem, nic->area, nic->area_size, &nic->fill, &nic->tx.comp, &config);
    if (rc == 0)
        return 0;
    xdp_memory_unmap(nic);
    return xdp_memory_fail(nic, -rc, err);
}

static void xdp_memory_close(struct sirq_xdp_nic *nic)
{
    xsk_umem__delete(nic->umem);
    xdp_memory_unmap(nic);
}

static int xdp_socket_fail(const struct sirq_netdev_config *config, int code,
                           struct sirq_error *err)
{
    if (code == EBUSY)
        return sirq_fail(err, code, "xdp: queue %u of interface %s is open already", config->queue,
                         config->ifname);
    if (code == EINVAL)
        return sirq_fail(err, code, "xdp: interface %s has no queue %u (ethtool -l %s)",
                         config->ifname, config->queue, config->ifname);
    return sirq_fail(err, code, "xdp: cannot bind to queue %u of interface %s (%s)", config->queue,
                     config->ifname, strerror(code));
}

/* The kernel takes zero-copy where the interface's driver has it, else it copies. */
static int xdp_socket_open(struct sirq_xdp_nic *nic, const struct sirq_netdev_config *config,
                           struct sirq_error *err)
{
    const struct xsk_socket_config options = {.rx_size = nic->ring_size,
                                              .tx_size = nic->ring_size,
                                              .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
                                              .bind_flags = XDP_USE_NEED_WAKEUP};
    const struct timespec pause = {.tv_nsec = 1000000};
    struct xdp_options got = {0};
    socklen_t len = sizeof(got);
    int rc = -EBUSY;

    for (unsigned i = 0; i < XDP_BUSY_TRIES && rc == -EBUSY; i++) {
        if (i > 0)
            nanosleep(&pause, NULL);
        rc = xsk_socket__create(&nic->xsk, config->ifname, config->queue, nic->umem, &nic->rx,
                                &nic->tx.ring, &options);
    }
    if (rc < 0)
        return xdp_socket_fail(config, -rc, err);
    nic->fd = xsk_socket__fd(nic->xsk);
    if (getsockopt(nic->fd, SOL_XDP, XDP_OPTIONS, &got, &len) == 0)
        nic->zero_copy = got.flags & XDP_OPTIONS_ZEROCOPY;
    return 0;
}

/* One half of the chunks to the kernel, the other to be sent. */
static void xdp_fill(struct sirq_xdp_nic *nic)
{
    uint32_t at = 0, n = xsk_ring_prod__reserve(&nic->fill, nic->ring_size, &at);

    for (uint32_t i = 0; i < n; i++)
        *xsk_ring_prod__fill_addr(&nic->fill, at + i) = (uint64_t)i * nic->chunk;
    xsk_ring_prod__submit(&nic->fill, n);
    while (nic->tx.nfree < nic->ring_size) {
        nic->tx.free[nic->tx.nfree] = (uint64_t)(nic->ring_size + nic->tx.nfree) * nic->chunk;
        nic->tx.nfree++;
    }
}

static int xdp_queue_open(struct sirq_xdp_nic *nic, const struct sirq_netdev_config *config,
                          struct sirq_error *err)
{
    int rc = xdp_memory_open(nic, err);

    if (rc < 0)
        return rc;
    rc = xdp_socket_open(nic, config, err);
    if (rc < 0)
        goto memory;
    xdp_fill(nic);
    nic->queue = config->queue;
    rc = sirq_xdp_prog_redirect(nic->prog, nic->queue, nic->fd);
    if (rc == 0)
        return 0;
    sirq_fail(err, -rc, "xdp: queue %u of interface %s cannot be redirected (%s)", config->queue,
              config->ifname, strerror(-rc));
    xsk_socket__delete(nic->xsk);
memory:
    xdp_memory_close(nic);
    return rc;
}

static int xdp_ifquery(const char *ifname, struct sirq_ifquery *link, struct sirq_error *err)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

    if (fd < 0)
        return sirq_fail(err, errno, "xdp: no socket (%s)", strerror(errno));
    rc = sirq_ifquery(fd, "xdp", ifname, link, err);
    close(fd);
    return rc;
}

int sirq_xdp_nic_open(struct sirq_xdp_nic *nic, struct sirq_netdev *dev,
                      const struct sirq_netdev_config *config, struct sirq_error *err)
{
    struct sirq_ifquery link = {0};
    unsigned frame_size;
    int rc =
        sirq_ring_config(config, "xdp", SIRQ_XDP_QUEUES_MAX, &nic->ring_size, &frame_size, err);

    if (rc == 0)
        rc = xdp_ifquery(config->ifname, &link, err);
    if (rc == 0)
        rc = xdp_chunk(nic, config, link.mtu, err);
    if (rc < 0)
        return rc;
    if (link.queues && config->queue >= link.queues)
        return sirq_fail(err, EINVAL, "xdp: queue %u: interface %s has %u, give 0 to %u",
                         config->queue, config->ifname, link.queues, link.queues - 1);
    rc = sirq_xdp_prog_get(&nic->prog, link.index, config->ifname, link.mtu, err);
    if (rc < 0)
        return rc;
    rc = xdp_queue_open(nic, config, err);
    if (rc < 0)
        sirq_xdp_prog_put(nic->prog);
    memcpy(dev->mac, link.mac, sizeof(dev->mac));
    dev->mtu = (uint16_t)link.mtu; /* fits a page, see xdp_chunk() */
    return rc;
}

/* Frames go to the kernel again before the socket is closed. */
void sirq_xdp_nic_close(struct sirq_xdp_nic *nic)
{
    sirq_xdp_prog_redirect(nic->prog, nic->queue, -1);
    xsk_socket__delete(nic->xsk);
    xdp_memory_close(nic);
    sirq_xdp_prog_put(nic->prog);
}
