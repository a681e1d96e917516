/* SPDX-License-Identifier: MIT */
/*
 * Building a world from its description.  The machine comes first, then the packet path with
 * its devices, then threads in the order of the file, then traffic, and the interrupts last.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kind.h"

#define FIRST_PORT 20000u
#define SOCKETS 4096u
#define POOL_SLACK 1024u
#define POOL_MOST (1u << 20)
#define FRAME 60u
#define BACKLOG 1000u
#define IN_HANDS 512u
#define NS_PER_MS UINT64_C(1000000)

static void note_report(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    struct sirq_sim_rig *rig = arg;

    (void)cpu;
    (void)value;
    rig->stalled = rig->stalled || strstr(what, "stood still") != NULL;
}

static void *many(size_t n, size_t size, struct sirq_error *err)
{
    void *memory = calloc(n != 0 ? n : 1, size);

    if (memory == NULL)
        sirq_fail(err, ENOMEM, "out of memory");
    return memory;
}

/* ---- machine and devices ---------------------------------------------------------------- */

static int open_sim(struct sirq_sim_rig *rig, const struct sirq_sim_rig_config *config,
                    struct sirq_error *err)
{
    struct sirq_sim_config sim;

    sirq_spec_sim_config(rig->spec, &sim);
    sim.policy = config->policy;
    sim.seed = config->seed;
    sim.report = note_report;
    sim.report_arg = rig;
    if (config->trace) {
        rig->cpus = many(rig->spec->machine.cpus, sizeof(*rig->cpus), err);
        if (rig->cpus == NULL)
            return -ENOMEM;
        sim.trace = sirq_sim_rig_trace;
        sim.trace_arg = rig;
    }
    return sirq_sim_create(&rig->sim, &sim, err);
}

static int open_nic(struct sirq_sim_rig *rig, struct sirq_sim_rig_nic *nic, struct sirq_error *err)
{
    const struct sirq_sim_nic_config config = {
        .ring_size = nic->spec->ring,
        .irq_interval_ns = nic->spec->irq_interval_ns,
        .rings = nic->spec->rings,
        .tx_ring_size = nic->spec->tx_ring,
        .line_mbit = nic->spec->line_mbit,
        .line_queue_ns = nic->spec->line_queue_ns,
    };
    int rc = sirq_sim_nic_create(rig->sim, &config, &nic->sim, err);

    nic->n_rings = nic->spec->rings != 0 ? nic->spec->rings : 1;
    nic->n_ports = sirq_sim_rig_ports(rig->spec, nic->spec);
    nic->rings = many((size_t)nic->n_rings * nic->n_ports, sizeof(*nic->rings), err);
    if (nic->rings == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < nic->n_rings * nic->n_ports && !rc; i++) {
        const struct sirq_netdev_config dev = {
            .device = nic->sim, .queue = i % nic->n_rings, .port = i / nic->n_rings};

        rc = sirq_netdev_open(&nic->rings[i], rig->net, &sirq_sim_driver, &dev, err);
        nic->n_open += !rc;
    }
    return rc;
}

static int open_nics(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    int rc = 0;

    rig->nics = many(rig->spec->n_nics, sizeof(*rig->nics), err);
    if (rig->nics == NULL)
        return -ENOMEM;
    rig->n_nics = rig->spec->n_nics;
    for (uint32_t i = 0; i < rig->n_nics && !rc; i++) {
        rig->nics[i].spec = &rig->spec->nics[i];
        rc = open_nic(rig, &rig->nics[i], err);
    }
    return rc;
}

static int open_disks(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    int rc = 0;

    rig->disks = many(rig->spec->n_disks, sizeof(*rig->disks), err);
    if (rig->disks == NULL)
        return -ENOMEM;
    rig->n_disks = rig->spec->n_disks;
    for (uint32_t i = 0; i < rig->n_disks && !rc; i++) {
        const struct sirq_spec_disk *spec = &rig->spec->disks[i];
        const struct sirq_sim_disk_config config = {
            .service_ns = spec->read_ns,
            .jitter_ns = spec->read_jitter_ns,
            .depth = spec->depth,
            .cpu = spec->cpu,
        };

        rig->disks[i].spec = spec;
        rc = sirq_sim_disk_create(rig->sim, &config, &rig->disks[i].sim, err);
    }
    return rc;
}

static int attach_nic(struct sirq_sim_rig *rig, struct sirq_sim_rig_nic *nic,
                      struct sirq_error *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < nic->n_rings && !rc; i++) {
        unsigned cpu = nic->spec->n_cpus != 0 ? nic->spec->cpus[i % nic->spec->n_cpus]
                                              : i % rig->spec->machine.cpus;

        rc = sirq_sim_attach(rig->sim, cpu, &nic->rings[i], err);
        nic->n_attached += !rc;
    }
    return rc;
}

struct sirq_sim_rig_nic *sirq_sim_rig_nic(struct sirq_sim_rig *rig, const char *name,
                                          const char *who, struct sirq_error *err)
{
    for (uint32_t i = 0; i < rig->n_nics; i++) {
        if (name != NULL && strcmp(rig->nics[i].spec->name, name) == 0)
            return &rig->nics[i];
    }
    sirq_fail(err, EINVAL, "%.60s: nic: no NIC is called '%.60s'", who, name != NULL ? name : "");
    return NULL;
}

/* ---- packet path ------------------------------------------------------------------------- */

/* Frames that backlogs hold, and those that CPUs have in hands or on their way out. */
static uint64_t backlogs(const struct sirq_spec *spec)
{
    uint64_t each = spec->net.max_backlog != 0 ? spec->net.max_backlog : BACKLOG;
    bool steered = false;

    for (uint32_t i = 0; i < spec->n_nics; i++)
        steered = steered || spec->nics[i].n_rps != 0;
    return steered || spec->n_hosts != 0 ? (each + IN_HANDS) * spec->machine.cpus : 0;
}

/* A pool that every socket and backlog can fill its queue from. */
static int open_net(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    uint64_t sockets = 0, packets = POOL_SLACK;
    struct sirq_net_config net = {
        .netdev_budget = rig->spec->net.netdev_budget,
        .wake_every_poll = true, /* as Linux does */
        .poll_until_budget = rig->spec->net.poll_until_budget,
        .netdev_max_backlog = rig->spec->net.max_backlog,
    };
    int rc;

    for (uint32_t i = 0; i < rig->n_groups; i++) {
        const struct sirq_sim_group *group = &rig->groups[i];
        uint32_t each = 0;

        if (group->kind->socket == NULL)
            continue;
        group->kind->socket(group->spec, &each);
        sockets += group->n;
        packets += (uint64_t)each * group->n;
    }
    if (sockets > SOCKETS)
        return sirq_fail(err, EINVAL, "threads: %llu of them have sockets: at most %u",
                         (unsigned long long)sockets, SOCKETS);
    packets += backlogs(rig->spec);
    net.max_sockets = sockets != 0 ? (unsigned)sockets : 1;
    net.pool_packets = packets < POOL_MOST ? (unsigned)packets : POOL_MOST;
    rc = sirq_net_create(&rig->net, sirq_sim_core(rig->sim), &net);
    return rc ? sirq_fail(err, -rc, "cannot build the packet path: %s", strerror(-rc)) : 0;
}

static int open_socket(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_sim_group *group = thread->group;
    uint32_t packets;
    const struct sirq_socket_config config = {
        .port = thread->rig->next_port,
        .rcvbuf = group->kind->socket(group->spec, &packets),
    };
    int rc = sirq_socket_open(thread->rig->net, &config, &thread->sock);

    thread->port = thread->rig->next_port++;
    return rc ? sirq_fail(err, -rc, "threads: %.60s: cannot open a socket: %s", group->spec->name,
                          strerror(-rc))
              : 0;
}

/* ---- threads ----------------------------------------------------------------------------- */

static void thread_main(struct sirq_sim_task *task, void *arg)
{
    struct sirq_sim_thread *thread = arg;

    thread->task = task; /* it may run before spawn returns it */
    thread->group->kind->main(thread);
    thread->done = true;
}

static void thread_woken(void *arg, uint64_t latency_ns)
{
    struct sirq_sim_thread *thread = arg;

    sirq_sim_record(thread, &thread->wakeup, latency_ns);
}

static struct sirq_sched sched_of(const struct sirq_spec_sched *spec)
{
    static const int policy[] = {
        [SIRQ_SPEC_SCHED_OTHER] = SCHED_OTHER, [SIRQ_SPEC_SCHED_BATCH] = SCHED_BATCH,
        [SIRQ_SPEC_SCHED_IDLE] = SCHED_IDLE,   [SIRQ_SPEC_SCHED_FIFO] = SCHED_FIFO,
        [SIRQ_SPEC_SCHED_RR] = SCHED_RR,
    };

    return (struct sirq_sched){
        .policy = policy[spec->class], .priority = (int)spec->priority, .nice = spec->nice};
}

static int spawn(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_spec_threads *spec = thread->group->spec;
    uint64_t allowed[SIRQ_SIM_CPUS / 64] = {0};
    struct sirq_sim_task_config task = {
        .name = spec->name,
        .fn = thread_main,
        .arg = thread,
        .cpu = -1,
        .woken = thread_woken,
        .sched = sched_of(&spec->sched),
    };

    for (uint32_t i = 0; i < spec->n_cpus; i++)
        allowed[spec->cpus[i] / 64] |= UINT64_C(1) << (spec->cpus[i] % 64);
    if (spec->pin)
        task.cpu = (int)(spec->n_cpus != 0 ? spec->cpus[thread->index % spec->n_cpus]
                                           : thread->index % thread->rig->spec->machine.cpus);
    else if (spec->n_cpus != 0)
        task.allowed = allowed;
    return sirq_sim_spawn(thread->rig->sim, &task, &thread->task, err);
}

static int open_thread(struct sirq_sim_thread *thread, struct sirq_error *err)
{
    const struct sirq_sim_kind *kind = thread->group->kind;
    int rc = kind->socket != NULL ? open_socket(thread, err) : 0;

    if (!rc && kind->open != NULL)
        rc = kind->open(thread, err);
    return rc ? rc : spawn(thread, err);
}

static int open_threads(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    int rc = 0;

    for (uint32_t g = 0; g < rig->n_groups; g++) {
        for (uint32_t i = 0; i < rig->groups[g].n && !rc; i++)
            rc = open_thread(&rig->groups[g].threads[i], err);
    }
    return rc;
}

/* Before anything is built: who will be there. */
static int plan_groups(struct sirq_sim_rig *rig, struct sirq_error *err)
{
    rig->groups = many(rig->spec->n_threads, sizeof(*rig->groups), err);
    if (rig->groups == NULL)
        return -ENOMEM;
    rig->n_groups = rig->spec->n_threads;
    for (uint32_t g = 0; g < rig->n_groups; g++) {
        struct sirq_sim_group *group = &rig->groups[g];

        group->spec = &rig->spec->threads[g];
        group->kind = sirq_sim_kind_of(group->spec);
        if (group->kind == NULL)
            return sirq_fail(err, EINVAL, "threads: %.60s: nothing says what they do",
                             group->spec->name);
        group->threads = many(sirq_sim_count(group->spec), sizeof(*group->threads), err);
        if (group->threads == NULL)
            return -ENOMEM;
        group->n = sirq_sim_count(group->spec);
        for (uint32_t i = 0; i < group->n; i++)
            group->threads[i] = (struct sirq_sim_thread){
                .rig = rig, .group = group, .index = i, .due_ns = UINT64_MAX};
    }
    return 0;
}

/* ---- traffic ----------------------------------------------------------------------------- */

static struct sirq_sim_group *group_called(struct sirq_sim_rig *rig, const char *name)
{
    for (uint32_t i = 0; i < rig->n_groups; i++) {
        if (name != NULL && strcmp(rig->groups[i].spec->name, name) == 0)
            return &rig->groups[i];
    }
    return NULL;
}

static int open_source(struct sirq_sim_rig *rig, const struct sirq_spec_traffic *spec,
                       struct sirq_error *err)
{
    uint64_t end_ns = rig->end_ns;
    struct sirq_sim_rig_nic *nic = sirq_sim_rig_nic(rig, spec->nic, spec->name, err);
    struct sirq_sim_group *to = group_called(rig, spec->to);
    struct sirq_sim_source_config config = {
        .arrivals = (enum sirq_sim_arrivals)spec->arrivals,
        .burst = spec->burst,
        .start_ns = spec->start_ms * NS_PER_MS,
        .stop_ns = spec->stop_ms != 0 && spec->stop_ms * NS_PER_MS < end_ns
                       ? spec->stop_ms * NS_PER_MS
                       : end_ns,
        .size = spec->size != 0 ? spec->size : FRAME,
    };
    int rc = 0;

    if (nic == NULL)
        return -EINVAL;
    if (to == NULL || to->kind != &sirq_kind_udp_receiver)
        return sirq_fail(err, EINVAL, "traffic: %.60s: to: '%.60s' are no udp_receivers",
                         spec->name, spec->to != NULL ? spec->to : "");
    for (uint32_t i = 0; i < to->n && !rc; i++) {
        config.rate = spec->rate / to->n + (i < spec->rate % to->n);
        config.sport = config.dport = to->threads[i].port;
        if (config.rate != 0)
            rc = sirq_sim_source(nic->sim, &config, err);
    }
    return rc;
}

/* ---- life -------------------------------------------------------------------------------- */

int sirq_sim_rig_open(struct sirq_sim_rig *rig, const struct sirq_sim_rig_config *config,
                      struct sirq_error *err)
{
    int rc;

    *rig = (struct sirq_sim_rig){
        .spec = config->spec, .next_port = FIRST_PORT, .end_ns = config->end_ns};
    rc = plan_groups(rig, err);
    if (!rc)
        rc = open_sim(rig, config, err);
    if (!rc)
        rc = open_net(rig, err);
    if (!rc)
        rc = open_nics(rig, err);
    if (!rc)
        rc = sirq_sim_rig_steer(rig, err);
    if (!rc)
        rc = open_disks(rig, err);
    if (!rc)
        rc = open_threads(rig, err);
    for (uint32_t i = 0; i < rig->spec->n_traffic && !rc; i++)
        rc = open_source(rig, &rig->spec->traffic[i], err);
    if (!rc)
        rc = sirq_sim_rig_flows(rig, err);
    for (uint32_t i = 0; i < rig->n_nics && !rc; i++)
        rc = attach_nic(rig, &rig->nics[i], err);
    return rc;
}

static void close_nic(struct sirq_sim_rig_nic *nic)
{
    for (uint32_t i = nic->n_open; i-- > 0;) /* the first port of a ring last */
        sirq_netdev_close(&nic->rings[i]);
    free(nic->rings);
}

static void close_group(struct sirq_sim_group *group)
{
    for (uint32_t i = 0; i < group->n; i++) {
        if (group->threads[i].sock != NULL)
            sirq_socket_close(group->threads[i].sock);
        if (group->kind->close != NULL)
            group->kind->close(&group->threads[i]);
    }
    free(group->threads);
}

/* Threads come out of their calls before what they use goes. */
void sirq_sim_rig_close(struct sirq_sim_rig *rig)
{
    sirq_sim_rig_end(rig);
    for (uint32_t i = 0; i < rig->n_groups; i++)
        close_group(&rig->groups[i]);
    for (uint32_t i = 0; i < rig->n_nics; i++)
        close_nic(&rig->nics[i]);
    sirq_sim_rig_flows_close(rig);
    sirq_net_destroy(rig->net);
    sirq_sim_destroy(rig->sim);
    free(rig->groups);
    free(rig->nics);
    free(rig->cpus);
    free(rig->disks);
}
