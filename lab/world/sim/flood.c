/* SPDX-License-Identifier: MIT */
/*
 * A flood in a world of its own: build, let it warm up, measure between two samples, check
 * that the sums are exact, take down.
 *
 * Receivers run on CPU 0, as does the NIC's interrupt unless softirqs are elsewhere.
 */
#include "flood.h"
#include "pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hist.h"

#define PORT 20000u
#define POOL_SLACK 1024u
#define DRAIN_NS UINT64_C(100000000)
#define DRAINS 200u /* 20 s: a throttled receiver, and a long queue */
#define RECV_NS 1000000000

struct receiver {
    struct rig *rig;
    unsigned i;
    uint64_t received;
    struct sirq_sim_task *task;
};

struct rig {
    const struct sirq_sim_flood *run;
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_sim_nic *nic;
    struct sirq_socket *sock[SIRQ_LAB_RECEIVERS];
    struct receiver receiver[SIRQ_LAB_RECEIVERS];
    struct sirq_hist *hist;
    unsigned nsocks, irq_cpu;
    bool attached, measuring, quit, stalled;
};

struct sample {
    struct sirq_sim_nic_stats nic;
    struct sirq_net_stats net;
    struct sirq_sim_task_stats ksoftirqd, task[SIRQ_LAB_RECEIVERS];
    struct sirq_sim_cpu_stats cpu;
    uint64_t received[SIRQ_LAB_RECEIVERS];
};

static void receive(struct sirq_sim_task *task, void *arg)
{
    struct receiver *self = arg;
    struct rig *rig = self->rig;
    unsigned batch = rig->run->options->batch;
    uint8_t buf[8];

    while (!rig->quit) {
        struct sirq_msg msg[SIRQ_LAB_BATCH];
        int n;

        for (unsigned i = 0; i < batch; i++)
            msg[i] = (struct sirq_msg){.buf = buf, .size = sizeof(buf)};
        n = sirq_recv(rig->sock[self->i], msg, batch, RECV_NS);
        for (int i = 0; i < n && rig->measuring; i++)
            sirq_hist_add(rig->hist, sirq_sim_now_ns(sirq_sim_of(task)) - msg[i].rx_ns);
        self->received += n > 0 ? (uint64_t)n : 0;
    }
}

static void note_report(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    struct rig *rig = arg;

    (void)cpu;
    (void)value;
    rig->stalled = rig->stalled || strstr(what, "stood still") != NULL;
}

/* ---- building ------------------------------------------------------------------------- */

static int open_sim(struct rig *rig, struct sirq_error *err)
{
    const struct sirq_sim_flood *run = rig->run;
    const struct sirq_sim_nic_config nic = {
        .ring_size = run->machine->nic.ring,
        .irq_interval_ns = run->machine->nic.irq_interval_ns,
        .gap_ns = run->machine->nic.gap_ns,
    };
    struct sirq_sim_config config;
    int rc;

    sirq_machine_config(run->machine, &config);
    config.policy = run->flood->policy;
    config.seed = run->seed;
    config.report = note_report;
    config.report_arg = rig;
    rc = sirq_sim_create(&rig->sim, &config, err);
    return rc ? rc : sirq_sim_nic_create(rig->sim, &nic, &rig->nic, err);
}

static int open_net(struct rig *rig, struct sirq_error *err)
{
    uint64_t rcvbuf = rig->run->machine->socket.rcvbuf;
    unsigned receivers = rig->run->flood->receivers;
    const struct sirq_net_config net = {
        .pool_packets = receivers * (unsigned)(rcvbuf / SIRQ_PKT_TRUESIZE) + POOL_SLACK,
        .max_sockets = receivers,
        .netdev_budget = rig->run->machine->net.netdev_budget,
        .wake_every_poll = true, /* as Linux does */
        .poll_until_budget = rig->run->machine->net.poll_until_budget,
    };
    const struct sirq_netdev_config dev = {.device = rig->nic};
    int rc = sirq_net_create(&rig->net, sirq_sim_core(rig->sim), &net);

    for (unsigned i = 0; i < receivers && !rc; i++) {
        const struct sirq_socket_config sock = {.port = (uint16_t)(PORT + i), .rcvbuf = rcvbuf};

        rc = sirq_socket_open(rig->net, &sock, &rig->sock[i]);
        rig->nsocks += !rc;
    }
    if (rc)
        return sirq_fail(err, -rc, "cannot build the packet path: %s", strerror(-rc));
    rc = sirq_netdev_open(&rig->dev, rig->net, &sirq_sim_driver, &dev, err);
    if (rc)
        rig->dev.driver = NULL;
    return rc;
}

static int open_source(struct rig *rig, unsigned i, struct sirq_error *err)
{
    const struct sirq_sim_flood *run = rig->run;
    double rate = run->flood->rate > 0 ? run->flood->rate : (double)run->machine->traffic->rate;
    const struct sirq_sim_source_config config = {
        .arrivals = run->machine->traffic->arrivals,
        .rate = rate < run->flood->receivers ? 1 : (uint64_t)rate / run->flood->receivers,
        .dport = (uint16_t)(PORT + i),
        .size = run->options->size,
    };

    return sirq_sim_source(rig->nic, &config, err);
}

static int open_receivers(struct rig *rig, struct sirq_error *err)
{
    const struct sirq_flood *flood = rig->run->flood;
    int rc = 0;

    for (unsigned i = 0; i < flood->receivers && !rc; i++) {
        struct sirq_sim_task_config task = {
            .name = "receiver", .fn = receive, .arg = &rig->receiver[i], .cpu = 0};

        if (flood->rt)
            task.sched = (struct sirq_sched){.policy = SCHED_RR, .priority = 20};
        rig->receiver[i] = (struct receiver){.rig = rig, .i = i};
        rc = sirq_sim_spawn(rig->sim, &task, &rig->receiver[i].task, err);
        if (!rc)
            rc = open_source(rig, i, err);
    }
    return rc;
}

static int open_rig(struct rig *rig, struct sirq_error *err)
{
    int rc = open_sim(rig, err);

    if (!rc)
        rc = open_net(rig, err);
    if (!rc)
        rc = open_receivers(rig, err);
    if (!rc)
        rc = sirq_sim_attach(rig->sim, rig->irq_cpu, &rig->dev, err);
    rig->attached = !rc;
    return rc;
}

/* Tasks come out of their calls before what they use goes. */
static void close_rig(struct rig *rig)
{
    rig->quit = true;
    if (rig->attached)
        sirq_sim_detach(rig->sim, &rig->dev);
    if (rig->sim != NULL)
        sirq_sim_run(rig->sim, sirq_sim_now_ns(rig->sim) + 2 * (uint64_t)RECV_NS);
    for (unsigned i = 0; i < rig->nsocks; i++)
        sirq_socket_close(rig->sock[i]);
    if (rig->dev.driver != NULL)
        sirq_netdev_close(&rig->dev);
    sirq_net_destroy(rig->net);
    sirq_sim_destroy(rig->sim);
    free(rig->hist);
}

/* ---- measuring ------------------------------------------------------------------------ */

static void sample_take(struct rig *rig, struct sample *sample)
{
    sirq_sim_nic_stats(rig->nic, &sample->nic);
    sirq_net_stats_sum(rig->net, &sample->net);
    sirq_sim_task_stats(sirq_sim_ksoftirqd(rig->sim, rig->irq_cpu), &sample->ksoftirqd);
    sirq_sim_cpu_stats(rig->sim, rig->irq_cpu, &sample->cpu);
    for (unsigned i = 0; i < rig->nsocks; i++) {
        sirq_sim_task_stats(rig->receiver[i].task, &sample->task[i]);
        sample->received[i] = rig->receiver[i].received;
    }
}

static double share(uint64_t begin, uint64_t end, uint64_t ns)
{
    return 100 * (double)(end - begin) / (double)ns;
}

static void conclude(const struct rig *rig, const struct sample *a, const struct sample *b,
                     struct sirq_sim_figures *out)
{
    uint64_t ns = rig->run->ns;
    double seconds = (double)ns / 1e9;
    uint64_t ksoftirqd_softirq = b->ksoftirqd.softirq_ns - a->ksoftirqd.softirq_ns;

    for (unsigned i = 0; i < rig->nsocks; i++) {
        out->each[i] = (double)(b->received[i] - a->received[i]) / seconds;
        out->received += out->each[i];
        out->cpu[i] = share(a->task[i].sched_ns, b->task[i].sched_ns, ns);
        out->own_cpu[i] = share(a->task[i].task_ns, b->task[i].task_ns, ns);
    }
    out->offered = (double)(b->nic.arrived - a->nic.arrived) / seconds;
    out->nic_drops = (double)(b->nic.dropped - a->nic.dropped) / seconds;
    out->socket_drops =
        (double)(b->net.verdict[SIRQ_DROP_SOCKET_FULL] - a->net.verdict[SIRQ_DROP_SOCKET_FULL]) /
        seconds;
    out->ksoftirqd_cpu = share(a->ksoftirqd.sched_ns, b->ksoftirqd.sched_ns, ns);
    out->irq_cpu = share(a->cpu.time_ns[SIRQ_SIM_SOFTIRQ] + a->cpu.time_ns[SIRQ_SIM_HARDIRQ] +
                             ksoftirqd_softirq,
                         b->cpu.time_ns[SIRQ_SIM_SOFTIRQ] + b->cpu.time_ns[SIRQ_SIM_HARDIRQ], ns);
    out->idle_cpu = share(a->cpu.time_ns[SIRQ_SIM_IDLE], b->cpu.time_ns[SIRQ_SIM_IDLE], ns);
    out->latency_p50_us = (double)sirq_hist_quantile(rig->hist, 0.5) / 1e3;
    out->latency_p99_us = (double)sirq_hist_quantile(rig->hist, 0.99) / 1e3;
    out->longest_run_ms =
        (double)sirq_sim_core(rig->sim)->cpus[rig->irq_cpu].stats.longest_run_ns / 1e6;
    out->stalled = rig->stalled;
}

/* Everything that arrived is accounted for: at the NIC, by verdict, in a receiver's count. */
static int check_sums(struct rig *rig, struct sirq_error *err)
{
    uint64_t verdicts = 0, received = 0, queued = 0;
    struct sample s;

    sample_take(rig, &s);
    for (unsigned i = 0; i < SIRQ_NR_DROPS; i++)
        verdicts += s.net.verdict[i];
    for (unsigned i = 0; i < rig->nsocks; i++) {
        struct sirq_socket_stats sock;

        sirq_socket_stats(rig->sock[i], &sock);
        received += s.received[i];
        queued += sock.len;
    }
    if (s.nic.arrived == s.nic.dropped + s.nic.taken + s.nic.waiting && s.nic.taken == verdicts &&
        s.net.verdict[SIRQ_DELIVERED] == received + queued)
        return 0;
    return sirq_fail(err, EPROTO,
                     "sums are not exact: %llu arrived, %llu dropped by the NIC, %llu taken, "
                     "%llu delivered, %llu received",
                     (unsigned long long)s.nic.arrived, (unsigned long long)s.nic.dropped,
                     (unsigned long long)s.nic.taken,
                     (unsigned long long)s.net.verdict[SIRQ_DELIVERED],
                     (unsigned long long)received);
}

static int measure(struct rig *rig, struct sirq_sim_figures *out, struct sirq_error *err)
{
    struct sample *sample = calloc(2, sizeof(*sample));
    int rc;

    if (sample == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    rc = sirq_sim_pass_time(rig->sim, (uint64_t)rig->run->machine->run.warmup_ms * 1000000);
    sample_take(rig, &sample[0]);
    rig->measuring = true;
    if (!rc)
        rc = sirq_sim_pass_time(rig->sim, rig->run->ns);
    rig->measuring = false;
    sample_take(rig, &sample[1]);
    if (!rc)
        conclude(rig, &sample[0], &sample[1], out);
    free(sample);
    return rc;
}

/* The flood is cut off; what is under way arrives. */
static int settle(struct rig *rig, struct sirq_error *err)
{
    int rc = -EPROTO;

    sirq_sim_detach(rig->sim, &rig->dev);
    rig->attached = false;
    for (unsigned i = 0; i < DRAINS && rc; i++) {
        sirq_sim_run(rig->sim, sirq_sim_now_ns(rig->sim) + DRAIN_NS);
        rc = check_sums(rig, err);
    }
    return rc;
}

int sirq_sim_flood_run(const struct sirq_sim_flood *run, struct sirq_sim_figures *out,
                       struct sirq_error *err)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    int rc;

    if (rig == NULL)
        return sirq_fail(err, ENOMEM, "out of memory");
    memset(out, 0, sizeof(*out));
    rig->run = run;
    rig->irq_cpu = run->flood->elsewhere ? 1 : 0;
    rig->hist = calloc(1, sizeof(*rig->hist));
    rc = rig->hist == NULL ? sirq_fail(err, ENOMEM, "out of memory") : open_rig(rig, err);
    if (!rc)
        rc = measure(rig, out, err);
    if (!rc)
        rc = settle(rig, err);
    close_rig(rig);
    free(rig);
    return rc;
}
