/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "router_world.h"

static const uint32_t costs[SIRQ_NR_COSTS] = {
    [SIRQ_COST_PASS] = 100,      [SIRQ_COST_NAPI_POLL] = 200,   [SIRQ_COST_RX_QUEUED] = 1000,
    [SIRQ_COST_RX_FULL] = 1000,  [SIRQ_COST_RX_DROP] = 300,     [SIRQ_COST_RX_STEERED] = 200,
    [SIRQ_COST_RECV_CALL] = 300, [SIRQ_COST_RECV_PACKET] = 100, [SIRQ_COST_IRQ] = 500,
    [SIRQ_COST_TICK] = 500,      [SIRQ_COST_SWITCH] = 1000,     [SIRQ_COST_WAKE] = 400,
    [SIRQ_COST_KSOFTIRQD] = 100, [SIRQ_COST_RX_ACK] = 100,      [SIRQ_COST_BLK_DONE] = 500,
};

static const uint8_t router_mac[2][6] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 1, 1}};
static const uint8_t host_mac[2][6] = {{2, 0, 0, 0, 0, 2}, {2, 0, 0, 0, 1, 2}};

static uint32_t addr(unsigned port, unsigned host)
{
    return htonl(0x0a000000 | port << 8 | host);
}

static void open_ports(struct router *r, const struct router_config *config)
{
    struct sirq_error err = {""};

    for (unsigned i = 0; i < 2; i++) {
        const struct sirq_netdev_config dev = {.device = r->nic, .port = i};
        const struct sirq_ip ip = sirq_ip_v4(addr(i, 1));
        struct sirq_sim_host_config host = {.port = i, .addr = addr(i, 2)};
        unsigned cpus[8];

        memcpy(host.mac, host_mac[i], 6);
        memcpy(host.router_mac, router_mac[i], 6);
        assert_int_equal(sirq_netdev_open(&r->port[i], r->net, &sirq_sim_driver, &dev, &err), 0);
        assert_int_equal(sirq_netdev_set_mac(&r->port[i], router_mac[i], &err), 0);
        assert_int_equal(sirq_netdev_addr_add(&r->port[i], &ip, 24, &err), 0);
        assert_int_equal(sirq_sim_host_create(r->nic, &host, i == 0 ? &r->lan : &r->wan, &err), 0);
        for (unsigned c = 0; c < config->rps; c++)
            cpus[c] = c;
        assert_int_equal(sirq_netdev_set_rps(&r->port[i], cpus, config->rps, &err), 0);
    }
}

void router_open(struct router *r, const struct router_config *config)
{
    const struct sirq_sim_nic_config nic = {.ring_size = config->ring != 0 ? config->ring : 256,
                                            .line_mbit = config->line,
                                            .line_queue_ns = config->line_queue_ns};
    const struct sirq_net_config net = {.pool_packets = 8192,
                                        .netdev_max_backlog = config->backlog};
    struct sirq_sim_config sim = {.ncpus = config->ncpus != 0 ? config->ncpus : 1,
                                  .seed = config->seed};
    struct sirq_error err = {""};

    memset(r, 0, sizeof(*r));
    memcpy(sim.cost_ns, costs, sizeof(costs));
    sim.cost_ns[SIRQ_COST_FORWARD] = config->forward_ns != 0 ? config->forward_ns : 1000;
    sim.cost_ns[SIRQ_COST_TX] = config->tx_ns != 0 ? config->tx_ns : 500;
    assert_int_equal(sirq_sim_create(&r->sim, &sim, &err), 0);
    assert_int_equal(sirq_net_create(&r->net, sirq_sim_core(r->sim), &net), 0);
    assert_int_equal(sirq_sim_nic_create(r->sim, &nic, &r->nic, &err), 0);
    open_ports(r, config);
    sirq_net_set_forwarding(r->net, true);
    assert_int_equal(sirq_sim_attach(r->sim, 0, &r->port[0], &err), 0);
    if (config->threads)
        assert_int_equal(sirq_sim_backlog_threads(r->sim, r->net, NULL, NULL, &err), 0);
}

void router_check(struct router *r)
{
    struct sirq_sim_crossing_stats crossing;
    struct sirq_netdev_stats dev[2];
    struct sirq_sim_nic_stats nic;
    struct sirq_net_stats net;
    uint64_t ended = 0, tx = 0;

    sirq_sim_crossing_stats(r->sim, &crossing);
    sirq_sim_nic_stats(r->nic, &nic);
    sirq_net_stats_sum(r->net, &net);
    for (unsigned i = 0; i < 2; i++)
        sirq_netdev_stats(&r->port[i], &dev[i]);
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        ended += net.verdict[i];
    for (unsigned i = 0; i < SIRQ_NR_TX_DROPS; i++)
        tx += net.tx_verdict[i];
    /* Every step of the way: the line, the ring, the stack, the backlogs, the device, the host. */
    assert_int_equal(nic.waiting, 0);
    assert_int_equal(nic.arrived, nic.dropped + nic.taken);
    assert_int_equal(nic.taken, net.frames);
    assert_int_equal(net.frames, ended + net.handled + net.forwarded);
    assert_int_equal(net.steered, net.received_rps);
    assert_int_equal(net.tx_frames, tx);
    assert_int_equal(net.tx_held, net.tx_released);
    assert_int_equal(net.tx_verdict[SIRQ_TX_SENT], dev[0].tx_packets + dev[1].tx_packets);
    assert_int_equal(net.tx_verdict[SIRQ_TX_SENT], crossing.arrived + crossing.strange);
    /* And all of it: what hosts sent arrived, or was lost at one of these places. */
    assert_int_equal(crossing.sent, crossing.arrived + nic.line_dropped + nic.dropped + ended + tx -
                                        net.tx_verdict[SIRQ_TX_SENT]);
    assert_int_equal(crossing.disordered, 0);
}

void router_close(struct router *r)
{
    sirq_sim_detach(r->sim, &r->port[0]);
    sirq_sim_run(r->sim, sirq_sim_now_ns(r->sim) + ROUTER_S);
    sirq_sim_backlog_unthread(r->sim, r->net, NULL);
    sirq_netdev_close(&r->port[1]);
    sirq_netdev_close(&r->port[0]);
    sirq_net_destroy(r->net);
    sirq_sim_destroy(r->sim);
}
