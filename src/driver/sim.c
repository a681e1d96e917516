/* SPDX-License-Identifier: MIT */
/*
 * The `sim` driver: a NIC of the simulator (src/sim/nic.h) as a peer of the real ones.
 *
 * The world's thread is the only one, so there is nothing to order.  Frames carry a valid IP
 * header; their transport checksum is taken as verified by the device.
 */
#define SIRQ_SIM_PRIVATE
#include "../sim/nic.h"

#include <errno.h>

#include <sirq/sim.h>

static int sim_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    if (config->device == NULL)
        return sirq_fail(err, EINVAL, "sim: device: give a NIC of sirq_sim_nic_create()");
    if (config->device->irq != NULL)
        return sirq_fail(err, EBUSY, "sim: device: this NIC is open already");
    dev->priv = config->device;
    dev->irq.self_masking = true;
    dev->rx_csum_partial = true;
    return 0;
}

static void sim_close(struct sirq_netdev *dev)
{
    sirq_nic_mask(dev->priv);
}

/* How many of the frames i..n-1 on the ring are the i-th one again: frames of one source. */
static uint32_t alike(const struct sirq_sim_nic *nic, uint32_t i, uint32_t n)
{
    uint64_t time;
    const struct sirq_frame *frame = sirq_nic_frame(nic, i, &time);
    uint32_t end = i + 1;

    while (end < n && sirq_nic_frame(nic, end, &time) == frame)
        end++;
    return end - i;
}

/*
 * Frames on the ring now, at most n, oldest first; then the time that they took.  No time
 * passes in between, so no queue gets room: what a frame is dropped for, those like it are.
 */
static void rx_chunk(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint32_t n)
{
    struct sirq_sim_nic *nic = dev->priv;
    uint32_t queued = 0, full = 0, same = 0, done;

    for (uint32_t i = 0; i < n; i += done, same -= done) {
        uint64_t time;
        const struct sirq_frame *frame = sirq_nic_frame(nic, i, &time);
        enum sirq_drop verdict;

        if (same == 0)
            same = alike(nic, i, n);
        verdict = sirq_net_rx_alike(cpu, dev, frame->data, frame->len, time, same);
        done = verdict == SIRQ_DELIVERED ? 1 : same;
        queued += verdict == SIRQ_DELIVERED;
        full += verdict == SIRQ_DROP_SOCKET_FULL ? done : 0;
    }
    sirq_nic_consume(nic, n);
    sirq_charge(cpu, SIRQ_COST_RX_QUEUED, queued);
    sirq_charge(cpu, SIRQ_COST_RX_FULL, full);
    sirq_charge(cpu, SIRQ_COST_RX_DROP, n - queued - full);
}

/*
 * Time passes here and not after the poll: only when the frames have been dealt with may the
 * instance be completed and the interrupt unmasked.  What arrives meanwhile is taken too.
 */
static int sim_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_sim_nic *nic = dev->priv;
    uint32_t left = (uint32_t)budget, n;

    sirq_charge(cpu, SIRQ_COST_NAPI_POLL, 1);
    while (left > 0 && (n = sirq_nic_advance(nic)) > 0) {
        if (n > left)
            n = left;
        rx_chunk(cpu, dev, n);
        left -= n;
    }
    return budget - (int)left;
}

static void sim_irq_mask(struct sirq_netdev *dev)
{
    sirq_nic_mask(dev->priv);
}

static void sim_irq_unmask(struct sirq_netdev *dev)
{
    sirq_nic_unmask(dev->priv);
}

static bool sim_rx_pending(const struct sirq_netdev *dev)
{
    return sirq_nic_advance(dev->priv) > 0;
}

static void sim_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    struct sirq_sim_nic *nic = dev->priv;

    out->rx_waiting = sirq_nic_advance(nic);
    out->rx_packets = nic->cons;
    out->rx_dropped = nic->dropped;
}

const struct sirq_driver sirq_sim_driver = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .rx_poll = sim_rx_poll,
    .irq_mask = sim_irq_mask,
    .irq_unmask = sim_irq_unmask,
    .rx_pending = sim_rx_pending,
    .stats = sim_stats,
};
