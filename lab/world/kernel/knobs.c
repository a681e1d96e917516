/* SPDX-License-Identifier: MIT */
/*
 * A pair's frames are received where its mask says (RPS): in the backlog of that CPU, in its
 * softirq, after an interrupt from the CPU that sent.  Without a mask they are received on the
 * sender's CPU.  With threaded NAPI a thread polls the receiving end and does all of it.
 */
#include "knobs.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

int sirq_kernel_knobs_why(struct sirq_error *err, int code, const char *what)
{
    if (code == -EPIPE)
        return sirq_fail(err, EPIPE,
                         "the process that restores the kernel's settings has ended: look at "
                         "/proc/sys/net/core/netdev_* and the class of ksoftirqd yourself");
    if (code == -ENOENT)
        return sirq_fail(err, ENOTSUP, "%s: this kernel has no such setting", what);
    if (code == -EPERM || code == -EACCES || code == -EROFS)
        return sirq_fail(err, ENOTSUP, "%s: may not be changed here: %s", what, strerror(-code));
    return sirq_fail(err, ENOTSUP, "%s: the kernel does not take it: %s", what, strerror(-code));
}

const char *sirq_kernel_knobs_mask(char *buf, size_t size, unsigned cpu)
{
    int len = snprintf(buf, size, "%x", 1u << (cpu % 32));

    for (unsigned word = cpu / 32; word && len > 0 && (size_t)len + 10 < size; word--)
        len += snprintf(buf + len, size - (size_t)len, ",00000000");
    return buf;
}

static int set_rps(unsigned cpu, struct sirq_error *err)
{
    char mask[1024];
    int rc = sirq_kernel_net_write("queues/rx-0/rps_cpus",
                                   sirq_kernel_knobs_mask(mask, sizeof(mask), cpu));

    return rc ? sirq_kernel_knobs_why(err, rc, "rps_cpus of the receiving interface") : 0;
}

static int pin(pid_t tid, unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(tid, sizeof(set), &set) ? -errno : 0;
}

static int set_threaded(struct sirq_kernel_knobs *knobs, unsigned cpu, struct sirq_error *err)
{
    int rc = sirq_kernel_net_write("threaded", "1");

    if (rc)
        return sirq_kernel_knobs_why(err, rc, "threaded NAPI");
    knobs->n_napi =
        sirq_kernel_threads("napi/" SIRQ_VETH_RX "-", knobs->napi, SIRQ_KERNEL_NAPI_THREADS);
    if (!knobs->n_napi)
        return sirq_fail(err, ENOTSUP,
                         "threaded NAPI: its threads cannot be seen here (a PID namespace hides "
                         "them), so not be put on CPU %u",
                         cpu);
    for (unsigned i = 0; i < knobs->n_napi && !rc; i++)
        rc = pin(knobs->napi[i], cpu);
    return rc ? sirq_kernel_knobs_why(err, rc, "CPU of a NAPI thread") : 0;
}

static int set_ksoftirqd(const struct sirq_kernel_knobs *knobs,
                         const struct sirq_guardian *guardian, struct sirq_error *err)
{
    int rc;

    if (!knobs->ksoftirqd)
        return sirq_fail(err, ENOTSUP,
                         "ksoftirqd cannot be seen here (a PID namespace hides it), so its class "
                         "not be changed");
    rc = sirq_guardian_class(guardian, knobs->ksoftirqd, SCHED_FIFO, 1);
    return rc ? sirq_kernel_knobs_why(err, rc, "class of ksoftirqd") : 0;
}

/* The kernel is asked for threads when it boots; from then on every CPU has its own. */
static int use_backlog_threads(struct sirq_kernel_knobs *knobs, unsigned cpu,
                               struct sirq_error *err)
{
    char name[32];

    snprintf(name, sizeof(name), "backlog_napi/%u", cpu);
    knobs->n_napi = sirq_kernel_threads(name, knobs->napi, 1);
    return knobs->n_napi ? 0
                         : sirq_fail(err, ENOTSUP,
                                     "no thread %s: this kernel cannot switch it while it runs; "
                                     "boot it with thread_backlog_napi (Linux 6.10 or later)",
                                     name);
}

static int set_file(const struct sirq_kernel_policy *policy, const struct sirq_guardian *guardian,
                    struct sirq_error *err)
{
    char path[SIRQ_GUARDIAN_PATH];
    int rc;

    snprintf(path, sizeof(path), "/proc/sys/net/core/%s", policy->file);
    rc = sirq_guardian_write(guardian, path, policy->value);
    return rc ? sirq_kernel_knobs_why(err, rc, policy->file) : 0;
}

int sirq_kernel_knobs_set(struct sirq_kernel_knobs *knobs, const struct sirq_kernel_policy *policy,
                          const struct sirq_lab_cpus *cpus, const struct sirq_guardian *guardian,
                          struct sirq_error *err)
{
    char name[32];
    int rc = 0;

    memset(knobs, 0, sizeof(*knobs));
    snprintf(name, sizeof(name), "ksoftirqd/%u", cpus->flooded);
    if (!sirq_kernel_threads(name, &knobs->ksoftirqd, 1))
        knobs->ksoftirqd = 0;
    if (policy->threaded)
        rc = set_threaded(knobs, cpus->flooded, err);
    else if (!policy->elsewhere)
        rc = set_rps(cpus->flooded, err);
    else if (cpus->spare >= 0)
        rc = set_rps((unsigned)cpus->spare, err);
    if (!rc && policy->backlog_threads)
        rc = use_backlog_threads(knobs, cpus->flooded, err);
    if (!rc && policy->fifo_ksoftirqd)
        rc = set_ksoftirqd(knobs, guardian, err);
    if (!rc && policy->file)
        rc = set_file(policy, guardian, err);
    return rc;
}
