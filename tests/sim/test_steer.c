/* SPDX-License-Identifier: MIT */
/*
 * What steering is for, in figures: RPS multiplies the rate of many flows, and a backlog in a
 * thread spares light flows what they wait for in softirqs.
 *
 * Costs of a made-up router: 2 us for a packet's way up (a NAT, say); where not said otherwise
 * 100 ns for the way to another CPU (poll, hash, copy, queue: 60 to 90 ns were measured).  What
 * RPS can gain is decided by these two alone: n / (1 + (n - 1) * 100 / 2000).
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIRQ_NET_INTERNAL
#include "../../src/net/hash.h"
#include <sirq/sim.h>

#define MS UINT64_C(1000000)
#define PORT 7000u
#define MAX_SOCKS 8u
#define SAMPLES (1u << 16)

static const uint32_t costs[SIRQ_NR_COSTS] = {
    [SIRQ_COST_PASS] = 100,      [SIRQ_COST_NAPI_POLL] = 200,   [SIRQ_COST_RX_QUEUED] = 2000,
    [SIRQ_COST_RX_FULL] = 1500,  [SIRQ_COST_RX_DROP] = 100,     [SIRQ_COST_RX_STEERED] = 100,
    [SIRQ_COST_RECV_CALL] = 300, [SIRQ_COST_RECV_PACKET] = 100, [SIRQ_COST_IRQ] = 500,
    [SIRQ_COST_TICK] = 500,      [SIRQ_COST_SWITCH] = 1000,     [SIRQ_COST_WAKE] = 400,
    [SIRQ_COST_KSOFTIRQD] = 100, [SIRQ_COST_RX_ACK] = 100,      [SIRQ_COST_TX] = 500,
    [SIRQ_COST_BLK_DONE] = 500,  [SIRQ_COST_FORWARD] = 1000,
};

struct scene {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_sim_nic *nic;
    struct sirq_netdev dev;
    struct sirq_socket *sock[MAX_SOCKS];
    unsigned nsocks;
    bool stop;
    uint64_t last_ns[UINT16_MAX + 1]; /* by source port: order within a flow */
    uint64_t light_ns[SAMPLES];       /* latency of what came to the last socket */
    unsigned nlight;
};

struct receiver {
    struct scene *s;
    unsigned i;
};

static void note(struct scene *s, unsigned sock, const struct sirq_msg *msg)
{
    assert_true(msg->rx_ns >= s->last_ns[msg->sport]);
    s->last_ns[msg->sport] = msg->rx_ns;
    if (sock == s->nsocks - 1 && s->nlight < SAMPLES && msg->rx_ns > 50 * MS)
        s->light_ns[s->nlight++] = sirq_sim_now_ns(s->sim) - msg->rx_ns;
}

static void receive(struct sirq_sim_task *task, void *arg)
{
    struct receiver *self = arg;
    struct scene *s = self->s;
    struct sirq_msg msg[16];

    (void)task;
    while (!s->stop) {
        int n;

        memset(msg, 0, sizeof(msg));
        n = sirq_recv(s->sock[self->i], msg, 16, (int64_t)(100 * MS));
        for (int i = 0; i < n; i++)
            note(s, self->i, &msg[i]);
    }
}

static void build(struct scene *s, unsigned ncpus, unsigned nsocks, uint32_t steered_ns)
{
    const struct sirq_sim_nic_config nic = {.ring_size = 1024};
    const struct sirq_net_config net = {.pool_packets = 16384};
    struct sirq_sim_config sim = {.ncpus = ncpus, .seed = 1};
    struct sirq_netdev_config dev = {0};
    struct sirq_error err;

    memset(s, 0, sizeof(*s));
    memcpy(sim.cost_ns, costs, sizeof(costs));
    sim.cost_ns[SIRQ_COST_RX_STEERED] = steered_ns;
    assert_int_equal(sirq_sim_create(&s->sim, &sim, &err), 0);
    assert_int_equal(sirq_net_create(&s->net, sirq_sim_core(s->sim), &net), 0);
    assert_int_equal(sirq_sim_nic_create(s->sim, &nic, &s->nic, &err), 0);
    dev.device = s->nic;
    assert_int_equal(sirq_netdev_open(&s->dev, s->net, &sirq_sim_driver, &dev, &err), 0);
    assert_int_equal(sirq_sim_attach(s->sim, 0, &s->dev, &err), 0);
    s->nsocks = nsocks;
    for (unsigned i = 0; i < nsocks; i++) {
        const struct sirq_socket_config sock = {.port = (uint16_t)(PORT + i), .rcvbuf = 4u << 20};

        assert_int_equal(sirq_socket_open(s->net, &sock, &s->sock[i]), 0);
    }
}

static void flow(struct scene *s, unsigned sock, uint16_t sport, uint64_t rate)
{
    const struct sirq_sim_source_config source = {.arrivals = SIRQ_SIM_POISSON,
                                                  .rate = rate,
                                                  .saddr = htonl(0x0a000001),
                                                  .daddr = htonl(0x0a000002),
                                                  .sport = sport,
                                                  .dport = (uint16_t)(PORT + sock),
                                                  .size = 60};
    struct sirq_error err;

    assert_int_equal(sirq_sim_source(s->nic, &source, &err), 0);
}

static void take_apart(struct scene *s)
{
    s->stop = true;
    sirq_sim_detach(s->sim, &s->dev);
    sirq_sim_run(s->sim, sirq_sim_now_ns(s->sim) + 1000 * MS);
    sirq_sim_backlog_unthread(s->sim, s->net, NULL);
    for (unsigned i = 0; i < s->nsocks; i++)
        sirq_socket_close(s->sock[i]);
    sirq_netdev_close(&s->dev);
    sirq_net_destroy(s->net);
    sirq_sim_destroy(s->sim);
}

static void spawn(struct scene *s, struct receiver *receivers, unsigned first_cpu, bool pinned)
{
    struct sirq_error err;

    for (unsigned i = 0; i < s->nsocks; i++) {
        const struct sirq_sim_task_config task = {.name = "receiver",
                                                  .fn = receive,
                                                  .arg = &receivers[i],
                                                  .cpu = pinned ? (int)(first_cpu + i) : -1};

        receivers[i] = (struct receiver){.s = s, .i = i};
        assert_int_equal(sirq_sim_spawn(s->sim, &task, NULL, &err), 0);
    }
}

/* ---- many flows -------------------------------------------------------------------------- */

/*
 * 64 flows, more than all CPUs can carry, on one interrupt; packets/s delivered when RPS spreads
 * them over `n` CPUs.  Receivers have CPUs of their own: what limits is softirqs.
 */
static double rate_over(unsigned n)
{
    static struct scene s;
    struct receiver receivers[4];
    struct sirq_net_stats begin, end;
    const unsigned cpus[] = {0, 1, 2, 3};
    struct sirq_error err;

    build(&s, 8, 4, 100);
    for (unsigned i = 0; i < 64; i++)
        flow(&s, i % 4, (uint16_t)(1000 + i), 50000);
    spawn(&s, receivers, 4, true);
    assert_int_equal(sirq_netdev_set_rps(&s.dev, cpus, n, &err), 0);
    sirq_sim_run(s.sim, 50 * MS);
    sirq_net_stats_sum(s.net, &begin);
    sirq_sim_run(s.sim, 250 * MS);
    sirq_net_stats_sum(s.net, &end);
    take_apart(&s);
    return (double)(end.verdict[SIRQ_DELIVERED] - begin.verdict[SIRQ_DELIVERED]) * 5;
}

static void rps_multiplies_the_rate_of_many_flows(void **state)
{
    double one = rate_over(0), two = rate_over(2), four = rate_over(4);

    (void)state;
    print_message("without RPS %.0f packets/s; over 2 CPUs %.2f times, over 4 %.2f times\n", one,
                  two / one, four / one);
    assert_true(two >= 1.7 * one && two <= 2.0 * one);
    assert_true(four >= 3.4 * one && four <= 4.0 * one);
}

/* ---- a heavy flow and light ones ----------------------------------------------------------- */

/* The next source port from `from` on whose flow the map sends to CPU `cpu` of 4. */
static uint16_t port_for(unsigned sock, unsigned cpu, uint16_t from)
{
    for (;; from++) {
        uint32_t hash =
            sirq_rss_hash_ipv4(htonl(0x0a000001), htonl(0x0a000002), from, (uint16_t)(PORT + sock));

        if ((uint64_t)hash * 4 >> 32 == cpu)
            return from;
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/*
 * One heavy flow and five light ones have CPU 0, which also takes the interrupt and hands three
 * more flows to the other CPUs (500 ns a frame: a small router's driver).  Together that is a
 * little more than one CPU can do, while the others are half idle: light frames wait behind heavy
 * ones in a ring that is always full.  A thread takes the way up to the other CPUs, and CPU 0
 * has only its driver left.  Where nothing is overloaded a thread gains little, and nothing at
 * all when the flows of one backlog need more than a whole CPU: that is still one queue.
 *
 * The threads are kept off CPU 0.  One that runs there gets what softirqs leave of it, and the
 * scheduler of this simulator does not move a CPU's only task away for that.
 *
 * p99 of the light flows, ns.
 */
static uint64_t light_p99(bool threaded, uint64_t *delivered)
{
    static struct scene s;
    struct receiver receivers[3];
    const unsigned cpus[] = {0, 1, 2, 3};
    struct sirq_net_stats stats;
    uint16_t port = 1000;
    struct sirq_error err;
    uint64_t p99;
    const uint64_t allowed = 0xe;
    const struct sirq_sim_napi_attr attr = {.allowed = &allowed};

    build(&s, 4, 3, 500);
    flow(&s, 0, port_for(0, 0, port), 350000);
    for (unsigned i = 0; i < 3; i++)
        flow(&s, 1, port_for(1, 1 + i, 2000), 200000);
    for (unsigned i = 0; i < 5; i++) {
        port = port_for(2, 0, (uint16_t)(port + 1));
        flow(&s, 2, port, 5000);
    }
    spawn(&s, receivers, 0, false);
    assert_int_equal(sirq_netdev_set_rps(&s.dev, cpus, 4, &err), 0);
    if (threaded)
        assert_int_equal(sirq_sim_backlog_threads(s.sim, s.net, NULL, &attr, &err), 0);
    sirq_sim_run(s.sim, 550 * MS);
    sirq_net_stats_sum(s.net, &stats);
    *delivered = stats.verdict[SIRQ_DELIVERED];
    assert_true(s.nlight > 5000);
    qsort(s.light_ns, s.nlight, sizeof(s.light_ns[0]), by_size);
    p99 = s.light_ns[s.nlight / 100 * 99];
    take_apart(&s);
    return p99;
}

static void threaded_backlog_spares_light_flows_that_collide(void **state)
{
    uint64_t delivered_fixed, delivered_threads;
    uint64_t fixed = light_p99(false, &delivered_fixed);
    uint64_t threads = light_p99(true, &delivered_threads);

    (void)state;
    print_message(
        "p99 of the light flows: static %.3f ms, threaded %.3f ms; delivered %llu, %llu\n",
        (double)fixed / 1e6, (double)threads / 1e6, (unsigned long long)delivered_fixed,
        (unsigned long long)delivered_threads);
    assert_true(2 * threads <= fixed);
    assert_true(delivered_threads >= delivered_fixed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rps_multiplies_the_rate_of_many_flows),
        cmocka_unit_test(threaded_backlog_spares_light_flows_that_collide),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
