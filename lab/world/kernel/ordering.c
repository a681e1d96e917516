/* SPDX-License-Identifier: MIT */
#include "ordering.h"

#include <string.h>

const struct sirq_kernel_ordering sirq_kernel_orderings[] = {
    {"softirqs on another CPU over the same CPU", "kernel:default", "kernel:rps-other-cpu"},
    {"a real-time receiver over SCHED_OTHER", "kernel:default", "kernel:rr-receiver"},
    {"threaded NAPI over softirqs", "kernel:default", "kernel:threaded-napi"},
    {"threaded NAPI: a real-time receiver over SCHED_OTHER", "kernel:threaded-napi",
     "kernel:threaded-napi-rr"},
    {0},
};

static const struct sirq_row *row_of(const struct sirq_results *results, double rate,
                                     const char *policy)
{
    for (unsigned i = 0; i < results->nrows; i++) {
        const struct sirq_row *row = results->rows[i];

        if (row->wanted_rate == rate && !row->skipped && strcmp(row->policy, policy) == 0)
            return row;
    }
    return NULL;
}

enum sirq_kernel_verdict sirq_kernel_ordering_judge(const struct sirq_kernel_ordering *ordering,
                                                    const struct sirq_results *results, double rate)
{
    const struct sirq_row *low = row_of(results, rate, ordering->less);
    const struct sirq_row *high = row_of(results, rate, ordering->more);
    const struct sirq_metric *less = low ? sirq_row_find(low, "receiver_rate") : NULL;
    const struct sirq_metric *more = high ? sirq_row_find(high, "receiver_rate") : NULL;

    if (!less || !more)
        return SIRQ_KERNEL_NOT_RUN;
    if (!low->comparable)
        return SIRQ_KERNEL_NO_FLOOD;
    if (more->value <= less->value)
        return SIRQ_KERNEL_REVERSED;
    return more->least > less->most ? SIRQ_KERNEL_HOLDS : SIRQ_KERNEL_UNSURE;
}
