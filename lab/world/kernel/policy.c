/* SPDX-License-Identifier: MIT */
#include "policy.h"

#include <stddef.h>
#include <string.h>

const struct sirq_kernel_policy sirq_kernel_policies[] = {
    {.name = "kernel:default", .summary = "softirqs on the receivers' CPU, nothing changed"},
    {.name = "kernel:rps-other-cpu",
     .summary = "softirqs on another CPU (a spare one by RPS, else the sender's)",
     .elsewhere = true},
    {.name = "kernel:rr-receiver", .summary = "receivers under SCHED_RR 20", .rr = true},
    {.name = "kernel:threaded-napi",
     .summary = "NAPI in a thread of its own on the receivers' CPU",
     .threaded = true},
    {.name = "kernel:threaded-napi-rr",
     .summary = "the same, and receivers under SCHED_RR 20",
     .threaded = true,
     .rr = true},
    {.name = "kernel:fifo-ksoftirqd",
     .summary = "ksoftirqd of that CPU under SCHED_FIFO 1",
     .fifo_ksoftirqd = true},
    {.name = "kernel:budget-64",
     .summary = "netdev_budget 64: packets of one net_rx_action",
     .file = "netdev_budget",
     .value = "64"},
    {.name = "kernel:budget-usecs-20000",
     .summary = "netdev_budget_usecs 20000: time of one net_rx_action",
     .file = "netdev_budget_usecs",
     .value = "20000"},
    {.name = "kernel:backlog-100",
     .summary = "netdev_max_backlog 100: packets that wait for a CPU's softirq",
     .file = "netdev_max_backlog",
     .value = "100"},
    {.name = "kernel:backlog-napi",
     .summary = "the backlog in a thread (needs the boot parameter thread_backlog_napi)",
     .backlog_threads = true},
    {0},
};

const struct sirq_kernel_policy *sirq_kernel_policy_find(const char *name)
{
    for (const struct sirq_kernel_policy *p = sirq_kernel_policies; p->name; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}
