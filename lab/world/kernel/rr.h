/* SPDX-License-Identifier: MIT */
/* tcp-rr on the running kernel: a run, its figures and its report. */
#ifndef SIRQ_LAB_KERNEL_RR_H
#define SIRQ_LAB_KERNEL_RR_H

#include <pthread.h>
#include <stdio.h>

#include "counters.h"
#include "dist.h"
#include "knobs.h"
#include "rr_peers.h"
#include "session.h"

#define SIRQ_KERNEL_RR_OTHERS 200u

struct sirq_kernel_rr_client {
    pthread_t thread;
    unsigned cpu;
    bool rr;
    int fd, rc;                      /* rc before ended */
    uint32_t measuring, stop, ended; /* __atomic */
    struct sirq_dist latency;        /* ns; its own until it has ended */
};

struct sirq_kernel_rr {
    struct sirq_kernel_session session;
    struct sirq_rr_peer server, others;
    struct sirq_kernel_rr_client client;
    struct sirq_kernel_knobs knobs;
};

struct sirq_kernel_rr_sample {
    uint64_t wall_ns, transactions, ksoftirqd_ns, napi_ns, client_ns;
    struct sirq_kernel_counters count;
};

int sirq_kernel_rr_sample(const struct sirq_kernel_rr *rr, struct sirq_kernel_rr_sample *sample,
                          struct sirq_error *err);
void sirq_kernel_rr_measure(struct sirq_row *row, const struct sirq_kernel_rr *rr,
                            const struct sirq_kernel_rr_sample *begin,
                            const struct sirq_kernel_rr_sample *end);
void sirq_kernel_rr_report(const struct sirq_kernel_rr *rr, bool partial, FILE *out);

#endif
