/* SPDX-License-Identifier: MIT */
/*
 * Request and response, as netperf TCP_RR: a client sends, sleeps until the answer is there,
 * takes it, and so on.  The transport is UDP; what matters here is what TCP does to the
 * client's CPU: several bottom-half sections a transaction, at whose ends softirqs run.
 *
 * CPU 0 takes the NIC's interrupts.  The client that is measured is bound to it, the
 * antagonists run where they like.
 */
#include "rr.h"
#include "pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "experiment.h"

#define PORT 20000u
#define POOL_SLACK 1024u
#define SLICE_NS UINT64_C(20000000)
#define RECV_NS 20000000000 /* an answer may be late, but comes */
#define FRAME 60u

struct client {
    struct rig *rig;
    struct sirq_socket *sock;
    struct sirq_sim_flow *flow;
    uint64_t transactions;
    bool done;
};

struct rig {
    const struct sirq_sim_rr *run;
    struct sirq_sim *sim;
    struct sirq_net *net;
    struct sirq_netdev dev;
    struct sirq_sim_nic *nic;
    struct client *client; /* [0] is measured */
    unsigned nclients, nsocks;
    bool attached, measuring, quit;
};

/* Part of the client's work, with the bottom-half sections that it passes on the way. */
static void work(struct rig *rig, unsigned sections, uint64_t ns)
{
    for (unsigned i = 0; i < sections; i++) {
        struct sirq_cpu *cpu;

        sirq_sim_spend(rig->sim, ns / (sections + 1));
        cpu = sirq_sim_this_cpu(rig->sim);
        sirq_bh_disable(cpu);
        sirq_bh_enable(cpu);
    }
    sirq_sim_spend(rig->sim, ns / (sections + 1));
}

static void record(struct sirq_sim_rr_pool *pool, uint64_t ns)
{
    sirq_hist_add(&pool->hist, ns);
    pool->sum_ns += (double)ns;
    pool->squares_ns += (double)ns * (double)ns;
    if (pool->hist.count == 1 || ns < pool->min_ns)
        pool->min_ns = ns;
    if (ns > pool->max_ns)
        pool->max_ns = ns;
}

/* Few sections more often than many. */
static unsigned draw_sections(struct rig *rig)
{
    const struct sirq_machine_rr *rr = rig->run->machine->rr;
    uint64_t n = (uint64_t)rr->sections_most - rr->sections_least + 1;
    uint64_t a = sirq_sim_random(rig->sim, n), b = sirq_sim_random(rig->sim, n);

    return rr->sections_least + (unsigned)(a < b ? a : b);
}

static void client_main(struct sirq_sim_task *task, void *arg)
{
    struct client *self = arg;
    struct rig *rig = self->rig;
    const struct sirq_machine_rr *rr = rig->run->machine->rr;
    uint8_t buf[8];

    (void)task;
    while (!rig->quit) {
        struct sirq_msg msg = {.buf = buf, .size = sizeof(buf)};
        uint64_t start = sirq_sim_now_ns(rig->sim);
        unsigned sections = draw_sections(rig);

        work(rig, sections / 2, rr->work_ns / 2);
        sirq_sim_flow_request(self->flow,
                              rr->rtt_ns + sirq_sim_random(rig->sim, rr->rtt_jitter_ns + 1));
        if (sirq_recv(self->sock, &msg, 1, RECV_NS) != 1)
            break; /* lost at the NIC: the ring is made too small */
        work(rig, sections - sections / 2, rr->work_ns / 2);
        self->transactions++;
        if (self == rig->client && rig->measuring)
            record(rig->run->pool, sirq_sim_now_ns(rig->sim) - start);
    }
    self->done = true;
}

/* ---- building ------------------------------------------------------------------------- */

static int open_sim(struct rig *rig, struct sirq_error *err)
{
    const struct sirq_machine *machine = rig->run->machine;
    const struct sirq_sim_nic_config nic = {
        .ring_size = machine->nic.ring,
        .irq_interval_ns = machine->nic.irq_interval_ns,
        .gap_ns = machine->nic.gap_ns,
    };
    struct sirq_sim_config config;
    int rc;

    sirq_machine_config(machine, &config);
    config.policy = rig->run->policy;
    config.seed = rig->run->seed;
    config.hz = rig->run->hz;
    rc = sirq_sim_create(&rig->sim, &config, err);
    return rc ? rc : sirq_sim_nic_create(rig->sim, &nic, &rig->nic, err);
}

static int open_net(struct rig *rig, struct sirq_error *err)
{
    const struct sirq_machine *machine = rig->run->machine;
    const struct sirq_net_config net = {
        .pool_packets = rig->nclients * 2 + POOL_SLACK,
        .max_sockets = rig->nclients,
        .netdev_budget = machine->net.netdev_budget,
        .wake_every_poll = true, /* as Linux does */
        .poll_until_budget = machine->net.poll_until_budget,
    };
    const struct sirq_netdev_config dev = {.device = rig->nic};
    int rc = sirq_net_create(&rig->net, sirq_sim_core(rig->sim), &net);

    if (rc)
        return sirq_fail(err, -rc, "cannot build the packet path: %s", strerror(-rc));
    rc = sirq_netdev_open(&rig->dev, rig->net, &sirq_sim_driver, &dev, err);
    if (rc)
        rig->dev.driver = NULL;
    return rc;
}

static int open_client(struct rig *rig, unsigned i, struct sirq_error *err)
{
    struct client *client = &rig->client[i];
    const struct sirq_socket_config sock = {.port = (uint16_t)(PORT + i),
                                            .rcvbuf = rig->run->machine->socket.rcvbuf};
    const struct sirq_sim_source_config answer = {.dport = sock.port, .size = FRAME};
    const struct sirq_sim_task_config task = {
        .name = "client", .fn = client_main, .arg = client, .cpu = i == 0 ? 0 : -1};
    int rc = sirq_socket_open(rig->net, &sock, &client->sock);

    if (rc)
        return sirq_fail(err, -rc, "cannot open socket %u: %s", i, strerror(-rc));
    rig->nsocks++;
    client->rig = rig;
    rc = sirq_sim_flow_create(rig->nic, &answer, &client->flow, err);
    return rc ? rc : sirq_sim_spawn(rig->sim, &task, NULL, err);
}

static int open_rig(struct rig *rig, struct sirq_error *err)
{
    int rc = open_sim(rig, err);

    rig->client = calloc(rig->nclients, sizeof(*rig->client));
    if (!rig->client)
        return sirq_fail(err, ENOMEM, "out of memory");
    if (!rc)
        rc = open_net(rig, err);
    for (unsigned i = 0; i < rig->nclients && !rc; i++)
        rc = open_client(rig, i, err);
    if (!rc)
        rc = sirq_sim_attach(rig->sim, 0, &rig->dev, err);
    rig->attached = !rc;
    return rc;
}

static bool all_done(const struct rig *rig)
{
    for (unsigned i = 0; i < rig->nsocks; i++) {
        if (!rig->client[i].done)
            return false;
    }
    return true;
}

/* Answers still come, so clients come out of their calls; then the NIC goes. */
static void close_rig(struct rig *rig)
{
    uint64_t most = rig->sim ? sirq_sim_now_ns(rig->sim) + 2 * (uint64_t)RECV_NS : 0;

    rig->quit = true;
    sirq_set_policy(sirq_sim_core(rig->sim), sirq_policy_default());
    while (rig->attached && !all_done(rig) && sirq_sim_now_ns(rig->sim) < most)
        sirq_sim_run(rig->sim, sirq_sim_now_ns(rig->sim) + SLICE_NS);
    if (rig->attached)
        sirq_sim_detach(rig->sim, &rig->dev);
    for (unsigned i = 0; i < rig->nsocks; i++)
        sirq_socket_close(rig->client[i].sock);
    if (rig->dev.driver)
        sirq_netdev_close(&rig->dev);
    sirq_net_destroy(rig->net);
    sirq_sim_destroy(rig->sim);
    free(rig->client);
}

/* ---- measuring ------------------------------------------------------------------------ */

static uint64_t transactions(const struct rig *rig)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < rig->nclients; i++)
        sum += rig->client[i].transactions;
    return sum;
}

static void conclude(const struct rig *rig, uint64_t before, struct sirq_sim_rr_figures *out)
{
    double seconds = (double)rig->run->ns / 1e9;

    rig->run->pool->seconds += seconds;
    out->throughput = (double)(transactions(rig) - before) / seconds;
    out->longest_run_ms = (double)sirq_sim_core(rig->sim)->cpus[0].stats.longest_run_ns / 1e6;
}

static int measure(struct rig *rig, struct sirq_sim_rr_figures *out)
{
    int rc = sirq_sim_pass_time(rig->sim, (uint64_t)rig->run->machine->run.warmup_ms * 1000000);
    uint64_t before = transactions(rig);

    rig->measuring = true;
    if (!rc)
        rc = sirq_sim_pass_time(rig->sim, rig->run->ns);
    rig->measuring = false;
    conclude(rig, before, out);
    return rc;
}

int sirq_sim_rr_run(const struct sirq_sim_rr *run, struct sirq_sim_rr_figures *out,
                    struct sirq_error *err)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    int rc;

    if (!rig)
        return sirq_fail(err, ENOMEM, "out of memory");
    rig->run = run;
    rig->nclients = run->machine->rr->antagonists + 1;
    rc = open_rig(rig, err);
    if (!rc)
        rc = measure(rig, out);
    if (rig->sim)
        close_rig(rig);
    else
        free(rig->client);
    free(rig);
    return rc;
}
