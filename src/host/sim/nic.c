/* SPDX-License-Identifier: MIT */
/* Simulated NICs as users see them: configuration, traffic, interrupts of a device. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define RING_MAX (1u << 20)
#define ETH_HLEN 14u
#define IP_HLEN 20u
#define UDP_HLEN 8u

int sirq_sim_nic_create(struct sirq_sim *sim, const struct sirq_sim_nic_config *config,
                        struct sirq_sim_nic **out, struct sirq_error *err)
{
    unsigned size = config->ring_size != 0 ? config->ring_size : 1024;
    struct sirq_sim_nic *nic;

    if ((size & (size - 1)) != 0 || size > RING_MAX)
        return sirq_fail(err, EINVAL, "nic: ring_size %u: give a power of two, at most %u", size,
                         RING_MAX);
    if (config->irq_interval_ns > NS_PER_S || config->gap_ns > NS_PER_S)
        return sirq_fail(err, EINVAL, "nic: irq interval or gap above a second");
    nic = sirq_nic_new(sim, size);
    if (nic == NULL)
        return sirq_fail(err, ENOMEM, "nic: no memory for a ring of %u", size);
    nic->irq_interval_ns = config->irq_interval_ns;
    nic->gap_ns = config->gap_ns;
    *out = nic;
    return 0;
}

/* ---- traffic ------------------------------------------------------------------------- */

static void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static uint32_t ip_checksum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < IP_HLEN; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

static void make_frame(struct sirq_frame *frame, const struct sirq_sim_source_config *config)
{
    uint8_t *eth = frame->data, *ip = eth + ETH_HLEN, *udp = ip + IP_HLEN;

    frame->len = config->size;
    put16(eth + 12, 0x0800);
    ip[0] = 0x45;
    put16(ip + 2, config->size - ETH_HLEN);
    ip[8] = 64;
    ip[9] = 17;
    memcpy(ip + 12, &config->saddr, 4);
    memcpy(ip + 16, &config->daddr, 4);
    put16(ip + 10, ip_checksum(ip));
    put16(udp, config->sport);
    put16(udp + 2, config->dport);
    put16(udp + 4, config->size - ETH_HLEN - IP_HLEN);
}

static int check_frame(const struct sirq_sim_source_config *config, struct sirq_error *err)
{
    if (config->size < 60 || config->size > SIM_FRAME_MAX)
        return sirq_fail(err, EINVAL, "frame: size %u: give 60 to %u bytes", config->size,
                         SIM_FRAME_MAX);
    if (config->dport == 0)
        return sirq_fail(err, EINVAL, "frame: port 0: give 1 to 65535");
    return 0;
}

int sirq_sim_source(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                    struct sirq_error *err)
{
    struct sirq_source *source;
    int rc;

    if (config->rate < 1 || config->rate > NS_PER_S)
        return sirq_fail(err, EINVAL, "source: rate %llu: give 1 to 1000000000 packets/s",
                         (unsigned long long)config->rate);
    rc = check_frame(config, err);
    if (rc != 0)
        return rc;
    rc = sirq_nic_source_add(nic, &source);
    if (rc != 0)
        return sirq_fail(err, -rc, "source: %s",
                         rc == -ENOSPC ? "too many on one NIC" : "out of memory");
    make_frame(&source->frame, config);
    source->poisson = config->arrivals == SIRQ_SIM_POISSON;
    source->rate = config->rate;
    source->interval_ns = NS_PER_S / config->rate;
    source->interval_rest = NS_PER_S % config->rate;
    source->mean_1024 = NS_PER_S * 1024 / config->rate;
    source->stop = config->stop_ns != 0 ? config->stop_ns : UINT64_MAX;
    /* The phase is the seed's: sources of one rate do not march in step. */
    source->next = config->start_ns + sirq_rng_below(&source->rng, source->interval_ns + 1);
    if (source->next >= source->stop)
        source->next = UINT64_MAX;
    sirq_nic_arm(nic);
    return 0;
}

int sirq_sim_flow_create(struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                         struct sirq_sim_flow **out, struct sirq_error *err)
{
    struct sirq_sim_flow *flow;
    int rc = check_frame(config, err);

    if (rc != 0)
        return rc;
    flow = sirq_nic_flow_add(nic);
    if (flow == NULL)
        return sirq_fail(err, ENOMEM, "flow: out of memory");
    make_frame(&flow->frame, config);
    *out = flow;
    return 0;
}

void sirq_sim_flow_request(struct sirq_sim_flow *flow, uint64_t delay_ns)
{
    struct sirq_sim *sim = flow->nic->sim;

    assert(!sirq_event_queued(&flow->event)); /* one at a time */
    sirq_evq_add(&sim->evq, &flow->event, sim->now + delay_ns);
}

void sirq_sim_nic_stats(struct sirq_sim_nic *nic, struct sirq_sim_nic_stats *out)
{
    out->waiting = sirq_nic_advance(nic);
    out->arrived = nic->arrived;
    out->dropped = nic->dropped;
    out->taken = nic->cons;
}

/* ---- interrupts ---------------------------------------------------------------------- */

int sirq_sim_attach(struct sirq_sim *sim, unsigned cpu, struct sirq_netdev *dev,
                    struct sirq_error *err)
{
    struct sirq_sim_nic *nic = dev->priv;

    if (dev->driver != &sirq_sim_driver || nic->sim != sim)
        return sirq_fail(err, EINVAL, "attach: not a device of this world");
    if (cpu >= sim->ncpus || !sim->vcpus[cpu].active)
        return sirq_fail(err, EINVAL, "attach: cpu %u: not one of the %u CPUs that is online", cpu,
                         sim->ncpus);
    nic->vcpu = &sim->vcpus[cpu];
    nic->irq = &dev->irq;
    dev->irq.cpu = nic->vcpu->cpu;
    sirq_napi_enable(&dev->napi);
    sirq_nic_unmask(nic);
    return 0;
}

void sirq_sim_detach(struct sirq_sim *sim, struct sirq_netdev *dev)
{
    struct sirq_sim_nic *nic = dev->priv;

    assert(nic->sim == sim && nic->vcpu != NULL);
    sirq_nic_mask(nic);
    nic->irq = NULL;
    sirq_napi_disable(nic->vcpu->cpu, &dev->napi);
    sirq_nic_mask(nic); /* a poll that was under way may have unmasked it at its end */
    nic->vcpu = NULL;
    dev->irq.cpu = NULL;
}
