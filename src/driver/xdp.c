/* SPDX-License-Identifier: MIT */
/*
 * The `xdp` driver: frames of one receive queue of an interface through an AF_XDP socket
 * (Linux Documentation/networking/af_xdp.rst), copied by the kernel into our memory or put
 * there by the hardware (zero-copy).
 *
 * A chunk of memory goes round: fill ring -> kernel -> receive ring -> us -> fill ring.
 * A frame is handed on in place and its chunk given back with the batch, so nothing is
 * allocated or searched for.  When we are late the fill ring runs dry, and what arrives then
 * is dropped and counted by the kernel (by the hardware, with zero-copy).
 *
 * XDP_USE_NEED_WAKEUP: the kernel says in the ring whether it wants to be called; in copy
 * mode it never does for receiving.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "xdp.h"

#include <assert.h>
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Frames ahead of which a poll fetches: one cache miss is about this many frames' work. */
#define XDP_PREFETCH 4u

static uint8_t *xdp_frame(const struct sirq_xdp_nic *nic, uint32_t at)
{
    return xsk_umem__get_data(nic->area, xsk_ring_cons__rx_desc(&nic->rx, at)->addr);
}

/* A hardware queue that found no chunk sleeps until it is told of new ones. */
static void xdp_fill_wakeup(struct sirq_xdp_nic *nic)
{
    int saved = errno;

    if (xsk_ring_prod__needs_wakeup(&nic->fill))
        recvfrom(nic->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
    errno = saved;
}

/* The frames at..at+n-1, each chunk onto the fill ring as soon as it has been dealt with. */
static void xdp_rx_frames(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint32_t at, uint32_t n)
{
    struct sirq_xdp_nic *nic = dev->priv;
    uint32_t fill = 0, room = xsk_ring_prod__reserve(&nic->fill, n, &fill);

    assert(room == n); /* it has a place for every chunk */
    for (uint32_t i = 0; i < n && i < XDP_PREFETCH; i++)
        __builtin_prefetch(xdp_frame(nic, at + i));
    for (uint32_t i = 0; i < n; i++) {
        const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&nic->rx, at + i);

        if (i + XDP_PREFETCH < n)
            __builtin_prefetch(xdp_frame(nic, at + i + XDP_PREFETCH));
        sirq_net_rx(cpu, dev, xsk_umem__get_data(nic->area, desc->addr), desc->len, 0);
        *xsk_ring_prod__fill_addr(&nic->fill, fill + i) = desc->addr & ~(uint64_t)(nic->chunk - 1);
    }
}

static int xdp_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_xdp_nic *nic = dev->priv;
    uint32_t at = 0, n = xsk_ring_cons__peek(&nic->rx, (uint32_t)budget, &at);

    if (n == 0)
        return 0;
    xdp_rx_frames(cpu, dev, at, n);
    /* The receive ring's places first: a chunk given back finds one. */
    xsk_ring_cons__release(&nic->rx, n);
    xsk_ring_prod__submit(&nic->fill, n);
    xdp_fill_wakeup(nic);
    __atomic_store_n(&nic->taken, nic->taken + n, __ATOMIC_RELAXED);
    return (int)n;
}

/* Frames on the receive ring.  Acquire: the index before the descriptors it publishes. */
static uint32_t xdp_waiting(const struct sirq_xdp_nic *nic)
{
    uint32_t consumer = __atomic_load_n(nic->rx.consumer, __ATOMIC_RELAXED);

    return __atomic_load_n(nic->rx.producer, __ATOMIC_ACQUIRE) - consumer;
}

static bool xdp_rx_pending(const struct sirq_netdev *dev)
{
    return xdp_waiting(dev->priv) != 0;
}

/*
 * Taking the frames clears it.  Without any it may be the socket's error (the interface went
 * away), which would keep the descriptor readable for ever: reading it clears it.
 */
static void xdp_irq_ack(struct sirq_netdev *dev)
{
    const struct sirq_xdp_nic *nic = dev->priv;
    int error, saved = errno;
    socklen_t len = sizeof(error);

    if (xdp_waiting(nic) == 0)
        getsockopt(nic->fd, SOL_SOCKET, SO_ERROR, &error, &len);
    errno = saved;
}

/* The socket has no mask of its own: the host stops looking at it. */
static void xdp_irq_mask(struct sirq_netdev *dev)
{
    dev->host->irq_mask(&dev->irq);
}

static void xdp_irq_unmask(struct sirq_netdev *dev)
{
    dev->host->irq_unmask(&dev->irq);
}

/* The kernel's rx_dropped: no chunk on the fill ring, or a frame longer than a chunk. */
static void xdp_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    const struct sirq_xdp_nic *nic = dev->priv;
    struct xdp_statistics kernel = {0};
    socklen_t len = sizeof(kernel);

    out->rx_packets = __atomic_load_n(&nic->taken, __ATOMIC_RELAXED);
    getsockopt(nic->fd, SOL_XDP, XDP_STATISTICS, &kernel, &len);
    out->rx_dropped = kernel.rx_dropped + kernel.rx_ring_full;
    out->rx_errors = kernel.rx_invalid_descs;
    out->rx_waiting = xdp_waiting(nic);
    out->tx_packets = __atomic_load_n(&nic->tx.taken, __ATOMIC_RELAXED);
    out->tx_waiting = out->tx_packets - __atomic_load_n(&nic->tx.gone, __ATOMIC_RELAXED);
    out->tx_errors = kernel.tx_invalid_descs;
}

static int xdp_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    struct sirq_xdp_nic *nic = calloc(1, sizeof(*nic));
    int rc;

    if (!nic)
        return sirq_fail(err, ENOMEM, "xdp: out of memory");
    rc = sirq_xdp_nic_open(nic, dev, config, err);
    if (rc < 0) {
        free(nic);
        return rc;
    }
    dev->priv = nic;
    dev->irq.fd = nic->fd;
    dev->irq.self_masking = false;
    snprintf(dev->mode, sizeof(dev->mode), "%s %s",
             sirq_xdp_prog_native(nic->prog) ? "native" : "generic",
             nic->zero_copy ? "zero-copy" : "copy");
    return 0;
}

static void xdp_close(struct sirq_netdev *dev)
{
    struct sirq_xdp_nic *nic = dev->priv;

    sirq_xdp_nic_close(nic);
    free(nic);
    dev->priv = NULL;
    dev->irq.fd = -1;
}

const struct sirq_driver sirq_xdp_driver = {
    .name = "xdp",
    .open = xdp_open,
    .close = xdp_close,
    .rx_poll = xdp_rx_poll,
    .irq_ack = xdp_irq_ack,
    .irq_mask = xdp_irq_mask,
    .irq_unmask = xdp_irq_unmask,
    .rx_pending = xdp_rx_pending,
    .tx = sirq_xdp_tx,
    .tx_flush = sirq_xdp_tx_flush,
    .tx_clean = sirq_xdp_tx_clean,
    .stats = xdp_stats,
};
