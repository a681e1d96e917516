/* SPDX-License-Identifier: MIT */
/*
 * The `sim` driver: a ring of a simulated NIC (src/sim/nic.h) as a peer of the real devices.
 *
 * The world's thread is the only one, so there is nothing to order.  Frames carry a valid IP
 * header; their transport checksum is taken as verified by the device.
 */
#define SIRQ_SIM_PRIVATE
#include "../sim/far.h"

#include <errno.h>

#include <sirq/sim.h>

static int sim_open(struct sirq_netdev *dev, const struct sirq_netdev_config *config,
                    struct sirq_error *err)
{
    struct sirq_sim_nic *nic = config->device;
    struct sirq_nic_ring *ring;

    if (nic == NULL)
        return sirq_fail(err, EINVAL, "sim: device: give a NIC of sirq_sim_nic_create()");
    if (config->queue >= nic->nrings)
        return sirq_fail(err, EINVAL, "sim: queue %u: this NIC has %u, give 0 to %u", config->queue,
                         nic->nrings, nic->nrings - 1);
    if (config->port >= SIM_PORTS)
        return sirq_fail(err, EINVAL, "sim: port %u: give 0 to %u", config->port, SIM_PORTS - 1);
    ring = &nic->ring[config->queue];
    if (ring->port[config->port] != NULL)
        return sirq_fail(err, EBUSY, "sim: queue %u of this NIC is open already", config->queue);
    ring->port[config->port] = dev;
    dev->priv = ring;
    dev->irq.self_masking = true;
    dev->rx_csum_partial = true;
    return 0;
}

/* The first port has the interrupt and the poll, and so the mask. */
static bool is_first(const struct sirq_netdev *dev)
{
    const struct sirq_nic_ring *ring = dev->priv;

    return ring->port[0] == dev;
}

static unsigned port_of(const struct sirq_netdev *dev)
{
    const struct sirq_nic_ring *ring = dev->priv;
    unsigned port = 0;

    while (ring->port[port] != dev)
        port++;
    return port;
}

static void sim_close(struct sirq_netdev *dev)
{
    struct sirq_nic_ring *ring = dev->priv;

    if (is_first(dev))
        sirq_ring_mask(ring);
    ring->port[port_of(dev)] = NULL;
}

/* How many of the n frames are the first one again: frames of one source. */
static uint32_t alike(const struct sirq_slot *slot, uint32_t n)
{
    uint32_t end = 1;

    while (end < n && slot[end].source == slot->source && slot->source->out == NULL)
        end++;
    return end;
}

/* A flow wants to know what became of its frames. */
static void tell(struct sirq_source *source, bool delivered, uint32_t n)
{
    for (uint32_t i = 0; source->taken != NULL && i < n; i++)
        source->taken(source, delivered);
}

struct verdicts {
    uint32_t queued, full, steered, forwarded, control;
};

/* Give the first of `same` alike ones, or all of them; how many that were. */
static uint32_t rx_frame(struct sirq_cpu *cpu, struct sirq_netdev *dev,
                         const struct sirq_slot *slot, uint32_t same, struct verdicts *verdicts)
{
    struct sirq_nic_ring *ring = dev->priv;
    struct sirq_source *source = slot->source;
    struct sirq_netdev *port = ring->port[source->port];
    enum sirq_drop verdict;
    bool taken;

    if (source->control) {
        verdicts->control += same;
        tell(source, true, same);
        return same;
    }
    if (source->out != NULL)
        sirq_far_number(source, slot->number);
    verdict = sirq_net_rx_alike(cpu, port != NULL ? port : dev, source->frame.data,
                                source->frame.len, slot->time, same);
    /* What is steered counts as delivered: that it is lost later the flow is not told. */
    taken = verdict == SIRQ_DELIVERED || verdict == SIRQ_STEERED;
    verdicts->queued += verdict == SIRQ_DELIVERED;
    verdicts->steered += verdict == SIRQ_STEERED;
    verdicts->forwarded += verdict == SIRQ_FORWARDED;
    verdicts->full += verdict == SIRQ_DROP_SOCKET_FULL ? same : 0;
    same = taken ? 1 : same;
    tell(source, taken, same);
    return same;
}

/*
 * The oldest n frames of the ring, then the time that they took.  No time passes in between but
 * that of sending, so no queue gets room: what a frame is dropped for, those like it are.
 */
static void rx_chunk(struct sirq_cpu *cpu, struct sirq_netdev *dev, uint32_t n)
{
    struct sirq_nic_ring *ring = dev->priv;
    struct sirq_slot slots[SIRQ_NAPI_WEIGHT];
    struct verdicts v = {0};
    uint32_t same = 0, done;

    sirq_slots_take(ring, slots, n);
    for (uint32_t i = 0; i < n; i += done, same -= done) {
        if (same == 0)
            same = alike(&slots[i], n - i);
        done = rx_frame(cpu, dev, &slots[i], same, &v);
    }
    sirq_charge(cpu, SIRQ_COST_RX_ACK, v.control);
    sirq_ring_settle(ring, cpu);
    sirq_charge(cpu, SIRQ_COST_RX_QUEUED, v.queued);
    sirq_charge(cpu, SIRQ_COST_RX_FULL, v.full);
    sirq_charge(cpu, SIRQ_COST_RX_STEERED, v.steered);
    sirq_charge(cpu, SIRQ_COST_FORWARD, v.forwarded);
    sirq_charge(cpu, SIRQ_COST_RX_DROP,
                n - v.queued - v.full - v.steered - v.forwarded - v.control);
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
        if (n > SIRQ_NAPI_WEIGHT)
            n = SIRQ_NAPI_WEIGHT;
        rx_chunk(cpu, dev, n);
        left -= n;
    }
    return budget - (int)left;
}

static void sim_irq_mask(struct sirq_netdev *dev)
{
    if (is_first(dev))
        sirq_ring_mask(dev->priv);
}

static void sim_irq_unmask(struct sirq_netdev *dev)
{
    if (is_first(dev))
        sirq_ring_unmask(dev->priv);
}

static bool sim_rx_pending(const struct sirq_netdev *dev)
{
    return is_first(dev) && sirq_ring_look(dev->priv) > 0;
}

/* Frames leave at once: there is no doorbell to save. */
static int sim_tx(struct sirq_cpu *cpu, struct sirq_netdev *dev, const uint8_t *frame, uint32_t len)
{
    struct sirq_nic_ring *ring = dev->priv;
    int rc;

    (void)cpu;
    if (len > SIM_FRAME_MAX)
        return -EMSGSIZE;
    rc = sirq_nic_tx(ring->nic, port_of(dev), frame, len);
    ring->tx_packets[port_of(dev)] += rc == 0;
    return rc;
}

static void sim_tx_clean(struct sirq_cpu *cpu, struct sirq_netdev *dev)
{
    struct sirq_nic_ring *ring = dev->priv;

    (void)cpu;
    sirq_nic_tx_clean(ring->nic);
}

static void sim_stats(const struct sirq_netdev *dev, struct sirq_netdev_stats *out)
{
    struct sirq_nic_ring *ring = dev->priv;

    out->tx_packets = ring->tx_packets[port_of(dev)];
    if (!is_first(dev))
        return; /* what arrives is counted at the ring, not by ports */
    out->rx_waiting = sirq_ring_look(ring);
    out->rx_packets = ring->cons;
    out->rx_dropped = ring->dropped;
    out->tx_waiting = sirq_nic_tx_clean(ring->nic);
}

const struct sirq_driver sirq_sim_driver = {
    .name = "sim",
    .open = sim_open,
    .close = sim_close,
    .rx_poll = sim_rx_poll,
    .irq_mask = sim_irq_mask,
    .irq_unmask = sim_irq_unmask,
    .rx_pending = sim_rx_pending,
    .tx = sim_tx,
    .tx_clean = sim_tx_clean,
    .stats = sim_stats,
};
