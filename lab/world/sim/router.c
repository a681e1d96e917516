/* SPDX-License-Identifier: MIT */
/*
 * The machine as a router: where an experiment has hosts, each port of a NIC that one is at has a
 * subnet of its own, 10.N.P.0/24 for port P of NIC N, with the machine as .1 and the host as .2.
 * Flows' ports are drawn from the seed, and with them the CPUs that RPS sends them to; so is when
 * each begins, within the first second.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sirq/inet.h>

#define MACHINE 1u
#define HOST 2u
#define SERVER_PORT 5001u
#define PORT_FIRST 32768u /* as Linux draws them */
#define PORTS 28232u
#define START_NS UINT64_C(1000000000)

static uint32_t addr_of(uint32_t nic, uint32_t port, uint32_t who)
{
    const uint8_t bytes[4] = {10, (uint8_t)nic, (uint8_t)port, (uint8_t)who};
    uint32_t addr;

    memcpy(&addr, bytes, sizeof(addr));
    return addr;
}

static void mac_of(uint8_t mac[6], uint32_t nic, uint32_t port, uint32_t who)
{
    const uint8_t bytes[6] = {2, 0, 0, (uint8_t)nic, (uint8_t)port, (uint8_t)who};

    memcpy(mac, bytes, sizeof(bytes));
}

/* ---- the machine ------------------------------------------------------------------------- */

uint32_t sirq_sim_rig_ports(const struct sirq_spec *spec, const struct sirq_spec_nic *nic)
{
    uint32_t ports = 1;

    for (uint32_t i = 0; i < spec->n_hosts; i++) {
        if (strcmp(spec->hosts[i].nic, nic->name) == 0 && spec->hosts[i].port >= ports)
            ports = spec->hosts[i].port + 1;
    }
    return ports;
}

/* All devices of a port have its MAC; the address stands on the first. */
static int address_port(struct sirq_sim_rig_nic *nic, uint32_t index, uint32_t port,
                        struct sirq_error *err)
{
    const struct sirq_ip addr = sirq_ip_v4(addr_of(index, port, MACHINE));
    uint8_t mac[6];
    int rc = 0;

    mac_of(mac, index, port, MACHINE);
    for (uint32_t i = 0; i < nic->n_rings && !rc; i++)
        rc = sirq_netdev_set_mac(&nic->rings[port * nic->n_rings + i], mac, err);
    return rc ? rc : sirq_netdev_addr_add(&nic->rings[port * nic->n_rings], &addr, 24, err);
}

int sirq_sim_rig_steer(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    int rc = 0;

    for (uint32_t n = 0; n < rig->n_nics && !rc; n++) {
        struct sirq_sim_rig_nic *nic = &rig->nics[n];

        for (uint32_t i = 0; i < nic->n_open && !rc && nic->spec->n_rps != 0; i++)
            rc = sirq_netdev_set_rps(&nic->rings[i], nic->spec->rps, nic->spec->n_rps, err);
        for (uint32_t p = 0; p < nic->n_ports && !rc && rig->spec->n_hosts != 0; p++)
            rc = address_port(nic, n, p, err);
    }
    if (!rc)
        sirq_net_set_forwarding(rig->net, rig->spec->n_hosts != 0);
    if (!rc && rig->spec->net.threaded_backlogs) {
        rig->threaded = true;
        rc = sirq_sim_backlog_threads(rig->sim, rig->net, NULL, NULL, err);
    }
    return rc;
}

/* ---- hosts --------------------------------------------------------------------------------- */

static int open_host(struct sirq_sim_rig *rig, uint32_t i, struct sirq_error *err)
{
    const struct sirq_spec_host *spec = &rig->spec->hosts[i];
    struct sirq_sim_rig_nic *nic = sirq_sim_rig_nic(rig, spec->nic, spec->name, err);
    struct sirq_sim_host_config config = {.port = spec->port};
    uint32_t index;

    if (nic == NULL)
        return -EINVAL;
    index = (uint32_t)(nic - rig->nics);
    config.addr = addr_of(index, spec->port, HOST);
    mac_of(config.mac, index, spec->port, HOST);
    mac_of(config.router_mac, index, spec->port, MACHINE);
    return sirq_sim_host_create(nic->sim, &config, &rig->hosts[i], err);
}

/* The loader has made sure that it is there. */
static struct sirq_sim_host *host_called(const struct sirq_sim_rig *rig, const char *name)
{
    uint32_t i = 0;

    while (strcmp(rig->spec->hosts[i].name, name) != 0)
        i++;
    return rig->hosts[i];
}

/* ---- flows --------------------------------------------------------------------------------- */

static uint16_t draw_port(struct sirq_sim_rig *rig)
{
    return (uint16_t)(PORT_FIRST + sirq_sim_random(rig->sim, PORTS));
}

/* Programs that are started together do not begin at once. */
static uint64_t draw_start(struct sirq_sim_rig *rig)
{
    return sirq_sim_random(rig->sim, START_NS);
}

static void answered(void *arg, uint64_t rtt_ns)
{
    struct sirq_sim_rig_ping *ping = arg;
    struct sirq_sim_rig_flow *flow = ping->flow;
    uint64_t average_ns = flow->spec->ping->average_ns, now = sirq_sim_now_ns(flow->rig->sim);

    if (average_ns == 0) {
        sirq_sim_sink_add(flow->rig, &flow->latency, rtt_ns);
        return;
    }
    if (now / average_ns != ping->while_ns / average_ns && ping->n != 0) {
        sirq_sim_sink_add(flow->rig, &flow->latency, ping->sum_ns / ping->n);
        ping->sum_ns = ping->n = 0;
    }
    ping->while_ns = now;
    ping->sum_ns += rtt_ns;
    ping->n++;
}

static int open_ping(struct sirq_sim_rig_flow *flow, struct sirq_sim_rig_ping *ping,
                     struct sirq_error *err)
{
    const struct sirq_spec_flow_ping *spec = flow->spec->ping;
    const struct sirq_sim_ping_config config = {
        .from = host_called(flow->rig, flow->spec->from),
        .to = host_called(flow->rig, flow->spec->to),
        .sport = draw_port(flow->rig),
        .dport = spec->icmp ? 0 : SERVER_PORT,
        .icmp = spec->icmp,
        .size = spec->size,
        .rtt_ns = spec->rtt_ns,
        .interval_ns = spec->interval_ns,
        .timeout_ns = spec->timeout_ns,
        .start_ns = draw_start(flow->rig),
        .stop_ns = flow->rig->end_ns,
        .answered = answered,
        .arg = ping,
    };

    ping->flow = flow;
    return sirq_sim_ping_create(flow->rig->sim, &config, &ping->sim, err);
}

static int open_tcp(struct sirq_sim_rig_flow *flow, struct sirq_sim_tcp **tcp,
                    struct sirq_error *err)
{
    const struct sirq_spec_flow_tcp *spec = flow->spec->tcp;
    const struct sirq_sim_across_config config = {
        .from = host_called(flow->rig, flow->spec->from),
        .to = host_called(flow->rig, flow->spec->to),
        .sport = draw_port(flow->rig),
        .dport = draw_port(flow->rig),
        .window = spec->window,
        .rtt_ns = spec->rtt_ns,
        .rtt_jitter_ns = spec->rtt_jitter_ns,
        .rate = (uint64_t)spec->limit_mbit * 1000000,
        .start_ns = draw_start(flow->rig),
        .stop_ns = flow->rig->end_ns,
    };

    return sirq_sim_tcp_across(flow->rig->sim, &config, tcp, err);
}

static int open_flow(struct sirq_sim_rig *rig, struct sirq_sim_rig_flow *flow,
                     struct sirq_error *err)
{
    bool ping = flow->spec->ping != NULL;
    int rc = 0;

    flow->rig = rig;
    flow->n = flow->spec->count != 0 ? flow->spec->count : 1;
    flow->pings = ping ? calloc(flow->n, sizeof(*flow->pings)) : NULL;
    flow->tcp = ping ? NULL : calloc(flow->n, sizeof(struct sirq_sim_tcp *));
    if (flow->pings == NULL && flow->tcp == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    for (uint32_t i = 0; i < flow->n && !rc; i++)
        rc = ping ? open_ping(flow, &flow->pings[i], err) : open_tcp(flow, &flow->tcp[i], err);
    return rc;
}

int sirq_sim_rig_flows(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    const struct sirq_spec *spec = rig->spec;
    int rc = 0;

    rig->hosts = calloc(spec->n_hosts + 1, sizeof(struct sirq_sim_host *));
    rig->flows = calloc(spec->n_flows + 1, sizeof(*rig->flows));
    if (rig->hosts == NULL || rig->flows == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    for (uint32_t i = 0; i < spec->n_hosts && !rc; i++)
        rc = open_host(rig, i, err);
    rig->n_flows = spec->n_flows;
    for (uint32_t i = 0; i < spec->n_flows && !rc; i++) {
        rig->flows[i].spec = &spec->flows[i];
        rc = open_flow(rig, &rig->flows[i], err);
    }
    return rc;
}

void sirq_sim_rig_flow_counts(const struct sirq_sim_rig_flow *flow,
                              struct sirq_sim_flow_counts *out)
{
    *out = (struct sirq_sim_flow_counts){0};
    for (uint32_t i = 0; i < flow->n; i++) {
        struct sirq_sim_ping_stats ping;
        struct sirq_sim_tcp_stats tcp;

        if (flow->tcp != NULL) {
            sirq_sim_tcp_stats(flow->tcp[i], &tcp);
            out->packets += tcp.delivered;
            out->bytes += tcp.goodput_bytes;
        } else {
            sirq_sim_ping_stats(flow->pings[i].sim, &ping);
            out->packets += ping.answered;
        }
    }
}

void sirq_sim_rig_flows_close(struct sirq_sim_rig *rig)
{
    for (uint32_t i = 0; i < rig->n_flows; i++) {
        free(rig->flows[i].tcp);
        free(rig->flows[i].pings);
    }
    free(rig->flows);
    free(rig->hosts);
}
