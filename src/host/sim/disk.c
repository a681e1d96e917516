/* SPDX-License-Identifier: MIT */
/* Simulated storage as users see it. */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>

#include "../../sim/disk.h"

#define NS_PER_S UINT64_C(1000000000)
#define QUEUE_MAX 65536u
#define QUEUE_DEFAULT 64u

_Static_assert(SIRQ_SIM_DISK_DEPTH == SIM_DISK_DEPTH, "sirq/sim.h");

static int check(const struct sirq_sim *sim, const struct sirq_sim_disk_config *config,
                 struct sirq_error *err)
{
    if (config->service_ns < 1 || config->service_ns > NS_PER_S || config->jitter_ns > NS_PER_S)
        return sirq_fail(err, EINVAL,
                         "disk: service_ns %llu, jitter_ns %llu: give 1, or 0, to %llu",
                         (unsigned long long)config->service_ns,
                         (unsigned long long)config->jitter_ns, (unsigned long long)NS_PER_S);
    if (config->depth > SIRQ_SIM_DISK_DEPTH)
        return sirq_fail(err, EINVAL, "disk: depth %u: give 1 to %u", config->depth,
                         SIRQ_SIM_DISK_DEPTH);
    if (config->queue > QUEUE_MAX || (config->queue != 0 && config->queue < config->depth))
        return sirq_fail(err, EINVAL, "disk: queue %u: give the depth (%u) or more, at most %u",
                         config->queue, config->depth, QUEUE_MAX);
    if (config->cpu >= sim->ncpus || !sim->vcpus[config->cpu].active)
        return sirq_fail(err, EINVAL, "disk: cpu %u: not one of the %u CPUs that is online",
                         config->cpu, sim->ncpus);
    return 0;
}

int sirq_sim_disk_create(struct sirq_sim *sim, const struct sirq_sim_disk_config *config,
                         struct sirq_sim_disk **out, struct sirq_error *err)
{
    struct sirq_sim_disk *disk;
    int rc = check(sim, config, err);

    if (rc != 0)
        return rc;
    if (sim->disks == NULL)
        rc = sirq_open(&sim->core, SIRQ_BLOCK, "BLOCK", sirq_disk_action, sim);
    if (rc != 0)
        return sirq_fail(err, -rc, "disk: the BLOCK vector is in use: open no action of your own");
    disk = sirq_disk_new(sim, config->depth != 0 ? config->depth : 1);
    if (disk == NULL)
        return sirq_fail(err, ENOMEM, "disk: out of memory");
    disk->vcpu = &sim->vcpus[config->cpu];
    disk->service_ns = config->service_ns;
    disk->jitter_ns = config->jitter_ns;
    disk->queue = config->queue != 0 ? config->queue : QUEUE_DEFAULT;
    *out = disk;
    return 0;
}

void sirq_sim_disk_read(struct sirq_sim_task *task, struct sirq_sim_disk *disk)
{
    sirq_disk_read(task, disk);
}

void sirq_sim_disk_stats(const struct sirq_sim_disk *disk, struct sirq_sim_disk_stats *out)
{
    *out = (struct sirq_sim_disk_stats){
        .requests = disk->requests,
        .completed = disk->completed,
        .full = disk->full,
        .latency_ns = disk->latency_ns,
        .latency_ns_max = disk->latency_ns_max,
    };
}
