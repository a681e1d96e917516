/* SPDX-License-Identifier: MIT */
/*
 * The `tap` driver: the far end of a TAP interface of this machine (Linux
 * Documentation/networking/tuntap.rst).  What the kernel sends on the interface we receive, what
 * we send it receives; so two stacks of one machine can talk.
 *
 * A frame is a system call, and there is no ring in our memory to look at: rx_pending asks the
 * kernel.  Frames wait in the kernel's queue of ring_size; what finds it full is counted as
 * dropped by the interface, from where stats reads it.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "tap_open.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* One frame: its length, 0 for one too long, or -1 when there is none. */
static ssize_t tap_read(struct sirq_tap *tap)
{
    ssize_t len = read(tap->fd, tap->frame, tap->frame_size + 1u);

    if (len <= (ssize_t)tap->frame_size)
        return len > 0 ? len : -1;
    __atomic_store_n(&tap->rx_errors, tap->rx_errors + 1, __ATOMIC_RELAXED);
    return 0;
}

static int tap_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_tap *tap = dev->priv;
    int done = 0, saved = errno;

    for (; done < budget; done++) {
        ssize_t len = tap_read(tap);

        if (len < 0)
            break;
        if (len == 0)
            continue;
        __atomic_store_n(&tap->taken, tap->taken + 1, __ATOMIC_RELAXED);
        sirq_net_rx(cpu, dev, tap->frame, (uint32_t)len, 0);
    }
    errno = saved;
    return done;
}

/* POLLERR is an interface that has gone: nothing will ever come. */
static bool tap_rx_pending(const struct sirq_netdev *dev)
{
    const struct sirq_tap *tap = dev->priv;
    struct pollfd pfd = {.fd = tap->fd, .events = POLLIN};
    int saved = errno;
    bool waiting = poll(&pfd, 1, 0) == 1 && (pfd.revents & (POLLIN | POLLERR)) == POLLIN;

    errno = saved;
    return waiting;
}

/* The descriptor has no mask of its own: the host stops looking at it. */
static void tap_irq_mask(struct sirq_netdev *dev)
{
    dev->host->irq_mask(&dev->irq);
}

static void tap_irq_unmask(struct sirq_netdev *dev)
{
    dev->host->irq_unmask(&dev->irq);
}

/* The kernel receives it here and now, so there is nothing to flush or to clean. */
static int tap_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len)
{
    struct sirq_tap *tap = dev->priv;
    int rc = 0, saved = errno;

    (void)cpu;
    if (len > tap->frame_size)
        return -EMSGSIZE;
    if (write(tap->fd, frame, len) != (ssize_t)len)
        rc = errno == EIO || errno == EBADFD ? -ENETDOWN : -ENOBUFS;
    else
        __atomic_store_n(&tap->sent, tap->sent + 1, __ATOMIC_RELAXED);
    errno = saved;
    return rc;
}

static void tap_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    const struct sirq_tap *tap = dev->priv;

    out->rx_packets = __atomic_load_n(&tap->taken, __ATOMIC_RELAXED);
    out->rx_errors = __atomic_load_n(&tap->rx_errors, __ATOMIC_RELAXED);
    out->tx_packets = __atomic_load_n(&tap->sent, __ATOMIC_RELAXED);
    out->rx_dropped = sirq_tap_dropped(tap) - tap->dropped_before;
}

static int tap_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    struct sirq_tap *tap;
    unsigned ring_size, frame_size;
    int rc = sirq_ring_config(config, "tap", SIRQ_TAP_QUEUES_MAX, &ring_size, &frame_size, err);

    if (rc < 0)
        return rc;
    tap = calloc(1, sizeof(*tap) + frame_size + 1);
    if (!tap)
        return sirq_fail(err, ENOMEM, "tap: out of memory");
    tap->frame_size = frame_size;
    rc = sirq_tap_attach(tap, dev, config, ring_size, err);
    if (rc < 0) {
        free(tap);
        return rc;
    }
    dev->priv = tap;
    dev->irq.fd = tap->fd;
    dev->irq.self_masking = false;
    return 0;
}

static void tap_close(struct sirq_netdev *dev)
{
    struct sirq_tap *tap = dev->priv;

    close(tap->fd);
    free(tap);
    dev->priv = NULL;
    dev->irq.fd = -1;
}

const struct sirq_driver sirq_tap_driver = {
    .name = "tap",
    .open = tap_open,
    .close = tap_close,
    .rx_poll = tap_rx_poll,
    .irq_mask = tap_irq_mask,
    .irq_unmask = tap_irq_unmask,
    .rx_pending = tap_rx_pending,
    .tx = tap_tx,
    .stats = tap_stats,
};
