/* SPDX-License-Identifier: MIT */
/*
 * The `sim` driver: a ring of a simulated NIC (src/sim/nic.h) as a peer of the real devices.
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
    struct sirq_sim_nic *nic = config->device;

    if (nic == NULL)
        return sirq_fail(err, EINVAL, "sim: device: give a NIC of sirq_sim_nic_create()");
    if (config->queue >= nic->nrings)
        return sirq_fail(err, EINVAL, "sim: queue %u: this NIC has %u, give 0 to %u", config->queue,
                         nic->nrings, nic->nrings - 1);
    if (nic->ring[config->queue].open)
        return sirq_fail(err, EBUSY, "sim: queue %u of this NIC is open already", config->queue);
    nic->ring[config->queue].open = true;
    dev->priv = &nic->ring[config->queue];
    dev->irq.self_masking = true;
    dev->rx_csum_partial = true;
    return 0;
}

static void sim_close(struct sirq_netdev *dev)
{
    struct sirq_nic_ring *ring = dev->priv;

    sirq_ring_mask(ring);
    ring->open = false;
}

/* How many of the frames i..n-1 on the ring are the i-th one again: frames of one source. */
static uint32_t alike(const struct sirq_nic_ring *ring, uint32_t i, uint32_t n)
{
    uint64_t time;
    const struct sirq_source *source = sirq_ring_frame(ring, i, &time);
    uint32_t end = i + 1;

    while (end < n && sirq_ring_frame(ring, end, &time) == source)
        end++;
    return end - i;
}

/* A flow wants to know what became of its frames. */
static void tell(struct sirq_source *source, bool delivered, uint32_t n)
{
    for (uint32_t i = 0; source->taken != NULL && i < n; i++)
        source->taken(source, delivered);
}

/*
 * Frames on the ring now, at most n, oldest first; then the time that they took.  No time
 * passes in between, so no queue gets room: what a frame is dropped for, those like it are.
 */
static void rx_chunk(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint32_t n)
{
    struct sirq_nic_ring *ring = dev->priv;
    uint32_t queued = 0, full = 0, steered = 0, control = 0, same = 0, done;

    for (uint32_t i = 0; i < n; i += done, same -= done) {
        uint64_t time;
        struct sirq_source *source = sirq_ring_frame(ring, i, &time);
        const struct sirq_frame *frame = &source->frame;
        enum sirq_drop verdict = SIRQ_DELIVERED;

        if (same == 0)
            same = alike(ring, i, n);
        done = same;
        if (source->control) {
            control += done;
        } else {
            verdict = sirq_net_rx_alike(cpu, dev, frame->data, frame->len, time, same);
            done = verdict == SIRQ_DELIVERED || verdict == SIRQ_STEERED ? 1 : same;
            queued += verdict == SIRQ_DELIVERED;
            steered += verdict == SIRQ_STEERED;
            full += verdict == SIRQ_DROP_SOCKET_FULL ? done : 0;
        }
        /* What is steered counts as delivered: that it is lost later the flow is not told. */
        tell(source, verdict == SIRQ_DELIVERED || verdict == SIRQ_STEERED, done);
    }
    sirq_ring_consume(ring, n);
    sirq_charge(cpu, SIRQ_COST_RX_ACK, control);
    sirq_ring_settle(ring, cpu);
    sirq_charge(cpu, SIRQ_COST_RX_QUEUED, queued);
    sirq_charge(cpu, SIRQ_COST_RX_FULL, full);
    sirq_charge(cpu, SIRQ_COST_RX_STEERED, steered);
    sirq_charge(cpu, SIRQ_COST_RX_DROP, n - queued - full - steered - control);
}

/*
 * Time passes here and not after the poll: only when the frames have been dealt with may the
 * instance be completed and the interrupt unmasked.  What arrives meanwhile is taken too.
 */
static int sim_rx_poll(struct sirq_cpu *cpu, struct sirq_netdev *dev, int budget)
{
    struct sirq_nic_ring *ring = dev->priv;
    uint32_t left = (uint32_t)budget, n;

    sirq_charge(cpu, SIRQ_COST_NAPI_POLL, 1);
    while (left > 0 && (n = sirq_ring_look(ring)) > 0) {
        if (n > left)
            n = left;
        rx_chunk(cpu, dev, n);
        left -= n;
    }
    return budget - (int)left;
}

static void sim_irq_mask(struct sirq_netdev *dev)
{
    sirq_ring_mask(dev->priv);
}

static void sim_irq_unmask(struct sirq_netdev *dev)
{
    sirq_ring_unmask(dev->priv);
}

static bool sim_rx_pending(const struct sirq_netdev *dev)
{
    return sirq_ring_look(dev->priv) > 0;
}

static void sim_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    struct sirq_nic_ring *ring = dev->priv;

    out->rx_waiting = sirq_ring_look(ring);
    out->rx_packets = ring->cons;
    out->rx_dropped = ring->dropped;
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
