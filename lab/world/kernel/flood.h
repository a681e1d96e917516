/* SPDX-License-Identifier: MIT */
/* udp-flood on the running kernel: a run, and its report. */
#ifndef SIRQ_LAB_KERNEL_FLOOD_H
#define SIRQ_LAB_KERNEL_FLOOD_H

#include <stdio.h>

#include "counters.h"
#include "knobs.h"
#include "receiver.h"
#include "session.h"
#include "world/common/sender.h"

struct sirq_kernel_flood {
    struct sirq_kernel_session session;
    struct sirq_flood_limit limit; /* rate 0: it could not be measured, why says it */
    struct sirq_error no_limit;
};

/* One run of a cell while it goes on. */
struct sirq_kernel_cell {
    const struct sirq_kernel_policy *policy;
    double rate;
    struct sirq_kernel_knobs knobs;
    struct sirq_kernel_receivers group;
    struct sirq_sender sender;
    unsigned datagrams; /* in a frame on the wire */
};

/* Everything measured at one moment. */
struct sirq_kernel_sample {
    uint64_t wall_ns, offered, ksoftirqd_ns, napi_ns, busy_ns;
    uint64_t received[SIRQ_LAB_RECEIVERS], cpu_ns[SIRQ_LAB_RECEIVERS];
    struct sirq_kernel_counters count;
};

/* 0, or -errno with err filled. */
int sirq_kernel_sample_take(struct sirq_kernel_sample *sample, const struct sirq_kernel_cell *cell,
                            unsigned cpu, struct sirq_error *err);

/* The figures of a run. */
void sirq_kernel_measure(struct sirq_row *row, const struct sirq_kernel_cell *cell,
                         const struct sirq_kernel_sample *begin,
                         const struct sirq_kernel_sample *end);

/* Packets/s that a CPU would receive with the time that receivers and NAPI threads had, if they had
 * all of it; 0: nothing was received. */
double sirq_kernel_limit_of(const struct sirq_row *row);

/* Run a cell once.  0, -ENOTSUP (this kernel cannot, err says why), -EINTR or -errno. */
int sirq_kernel_cell_run(struct sirq_kernel_flood *flood, const struct sirq_kernel_policy *policy,
                         double rate, unsigned nth, struct sirq_row *row, struct sirq_error *err);

void sirq_kernel_flood_report(const struct sirq_kernel_flood *flood, bool partial, FILE *out);

#endif
