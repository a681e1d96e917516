/* SPDX-License-Identifier: MIT */
/*
 * Tasks that poll NAPI instances; what they do is in src/net/thread.c.
 *
 * A task that was told to end may be in the middle of a poll: it is waited for, so that there is
 * never more than one for an instance.
 */
#define SIRQ_SIM_HOST_PRIVATE
#include "host.h"

#include <errno.h>
#include <stdlib.h>

struct sim_napi_thread {
    struct sirq_napi_thread body;
    struct sirq_sim_task *task;
    struct sim_napi_thread *next;
};

static void task_main(struct sirq_sim_task *task, void *arg)
{
    struct sim_napi_thread *thread = arg;

    (void)task;
    sirq_napi_thread_main(&thread->body);
}

static struct sim_napi_thread **find(struct sirq_sim *sim, const struct sirq_napi *napi)
{
    struct sim_napi_thread **link = &sim->napi_threads;

    while (*link != NULL && (*link)->body.napi != napi)
        link = &(*link)->next;
    return link;
}

struct sirq_sim_task *sirq_sim_napi_task(struct sirq_sim *sim, const struct sirq_napi *napi)
{
    const struct sim_napi_thread *thread = *find(sim, napi);

    return thread != NULL ? thread->task : NULL;
}

static void end(struct sirq_sim *sim, const struct sirq_napi *napi)
{
    struct sim_napi_thread *thread = *find(sim, napi);

    if (thread == NULL)
        return;
    sirq_napi_thread_off(&thread->body);
    while (!thread->body.ended)
        sim->core.host->relax(thread->body.home);
    *find(sim, napi) = thread->next; /* time has passed */
    free(thread);
}

static int begin(struct sirq_sim *sim, struct sirq_napi *napi, const char *name,
                 struct sirq_cpu *home, const struct sirq_sim_napi_attr *attr,
                 struct sirq_error *err)
{
    struct sirq_sim_task_config config = {.name = name, .fn = task_main, .cpu = -1};
    struct sim_napi_thread *thread;
    int rc;

    end(sim, napi); /* first: until it has ended what is scheduled is its own */
    thread = calloc(1, sizeof(*thread));
    if (thread == NULL)
        return sirq_fail(err, ENOMEM, "%s: out of memory", name);
    if (attr != NULL) {
        config.sched = attr->sched;
        config.allowed = attr->allowed;
    }
    config.arg = thread;
    sirq_napi_thread_init(&thread->body, napi, home);
    rc = sirq_sim_spawn(sim, &config, &thread->task, err);
    if (rc != 0) {
        free(thread);
        return rc;
    }
    thread->next = sim->napi_threads;
    sim->napi_threads = thread;
    sirq_napi_thread_on(&thread->body);
    return 0;
}

int sirq_sim_napi_thread(struct sirq_sim *sim, struct sirq_netdev *dev,
                         const struct sirq_sim_napi_attr *attr, struct sirq_error *err)
{
    struct sirq_cpu *home = dev->irq.cpu != NULL ? dev->irq.cpu : &sim->cpus[0];

    return begin(sim, &dev->napi, dev->name, home, attr, err);
}

void sirq_sim_napi_unthread(struct sirq_sim *sim, struct sirq_netdev *dev)
{
    end(sim, &dev->napi);
}

static bool in_set(const uint64_t *set, unsigned cpu)
{
    return set == NULL || (set[cpu / 64] >> (cpu % 64) & 1);
}

int sirq_sim_backlog_threads(struct sirq_sim *sim, struct sirq_net *net, const uint64_t *set,
                             const struct sirq_sim_napi_attr *attr, struct sirq_error *err)
{
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < sim->ncpus; i++)
        if (in_set(set, i))
            rc = begin(sim, sirq_net_backlog(net, i), "backlog_napi", &sim->cpus[i], attr, err);
    return rc;
}

void sirq_sim_backlog_unthread(struct sirq_sim *sim, struct sirq_net *net, const uint64_t *set)
{
    for (unsigned i = 0; i < sim->ncpus; i++)
        if (in_set(set, i))
            end(sim, sirq_net_backlog(net, i));
}

void sirq_sim_napi_free(struct sirq_sim *sim)
{
    struct sim_napi_thread *thread = sim->napi_threads, *next;

    for (; thread != NULL; thread = next) {
        next = thread->next;
        free(thread);
    }
}
