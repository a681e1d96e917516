/* SPDX-License-Identifier: MIT */
/*
 * Threads that poll NAPI instances: napi/DEV-0 and backlog_napi/N.  What they do is in
 * src/net/thread.c; here they are made, placed and ended, one call at a time (napi_lock).
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NODES 1024u /* of NUMA, at most */

struct live_napi {
    struct sirq_napi_thread body;
    struct live_napi *next;
    pthread_t thread;
    pid_t tid; /* __atomic, futex; 0: has not begun */
    char name[16];
};

static void *napi_main(void *arg)
{
    struct live_napi *napi = arg;

    sirq_host_own_thread = true;
    __atomic_store_n(&napi->tid, gettid(), __ATOMIC_RELEASE);
    sirq_host_futex_wake((uint32_t *)&napi->tid, 1);
    sirq_napi_thread_main(&napi->body);
    return NULL;
}

/* ---- where it runs ---------------------------------------------------------------------- */

/* The CPUs of `number`'s NUMA node; false where the system does not say. */
static bool node_cpus(unsigned number, cpu_set_t *set)
{
    char path[96];
    unsigned node = 0, from, to;
    FILE *file;
    char sep;

    for (; node < NODES; node++) {
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/node%u/cpulist", number, node);
        if (access(path, R_OK) == 0)
            break;
    }
    file = node < NODES ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    CPU_ZERO(set);
    while (fscanf(file, "%u", &from) == 1) { /* 0-3,8-11 */
        to = from;
        if (fscanf(file, "%c", &sep) == 1 && sep == '-' && fscanf(file, "%u%c", &to, &sep) < 1)
            break;
        for (unsigned cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
            CPU_SET(cpu, set);
    }
    fclose(file);
    return true;
}

/* The engine's CPUs on the node of `home`. */
static void default_cpus(struct sirq_live *live, const struct sirq_cpu *home, cpu_set_t *set)
{
    cpu_set_t node;
    bool known = node_cpus(live_of(home)->number, &node);

    CPU_ZERO(set);
    for (unsigned i = 0; i < live->ncpus; i++)
        if (live_up(&live->cpus[i]) && (!known || CPU_ISSET(live->cpus[i].number, &node)))
            CPU_SET(live->cpus[i].number, set);
    if (CPU_COUNT(set) == 0)
        CPU_SET(live_of(home)->number, set);
}

static int place(struct sirq_live *live, const struct live_napi *napi,
                 const struct sirq_live_napi_attr *attr, struct sirq_error *err)
{
    static const struct sirq_live_napi_attr defaults;
    bool asked;
    cpu_set_t set;
    int ret;

    if (attr == NULL)
        attr = &defaults;
    if (attr->cpus != NULL)
        set = *attr->cpus;
    else
        default_cpus(live, napi->body.home, &set);
    if (sched_setaffinity(napi->tid, sizeof(set), &set) != 0)
        return sirq_fail(err, errno,
                         "%s: cannot run on these CPUs (%s): give some that are online "
                         "and in the cpuset",
                         napi->name, strerror(errno));
    ret = sirq_host_sched_set(napi->tid, &attr->sched, napi->name, err);
    asked = attr->sched.policy != SCHED_OTHER || attr->sched.nice != 0;
    return ret == -EPERM && !asked ? 0 : ret;
}

/* ---- begin and end ---------------------------------------------------------------------- */

static struct live_napi **find(struct sirq_live *live, const struct sirq_napi *napi)
{
    struct live_napi **link = &live->napis;

    while (*link != NULL && (*link)->body.napi != napi)
        link = &(*link)->next;
    return link;
}

static void end_thread(struct live_napi *napi)
{
    sirq_napi_thread_off(&napi->body);
    pthread_join(napi->thread, NULL);
    free(napi);
}

static void end(struct sirq_live *live, const struct sirq_napi *of)
{
    struct live_napi **link = find(live, of), *napi = *link;

    if (napi == NULL)
        return;
    *link = napi->next;
    end_thread(napi);
}

static int start(struct sirq_live *live, struct live_napi *napi,
                 const struct sirq_live_napi_attr *attr, struct sirq_error *err)
{
    int ret = sirq_host_spawn(&napi->thread, napi->name, UINT32_MAX, napi_main, napi);

    if (ret != 0) {
        free(napi);
        return sirq_fail(err, -ret, "thread: cannot start: %s", strerror(-ret));
    }
    while (__atomic_load_n(&napi->tid, __ATOMIC_ACQUIRE) == 0)
        sirq_host_futex_wait((uint32_t *)&napi->tid, 0, NULL);
    ret = place(live, napi, attr, err);
    if (ret != 0) {
        end_thread(napi);
        return ret;
    }
    napi->next = live->napis;
    live->napis = napi;
    sirq_napi_thread_on(&napi->body);
    return 0;
}

/* `name` is copied.  napi_lock is held. */
static int begin(struct sirq_live *live, struct sirq_napi *of, const char *name,
                 struct sirq_cpu *home, const struct sirq_live_napi_attr *attr,
                 struct sirq_error *err)
{
    struct live_napi *napi = *find(live, of);
    int ret = attr != NULL ? sirq_host_sched_check(&attr->sched, name, err) : 0;

    if (ret != 0)
        return ret;
    if (napi != NULL)
        return place(live, napi, attr, err);
    napi = calloc(1, sizeof(*napi));
    if (napi == NULL)
        return sirq_fail(err, ENOMEM, "%s: out of memory", name);
    snprintf(napi->name, sizeof(napi->name), "%s", name);
    sirq_napi_thread_init(&napi->body, of, home);
    return start(live, napi, attr, err);
}

/* ---- for users -------------------------------------------------------------------------- */

int sirq_live_napi_thread(struct sirq_live *live, struct sirq_netdev *dev,
                          const struct sirq_live_napi_attr *attr, struct sirq_error *err)
{
    struct sirq_cpu *home = dev->irq.cpu != NULL ? dev->irq.cpu : sirq_any_online(&live->core);
    char name[16];
    int ret;

    LIVE_ASSERT_TASK(live, "sirq_live_napi_thread");
    snprintf(name, sizeof(name), "napi/%.8s-0", dev->name);
    pthread_mutex_lock(&live->napi_lock);
    ret = begin(live, &dev->napi, name, home, attr, err);
    pthread_mutex_unlock(&live->napi_lock);
    return ret;
}

void sirq_live_napi_unthread(struct sirq_live *live, struct sirq_netdev *dev)
{
    LIVE_ASSERT_TASK(live, "sirq_live_napi_unthread");
    pthread_mutex_lock(&live->napi_lock);
    end(live, &dev->napi);
    pthread_mutex_unlock(&live->napi_lock);
}

int sirq_live_backlog_threads(struct sirq_live *live, struct sirq_net *net, const cpu_set_t *set,
                              const struct sirq_live_napi_attr *attr, struct sirq_error *err)
{
    char name[16];
    int ret = 0;

    LIVE_ASSERT_TASK(live, "sirq_live_backlog_threads");
    pthread_mutex_lock(&live->napi_lock);
    for (unsigned number = 0; ret == 0 && number < CPU_SETSIZE; number++) {
        struct sirq_cpu *home = sirq_live_cpu(live, number);

        if (set != NULL ? !CPU_ISSET(number, set) : home == NULL)
            continue;
        sirq_host_thread_name(name, "backlog_napi", number);
        if (home == NULL)
            ret =
                sirq_fail(err, EINVAL, "%s: cpu %u is not one of the engine's CPUs", name, number);
        else
            ret = begin(live, sirq_net_backlog(net, home->id), name, home, attr, err);
    }
    pthread_mutex_unlock(&live->napi_lock);
    return ret;
}

/* Also of CPUs that the engine does not have any more. */
void sirq_live_backlog_unthread(struct sirq_live *live, struct sirq_net *net, const cpu_set_t *set)
{
    LIVE_ASSERT_TASK(live, "sirq_live_backlog_unthread");
    pthread_mutex_lock(&live->napi_lock);
    for (unsigned i = 0; i < live->ncpus; i++)
        if (set == NULL || CPU_ISSET(live->cpus[i].number, set))
            end(live, sirq_net_backlog(net, i));
    pthread_mutex_unlock(&live->napi_lock);
}
