/* SPDX-License-Identifier: MIT */
/* Setting the kernel as a policy says, for one run of a cell. */
#ifndef SIRQ_LAB_KERNEL_KNOBS_H
#define SIRQ_LAB_KERNEL_KNOBS_H

#include "guardian.h"
#include "policy.h"
#include "world/common/cpu.h"

#define SIRQ_KERNEL_NAPI_THREADS 8u

/* What was set, as far as measuring has to know. */
struct sirq_kernel_knobs {
    pid_t ksoftirqd;                      /* of the receivers' CPU, 0: not to be seen */
    pid_t napi[SIRQ_KERNEL_NAPI_THREADS]; /* threads that poll in place of softirqs */
    unsigned n_napi;
};

/*
 * The veth pair is there.  What is the machine's is changed by the guardian, what is the pair's
 * goes away with it.
 * 0, -ENOTSUP (this kernel cannot do it, or we may not: err says which setting and why), or
 * -errno with err filled.
 */
int sirq_kernel_knobs_set(struct sirq_kernel_knobs *knobs, const struct sirq_kernel_policy *policy,
                          const struct sirq_lab_cpus *cpus, const struct sirq_guardian *guardian,
                          struct sirq_error *err);

/* Why a change of `what` failed with `code`, as the line of a cell: -ENOTSUP, or what cannot be
 * said of one cell. */
int sirq_kernel_knobs_why(struct sirq_error *err, int code, const char *what);

/* A CPU as a mask of /sys: "00000002", "1,00000000".  buf of 1,024 bytes at most; returns it. */
const char *sirq_kernel_knobs_mask(char *buf, size_t size, unsigned cpu);

#endif
