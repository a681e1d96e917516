/* SPDX-License-Identifier: MIT */
/* Scheduling class, priority, nice and affinity of threads, with errors for people. */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static const char *class_name(int policy)
{
    switch (policy) {
    case SCHED_OTHER:
        return "SCHED_OTHER";
    case SCHED_BATCH:
        return "SCHED_BATCH";
    case SCHED_IDLE:
        return "SCHED_IDLE";
    case SCHED_FIFO:
        return "SCHED_FIFO";
    case SCHED_RR:
        return "SCHED_RR";
    default:
        return NULL;
    }
}

int sirq_host_sched_check(const struct sirq_sched *sched, const char *who, struct sirq_error *err)
{
    bool rt = sched->policy == SCHED_FIFO || sched->policy == SCHED_RR;

    if (class_name(sched->policy) == NULL)
        return sirq_fail(err, EINVAL, "%s: no scheduling class has the number %d", who,
                         sched->policy);
    if (rt && (sched->priority < 1 || sched->priority > 99))
        return sirq_fail(err, EINVAL, "%s: priority %d: %s takes 1 to 99", who, sched->priority,
                         class_name(sched->policy));
    if (!rt && sched->priority != 0)
        return sirq_fail(err, EINVAL, "%s: priority %d: %s has none, give 0", who, sched->priority,
                         class_name(sched->policy));
    if (sched->nice < -20 || sched->nice > 19)
        return sirq_fail(err, EINVAL, "%s: nice %d: give -20 to 19", who, sched->nice);
    return 0;
}

int sirq_host_sched_set(pid_t tid, const struct sirq_sched *sched, const char *who,
                        struct sirq_error *err)
{
    struct sched_param param = {.sched_priority = sched->priority};

    if (sched_setscheduler(tid, sched->policy, &param) != 0)
        return sirq_fail(err, errno,
                         "%s: %s priority %d not permitted (%s): run as root, grant "
                         "CAP_SYS_NICE, or raise RLIMIT_RTPRIO (ulimit -r)",
                         who, class_name(sched->policy), sched->priority, strerror(errno));
    if (setpriority(PRIO_PROCESS, (id_t)tid, sched->nice) != 0)
        return sirq_fail(err, errno == EACCES ? EPERM : errno,
                         "%s: nice %d not permitted: run as root, grant CAP_SYS_NICE, or "
                         "raise RLIMIT_NICE (ulimit -e)",
                         who, sched->nice);
    return 0;
}

int sirq_host_sched_get(pid_t tid, struct sirq_sched *sched)
{
    struct sched_param param;

    sched->policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
    if (sched->policy < 0 || sched_getparam(tid, &param) != 0)
        return -errno;
    sched->priority = param.sched_priority;
    sched->nice = getpriority(PRIO_PROCESS, (id_t)tid);
    return 0;
}

int sirq_host_pin(pid_t tid, unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(tid, sizeof(set), &set) == 0 ? 0 : -errno;
}

int sirq_host_ksoftirqd_place(const struct live_cpu *lc)
{
    if (CPU_COUNT(&lc->ksoftirqd_cpus) == 0)
        return sirq_host_pin(lc->ksoftirqd_tid, lc->number);
    if (sched_setaffinity(lc->ksoftirqd_tid, sizeof(cpu_set_t), &lc->ksoftirqd_cpus) == 0)
        return 0;
    return -errno;
}

/* Nothing rests on where ksoftirqd runs: the CPU's owner is a lock. */
static int place_ksoftirqd(struct live_cpu *lc, const cpu_set_t *set, struct sirq_error *err)
{
    cpu_set_t before = lc->ksoftirqd_cpus;
    int ret;

    CPU_ZERO(&lc->ksoftirqd_cpus);
    if (set != NULL)
        lc->ksoftirqd_cpus = *set;
    ret = sirq_host_ksoftirqd_place(lc);
    if (ret == 0)
        return 0;
    lc->ksoftirqd_cpus = before;
    return sirq_fail(err, -ret,
                     "ksoftirqd/%u: cannot run on these CPUs (%s): give some that are online "
                     "and in the cpuset",
                     lc->number, strerror(-ret));
}

int sirq_live_ksoftirqd_affinity(struct sirq_live *live, unsigned cpu, const cpu_set_t *set,
                                 struct sirq_error *err)
{
    struct sirq_cpu *found;
    sigset_t before;
    int ret;

    sirq_host_config_lock(live, &before);
    found = sirq_live_cpu(live, cpu);
    if (found == NULL)
        ret = sirq_fail(err, EINVAL, "cpu %u: not one of the engine's CPUs", cpu);
    else
        ret = place_ksoftirqd(live_of(found), set, err);
    sirq_host_config_unlock(live, &before);
    return ret;
}
