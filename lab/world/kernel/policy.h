/* SPDX-License-Identifier: MIT */
/* The kernel world's policies: settings of the running kernel, by name. */
#ifndef SIRQ_LAB_KERNEL_POLICY_H
#define SIRQ_LAB_KERNEL_POLICY_H

#include <stdbool.h>

struct sirq_kernel_policy {
    const char *name, *summary;
    bool rr;              /* receivers under SCHED_RR 20 */
    bool elsewhere;       /* softirqs on another CPU than the receivers */
    bool threaded;        /* NAPI in a thread, on the receivers' CPU */
    bool fifo_ksoftirqd;  /* ksoftirqd of that CPU under SCHED_FIFO 1 */
    bool backlog_threads; /* the backlog in the kernel's backlog_napi threads */
    const char *file;     /* in /proc/sys/net/core, of the whole machine; null: none */
    const char *value;    /* what is written there */
};

extern const struct sirq_kernel_policy sirq_kernel_policies[]; /* ends with a null name */

const struct sirq_kernel_policy *sirq_kernel_policy_find(const char *name);

#endif
