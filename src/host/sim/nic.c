/* SPDX-License-Identifier: MIT */
/* Simulated NICs as users see them: configuration, traffic, interrupts of a ring. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

#include "frame.h"

#define NS_PER_S UINT64_C(1000000000)
#define RING_MAX (1u << 20)
#define LINE_MBIT_MAX 1000000u
#define LINE_QUEUE_NS UINT64_C(1000000)
#define BURST_MAX 65536u

static int check_nic(const struct sirq_sim_nic_config *config, unsigned size, unsigned tx_size,
                     struct sirq_error *err)
{
    if ((tx_size & (tx_size - 1)) != 0 || tx_size > RING_MAX)
        return sirq_fail(err, EINVAL, "nic: tx_ring_size %u: give a power of two, at most %u",
                         tx_size, RING_MAX);
    if ((size & (size - 1)) != 0 || size > RING_MAX)
        return sirq_fail(err, EINVAL, "nic: ring_size %u: give a power of two, at most %u", size,
                         RING_MAX);
    if (config->rings > SIRQ_SIM_RINGS)
        return sirq_fail(err, EINVAL, "nic: rings %u: give 1 to %u", config->rings, SIRQ_SIM_RINGS);
    if (config->irq_interval_ns > NS_PER_S || config->line_queue_ns > NS_PER_S)
        return sirq_fail(err, EINVAL, "nic: irq_interval_ns or line_queue_ns above a second");
    if (config->line_mbit > LINE_MBIT_MAX)
        return sirq_fail(err, EINVAL, "nic: line_mbit %u: give at most %u, or 0 for no limit",
                         config->line_mbit, LINE_MBIT_MAX);
    return 0;
}

int sirq_sim_nic_create(struct sirq_sim *sim, const struct sirq_sim_nic_config *config,
                        struct sirq_sim_nic **out, struct sirq_error *err)
{
    unsigned size = config->ring_size != 0 ? config->ring_size : 1024;
    unsigned tx_size = config->tx_ring_size != 0 ? config->tx_ring_size : size;
    unsigned rings = config->rings != 0 ? config->rings : 1;
    struct sirq_sim_nic *nic;
    int rc = check_nic(config, size, tx_size, err);

    if (rc != 0)
        return rc;
    nic = sirq_nic_new(sim, rings, size, tx_size);
    if (nic == NULL)
        return sirq_fail(err, ENOMEM, "nic: no memory for %u rings of %u", rings, size);
    nic->irq_interval_ns = config->irq_interval_ns;
    nic->rx.mbit = nic->tx.mbit = config->line_mbit;
    nic->rx.queue_ns = config->line_queue_ns != 0 ? config->line_queue_ns : LINE_QUEUE_NS;
    nic->tx.queue_ns = nic->rx.queue_ns;
    *out = nic;
    return 0;
}

/* ---- traffic ------------------------------------------------------------------------- */

static int check_stream(const struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                        struct sirq_error *err)
{
    bool bursts =
        config->arrivals == SIRQ_SIM_BURSTS || config->arrivals == SIRQ_SIM_POISSON_BURSTS;

    if (config->rate < 1 || config->rate > NS_PER_S)
        return sirq_fail(err, EINVAL, "source: rate %llu: give 1 to 1000000000 packets/s",
                         (unsigned long long)config->rate);
    if (bursts ? config->burst < 1 || config->burst > BURST_MAX : config->burst != 0)
        return sirq_fail(err, EINVAL, "source: burst %u: give 1 to %u with bursts, else 0",
                         config->burst, BURST_MAX);
    if (nic->nstreams == SIM_SOURCES)
        return sirq_fail(err, ENOSPC, "source: too many on one NIC: give at most %u", SIM_SOURCES);
    return sirq_frame_check(nic, config, err);
}

int sirq_sim_source(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                    struct sirq_error *err)
{
    struct sirq_stream *stream;
    int rc = check_stream(nic, config, err);

    if (rc != 0)
        return rc;
    stream = sirq_stream_new();
    if (stream == NULL)
        return sirq_fail(err, ENOMEM, "source: out of memory");
    sirq_frame_make(&stream->source.frame, config);
    stream->poisson =
        config->arrivals == SIRQ_SIM_POISSON || config->arrivals == SIRQ_SIM_POISSON_BURSTS;
    stream->rate = config->rate;
    stream->burst = config->burst != 0 ? config->burst : 1;
    stream->stop = config->stop_ns != 0 ? config->stop_ns : UINT64_MAX;
    sirq_rng_seed(&stream->rng, sirq_rng_next(&nic->sim->rng), nic->nstreams);
    sirq_stream_start(stream, config->start_ns);
    if (sirq_nic_connect(sirq_frame_ring(nic, config), &stream->source) != 0) {
        free(stream);
        return sirq_fail(err, ENOMEM, "source: out of memory");
    }
    nic->nstreams++;
    return 0;
}

int sirq_sim_flow_create(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                         struct sirq_sim_flow **out, struct sirq_error *err)
{
    struct sirq_sim_flow *flow;
    int rc = sirq_frame_check(nic, config, err);

    if (rc != 0)
        return rc;
    flow = sirq_flow_new();
    if (flow == NULL)
        return sirq_fail(err, ENOMEM, "flow: out of memory");
    sirq_frame_make(&flow->source.frame, config);
    if (sirq_nic_connect(sirq_frame_ring(nic, config), &flow->source) != 0) {
        free(flow);
        return sirq_fail(err, ENOMEM, "flow: out of memory");
    }
    *out = flow;
    return 0;
}

void sirq_sim_flow_request(struct sirq_sim_flow *flow, uint64_t delay_ns)
{
    struct sirq_sim_nic *nic = flow->source.ring->nic;

    sirq_nic_advance(nic);
    assert(flow->source.next == UINT64_MAX); /* one at a time */
    sirq_nic_source_at(&flow->source, nic->sim->now + delay_ns);
}

void sirq_sim_ring_stats(struct sirq_sim_nic *nic, unsigned ring, struct sirq_sim_nic_stats *out)
{
    assert(ring < nic->nrings);
    sirq_nic_advance(nic);
    *out = (struct sirq_sim_nic_stats){
        .waiting = nic->ring[ring].prod - nic->ring[ring].cons,
        .arrived = nic->ring[ring].arrived,
        .dropped = nic->ring[ring].dropped,
        .taken = nic->ring[ring].cons,
    };
}

void sirq_sim_nic_stats(struct sirq_sim_nic *nic, struct sirq_sim_nic_stats *out)
{
    *out = (struct sirq_sim_nic_stats){0};
    for (unsigned i = 0; i < nic->nrings; i++) {
        struct sirq_sim_nic_stats ring;

        sirq_sim_ring_stats(nic, i, &ring);
        out->arrived += ring.arrived;
        out->dropped += ring.dropped;
        out->taken += ring.taken;
        out->waiting += ring.waiting;
    }
    out->line_dropped = nic->rx.dropped;
}

/* ---- interrupts ---------------------------------------------------------------------- */

int sirq_sim_attach(struct sirq_sim *sim, unsigned cpu, struct sirq_netdev *dev,
                    struct sirq_error *err)
{
    struct sirq_nic_ring *ring = dev->priv;

    if (dev->driver != &sirq_sim_driver || ring->nic->sim != sim)
        return sirq_fail(err, EINVAL, "attach: not a device of this world");
    if (cpu >= sim->ncpus || !sim->vcpus[cpu].active)
        return sirq_fail(err, EINVAL, "attach: cpu %u: not one of the %u CPUs that is online", cpu,
                         sim->ncpus);
    ring->vcpu = &sim->vcpus[cpu];
    ring->irq = &dev->irq;
    dev->irq.cpu = ring->vcpu->cpu;
    sirq_napi_enable(&dev->napi);
    sirq_ring_unmask(ring);
    return 0;
}

void sirq_sim_detach(struct sirq_sim *sim, struct sirq_netdev *dev)
{
    struct sirq_nic_ring *ring = dev->priv;

    assert(ring->nic->sim == sim && ring->vcpu != NULL);
    sirq_ring_mask(ring);
    ring->irq = NULL;
    sirq_napi_disable(ring->vcpu->cpu, &dev->napi);
    sirq_ring_mask(ring); /* a poll that was under way may have unmasked it at its end */
    ring->vcpu = NULL;
    dev->irq.cpu = NULL;
}
