/* SPDX-License-Identifier: MIT */
/*
 * Built from the bottom up and taken down in the order that sirq/live.h asks for.  Devices are
 * attached last, when there is somebody for every frame.
 */
#include "plane.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int sirq_run_blame(const struct sirq_run_source *source, int rc, struct sirq_error *err,
                   const char *path, ...)
{
    char at[SIRQ_CONF_PATH], what[sizeof(err->text)];
    va_list args;

    if (rc >= 0)
        return rc;
    va_start(args, path);
    vsnprintf(at, sizeof(at), path, args);
    va_end(args);
    snprintf(what, sizeof(what), "%s", err->text[0] != '\0' ? err->text : strerror(-rc));
    sirq_run_bad(source, err, at, "%s", what);
    return rc;
}

/* The watchdog's, from the clock thread. */
static void report(void *arg, unsigned cpu, const char *what, uint64_t value)
{
    (void)arg;
    fprintf(stderr, "softirq run: cpu %u: %s (%llu)\n", cpu, what, (unsigned long long)value);
}

static int start_engine(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_file *file = plane->source.file;
    cpu_set_t cpus;
    struct sirq_live_config config = {
        .cpus = &cpus,
        .hz = file->hz,
        .delivery = file->delivery,
        .policy = file->policy != NULL ? sirq_policy_find(file->policy) : NULL,
        .ksoftirqd = sirq_run_sched_of(&file->ksoftirqd),
        .max_threads = 1 + sirq_run_threads_of(file),
        .stall_ns = (uint64_t)file->stall_ms * 1000000,
        .report = report,
    };
    int rc;

    CPU_ZERO(&cpus);
    for (uint32_t i = 0; i < file->n_cpus; i++)
        CPU_SET(file->cpus[i], &cpus);
    rc = sirq_live_start(&plane->live, &config, err);
    return sirq_run_blame(&plane->source, rc, err, "%s", rc == -EPERM ? "ksoftirqd" : "cpus");
}

static int create_net(struct sirq_run_plane *plane, struct sirq_error *err)
{
    const struct sirq_run_net *net = &plane->source.file->net;
    const struct sirq_net_config config = {
        .pool_packets = net->pool_packets,
        .max_sockets = 2 * SIRQ_RUN_SERVICES,
        .netdev_budget = net->netdev_budget,
        .netdev_budget_jiffies = net->netdev_budget_jiffies,
        .netdev_max_backlog = net->netdev_max_backlog,
        .flow_limit = net->flow_limit,
    };

    err->text[0] = '\0';
    return sirq_run_blame(&plane->source,
                          sirq_net_create(&plane->net, sirq_live_core(plane->live), &config), err,
                          "net");
}

static int build(struct sirq_run_plane *plane, struct sirq_error *err)
{
    int rc = start_engine(plane, err);

    if (rc == 0)
        rc = create_net(plane, err);
    if (rc == 0)
        rc = sirq_run_devices_open(plane, err);
    if (rc == 0)
        rc = sirq_run_services_start(plane, err);
    if (rc == 0)
        rc = sirq_run_devices_attach(plane, err);
    return rc != 0 ? rc : sirq_run_steer(plane, &plane->source, err);
}

int sirq_run_open(struct sirq_run_plane *plane, struct sirq_run_source *source,
                  struct sirq_error *err)
{
    int rc;

    *plane = (struct sirq_run_plane){.source = *source};
    rc = build(plane, err);
    if (rc != 0)
        sirq_run_close(plane);
    return rc;
}

void sirq_run_close(struct sirq_run_plane *plane)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        if (plane->devices[i].attached)
            sirq_live_detach(plane->live, &plane->devices[i].dev);
        plane->devices[i].attached = false;
    }
    if (plane->net != NULL)
        sirq_run_unsteer(plane);
    for (unsigned i = 0; i < plane->nservers; i++)
        sirq_run_server_free(plane->servers[i]);
    for (unsigned i = 0; i < SIRQ_RUN_SERVICES; i++)
        sirq_dns_zone_free(plane->dns[i].zone);
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        if (plane->devices[i].open)
            sirq_netdev_close(&plane->devices[i].dev);
    }
    if (plane->net != NULL)
        sirq_net_destroy(plane->net);
    if (plane->live != NULL)
        sirq_live_stop(plane->live);
    sirq_run_source_free(&plane->source);
}
