/* SPDX-License-Identifier: MIT */
/*
 * What a running plane takes up: the policy, steering, and which threads poll.  Each call of the
 * library keeps frames and their order while it changes something; here is only who is called.
 */
#include "plane.h"

#include <errno.h>

static int steer_core(struct sirq_run_plane *plane, const struct sirq_run_file *file,
                      struct sirq_error *err)
{
    const struct sirq_policy *policy =
        file->policy != NULL ? sirq_policy_find(file->policy) : sirq_policy_default();
    const struct sirq_sched sched = sirq_run_sched_of(&file->ksoftirqd);
    int rc = 0;

    sirq_set_policy(sirq_live_core(plane->live), policy);
    for (uint32_t i = 0; i < file->n_cpus && rc == 0; i++)
        rc = sirq_live_ksoftirqd_sched(plane->live, file->cpus[i], &sched, err);
    return rc;
}

/* A poller's CPUs as a set; null: it has none. */
static const cpu_set_t *set_of(const uint32_t *cpus, uint32_t n, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (uint32_t i = 0; i < n; i++)
        CPU_SET(cpus[i], set);
    return n > 0 ? set : NULL;
}

static int steer_device(struct sirq_run_plane *plane, const struct sirq_run_interface *interface,
                        struct sirq_netdev *dev, struct sirq_error *err)
{
    const struct sirq_run_poller *threaded = interface->threaded;
    struct sirq_live_napi_attr attr;
    unsigned rps[SIRQ_RUN_CPUS];
    cpu_set_t set;
    int rc;

    for (uint32_t i = 0; i < interface->n_rps; i++)
        rps[i] = sirq_live_cpu(plane->live, interface->rps[i])->id;
    rc = sirq_netdev_set_rps(dev, rps, interface->n_rps, err);
    if (rc == 0 && threaded == NULL)
        sirq_live_napi_unthread(plane->live, dev);
    if (rc != 0 || threaded == NULL)
        return rc;
    attr.sched = sirq_run_sched_of(&threaded->sched);
    attr.cpus = set_of(threaded->cpus, threaded->n_cpus, &set);
    return sirq_live_napi_thread(plane->live, dev, &attr, err);
}

static int steer_backlogs(struct sirq_run_plane *plane, const struct sirq_run_source *source,
                          struct sirq_error *err)
{
    const struct sirq_run_file *file = source->file;
    cpu_set_t of, on, rest;
    int rc = 0;

    set_of(file->cpus, file->n_cpus, &rest);
    for (uint32_t i = 0; i < file->n_backlog_threads && rc == 0; i++) {
        const struct sirq_run_backlog *backlog = &file->backlog_threads[i];
        const struct sirq_live_napi_attr attr = {
            .sched = sirq_run_sched_of(&backlog->on.sched),
            .cpus = set_of(backlog->on.cpus, backlog->on.n_cpus, &on),
        };

        if (backlog->n_of == 0)
            set_of(file->cpus, file->n_cpus, &of);
        else
            set_of(backlog->of, backlog->n_of, &of);
        rc = sirq_live_backlog_threads(plane->live, plane->net, &of, &attr, err);
        rc = sirq_run_blame(source, rc, err, "backlog_threads[%u]", i);
        CPU_XOR(&rest, &rest, &of);
    }
    if (rc == 0 && CPU_COUNT(&rest) > 0)
        sirq_live_backlog_unthread(plane->live, plane->net, &rest);
    return rc;
}

int sirq_run_steer(struct sirq_run_plane *plane, const struct sirq_run_source *source,
                   struct sirq_error *err)
{
    const struct sirq_run_file *file = source->file;
    int rc = sirq_run_blame(source, steer_core(plane, file, err), err, "ksoftirqd");

    for (uint32_t i = 0; i < file->n_interfaces && rc == 0; i++) {
        rc = steer_device(plane, &file->interfaces[i], &plane->devices[i].dev, err);
        rc = sirq_run_blame(source, rc, err, "interfaces[%u]", i);
    }
    if (rc == 0)
        rc = sirq_run_blame(source, sirq_net_set_rfs(plane->net, file->rfs, err), err, "rfs");
    return rc != 0 ? rc : steer_backlogs(plane, source, err);
}

void sirq_run_unsteer(struct sirq_run_plane *plane)
{
    for (unsigned i = 0; i < SIRQ_RUN_INTERFACES; i++) {
        if (plane->devices[i].open)
            sirq_live_napi_unthread(plane->live, &plane->devices[i].dev);
    }
    sirq_live_backlog_unthread(plane->live, plane->net, NULL);
}
