/* SPDX-License-Identifier: MIT */
/*
 * The simulator: events per second of real time.
 *
 * Counted are what came off the event queue (interrupts, timers, ticks, ends of slices) and
 * charges: slices of CPU time that ended without an event, such as a receive call, a batch of
 * frames, a pass, a context switch.  Single packets of a batch are not counted.
 */
#include "bench.h"

#include <errno.h>

#include <sirq/sim.h>

#define PORT 7000u
#define FLOOD_RATE 4000000u
#define FLOOD_NS UINT64_C(200000000)
#define SCALE_TASKS 8u /* per CPU */
#define SCALE_EVENTS UINT64_C(400000)
#define STEP_NS UINT64_C(1000000)

struct flood {
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_socket *sock;
    uint64_t received;
    bool quit;
};

static void must(int rc, const struct sirq_error *err)
{
    if (rc != 0) {
        fprintf(stderr, "softirq-bench: %s\n", err->text);
        bench_die("the simulator", -rc);
    }
}

static struct sirq_sim *new_world(unsigned ncpus, const char *policy)
{
    struct sirq_sim_config config = {
        .ncpus = ncpus, .hz = 1000, .seed = 1, .policy = sirq_policy_find(policy)};
    struct sirq_error err;
    struct sirq_sim *sim;

    for (unsigned i = 0; i < SIRQ_NR_COSTS; i++)
        config.cost_ns[i] = 300;
    must(sirq_sim_create(&sim, &config, &err), &err);
    return sim;
}

static uint64_t events_of(const struct sirq_sim *sim)
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

        if (sirq_recv(flood->sock, &msg, 1, 100000000) == 1)
            flood->received++;
    }
}

static void open_flood(struct flood *flood, const char *policy)
{
    const struct sirq_sim_nic_config nic_config = {.ring_size = 512};
    const struct sirq_socket_config sock = {.port = PORT, .rcvbuf = 262144};
    const struct sirq_sim_source_config source = {.rate = FLOOD_RATE, .dport = PORT, .size = 60};
    const struct sirq_sim_task_config task = {.name = "receiver", .fn = receive, .arg = flood};
    struct sirq_netdev_config dev = {0};
    struct sirq_error err = {"packet path"};

    *flood = (struct flood){.sim = new_world(1, policy)};
    must(sirq_sim_nic_create(flood->sim, &nic_config, &dev.device, &err), &err);
    must(sirq_net_create(&flood->net, sirq_sim_core(flood->sim), NULL), &err);
    must(sirq_socket_open(flood->net, &sock, &flood->sock), &err);
    must(sirq_netdev_open(&flood->dev, flood->net, &sirq_sim_driver, &dev, &err), &err);
    must(sirq_sim_attach(flood->sim, 0, &flood->dev, &err), &err);
    must(sirq_sim_source(dev.device, &source, &err), &err);
    must(sirq_sim_spawn(flood->sim, &task, NULL, &err), &err);
}

static void close_flood(struct flood *flood)
{
    flood->quit = true;
    sirq_sim_detach(flood->sim, &flood->dev);
    sirq_sim_run(flood->sim, sirq_sim_now_ns(flood->sim) + 1000000000);
    sirq_socket_close(flood->sock);
    sirq_netdev_close(&flood->dev);
    sirq_net_destroy(flood->net);
    sirq_sim_destroy(flood->sim);
}

static void bench_flood(const struct bench_options *options, const char *policy)
{
    struct bench_series events = {0}, packets = {0};
    uint64_t begin = bench_now_ns();

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.25)); i++) {
        struct flood flood;
        uint64_t start;
        double seconds;

        open_flood(&flood, policy);
        start = bench_now_ns();
        sirq_sim_run(flood.sim, FLOOD_NS);
        seconds = (double)(bench_now_ns() - start) / 1e9;
        bench_add(&events, (double)events_of(flood.sim) / seconds);
        bench_add(&packets, FLOOD_RATE * (FLOOD_NS / 1e9) / seconds);
        close_flood(&flood);
    }
    bench_row("sim", "udp-flood", policy, "events", "events/s", BENCH_MORE, &events, NULL);
    bench_row("sim", "udp-flood", policy, "packets", "packets/s", BENCH_MORE, &packets, NULL);
}

/* ---- many CPUs ------------------------------------------------------------------------ */

static void periodic(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim *sim = sirq_sim_of(task);

    (void)arg;
    for (;;) {
        sirq_sim_spend(sim, 1000 + sirq_sim_random(sim, 20000));
        sirq_sim_sleep_until(task, sirq_sim_now_ns(sim) + 1 + sirq_sim_random(sim, 300000));
    }
}

static void bench_scale(const struct bench_options *options, unsigned ncpus, const char *name)
{
    struct sirq_sim_task_config task = {.name = "periodic", .fn = periodic, .cpu = -1};
    struct bench_series series = {0};
    uint64_t begin = bench_now_ns();

    for (unsigned i = 0; i < options->runs && (i == 0 || !bench_late(options, begin, 0.1)); i++) {
        struct sirq_sim *sim = new_world(ncpus, "time2ms");
        struct sirq_error err;
        uint64_t start;

        for (unsigned t = 0; t < SCALE_TASKS * ncpus; t++)
            must(sirq_sim_spawn(sim, &task, NULL, &err), &err);
        sirq_sim_run(sim, STEP_NS);
        start = bench_now_ns();
        while (events_of(sim) < SCALE_EVENTS)
            sirq_sim_run(sim, sirq_sim_now_ns(sim) + STEP_NS);
        bench_add(&series, (double)(bench_now_ns() - start) / (double)events_of(sim));
        sirq_sim_destroy(sim);
    }
    bench_row("sim", name, "", "event", "ns", BENCH_LESS, &series, NULL);
}

void bench_sim(const struct bench_options *options)
{
    static const struct {
        unsigned cpus;
        const char *name;
    } scale[] = {{2, "2 CPUs"}, {16, "16 CPUs"}, {64, "64 CPUs"}, {256, "256 CPUs"}};

    bench_flood(options, "ksoftirqd");
    bench_flood(options, "time2ms");
    for (unsigned i = 0; i < sizeof(scale) / sizeof(scale[0]); i++)
        bench_scale(options, scale[i].cpus, scale[i].name);
}
