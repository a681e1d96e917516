/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flood_world.h"

#define PORT 7000u

const uint32_t flood_costs[SIRQ_NR_COSTS] = {
    [SIRQ_COST_PASS] = 100,        [SIRQ_COST_NAPI_POLL] = 200, [SIRQ_COST_RX_QUEUED] = 450,
    [SIRQ_COST_RX_FULL] = 250,     [SIRQ_COST_RX_DROP] = 200,   [SIRQ_COST_RECV_CALL] = 350,
    [SIRQ_COST_RECV_PACKET] = 250, [SIRQ_COST_IRQ] = 500,       [SIRQ_COST_TICK] = 500,
    [SIRQ_COST_RX_ACK] = 200,      [SIRQ_COST_TX] = 400,        [SIRQ_COST_BLK_DONE] = 300,
    [SIRQ_COST_SWITCH] = 1000,     [SIRQ_COST_WAKE] = 400,      [SIRQ_COST_KSOFTIRQD] = 100,
    [SIRQ_COST_RX_STEERED] = 100,  [SIRQ_COST_FORWARD] = 600,
};

struct world {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_sim_nic *nic;
    struct sirq_socket *sock[FLOOD_RECEIVERS];
    struct sirq_sim_task *task[FLOOD_RECEIVERS];
    uint64_t received[FLOOD_RECEIVERS];
    bool stop;
};

struct receiver {
    struct world *world;
    unsigned i;
};

static void receive(struct sirq_sim_task *task, void *arg)
{
    struct receiver *self = arg;
    struct world *world = self->world;
    uint8_t buf[64];

    (void)task;
    while (!world->stop) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        if (sirq_recv(world->sock[self->i], &msg, 1, 1000000000) == 1)
            world->received[self->i]++;
    }
}

static void build_net(struct world *world, const struct flood_config *config)
{
    const struct sirq_netdev_config dev = {.device = world->nic};
    struct sirq_error err;

    assert_int_equal(sirq_net_create(&world->net, sirq_sim_core(world->sim), NULL), 0);
    assert_int_equal(sirq_netdev_open(&world->dev, world->net, &sirq_sim_driver, &dev, &err), 0);
    assert_int_equal(sirq_sim_attach(world->sim, 0, &world->dev, &err), 0);
    for (unsigned i = 0; i < config->receivers; i++) {
        const struct sirq_socket_config sock = {.port = (uint16_t)(PORT + i), .rcvbuf = 212992};
        const struct sirq_sim_source_config source = {
            .arrivals = config->poisson ? SIRQ_SIM_POISSON : SIRQ_SIM_CONSTANT,
            .rate = config->rate / config->receivers,
            .dport = (uint16_t)(PORT + i),
            .size = 60,
        };

        assert_int_equal(sirq_socket_open(world->net, &sock, &world->sock[i]), 0);
        assert_int_equal(sirq_sim_source(world->nic, &source, &err), 0);
    }
}

static void build(struct world *world, const struct flood_config *config)
{
    struct sirq_sim_config sim = {
        .ncpus = config->ncpus != 0 ? config->ncpus : 1,
        .hz = config->hz,
        .seed = config->seed,
        .policy = sirq_policy_find(config->policy),
        .rcu_stall_ns = config->rcu_stall_ns,
        .trace = config->trace,
        .trace_arg = config->trace_arg,
    };
    const struct sirq_sim_nic_config nic = {.ring_size = 512};
    struct sirq_error err;

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        sim.cost_ns[i] = flood_costs[i];
    assert_non_null(sim.policy);
    assert_int_equal(sirq_sim_create(&world->sim, &sim, &err), 0);
    assert_int_equal(sirq_sim_nic_create(world->sim, &nic, &world->nic, &err), 0);
    build_net(world, config);
}

static void spawn(struct world *world, struct receiver *receivers,
                  const struct flood_config *config)
{
    for (unsigned i = 0; i < config->receivers; i++) {
        struct sirq_sim_task_config task = {
            .name = "receiver",
            .fn = receive,
            .arg = &receivers[i],
            .cpu = config->elsewhere ? 1 : 0,
            .sched = config->sched,
        };
        struct sirq_error err;

        receivers[i] = (struct receiver){.world = world, .i = i};
        assert_int_equal(sirq_sim_spawn(world->sim, &task, &world->task[i], &err), 0);
    }
}

static void measure(struct world *world, const struct flood_config *config,
                    struct flood_result *result)
{
    struct sirq_sim_task_stats stats;
    struct sirq_sim_nic_stats nic;
    struct sirq_sim_events events;
    struct sirq_sim_cpu_stats cpu;
    struct sirq_net_stats net;

    *result = (struct flood_result){.digest = sirq_sim_digest(world->sim)};
    for (unsigned i = 0; i < config->receivers; i++) {
        sirq_sim_task_stats(world->task[i], &stats);
        result->receiver_cpu[i] = 100.0 * (double)stats.sched_ns / (double)config->ns;
        result->each[i] = world->received[i];
        result->received += world->received[i];
    }
    sirq_sim_task_stats(sirq_sim_ksoftirqd(world->sim, 0), &stats);
    result->ksoftirqd_cpu = 100.0 * (double)stats.sched_ns / (double)config->ns;
    sirq_sim_nic_stats(world->nic, &nic);
    sirq_net_stats_sum(world->net, &net);
    result->arrived = nic.arrived;
    result->nic_drops = nic.dropped;
    result->socket_drops = net.verdict[SIRQ_DROP_SOCKET_FULL];
    sirq_sim_events(world->sim, &events);
    result->events = events.events;
    result->charges = events.charges;
    result->longest_run_ns = sirq_sim_core(world->sim)->cpus[0].stats.longest_run_ns;
    result->long_runs = sirq_sim_core(world->sim)->cpus[0].stats.long_runs;
    sirq_sim_cpu_stats(world->sim, 0, &cpu);
    result->rcu_stalls = cpu.rcu_stalls;
    result->rcu_stall_longest_ns = cpu.rcu_stall_longest_ns;
    result->rcu_first_stall_jiffies = cpu.rcu_first_stall_jiffies;
    assert_int_equal(nic.arrived, nic.dropped + nic.taken + nic.waiting);
}

/* The flood goes on to the end; tasks and softirqs are given time to come out. */
static void take_apart(struct world *world, const struct flood_config *config)
{
    world->stop = true;
    sirq_sim_detach(world->sim, &world->dev);
    sirq_sim_run(world->sim, sirq_sim_now_ns(world->sim) + 5000000000);
    for (unsigned i = 0; i < config->receivers; i++)
        sirq_socket_close(world->sock[i]);
    sirq_netdev_close(&world->dev);
    sirq_net_destroy(world->net);
    sirq_sim_destroy(world->sim);
}

void flood_run(const struct flood_config *config, struct flood_result *result)
{
    struct receiver receivers[FLOOD_RECEIVERS];
    struct world world = {0};

    build(&world, config);
    spawn(&world, receivers, config);
    sirq_sim_run(world.sim, config->ns);
    measure(&world, config, result);
    take_apart(&world, config);
}
