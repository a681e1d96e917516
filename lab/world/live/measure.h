/* SPDX-License-Identifier: MIT */
/* Figures at the two ends of a measured time, and what they make. */
#ifndef SIRQ_LAB_LIVE_MEASURE_H
#define SIRQ_LAB_LIVE_MEASURE_H

#include "account.h"

struct sirq_sample {
    uint64_t wall_ns;
    uint64_t ksoftirqd_ns, irq_thread_ns; /* over the engine's CPUs */
    uint64_t busy_ns;                     /* of the flooded CPU, whoever it was */
    struct sirq_account account;
    uint64_t received[SIRQ_LAB_RECEIVERS];
    uint64_t cpu_ns[SIRQ_LAB_RECEIVERS]; /* as the scheduler charges it */
};

void sirq_sample_take(struct sirq_sample *sample, const struct sirq_receivers *group);

/* The row's figures.  The receivers have been stopped. */
void sirq_measure_row(struct sirq_row *row, const struct sirq_receivers *group,
                      const struct sirq_sample *begin, const struct sirq_sample *end);

#endif
