/* SPDX-License-Identifier: MIT */
/*
 * The simulator's speed: a UDP flood, beside ns-3; then the parts that sim.h lists.
 *
 * How events are counted.  One each for
 *   - what comes off the event queue: an interrupt that a device posts, a timer, a tick, a
 *     kick, the end of a slice of CPU time that something else fell into
 *   - a charge: a slice of CPU time that is one piece of work, such as a hard interrupt's
 *     entry, a pass over the pending vectors, a poll, a batch of frames of one verdict, a
 *     context switch, a wake-up, a receive call, the packets it returned
 * Single frames are not counted, neither are arrivals: they are the column of packets.
 */
#include "sim.h"

#include <errno.h>

#define PORT 20000u
#define FLOOD_RATE 5000000u
#define LOSSLESS_RATE 500000u
#define FLOOD_NS UINT64_C(100000000)
#define NS3_PACKETS UINT64_C(40000)
#define RECV_NS 1000000000

/* The machine of lab/experiments/udp-flood.yaml.  A cost that is not here does not compile. */
enum {
    NS_PASS = 50,
    NS_NAPI_POLL = 200,
    NS_RX_QUEUED = 410,
    NS_RX_FULL = 387,
    NS_RX_DROP = 300,
    NS_RX_STEERED = 300,
    NS_RX_ACK = 300,
    NS_FORWARD = 600,
    NS_TX = 400,
    NS_RECV_CALL = 380,
    NS_RECV_PACKET = 170,
    NS_BLK_DONE = 500,
    NS_IRQ = 1000,
    NS_TICK = 1500,
    NS_SWITCH = 1500,
    NS_WAKE = 500,
    NS_KSOFTIRQD = 100
};

static const struct sirq_sim_config shipped = {
    .ncpus = 2,
    .hz = 1000,
    .seed = 1,
    .fair = {.latency_ns = 24000000,
             .min_granularity_ns = 3000000,
             .wakeup_granularity_ns = 4000000},
#define COST_NS(sym, name, meaning) [SIRQ_COST_##sym] = NS_##sym,
    .cost_ns = {SIRQ_COSTS(COST_NS)},
#undef COST_NS
};

struct flood {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_sim_nic *nic;
    struct sirq_socket *sock;
    uint64_t received;
    bool quit;
};

struct flood_setup {
    const char *policy;
    uint64_t rate;
    bool rt;
};

/* What some runs came to. */
struct flood_sum {
    double seconds, events, packets;
    uint64_t lost;
};

void bench_must(int rc, const struct sirq_error *err)
{
    if (rc != 0) {
        fprintf(stderr, "softirq-bench: %s\n", err->text);
        bench_die("the simulator", -rc);
    }
}

struct sirq_sim *bench_world(unsigned ncpus, const char *policy)
{
    struct sirq_sim_config config = {
        .ncpus = ncpus, .hz = 1000, .seed = 1, .policy = sirq_policy_find(policy)};
    struct sirq_error err;
    struct sirq_sim *sim;

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        config.cost_ns[i] = 300;
    bench_must(sirq_sim_create(&sim, &config, &err), &err);
    return sim;
}

uint64_t bench_events(const struct sirq_sim *sim)
{
    struct sirq_sim_events events;

    sirq_sim_events(sim, &events);
    return events.events + events.charges;
}

static void receive(struct sirq_sim_task *task, void *arg)
{
    struct flood *flood = arg;
    uint8_t buf[8];

    (void)task;
    while (!flood->quit) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};

        if (sirq_recv(flood->sock, &msg, 1, RECV_NS) == 1)
            flood->received++;
    }
}

static void open_flood(struct flood *flood, const struct flood_setup *setup)
{
    const struct sirq_sim_nic_config nic = {.ring_size = 512, .irq_interval_ns = 10000};
    const struct sirq_socket_config sock = {.port = PORT, .rcvbuf = 262144};
    const struct sirq_net_config net = {.pool_packets = 2048, .wake_every_poll = true};
    const struct sirq_sim_source_config source = {
        .arrivals = SIRQ_SIM_POISSON, .rate = setup->rate, .dport = PORT, .size = 60};
    struct sirq_sim_task_config task = {.name = "receiver", .fn = receive, .arg = flood};
    struct sirq_sim_config config = shipped;
    struct sirq_netdev_config dev = {0};
    struct sirq_error err = {"packet path"};

    *flood = (struct flood){0};
    config.policy = sirq_policy_find(setup->policy);
    if (setup->rt)
        task.sched = (struct sirq_sched){.policy = SCHED_RR, .priority = 20};
    bench_must(sirq_sim_create(&flood->sim, &config, &err), &err);
    bench_must(sirq_sim_nic_create(flood->sim, &nic, &flood->nic, &err), &err);
    bench_must(sirq_net_create(&flood->net, sirq_sim_core(flood->sim), &net), &err);
    bench_must(sirq_socket_open(flood->net, &sock, &flood->sock), &err);
    dev.device = flood->nic;
    bench_must(sirq_netdev_open(&flood->dev, flood->net, &sirq_sim_driver, &dev, &err), &err);
    bench_must(sirq_sim_spawn(flood->sim, &task, NULL, &err), &err);
    bench_must(sirq_sim_source(flood->nic, &source, &err), &err);
    bench_must(sirq_sim_attach(flood->sim, 0, &flood->dev, &err), &err);
}

static void close_flood(struct flood *flood)
{
    flood->quit = true;
    sirq_sim_detach(flood->sim, &flood->dev);
    sirq_sim_run(flood->sim, sirq_sim_now_ns(flood->sim) + 2 * (uint64_t)RECV_NS);
    sirq_socket_close(flood->sock);
    sirq_netdev_close(&flood->dev);
    sirq_net_destroy(flood->net);
    sirq_sim_destroy(flood->sim);
}

static void run_flood(const struct flood_setup *setup, struct flood_sum *sum)
{
    struct sirq_sim_nic_stats nic;
    struct sirq_net_stats net;
    struct flood flood;
    uint64_t start;

    open_flood(&flood, setup);
    start = bench_now_ns();
    sirq_sim_run(flood.sim, FLOOD_NS);
    sum->seconds += (double)(bench_now_ns() - start) / 1e9;
    sirq_sim_nic_stats(flood.nic, &nic);
    sirq_net_stats_sum(flood.net, &net);
    sum->events += (double)bench_events(flood.sim);
    sum->packets += (double)nic.arrived;
    sum->lost += nic.dropped + net.verdict[SIRQ_DROP_SOCKET_FULL];
    close_flood(&flood);
}

static void ns3_packets(const struct bench_options *options, struct bench_series *series)
{
    double packets = bench_ns3("flood", NS3_PACKETS * options->scale);

    if (packets > 0)
        bench_add(series, packets);
}

static void flood_rows(const char *name, const struct bench_series *events,
                       const struct bench_series *packets, const struct bench_series *ns3)
{
    bench_row("sim", name, "", "events", "events/s", BENCH_MORE, events, NULL);
    bench_row("sim", name, "ns-3", "packets", "packets/s", BENCH_MORE, packets,
              ns3->n > 0 ? ns3 : NULL);
}

static void bench_flood(const struct bench_options *options, const char *name,
                        const struct flood_setup *setup)
{
    struct bench_series events = {0}, packets = {0}, ns3 = {0};
    uint64_t begin = bench_now_ns();

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.2)); i++) {
        struct flood_sum sum = {0};

        ns3_packets(options, &ns3);
        run_flood(setup, &sum);
        if (setup->rate == LOSSLESS_RATE && sum.lost > 0)
            bench_die("packets were lost", EPROTO);
        bench_add(&events, sum.events / sum.seconds);
        bench_add(&packets, sum.packets / sum.seconds);
    }
    flood_rows(name, &events, &packets, &ns3);
}

/* Every policy under both classes, as the experiment has it. */
static void bench_experiment(const struct bench_options *options)
{
    struct bench_series events = {0}, packets = {0}, ns3 = {0};
    uint64_t begin = bench_now_ns();

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.3)); i++) {
        struct flood_sum sum = {0};

        ns3_packets(options, &ns3);
        for (unsigned k = 0; sirq_policies[k] != NULL; k++)
            for (unsigned rt = 0; rt < 2; rt++)
                run_flood(&(struct flood_setup){sirq_policies[k]->name, FLOOD_RATE, rt}, &sum);
        bench_add(&events, sum.events / sum.seconds);
        bench_add(&packets, sum.packets / sum.seconds);
    }
    flood_rows("udp-flood, all rows", &events, &packets, &ns3);
}

void bench_sim(const struct bench_options *options)
{
    bench_flood(options, "udp-flood, ksoftirqd", &(struct flood_setup){"ksoftirqd", FLOOD_RATE, 0});
    bench_flood(options, "udp-flood, time2ms", &(struct flood_setup){"time2ms", FLOOD_RATE, 0});
    bench_experiment(options);
    bench_flood(options, "UDP, no loss", &(struct flood_setup){"ksoftirqd", LOSSLESS_RATE, 0});
    bench_sim_evq(options);
    bench_sim_scale(options);
    bench_sim_memory(options);
}
