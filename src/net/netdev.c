/* SPDX-License-Identifier: MIT */
/*
 * netdev.c - what every network device does the same way: interrupt, poll, open, close.
 *
 * The interrupt only masks the device and schedules its NAPI instance; from then on the
 * device is polled, without interrupts, until a poll finds less than its budget.
 */
#define SIRQ_NET_INTERNAL
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inet.h"
#include "private.h"

static void netdev_interrupt(struct sirq_cpu *cpu, void *data)
{
    struct sirq_netdev *dev = data;

    /* Acknowledged before anything is looked at: a frame that comes after the ack raises
     * the line again, one that came before is seen. */
    if (dev->driver->irq_ack != NULL)
        dev->driver->irq_ack(dev);
    COUNT(dev->irqs, 1);
    if (!dev->driver->rx_pending(dev))
        COUNT(dev->irqs_empty, 1);
    dev->driver->irq_mask(dev);
    sirq_napi_schedule(cpu, &dev->napi);
}

/*
 * Less than the budget: the ring is empty and interrupts take over again.  In this order:
 *   complete   before unmask, or an interrupt in between would find the instance still
 *              scheduled, be ignored, and leave the device masked for ever
 *   unmask     before the last look, or a frame in between would be neither seen by the
 *              look nor announced by an interrupt
 *   look       what came between the poll and the unmask made no interrupt
 * From complete on the instance may run on another CPU, so we touch it through schedule
 * alone.  If an interrupt beat us to it our schedule does nothing and the mask is right.
 */
static int netdev_poll(struct sirq_cpu *cpu, struct sirq_napi *napi, int budget)
{
    struct sirq_netdev *dev = SIRQ_CONTAINER(napi, struct sirq_netdev, napi);
    int work;

    if (budget <= 0)
        return 0;
    work = dev->driver->rx_poll(cpu, dev, budget);
    if (work >= budget)
        return work;
    sirq_napi_complete_done(cpu, napi, work);
    dev->driver->irq_unmask(dev);
    if (dev->driver->rx_pending(dev)) {
        dev->driver->irq_mask(dev);
        sirq_napi_schedule(cpu, napi);
    }
    return work;
}

static bool netdev_pending(void *data)
{
    const struct sirq_netdev *dev = data;

    /* Scheduled means masked: it would not interrupt, however much is waiting. */
    return (__atomic_load_n(&dev->napi.state, __ATOMIC_RELAXED) &
            (SIRQ_NAPI_SCHED | SIRQ_NAPI_DISABLED)) == 0 &&
           dev->driver->rx_pending(dev);
}

int sirq_netdev_open(struct sirq_netdev *dev, struct sirq_net *net,
                     const struct sirq_driver *driver, const struct sirq_netdev_config *config,
                     struct sirq_error *err)
{
    static const struct sirq_netdev_config defaults = {0};
    int rc;

    if (dev == NULL || net == NULL || driver == NULL)
        return sirq_fail(err, EINVAL, "netdev: no device, stack or driver given");
    *dev = (struct sirq_netdev){
        .driver = driver,
        .net = net,
        .host = net->core->host,
        .irq = {.fd = -1, .handler = netdev_interrupt, .pending = netdev_pending, .data = dev},
    };
    if (config == NULL)
        config = &defaults;
    snprintf(dev->name, sizeof(dev->name), "%s",
             config->ifname != NULL ? config->ifname : driver->name);
    if (config->queue != 0)
        __atomic_store_n(&net->several_queues, true, __ATOMIC_RELAXED);
    sirq_napi_init(&dev->napi, netdev_poll, SIRQ_NAPI_WEIGHT);
    rc = sirq_link_open(dev, err);
    if (rc != 0)
        return rc;
    rc = driver->open(dev, config, err);
    if (rc != 0)
        sirq_link_close(dev);
    if (dev->mtu == 0 || dev->mtu > SIRQ_MTU_MAX)
        dev->mtu = dev->mtu == 0 ? SIRQ_MTU_DEFAULT : SIRQ_MTU_MAX;
    return rc;
}

void sirq_netdev_close(struct sirq_netdev *dev)
{
    assert(!(__atomic_load_n(&dev->napi.state, __ATOMIC_ACQUIRE) & SIRQ_NAPI_SCHED));
    assert(!(__atomic_load_n(&dev->napi.state, __ATOMIC_RELAXED) & SIRQ_NAPI_THREADED));
    sirq_link_close(dev);
    dev->driver->close(dev);
    sirq_steer_free(dev);
}

void sirq_netdev_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    memset(out, 0, sizeof(*out));
    dev->driver->stats(dev, out);
    out->irqs = READ_COUNT(dev->irqs);
    out->irqs_empty = READ_COUNT(dev->irqs_empty);
}
