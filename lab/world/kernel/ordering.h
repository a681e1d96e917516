/* SPDX-License-Identifier: MIT */
/* What is expected to come out in this order, judged with the spread of the runs. */
#ifndef SIRQ_LAB_KERNEL_ORDERING_H
#define SIRQ_LAB_KERNEL_ORDERING_H

#include "result.h"

struct sirq_kernel_ordering {
    const char *name;
    const char *less, *more; /* policies, by receiver_rate */
};

extern const struct sirq_kernel_ordering sirq_kernel_orderings[]; /* ends with a null name */

enum sirq_kernel_verdict {
    SIRQ_KERNEL_NOT_RUN,
    SIRQ_KERNEL_NO_FLOOD, /* the lesser one was offered less than a CPU can carry */
    SIRQ_KERNEL_HOLDS,    /* in every run: the least of one is above the most of the other */
    SIRQ_KERNEL_UNSURE,   /* the medians have this order, single runs overlap */
    SIRQ_KERNEL_REVERSED, /* the medians have not */
};

/* Of the rows at this offered load. */
enum sirq_kernel_verdict sirq_kernel_ordering_judge(const struct sirq_kernel_ordering *ordering,
                                                    const struct sirq_results *results,
                                                    double rate);

#endif
